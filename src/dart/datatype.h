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
    dart_datatype_t base = DART_TYPE_UNDEFINED;  // itself, where it is basic or custom
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
// Of an element of a basic type.
inline constexpr std::size_t basic_bytes[] = {
    0, 1, sizeof(short), sizeof(int), sizeof(unsigned), sizeof(long), sizeof(unsigned long), sizeof(long long),
    sizeof(unsigned long long), sizeof(float), sizeof(double), sizeof(long double)};
static_assert(std::size(basic_bytes) == DART_TYPE_LAST);
// Of a basic or custom type; MPI_DATATYPE_NULL of others.
MPI_Datatype mpi_datatype(dart_datatype_t);

// Of nelem elements; nothing where they are no whole number of blocks.
std::optional<global::Layout> layout_of(const Datatype&, std::size_t nelem);

}  // namespace fanlight::dart
