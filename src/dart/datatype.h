// DART's datatypes.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "collective/mpi_header.h"
#include "dart/status.h"
#include "global/layout.h"

namespace fanlight::dart {

struct Datatype {
    enum class Kind { basic, strided, indexed, custom } kind = Kind::basic;
    dart_datatype_t base = DART_TYPE_UNDEFINED;  // basic or custom; of such a type itself
    std::size_t bytes = 0;                       // of an element of the base type
    std::size_t elements = 1;                    // in one repetition
    std::size_t stride = 0;                      // bytes between blocks
    std::vector<std::size_t> lengths, offsets;   // bytes
    std::size_t extent = 0;
    fanlight_type number = FANLIGHT_UINT8;       // of a basic type
    bool contiguous = true;                      // of any number of its blocks
};

// Null where there is no such type.
const Datatype* datatype(dart_datatype_t);
inline bool is_basic(dart_datatype_t type) { return type > DART_TYPE_UNDEFINED && type < DART_TYPE_LAST; }
// The basic types in the order of their numbers: DART's, C's, MPI's.
#define FANLIGHT_BASIC_TYPES(TYPE)                                        \
    TYPE(DART_TYPE_BYTE, signed char, MPI_SIGNED_CHAR)                    \
    TYPE(DART_TYPE_SHORT, short, MPI_SHORT)                               \
    TYPE(DART_TYPE_INT, int, MPI_INT)                                     \
    TYPE(DART_TYPE_UINT, unsigned, MPI_UNSIGNED)                          \
    TYPE(DART_TYPE_LONG, long, MPI_LONG)                                  \
    TYPE(DART_TYPE_ULONG, unsigned long, MPI_UNSIGNED_LONG)               \
    TYPE(DART_TYPE_LONGLONG, long long, MPI_LONG_LONG)                    \
    TYPE(DART_TYPE_ULONGLONG, unsigned long long, MPI_UNSIGNED_LONG_LONG) \
    TYPE(DART_TYPE_FLOAT, float, MPI_FLOAT)                               \
    TYPE(DART_TYPE_DOUBLE, double, MPI_DOUBLE)                            \
    TYPE(DART_TYPE_LONG_DOUBLE, long double, MPI_LONG_DOUBLE)
// Of an element of a basic type.
inline constexpr std::size_t basic_bytes[] = {
    0,
#define TYPE(name, c, mpi) sizeof(c),
    FANLIGHT_BASIC_TYPES(TYPE)
#undef TYPE
};
static_assert(std::size(basic_bytes) == DART_TYPE_LAST);
// Of a basic or custom type; MPI_DATATYPE_NULL of others.
MPI_Datatype mpi_datatype(dart_datatype_t);

// Of nelem elements; nothing where they are no whole number of blocks.
std::optional<global::Layout> layout_of(const Datatype&, std::size_t nelem);

}  // namespace fanlight::dart
