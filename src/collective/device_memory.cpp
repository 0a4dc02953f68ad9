#include "collective/device_memory.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "collective/library.h"

namespace fanlight::device_memory {

namespace {

constexpr std::string_view cuda = "libcuda.so";

// Whether a library is loaded whose file name begins so; `path`: where from.
struct Search {
    std::string_view name;
    std::string path;
};
int look_at(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const std::string_view path = info->dlpi_name;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (!file.starts_with(search.name)) return 0;
    search.path = path;
    return 1;
}
bool is_loaded(std::string_view name, std::string* path = nullptr) {
    Search search{name, {}};
    const bool found = dl_iterate_phdr(look_at, &search) != 0;
    if (path) *path = search.path;
    return found;
}

bool any_driver() {
    for (const std::string_view driver : {cuda, std::string_view("libamdhip64.so"), std::string_view("libze_loader.so")})
        if (is_loaded(driver)) return true;
    return false;
}

// The standard's kinds of memory that is the host's, with whatever restrictors: "system,mpi:alloc_mem".
bool is_hosts(std::string_view kinds) {
    while (!kinds.empty()) {
        const std::string_view one = kinds.substr(0, kinds.find(','));
        const std::string_view kind = one.substr(0, one.find(':'));
        if (kind != "system" && kind != "mpi") return false;
        kinds.remove_prefix(one.size() < kinds.size() ? one.size() + 1 : one.size());
    }
    return true;
}

// What the program has promised.  The kinds that the library supports (mpi_memory_alloc_kinds) say less: Open MPI and
// MPICH support more than they name where the program has not asked for it.
bool hosts_memory_is_promised(MPI_Comm comm) {
    MPI_Info info = MPI_INFO_NULL;
    if (mpi().Comm_get_info(comm, &info) != MPI_SUCCESS || info == MPI_INFO_NULL) return false;
    char kinds[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    mpi().Info_get(info, "mpi_assert_memory_alloc_kinds", MPI_MAX_INFO_VAL, kinds, &found);
    mpi().Info_free(&info);
    return found && is_hosts(kinds);
}

// The part of CUDA's driver API that is needed; the numbers are those of its header.
struct Cuda {
    using Pointer = std::uint64_t;
    using Context = void*;
    enum Attribute { its_context = 1, memory_type = 2, is_managed = 8, device_ordinal = 9 };
    static constexpr unsigned device = 2;  // CU_MEMORYTYPE_DEVICE

    int (*PointerGetAttribute)(void*, int, Pointer);
    int (*Memcpy)(Pointer, Pointer, std::size_t);
    int (*StreamSynchronize)(void*);
    int (*CtxGetCurrent)(Context*);
    int (*CtxPushCurrent)(Context);
    int (*CtxPopCurrent)(Context*);
    int (*DeviceGet)(int*, int);
    int (*DevicePrimaryCtxRetain)(Context*, int);
    int (*DevicePrimaryCtxRelease)(int);

    bool has(const void* memory) const {
        unsigned type = 0, managed = 0;
        const auto pointer = reinterpret_cast<Pointer>(memory);
        return PointerGetAttribute(&type, memory_type, pointer) == 0 && type == device &&
               !(PointerGetAttribute(&managed, is_managed, pointer) == 0 && managed);
    }
};

void check(int error, const char* function) {
    if (error == 0) return;
    std::fprintf(stderr, "fanlight: FANLIGHT_GPU=stage: CUDA's driver failed in %s with error %d\n", function, error);
    std::abort();
}

std::unique_ptr<const Cuda> load_cuda() {
    std::string path;
    if (!is_loaded(cuda, &path)) return nullptr;
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    Cuda found;
    const auto load = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(handle ? dlsym(handle, name) : nullptr);
        if (!function) {
            std::fprintf(stderr, "fanlight: FANLIGHT_GPU=stage: CUDA's driver has no function %s\n", name);
            std::abort();
        }
    };
    load(found.PointerGetAttribute, "cuPointerGetAttribute");
    load(found.Memcpy, "cuMemcpy");
    load(found.StreamSynchronize, "cuStreamSynchronize");
    load(found.CtxGetCurrent, "cuCtxGetCurrent");
    load(found.CtxPushCurrent, "cuCtxPushCurrent_v2");
    load(found.CtxPopCurrent, "cuCtxPopCurrent_v2");
    load(found.DeviceGet, "cuDeviceGet");
    load(found.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    load(found.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    return std::make_unique<const Cuda>(found);
}

// Null as long as the program has not loaded it: it may do so at any time.
const Cuda* cuda_driver() {
    static std::atomic<const Cuda*> known{nullptr};
    const Cuda* driver = known.load(std::memory_order_acquire);
    if (driver) return driver;
    auto loaded = load_cuda();
    // Of several threads the first one's is kept.
    return known.compare_exchange_strong(driver, loaded.get()) ? loaded.release() : driver;
}

// A thread that has not used CUDA has no context; it gets the memory's, or where that has none (of a pool) its device's.
class CurrentContext {
public:
    CurrentContext(const Cuda& driver, const void* memory) : driver_(driver) {
        Cuda::Context context = nullptr;
        if (driver_.CtxGetCurrent(&context) == 0 && context) return;
        const auto pointer = reinterpret_cast<Cuda::Pointer>(memory);
        if (driver_.PointerGetAttribute(&context, Cuda::its_context, pointer) != 0 || !context) {
            int ordinal = 0;
            check(driver_.PointerGetAttribute(&ordinal, Cuda::device_ordinal, pointer), "cuPointerGetAttribute");
            check(driver_.DeviceGet(&device_, ordinal), "cuDeviceGet");
            check(driver_.DevicePrimaryCtxRetain(&context, device_), "cuDevicePrimaryCtxRetain");
            retained_ = true;
        }
        check(driver_.CtxPushCurrent(context), "cuCtxPushCurrent");
        pushed_ = true;
    }
    ~CurrentContext() {
        if (!pushed_) return;
        Cuda::Context context;
        driver_.CtxPopCurrent(&context);
        if (retained_) driver_.DevicePrimaryCtxRelease(device_);
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

private:
    const Cuda& driver_;
    int device_ = 0;
    bool pushed_ = false, retained_ = false;
};

}  // namespace

bool may_be_used(MPI_Comm comm) { return config().gpu == "pass" && any_driver() && !hosts_memory_is_promised(comm); }

bool has(const void* memory) {
    const Cuda* const driver = memory && memory != MPI_IN_PLACE ? cuda_driver() : nullptr;
    return driver && driver->has(memory);
}

void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const void* const there = holds(to) ? to : holds(from) ? from : nullptr;
    if (!there) {
        std::memcpy(to, from, bytes);
        return;
    }
    const Cuda& driver = *cuda_driver();
    const CurrentContext context(driver, there);
    check(driver.Memcpy(reinterpret_cast<Cuda::Pointer>(to), reinterpret_cast<Cuda::Pointer>(from), bytes), "cuMemcpy");
    // To a device it may still be under way, in the default stream, for which the program's streams need not wait.
    if (there == to) check(driver.StreamSynchronize(nullptr), "cuStreamSynchronize");
}

}  // namespace fanlight::device_memory
