// What Fanlight must know of a datatype: how many bytes a packed element has, and whether it is contiguous.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/mpi_header.h"
#include "execute/operators.h"

namespace fanlight {

// The classes by which MPI says which operators are defined (MPI-4.1, 6.9.2).
enum class DatatypeClass : unsigned char {
    c_integer, fortran_integer, floating, logical, complex, byte, multi_language, pair,
    other,    // a named one without operators: MPI_CHAR, MPI_PACKED ...
    derived,  // made by the program
};

struct Datatype {
    MPI_Datatype handle{};
    std::size_t size = 0;         // bytes of an element, packed
    std::ptrdiff_t extent = 0;    // from one element to the next in memory
    std::ptrdiff_t true_lb = 0;   // where an element's memory begins, and its length
    std::size_t true_extent = 0;
    bool contiguous = false;          // packed and in memory are the same bytes
    // Where the packed bytes of an element come from, one run after the other; empty: that is for the
    // MPI library to say.
    struct Run {
        std::ptrdiff_t at;        // from the element's place
        std::size_t bytes;
    };
    std::vector<Run> runs;
    DatatypeClass kind = DatatypeClass::other;
    Number number = Number::none; // what one of its elements (or a part of a complex one) is

    bool named() const { return kind != DatatypeClass::derived; }
};

// Null for what the MPI library would not accept in a call: a null handle, a datatype that was
// not committed.  Never raises an error of MPI's.
const Datatype* datatype(MPI_Datatype);

// `count` elements between their places in memory and packed bytes.
void pack(const Datatype&, const void* memory, std::size_t count, std::byte* packed);
void unpack(const Datatype&, const std::byte* packed, void* memory, std::size_t count);
// Whether more than 2 GiB can be packed: only with MPI-4's large counts.
bool packs_large();

}  // namespace fanlight
