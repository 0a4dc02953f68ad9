// A GPU's driver without a GPU, for the tests of buffers in its memory: as libcuda.so.1, with CUDA's names.  The memory
// that it gives is mapped twice.  The program has the address of pages that it can neither read nor write, so that
// whoever takes them for the host's memory ends; copies go by the other pages.
//
// It refuses what CUDA's driver refuses: calls before cuInit or without a current context, contexts that it has not
// given, bytes beyond the end of an allocation.  A copy to the device by cuMemcpy, which is in the default stream, is
// under way until somebody waits for that stream, or until its next copy.  Other streams see the bytes from before.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ok = 0, invalid_value = 1, not_initialized = 3, invalid_device = 101, invalid_context = 201 };
enum { most = 4096, most_contexts = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // for all that is not a thread's own
static int initialized, retained;
static char primary, other_stream;
static __thread void *contexts[most_contexts];  // the last one is current
static __thread int depth;

static struct area {
    char *device, *host;
    size_t bytes;
} areas[most];
static int count;

static struct {
    char *to, *data;
    size_t bytes;
} under_way;

// 0, or why a call cannot be.
static int refused(int needs_context) {
    return !initialized ? not_initialized : needs_context && (depth == 0 || retained == 0) ? invalid_context : ok;
}

static const struct area *area_of(uint64_t place) {
    for (int i = 0; i < count; ++i)
        if (place - (uint64_t)areas[i].device < areas[i].bytes) return &areas[i];
    return NULL;
}

// Where the host can read and write these bytes; null where they do not lie in one allocation.
static char *host_of(uint64_t place, size_t bytes) {
    const struct area *a = area_of(place);
    if (!a) return (char *)place;
    const size_t offset = place - (uint64_t)a->device;
    return bytes <= a->bytes - offset ? a->host + offset : NULL;
}

static void arrive(void) {
    if (under_way.data) memcpy(under_way.to, under_way.data, under_way.bytes);
    free(under_way.data);
    under_way.data = NULL;
}

static int copy(uint64_t to, uint64_t from, size_t bytes, int in_default_stream) {
    if (refused(1)) return refused(1);
    if (in_default_stream) arrive();
    char *const target = host_of(to, bytes), *const source = host_of(from, bytes);
    if (!target || !source) return invalid_value;
    if (in_default_stream && area_of(to) && (under_way.data = malloc(bytes + 1))) {
        memcpy(under_way.data, source, bytes);
        under_way.to = target;
        under_way.bytes = bytes;
    } else {
        memmove(target, source, bytes);
    }
    return ok;
}

static int allocate(uint64_t *place, size_t bytes) {
    if (refused(1)) return refused(1);
    if (bytes == 0 || count == most) return invalid_value;
    struct area a = {.bytes = bytes};
    const size_t mapped = (bytes + 4096) / 4096 * 4096;
    const int file = memfd_create("device", 0);
    if (ftruncate(file, (off_t)mapped)) return invalid_value;
    a.host = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    a.device = mmap(NULL, mapped, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    areas[count++] = a;
    *place = (uint64_t)a.device;
    return ok;
}

static int attribute_of(void *value, int attribute, uint64_t place) {
    if (refused(0)) return refused(0);
    if (!area_of(place)) return invalid_value;
    switch (attribute) {
        case 1: *(void **)value = (area_of(place) - areas) % 2 ? &primary : NULL; return ok;  // of a pool: no context
        case 2: *(unsigned *)value = 2; return ok;  // on a device
        case 8: *(unsigned *)value = 0; return ok;  // not managed
        case 9: *(int *)value = 0; return ok;       // device 0
        default: return invalid_value;
    }
}

static int device_error(int device) { return refused(0) ? refused(0) : device == 0 ? ok : invalid_device; }

static int retain(void **context, int device) {
    if (device_error(device)) return device_error(device);
    ++retained;
    *context = &primary;
    return ok;
}
static int release(int device) {
    if (device_error(device)) return device_error(device);
    return retained == 0 ? invalid_context : (--retained, ok);
}

static int push(void *context) {
    if (refused(0)) return refused(0);
    if (context != &primary || retained == 0 || depth == most_contexts) return invalid_context;
    contexts[depth++] = context;
    return ok;
}
static int pop(void **context) {
    if (refused(0)) return refused(0);
    if (depth == 0) return invalid_context;
    *context = contexts[--depth];
    return ok;
}

static int current(void **context) {
    if (refused(0)) return refused(0);
    *context = depth ? contexts[depth - 1] : NULL;
    return ok;
}

static int get_device(int *device, int ordinal) {
    if (device_error(ordinal)) return device_error(ordinal);
    *device = ordinal;
    return ok;
}

static int pin(const void *place, size_t bytes) {
    if (refused(1)) return refused(1);
    return place && bytes ? ok : invalid_value;
}

// One of the program's own, that does not wait for the default one: CU_STREAM_NON_BLOCKING.
static int create_stream(void **stream, unsigned flags) {
    if (refused(1)) return refused(1);
    if (flags != 1) return invalid_value;
    *stream = &other_stream;
    return ok;
}
static int wait_for(int default_stream) {
    if (refused(1)) return refused(1);
    if (default_stream) arrive();
    return ok;
}

static int unlocked(int result) { return pthread_mutex_unlock(&lock), result; }
#define LOCKED(call) (pthread_mutex_lock(&lock), unlocked(call))

int cuInit(unsigned flags) { return LOCKED(flags ? invalid_value : (initialized = 1, ok)); }
int cuDeviceGet(int *device, int ordinal) { return LOCKED(get_device(device, ordinal)); }
int cuDevicePrimaryCtxRetain(void **context, int device) { return LOCKED(retain(context, device)); }
int cuDevicePrimaryCtxRelease_v2(int device) { return LOCKED(release(device)); }
int cuCtxGetCurrent(void **context) { return LOCKED(current(context)); }
int cuCtxPushCurrent_v2(void *context) { return LOCKED(push(context)); }
int cuCtxPopCurrent_v2(void **context) { return LOCKED(pop(context)); }
int cuCtxSynchronize(void) { return LOCKED(wait_for(1)); }
int cuMemAlloc_v2(uint64_t *place, size_t bytes) { return LOCKED(allocate(place, bytes)); }
int cuMemHostRegister_v2(void *place, size_t bytes, unsigned flags) { return (void)flags, LOCKED(pin(place, bytes)); }
int cuPointerGetAttribute(void *value, int attribute, uint64_t place) {
    return LOCKED(attribute_of(value, attribute, place));
}
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes) { return LOCKED(copy(to, from, bytes, 1)); }
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    return LOCKED(copy(to, from, bytes, stream == NULL));
}
int cuStreamCreate(void **stream, unsigned flags) { return LOCKED(create_stream(stream, flags)); }
int cuStreamSynchronize(void *stream) { return LOCKED(wait_for(stream == NULL)); }
