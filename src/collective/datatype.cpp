#include "collective/datatype.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/dying.h"
#include "collective/keyval.h"
#include "collective/library.h"
#include "collective/quiet.h"

namespace fanlight {

namespace {

// What the MPI library would say to a call with this datatype, without its error handlers
// being called: a message to nobody.  Of one element, since MPICH looks at nothing when there
// are none; it is never read.
bool accepted(MPI_Datatype handle) {
    static const char element = 0;
    return handle != MPI_DATATYPE_NULL &&
           mpi().Send(&element, 1, handle, MPI_PROC_NULL, 0, quiet_communicator()) == MPI_SUCCESS;
}

Datatype measured(MPI_Datatype handle) {
    MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    mpi().Type_size_x(handle, &size);
    mpi().Type_get_extent_x(handle, &lb, &extent);
    mpi().Type_get_true_extent_x(handle, &true_lb, &true_extent);
    Datatype d;
    d.handle = handle;
    d.size = static_cast<std::size_t>(std::max<MPI_Count>(size, 0));
    d.extent = static_cast<std::ptrdiff_t>(extent);
    d.true_lb = static_cast<std::ptrdiff_t>(true_lb);
    d.true_extent = static_cast<std::size_t>(true_extent);
    d.contiguous = size == extent && size == true_extent && lb == 0 && true_lb == 0;
    return d;
}

// --- the named ones: a table by handle --------------------------------------------------

enum class ByName : unsigned char { integer, real };
Number number_of(Number n, std::size_t) { return n; }
Number number_of(ByName n, std::size_t size) {
    if (n == ByName::real)
        return size == 4 ? Number::float32 : size == 8 ? Number::float64 : Number::none;
    switch (size) {
        case 1: return Number::int8;
        case 2: return Number::int16;
        case 4: return Number::int32;
        case 8: return Number::int64;
        default: return Number::none;
    }
}

class NamedDatatypes {
public:
    NamedDatatypes() {
        // Names in datatypes.def; `integer` and `real` are resolved by size.
        using enum Number;
        using enum ByName;
#define DATATYPE(handle, kind, number) add(handle, DatatypeClass::kind, number);
#include "collective/datatypes.def"
#undef DATATYPE
    }

    const Datatype* find(MPI_Datatype handle) const {
        for (std::size_t i = slot(handle);; i = (i + 1) % slots)
            if (!table_[i] || table_[i]->handle == handle) return table_[i];
    }

private:
    template <class N>
    void add(MPI_Datatype handle, DatatypeClass kind, N number) {
        // Fortran's datatypes are null, or of no size, where MPI was built without Fortran.
        if (!accepted(handle) || find(handle)) return;
        Datatype d = measured(handle);
        if (d.size == 0) return;
        d.kind = kind;
        d.number = number_of(number, d.size);
        const std::size_t expected = size_of(d.number) * (kind == DatatypeClass::complex ? 2 : 1);
        if (expected != static_cast<std::size_t>(d.extent)) d.number = Number::none;
        std::size_t i = slot(handle);
        while (table_[i]) i = (i + 1) % slots;
        table_[i] = new Datatype(d);
    }

    static constexpr std::size_t slots = 512;
    static std::size_t slot(MPI_Datatype handle) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &handle, sizeof handle);
        return (bits * 0x9e3779b97f4a7c15u) >> 55;
    }
    const Datatype* table_[slots] = {};
};
static_assert((std::uint64_t{1} << (64 - 55)) == 512);

const NamedDatatypes& named_datatypes() {
    // Never destroyed: programs call MPI in their own static destructors.
    static const auto& all = *new NamedDatatypes;
    return all;
}

// --- derived ones: kept as an attribute, since a handle is used again after it was freed ---

// How many were freed: what a thread remembers of one holds no longer.
std::atomic<unsigned> freed{0};

extern "C" int forget_datatype(MPI_Datatype, int, void* value, void*) {
    freed.fetch_add(1);
    delete static_cast<Datatype*>(value);
    return MPI_SUCCESS;
}

int attribute_key() {
    static std::atomic<int> key{MPI_KEYVAL_INVALID};
    return keyval(key, mpi().Type_create_keyval, mpi().Type_free_keyval, MPI_TYPE_NULL_COPY_FN, forget_datatype);
}

// Size and extent may agree while the order in memory is another one (displacements 4, 0):
// packing bytes that name their own places shows it.
bool packs_in_order(const Datatype& d) {
    constexpr std::size_t longest = std::size_t{16} << 20;
    if (!d.contiguous || d.size == 0 || d.size > longest) return false;
    std::vector<std::byte> memory(d.size), packed(d.size);
    for (int shift = 0; shift == 0 || d.size >> shift; shift += 8) {
        for (std::size_t i = 0; i < d.size; ++i) memory[i] = static_cast<std::byte>(i >> shift);
        pack(d, memory.data(), 1, packed.data());
        if (memory != packed) return false;
    }
    return true;
}

// The same of those that do not lie packed, such as a struct with a gap at its end: to pack a few
// short elements the MPI library takes longer than their collective.
std::vector<Datatype::Run> runs_of(const Datatype& d) {
    constexpr std::size_t longest = 4096, widest = std::size_t{1} << 16, most = 8;
    if (d.contiguous || d.size == 0 || d.size > longest || d.true_extent > widest) return {};
    std::vector<std::byte> memory(d.true_extent), packed(d.size), flipped(d.size);
    std::vector<std::size_t> from(d.size, 0);
    const auto pack_names = [&](int shift, std::byte flip, std::vector<std::byte>& into) {
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i >> shift) ^ flip;
        // Its own addresses: the first byte that it has lies `true_lb` behind its place.
        pack(d, reinterpret_cast<const void*>(reinterpret_cast<std::intptr_t>(memory.data()) - d.true_lb), 1, into.data());
    };
    for (int shift = 0; shift < 16; shift += 8) {
        pack_names(shift, std::byte{0}, packed);
        pack_names(shift, std::byte{0xff}, flipped);
        for (std::size_t i = 0; i < d.size; ++i) {
            // Not all bytes of a long double are packed.
            if ((packed[i] ^ flipped[i]) != std::byte{0xff}) return {};
            from[i] |= static_cast<std::size_t>(packed[i]) << shift;
        }
    }
    std::vector<Datatype::Run> runs;
    for (const std::size_t at : from) {
        const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(at) + d.true_lb;
        if (!runs.empty() && runs.back().at + static_cast<std::ptrdiff_t>(runs.back().bytes) == place) ++runs.back().bytes;
        else if (runs.size() == most) return {};
        else runs.push_back({place, 1});
    }
    return runs;
}

// How many have been made.  MPI's attributes hand over a pointer; that what it points to was written
// before, by another thread, is ours to see to.
std::atomic<unsigned> made_so_far{0};

const Datatype* known(MPI_Datatype handle) {
    void* value = nullptr;
    int found = 0;
    mpi().Type_get_attr(handle, attribute_key(), &value, &found);
    made_so_far.load(std::memory_order_acquire);
    return found ? static_cast<const Datatype*>(value) : nullptr;
}

const Datatype* known_or_new(MPI_Datatype handle) {
    if (!accepted(handle)) return nullptr;
    if (const Datatype* d = known(handle)) return d;
    auto made = std::make_unique<Datatype>(measured(handle));
    made->kind = DatatypeClass::derived;
    made->contiguous = packs_in_order(*made);
    made->runs = runs_of(*made);
    // The first of several threads wins: a second attribute would take the place of the first one, which
    // is deleted then and in use.
    static std::mutex& mutex = *new std::mutex;
    const std::scoped_lock lock(mutex);
    if (const Datatype* d = known(handle)) return d;
    made_so_far.fetch_add(1, std::memory_order_release);
    if (mpi().Type_set_attr(handle, attribute_key(), made.get()) != MPI_SUCCESS) return nullptr;
    return made.release();
}

// To ask the MPI library each time costs as much as a short collective.
const Datatype* derived(MPI_Datatype handle) {
    struct Recent {
        MPI_Datatype handle{};
        const Datatype* datatype = nullptr;
        unsigned freed = 0;
    };
    static thread_local Recent recent[2];
    const unsigned now = freed.load();
    for (const Recent& r : recent)
        if (r.datatype && r.handle == handle && r.freed == now) return r.datatype;
    const Datatype* const d = known_or_new(handle);
    if (Dying<MPI_Datatype>::is(handle)) return d;
    recent[1] = std::exchange(recent[0], Recent{handle, d, now});
    return d;
}

[[noreturn]] void packing_failed() {
    std::fprintf(stderr, "fanlight: MPI_Pack failed on a datatype that the MPI library accepts\n");
    std::abort();
}

// Elements that MPI_Pack's int counts can take at a time.
std::size_t batch(const Datatype& d, std::size_t count) {
    return std::min({count, static_cast<std::size_t>(INT_MAX),
                     std::max<std::size_t>(INT_MAX / std::max<std::size_t>(d.size, 1), 1)});
}

}  // namespace

const Datatype* datatype(MPI_Datatype handle) {
    if (const Datatype* d = named_datatypes().find(handle)) return d;
    return derived(handle);
}

bool packs_large() {
#if MPI_VERSION >= 4
    return mpi().Pack_c && mpi().Unpack_c;
#else
    return false;
#endif
}

namespace {

// From `memory` to `packed`, or back.
template <bool packs>
void move(const Datatype& d, std::byte* memory, std::size_t count, std::byte* packed) {
    if (!d.runs.empty()) {
        for (; count > 0; --count, memory += d.extent)
            for (const auto& [at, bytes] : d.runs) {
                std::memcpy(packs ? packed : memory + at, packs ? memory + at : packed, bytes);
                packed += bytes;
            }
        return;
    }
    const MPI_Comm comm = quiet_communicator();
#if MPI_VERSION >= 4
    if (packs_large()) {
        MPI_Count position = 0;
        const auto n = static_cast<MPI_Count>(count), bytes = static_cast<MPI_Count>(count * d.size);
        const int error = packs ? mpi().Pack_c(memory, n, d.handle, packed, bytes, &position, comm)
                                : mpi().Unpack_c(packed, bytes, &position, memory, n, d.handle, comm);
        if (error != MPI_SUCCESS) packing_failed();
        return;
    }
#endif
    while (count > 0) {
        const std::size_t some = batch(d, count);
        const int n = static_cast<int>(some), bytes = static_cast<int>(some * d.size);
        int position = 0;
        const int error = packs ? mpi().Pack(memory, n, d.handle, packed, bytes, &position, comm)
                                : mpi().Unpack(packed, bytes, &position, memory, n, d.handle, comm);
        if (error != MPI_SUCCESS) packing_failed();
        memory += static_cast<std::ptrdiff_t>(some) * d.extent;
        packed += some * d.size;
        count -= some;
    }
}

}  // namespace

void pack(const Datatype& d, const void* memory, std::size_t count, std::byte* packed) {
    move<true>(d, static_cast<std::byte*>(const_cast<void*>(memory)), count, packed);
}

void unpack(const Datatype& d, const std::byte* packed, void* memory, std::size_t count) {
    move<false>(d, static_cast<std::byte*>(memory), count, const_cast<std::byte*>(packed));
}

}  // namespace fanlight
