// Put, get, their completion, and atomic operations.
#include <bit>

#include "dart/datatype.h"
#include "dart/names.h"
#include "dart/operator.h"
#include "global/transfer.h"

using namespace fanlight;
using namespace fanlight::dart;
using global::Completion;
using global::Direction;

// A handle is a number of Fanlight's in the pointer.
static_assert(sizeof(dart_handle_t) == sizeof(fanlight_handle));

namespace {

// Custom types' elements are bytes.
bool same_base(const Datatype& a, const Datatype& b) {
    return a.base == b.base || (!is_basic(a.base) && !is_basic(b.base) && a.bytes == b.bytes);
}

[[gnu::noinline]] dart_ret_t typed(const char* function, Direction direction, Completion completion, dart_gptr_t gptr,
                                   void* local, size_t nelem, dart_datatype_t remote_type,
                                   dart_datatype_t local_type, dart_handle_t* handle) {
    const Datatype* const there = datatype(remote_type);
    const Datatype* const here = datatype(local_type);
    if (!there || !here || !same_base(*there, *here))
        return invalid(function, "no such types, or not of the same base type");
    const auto remote = layout_of(*there, nelem), own = there == here ? remote : layout_of(*here, nelem);
    if (!remote || !own) return invalid(function, "no whole number of the type's blocks, or more bytes than there can be");
    return status(function, global::transfer(direction, completion, pointer_of(gptr), *remote, local, *own,
                                             reinterpret_cast<fanlight_handle*>(handle)));
}

// Whether nelem elements are whole blocks without gaps, and their bytes.
inline bool without_gaps(dart_datatype_t type, size_t nelem, size_t& bytes) {
    if (is_basic(type)) [[likely]] return !__builtin_mul_overflow(nelem, basic_bytes[type], &bytes);
    const Datatype* const t = datatype(type);
    return t && t->contiguous && !__builtin_mul_overflow(nelem, t->bytes, &bytes) && nelem % t->elements == 0;
}

// One type without gaps on both sides, and bytes that loads and stores reach: no layouts, and
// complete at once.
template <Direction direction, Completion completion>
inline dart_ret_t move(const char* function, const dart_gptr_t& gptr, void* local, size_t nelem,
                       dart_datatype_t remote_type, dart_datatype_t local_type, dart_handle_t* handle = nullptr) {
    size_t bytes;
    global::Target t;
    if (remote_type == local_type && local && (handle || completion != Completion::handle) &&
        without_gaps(remote_type, nelem, bytes) &&
        global::reaches(segment_of(gptr), gptr.unitid, gptr.addr_or_offs.offset, bytes, t) && t.direct()) [[likely]] {
        if constexpr (direction == Direction::put)
            global::store(t, local, bytes);
        else
            global::load(local, t, bytes);
        if constexpr (completion == Completion::handle) *handle = DART_HANDLE_NULL;
        return DART_OK;
    }
    return typed(function, direction, completion, gptr, local, nelem, remote_type, local_type, handle);
}

fanlight_handle* numbers(dart_handle_t* handles) { return reinterpret_cast<fanlight_handle*>(handles); }

}  // namespace

dart_ret_t dart_get(void* dest, dart_gptr_t gptr, size_t n, dart_datatype_t src, dart_datatype_t dst) {
    return move<Direction::get, Completion::flushed_later>("dart_get", gptr, dest, n, src, dst);
}
dart_ret_t dart_put(dart_gptr_t gptr, const void* source, size_t n, dart_datatype_t src, dart_datatype_t dst) {
    return move<Direction::put, Completion::flushed_later>("dart_put", gptr, const_cast<void*>(source), n, dst, src);
}
dart_ret_t dart_get_handle(void* dest, dart_gptr_t gptr, size_t n, dart_datatype_t src, dart_datatype_t dst,
                           dart_handle_t* handle) {
    return move<Direction::get, Completion::handle>("dart_get_handle", gptr, dest, n, src, dst, handle);
}
dart_ret_t dart_put_handle(dart_gptr_t gptr, const void* source, size_t n, dart_datatype_t src, dart_datatype_t dst,
                           dart_handle_t* handle) {
    return move<Direction::put, Completion::handle>("dart_put_handle", gptr, const_cast<void*>(source), n, dst, src,
                handle);
}
dart_ret_t dart_get_blocking(void* dest, dart_gptr_t gptr, size_t n, dart_datatype_t src, dart_datatype_t dst) {
    return move<Direction::get, Completion::blocking>("dart_get_blocking", gptr, dest, n, src, dst);
}
dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void* source, size_t n, dart_datatype_t src,
                             dart_datatype_t dst) {
    return move<Direction::put, Completion::blocking>("dart_put_blocking", gptr, const_cast<void*>(source), n, dst, src);
}

dart_ret_t dart_flush(dart_gptr_t p) { return status("dart_flush", fanlight_flush(pointer_of(p))); }
dart_ret_t dart_flush_all(dart_gptr_t p) { return status("dart_flush_all", fanlight_flush_all(pointer_of(p))); }
dart_ret_t dart_flush_local(dart_gptr_t p) { return status("dart_flush_local", fanlight_flush_local(pointer_of(p))); }
dart_ret_t dart_flush_local_all(dart_gptr_t p) {
    return status("dart_flush_local_all", fanlight_flush_local_all(pointer_of(p)));
}

// No handle at all is complete, in DART.
dart_ret_t dart_wait(dart_handle_t* h) { return h ? status("dart_wait", fanlight_wait(numbers(h))) : DART_OK; }
dart_ret_t dart_wait_local(dart_handle_t* h) {
    return h ? status("dart_wait_local", fanlight_wait_local(numbers(h))) : DART_OK;
}
dart_ret_t dart_waitall(dart_handle_t* h, size_t n) {
    return h ? status("dart_waitall", fanlight_waitall(numbers(h), n)) : DART_OK;
}
dart_ret_t dart_waitall_local(dart_handle_t* h, size_t n) {
    return h ? status("dart_waitall_local", fanlight_waitall_local(numbers(h), n)) : DART_OK;
}
dart_ret_t dart_test(dart_handle_t* h, int32_t* done) { return dart_testall(h, 1, done); }
dart_ret_t dart_test_local(dart_handle_t* h, int32_t* done) { return dart_testall_local(h, 1, done); }
dart_ret_t dart_testall(dart_handle_t* h, size_t n, int32_t* done) {
    return status("dart_testall", fanlight_testall(numbers(h), h ? n : 0, done));
}
dart_ret_t dart_testall_local(dart_handle_t* h, size_t n, int32_t* done) {
    return status("dart_testall_local", fanlight_testall_local(numbers(h), h ? n : 0, done));
}
dart_ret_t dart_handle_free(dart_handle_t* h) {
    return h ? status("dart_handle_free", fanlight_handle_free(numbers(h))) : DART_OK;
}

dart_ret_t dart_accumulate(dart_gptr_t gptr, const void* values, size_t n, dart_datatype_t type, dart_operation_t op) {
    fanlight_operator own;
    if (!is_basic(type) || !atomic_operator(op, own))
        return invalid("dart_accumulate", "atomic operations are for basic types and operators");
    return status("dart_accumulate", fanlight_accumulate(pointer_of(gptr), values, n, datatype(type)->number, own));
}

dart_ret_t dart_accumulate_blocking_local(dart_gptr_t gptr, const void* values, size_t n, dart_datatype_t type,
                                          dart_operation_t op) {
    if (const dart_ret_t error = dart_accumulate(gptr, values, n, type, op)) return error;
    return dart_flush_local(gptr);
}

dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void* value, void* result, dart_datatype_t type,
                             dart_operation_t op) {
    fanlight_operator own;
    if (!is_basic(type) || !atomic_operator(op, own))
        return invalid("dart_fetch_and_op", "atomic operations are for basic types and operators");
    return status("dart_fetch_and_op",
                  fanlight_fetch_and_op(pointer_of(gptr), value, result, datatype(type)->number, own));
}

dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void* value, const void* compare, void* result,
                                 dart_datatype_t type) {
    if (!is_basic(type)) return invalid("dart_compare_and_swap", "atomic operations are for basic types");
    return status("dart_compare_and_swap",
                  fanlight_compare_and_swap(pointer_of(gptr), value, compare, result, datatype(type)->number));
}
