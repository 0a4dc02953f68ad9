// The types and operators of global memory: as C++'s, as MPI's, and their result for two values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "collective/mpi_header.h"
#include "global/error.h"

namespace fanlight::global {

struct TypeInfo {
    std::size_t bytes;
    bool integer;
};
inline constexpr TypeInfo types[] = {{1, true}, {1, true}, {2, true}, {2, true}, {4, true}, {4, true},
                              {8, true}, {8, true}, {4, false}, {8, false}, {sizeof(long double), false}};

inline MPI_Datatype mpi_type(fanlight_type type) {
    switch (type) {
        case FANLIGHT_INT8: return MPI_INT8_T;
        case FANLIGHT_UINT8: return MPI_UINT8_T;
        case FANLIGHT_INT16: return MPI_INT16_T;
        case FANLIGHT_UINT16: return MPI_UINT16_T;
        case FANLIGHT_INT32: return MPI_INT32_T;
        case FANLIGHT_UINT32: return MPI_UINT32_T;
        case FANLIGHT_INT64: return MPI_INT64_T;
        case FANLIGHT_UINT64: return MPI_UINT64_T;
        case FANLIGHT_FLOAT: return MPI_FLOAT;
        case FANLIGHT_DOUBLE: return MPI_DOUBLE;
        case FANLIGHT_LONG_DOUBLE: return MPI_LONG_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

inline MPI_Op mpi_op(fanlight_operator op) {
    switch (op) {
        case FANLIGHT_MIN: return MPI_MIN;
        case FANLIGHT_MAX: return MPI_MAX;
        case FANLIGHT_SUM: return MPI_SUM;
        case FANLIGHT_PROD: return MPI_PROD;
        case FANLIGHT_BAND: return MPI_BAND;
        case FANLIGHT_LAND: return MPI_LAND;
        case FANLIGHT_BOR: return MPI_BOR;
        case FANLIGHT_LOR: return MPI_LOR;
        case FANLIGHT_BXOR: return MPI_BXOR;
        case FANLIGHT_LXOR: return MPI_LXOR;
        case FANLIGHT_REPLACE: return MPI_REPLACE;
        case FANLIGHT_NO_OP: return MPI_NO_OP;
    }
    return MPI_OP_NULL;
}

template <class T>
T combined(T a, T b, fanlight_operator op) {
    // Integers wrap around, as MPI's and the processor's do.
    using Wide = std::conditional_t<std::integral<T>, std::uint64_t, T>;
    switch (op) {
        case FANLIGHT_MIN: return b < a ? b : a;
        case FANLIGHT_MAX: return a < b ? b : a;
        case FANLIGHT_SUM: return static_cast<T>(Wide(a) + Wide(b));
        case FANLIGHT_PROD: return static_cast<T>(Wide(a) * Wide(b));
        case FANLIGHT_REPLACE: return b;
        default: break;
    }
    if constexpr (std::integral<T>) {
        switch (op) {
            case FANLIGHT_BAND: return static_cast<T>(a & b);
            case FANLIGHT_BOR: return static_cast<T>(a | b);
            case FANLIGHT_BXOR: return static_cast<T>(a ^ b);
            case FANLIGHT_LAND: return a && b;
            case FANLIGHT_LOR: return a || b;
            case FANLIGHT_LXOR: return !a != !b;
            default: break;
        }
    }
    return a;
}

// act(T{}) for the C++ type of `type`.
template <class Act>
void with_type(fanlight_type type, Act&& act) {
    switch (type) {
        case FANLIGHT_INT8: return act(std::int8_t{});
        case FANLIGHT_UINT8: return act(std::uint8_t{});
        case FANLIGHT_INT16: return act(std::int16_t{});
        case FANLIGHT_UINT16: return act(std::uint16_t{});
        case FANLIGHT_INT32: return act(std::int32_t{});
        case FANLIGHT_UINT32: return act(std::uint32_t{});
        case FANLIGHT_INT64: return act(std::int64_t{});
        case FANLIGHT_UINT64: return act(std::uint64_t{});
        case FANLIGHT_FLOAT: return act(float{});
        case FANLIGHT_DOUBLE: return act(double{});
        case FANLIGHT_LONG_DOUBLE: return act(static_cast<long double>(0));
    }
}

// Whether there are such, and the operator is one for the type.
inline fanlight_code check_arithmetic(fanlight_type type, fanlight_operator op) {
    if (type < FANLIGHT_INT8 || type > FANLIGHT_LONG_DOUBLE)
        return fail(FANLIGHT_ERR_ARGUMENT, "%d is no type", static_cast<int>(type));
    if (op < FANLIGHT_MIN || op > FANLIGHT_NO_OP)
        return fail(FANLIGHT_ERR_ARGUMENT, "%d is no operator", static_cast<int>(op));
    if (!types[type].integer && op >= FANLIGHT_BAND && op <= FANLIGHT_LXOR)
        return fail(FANLIGHT_ERR_ARGUMENT, "a logical or bitwise operator, and no integers");
    return FANLIGHT_OK;
}

}  // namespace fanlight::global
