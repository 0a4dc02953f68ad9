// A GPU's driver without a GPU, for the tests of buffers in its memory: as libcuda.so.1, with CUDA's names.  The memory
// that it gives is mapped twice.  The program has the address of pages that it can neither read nor write, so that whoever
// takes them for the host's memory ends; copies go by the other pages.
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ok = 0, invalid_value = 1, invalid_context = 201, most = 4096 };

static struct area {
    char *device, *host;
    size_t bytes;
} areas[most];
static int count;
static __thread void *current;
static char primary;

static char *host_of(uint64_t place) {
    for (int i = 0; i < count; ++i)
        if (place - (uint64_t)areas[i].device < areas[i].bytes) return areas[i].host + (place - (uint64_t)areas[i].device);
    return NULL;
}

int cuMemAlloc_v2(uint64_t *place, size_t bytes) {
    if (count == most) return invalid_value;
    struct area a = {.bytes = (bytes + 4096) / 4096 * 4096};
    const int file = memfd_create("device", 0);
    if (ftruncate(file, (off_t)a.bytes)) return invalid_value;
    a.host = mmap(NULL, a.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    a.device = mmap(NULL, a.bytes, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    areas[count++] = a;
    *place = (uint64_t)a.device;
    return ok;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t place) {
    if (!host_of(place)) return invalid_value;
    switch (attribute) {
        case 2: *(unsigned *)value = 2; return ok;  // on a device
        case 8: *(unsigned *)value = 0; return ok;  // not managed
        case 9: *(int *)value = 0; return ok;       // device 0
        default: return invalid_value;
    }
}

int cuMemcpy(uint64_t to, uint64_t from, size_t bytes) {
    if (!current) return invalid_context;
    memmove(host_of(to) ? host_of(to) : (char *)to, host_of(from) ? host_of(from) : (char *)from, bytes);
    return ok;
}

int cuCtxGetCurrent(void **context) { return *context = current, ok; }
int cuCtxPushCurrent_v2(void *context) { return current = context, ok; }
int cuCtxPopCurrent_v2(void **context) { return *context = current, current = NULL, ok; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? ok : invalid_value; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &primary, device == 0 ? ok : invalid_value; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? ok : invalid_value; }
