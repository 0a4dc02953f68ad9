// The arithmetic of reductions on packed elements, without MPI: one function for each operator and kind of number, with
// the widest vector instructions of this processor.
//
// The meaning is MPI's: integers wrap around, logical results are 0 or 1, MINLOC and MAXLOC keep the lower index of
// equal values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fanlight {

enum class Arithmetic : std::uint8_t {
    sum, product, min, max, logical_and, logical_or, logical_xor, bit_and, bit_or, bit_xor,
    min_location, max_location,
};

enum class Number : std::uint8_t {
    int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64,
    // A value and an int behind it, as C lays out such a struct.
    int16_index, int32_index, int64_index, float32_index, float64_index, long_double_index,
    none,
};

std::size_t size_of(Number);

// Combiner::apply (run.h): into = left (+) right.  Null where there is no such function: what
// is no operator for that kind of number (no bitwise operator for floats).
using ApplyFunction = void (*)(const void* left, const void* right, void* into,
                               std::size_t bytes, const void* context);

// The sets of vector instructions, each with those before it.
enum class Instructions : std::uint8_t { plain, avx2, avx512 };
Instructions instructions();  // this processor's
ApplyFunction arithmetic(Arithmetic, Number, Instructions = instructions());

}  // namespace fanlight
