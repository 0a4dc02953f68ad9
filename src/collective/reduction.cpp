#include "collective/reduction.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collective/library.h"

namespace fanlight {

namespace {

bool predefined(MPI_Op op, Arithmetic& arithmetic) {
    const struct {
        MPI_Op op;
        Arithmetic arithmetic;
    } all[] = {
        {MPI_SUM, Arithmetic::sum},          {MPI_PROD, Arithmetic::product},
        {MPI_MIN, Arithmetic::min},          {MPI_MAX, Arithmetic::max},
        {MPI_LAND, Arithmetic::logical_and}, {MPI_LOR, Arithmetic::logical_or},
        {MPI_LXOR, Arithmetic::logical_xor}, {MPI_BAND, Arithmetic::bit_and},
        {MPI_BOR, Arithmetic::bit_or},       {MPI_BXOR, Arithmetic::bit_xor},
        {MPI_MINLOC, Arithmetic::min_location}, {MPI_MAXLOC, Arithmetic::max_location},
    };
    for (const auto& one : all)
        if (one.op == op) {
            arithmetic = one.arithmetic;
            return true;
        }
    return false;
}

// MPI-4.1, 6.9.2: the table "The reduction operations and the types that they allow".
bool defined(Arithmetic a, DatatypeClass kind) {
    using enum DatatypeClass;
    switch (a) {
        case Arithmetic::min:
        case Arithmetic::max:
            return kind == c_integer || kind == fortran_integer || kind == floating || kind == multi_language;
        case Arithmetic::sum:
        case Arithmetic::product:
            return kind == c_integer || kind == fortran_integer || kind == floating || kind == complex ||
                   kind == multi_language;
        case Arithmetic::logical_and:
        case Arithmetic::logical_or:
        case Arithmetic::logical_xor:
            return kind == c_integer || kind == logical;
        case Arithmetic::bit_and:
        case Arithmetic::bit_or:
        case Arithmetic::bit_xor:
            return kind == c_integer || kind == fortran_integer || kind == byte || kind == multi_language;
        case Arithmetic::min_location:
        case Arithmetic::max_location:
            return kind == pair;
    }
    return false;
}

// Floating-point numbers are rounded, and of two zeros or NaNs that are equal a minimum is the first.
bool exact(const Datatype& d) {
    switch (d.kind) {
        case DatatypeClass::floating:
        case DatatypeClass::complex:
        case DatatypeClass::other:
        case DatatypeClass::derived: return false;
        case DatatypeClass::pair:
            return d.number == Number::int16_index || d.number == Number::int32_index || d.number == Number::int64_index;
        default: return true;
    }
}

void reduce_local(const Datatype& d, MPI_Op op, const void* left, void* right_and_result, std::size_t count) {
    int error = MPI_ERR_COUNT;
    // More are 2 GiB or more, which are not served without large counts (can_pack).
    if (count <= INT_MAX) error = mpi().Reduce_local(left, right_and_result, static_cast<int>(count), d.handle, op);
#if MPI_VERSION >= 4
    else if (mpi().Reduce_local_c) error = mpi().Reduce_local_c(left, right_and_result, static_cast<MPI_Count>(count), d.handle, op);
#endif
    if (error != MPI_SUCCESS) {
        std::fprintf(stderr, "fanlight: MPI_Reduce_local failed on an operator that MPI defines for the datatype\n");
        std::abort();
    }
}

// MPI_Reduce_local: inout = in (+) inout.
void apply_in_memory(const void* left, const void* right, void* into, std::size_t bytes, const void* context) {
    const auto& local = *static_cast<const LocalReduction*>(context);
    const Datatype& d = *local.datatype;
    const std::size_t count = bytes / static_cast<std::size_t>(d.extent);
    if (into != left) {
        if (into != right) std::memcpy(into, right, bytes);
        reduce_local(d, local.op, left, into, count);
        return;
    }
    const auto* from = static_cast<const std::byte*>(right);
    local.right.assign(from, from + bytes);
    reduce_local(d, local.op, left, local.right.data(), count);
    std::memcpy(into, local.right.data(), bytes);
}

// The memory of `count` elements, and its address as MPI wants it.
std::byte* room_for(const Datatype& d, std::size_t count, std::vector<std::byte>& room) {
    const auto step = static_cast<std::size_t>(d.extent < 0 ? -d.extent : d.extent);
    const std::size_t before = d.extent < 0 ? step * (count - 1) : 0;
    if (const std::size_t needed = step * (count - 1) + d.true_extent; room.size() < needed) room.resize(needed);
    return room.data() + before - d.true_lb;
}

void apply_unpacked(const void* left, const void* right, void* into, std::size_t bytes, const void* context) {
    const auto& local = *static_cast<const LocalReduction*>(context);
    const Datatype& d = *local.datatype;
    const std::size_t count = bytes / d.size;
    std::byte* a = room_for(d, count, local.left);
    std::byte* b = room_for(d, count, local.right);
    unpack(d, static_cast<const std::byte*>(left), a, count);
    unpack(d, static_cast<const std::byte*>(right), b, count);
    reduce_local(d, local.op, a, b, count);
    pack(d, b, count, static_cast<std::byte*>(into));
}

}  // namespace

Combiner Reduction::combiner() const {
    if (apply) return {apply, nullptr};
    return {local.packed ? apply_in_memory : apply_unpacked, &local};
}

bool find_reduction(MPI_Op op, MPI_Datatype handle, Reduction& r) {
    if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return false;
    const Datatype* d = datatype(handle);
    if (!d) return false;
    r.datatype = d;
    r.local.datatype = d;
    r.local.op = op;
    // What MPI names has one layout everywhere: its gaps may be moved along with it.
    r.in_memory_order = d->named() || d->contiguous;
    r.local.packed = r.in_memory_order;
    r.element = r.in_memory_order ? static_cast<std::size_t>(d->extent) : d->size;

    Arithmetic a;
    if (predefined(op, a)) {
        if (!defined(a, d->kind)) return false;
        r.exact = exact(*d);
        r.exact_of_two = r.exact || (d->kind == DatatypeClass::floating && (a == Arithmetic::sum || a == Arithmetic::product));
        // Complex numbers add part by part, and do nothing else like that.
        if (d->kind != DatatypeClass::complex || a == Arithmetic::sum) r.apply = arithmetic(a, d->number);
        return true;
    }
    r.named = false;
    int commutes = 0;
    mpi().Op_commutative(op, &commutes);
    r.commutative = commutes != 0;
    return true;
}

}  // namespace fanlight
