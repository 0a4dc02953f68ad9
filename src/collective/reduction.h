// An operator on a datatype, ready for the executor.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/datatype.h"
#include "collective/mpi_header.h"
#include "execute/group.h"

namespace fanlight {

// What a combiner that calls MPI_Reduce_local needs; lives as long as the call.
struct LocalReduction {
    const Datatype* datatype = nullptr;
    MPI_Op op{};
    bool packed = true;  // the executor's bytes are packed, memory is not: unpack, reduce, pack
    mutable std::vector<std::byte> left, right;
};

struct Reduction {
    const Datatype* datatype = nullptr;
    std::size_t element = 0;     // bytes of an element as the executor sees it
    bool in_memory_order = true; // ... which is as it lies in memory (else packed)
    bool commutative = true;
    bool exact = false;          // in whatever order it is applied, the result has the same bits
    bool exact_of_two = false;   // ... of two operands, but for which of two NaNs it is
    bool named = true;           // operator and datatype are MPI's own: may be remembered by handle
    ApplyFunction apply = nullptr;  // null: through `local`
    LocalReduction local;

    // Not longer-lived than this object.
    Combiner combiner() const;
};

// False where the operator is not defined for the datatype, or one of them is not valid: what
// the MPI library has to say an error about.  The answer is the same on all ranks that call a
// reduction as MPI demands, with the same operator and datatype.
bool find_reduction(MPI_Op, MPI_Datatype, Reduction&);

}  // namespace fanlight
