// Atomic operations.  If all units reach all parts by loads and stores, the processor does them for all units.  Else MPI
// does, for all units, also inside a node.  So all use an element in one way, and sums come out exactly.  A long double,
// for which no processor has an atomic operation, is changed under a lock of the unit that owns it.
#include <atomic>
#include <cstring>

#include "global/arithmetic.h"
#include "global/mpi_calls.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {

// Under its lock, which makes it atomic.
long double update(long double& element, long double value, fanlight_operator op) {
    const long double old = element;
    if (op != FANLIGHT_NO_OP) element = combined(old, value, op);
    return old;
}

template <class T>
T update(T& element, T value, fanlight_operator op) {
    const std::atomic_ref atom(element);
    if (op == FANLIGHT_NO_OP) return atom.load();
    if (op == FANLIGHT_REPLACE) return atom.exchange(value);
    if constexpr (std::integral<T>)
        if (op == FANLIGHT_SUM) return atom.fetch_add(value);
    T old = atom.load();
    while (!atom.compare_exchange_weak(old, combined(old, value, op))) {}
    return old;
}

fanlight_code check(fanlight_pointer to, std::size_t count, fanlight_type type, fanlight_operator op, Target& t) {
    if (const fanlight_code error = check_arithmetic(type, op)) return error;
    const TypeInfo info = types[type];
    if (const fanlight_code error = resolve(to, count > SIZE_MAX / info.bytes ? SIZE_MAX : count * info.bytes, t)) return error;
    // Registered memory may itself not be aligned.
    if (t.offset % info.bytes != 0 || (t.direct() && reinterpret_cast<std::uintptr_t>(t.address()) % info.bytes != 0))
        return fail(FANLIGHT_ERR_ARGUMENT, "offset %llu is not aligned to elements of %zu bytes",
                    static_cast<unsigned long long>(t.offset), info.bytes);
    return FANLIGHT_OK;
}

// Held while a long double of a unit is changed.
class ElementLock {
public:
    ElementLock(const Target& t, fanlight_type type) {
        if (type != FANLIGHT_LONG_DOUBLE) return;
        const auto unit = static_cast<std::size_t>(t.unit);
        word_ = reinterpret_cast<std::uint64_t*>(t.segment->team->notifications->parts[unit].address);
        wait_for(t.segment->team->world[unit], "accumulate",
                 [this] { return std::atomic_ref(*word_).exchange(1, std::memory_order_acquire) == 0; });
    }
    ~ElementLock() {
        if (word_) std::atomic_ref(*word_).store(0, std::memory_order_release);
    }
    ElementLock(const ElementLock&) = delete;

private:
    std::uint64_t* word_ = nullptr;
};

#if defined(OPEN_MPI)
// Open MPI 5.0's one-sided operations leave the element as it is for bitwise operators.  By
// compare-and-swap, for all units, it is what it should be.
bool must_swap(fanlight_operator op) { return op >= FANLIGHT_BAND && op <= FANLIGHT_LXOR; }

template <class T>
int by_swap(const Target& t, std::size_t index, T value, T* before, MPI_Datatype type, fanlight_operator op) {
    const auto at = static_cast<MPI_Aint>(t.offset + index * sizeof(T));
    T seen = 0;
    int code = MPI_Fetch_and_op(&seen, &seen, type, t.unit, at, MPI_NO_OP, t.segment->window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(t.unit, t.segment->window);
    for (T expected = static_cast<T>(~seen); code == MPI_SUCCESS && expected != seen;) {
        expected = seen;
        const T wanted = combined(expected, value, op);
        code = MPI_Compare_and_swap(&wanted, &expected, &seen, type, t.unit, at, t.segment->window);
        if (code == MPI_SUCCESS) code = MPI_Win_flush(t.unit, t.segment->window);
    }
    *before = seen;
    return code;
}

fanlight_code by_swap(const Target& t, const void* values, std::size_t count, void* before, fanlight_type type,
                      fanlight_operator op) {
    int code = MPI_SUCCESS;
    with_type(type, [&]<class T>(T value) {
        if constexpr (std::integral<T>) {
            for (std::size_t i = 0; i < count && code == MPI_SUCCESS; ++i) {
                T old;
                std::memcpy(&value, static_cast<const T*>(values) + i, sizeof value);
                code = by_swap(t, i, value, &old, mpi_type(type), op);
                if (before) std::memcpy(before, &old, sizeof old);
            }
        }
    });
    return mpi_code(code, "MPI_Compare_and_swap");
}
#endif

fanlight_code flushed(int code, const Target& t, const char* what) {
    if (code == MPI_SUCCESS) code = MPI_Win_flush(t.unit, t.segment->window);
    return mpi_code(code, what);
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_accumulate(fanlight_pointer to, const void* values, size_t count, fanlight_type type,
                                  fanlight_operator op) {
    Target t;
    if (const fanlight_code error = check(to, count, type, op, t)) return error;
    if (count == 0 || op == FANLIGHT_NO_OP) return FANLIGHT_OK;  // MPI_Accumulate takes no MPI_NO_OP
    if (!values) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_accumulate: no values");
    if (t.segment->direct) {
        progress_now_and_then();
        const ElementLock lock(t, type);
        with_type(type, [&]<class T>(T) {
            T* const elements = reinterpret_cast<T*>(t.address());
            for (size_t i = 0; i < count; ++i) {
                T value;
                std::memcpy(&value, static_cast<const T*>(values) + i, sizeof value);
                update(elements[i], value, op);
            }
        });
        return FANLIGHT_OK;
    }
    const Fenced fenced;
#if defined(OPEN_MPI)
    if (must_swap(op)) return by_swap(t, values, count, nullptr, type, op);
#endif
    return mpi_code(in_pieces(count,
                              [&](std::size_t first, int n) {
                                  const std::size_t at = first * types[type].bytes;
                                  return MPI_Accumulate(static_cast<const char*>(values) + at, n, mpi_type(type), t.unit,
                                                        static_cast<MPI_Aint>(t.offset + at), n, mpi_type(type), mpi_op(op),
                                                        t.segment->window);
                              }),
                    "MPI_Accumulate");
}

fanlight_code fanlight_fetch_and_op(fanlight_pointer to, const void* value, void* before, fanlight_type type,
                                    fanlight_operator op) {
    Target t;
    if (const fanlight_code error = check(to, 1, type, op, t)) return error;
    if (!before || (!value && op != FANLIGHT_NO_OP))
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_fetch_and_op: no value, or a null pointer for the result");
    if (t.segment->direct) {
        progress_now_and_then();
        const ElementLock lock(t, type);
        with_type(type, [&]<class T>(T operand) {
            if (value) std::memcpy(&operand, value, sizeof operand);
            const T old = update(*reinterpret_cast<T*>(t.address()), operand, op);
            std::memcpy(before, &old, sizeof old);
        });
        return FANLIGHT_OK;
    }
    const Fenced fenced;
#if defined(OPEN_MPI)
    if (must_swap(op)) return by_swap(t, value, 1, before, type, op);
#endif
    MPI_Win win = t.segment->window;
    return flushed(MPI_Fetch_and_op(value, before, mpi_type(type), t.unit, static_cast<MPI_Aint>(t.offset),
                                    mpi_op(op), win),
                   t, "MPI_Fetch_and_op");
}

fanlight_code fanlight_compare_and_swap(fanlight_pointer to, const void* value, const void* compare, void* before,
                                        fanlight_type type) {
    Target t;
    if (const fanlight_code error = check(to, 1, type, FANLIGHT_REPLACE, t)) return error;
    if (!types[type].integer) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_compare_and_swap is for integers");
    if (!value || !compare || !before)
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_compare_and_swap: no values, or a null pointer for the result");
    if (t.segment->direct) {
        progress_now_and_then();
        with_type(type, [&]<class T>(T wanted) {
            if constexpr (std::integral<T>) {
                T old;
                std::memcpy(&wanted, value, sizeof wanted);
                std::memcpy(&old, compare, sizeof old);
                std::atomic_ref(*reinterpret_cast<T*>(t.address())).compare_exchange_strong(old, wanted);
                std::memcpy(before, &old, sizeof old);
            }
        });
        return FANLIGHT_OK;
    }
    const Fenced fenced;
    MPI_Win win = t.segment->window;
    return flushed(MPI_Compare_and_swap(value, compare, before, mpi_type(type), t.unit,
                                        static_cast<MPI_Aint>(t.offset), win),
                   t, "MPI_Compare_and_swap");
}
