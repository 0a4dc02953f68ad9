// Round k: all blocks whose way to their target still has 2^k in it go to rank r + 2^k, packed.
//
// A block for rank r + i travels the powers of two of which i is the sum.  Blocks that came in one round wait where they
// arrived until they go on, or to the output.  With Parameters::degree k these are i's digits to base k: the blocks of
// digit d go to rank r + d k^i, all k - 1 messages of a round at a time.
//
// Cost: ceil(log2 P) a + n P / 2 log2 P (b + c), n the length of a block, c the time to copy a byte: few messages, but each
// block moves more than once.  Of degree k (k - 1) ceil(log_k P) a, and a block moves (k - 1) / k log_k P times.
// Source: Bruck et al. 1997 (radix r); Fan et al. 2024 (TuNA: the radix tuned); Thakur, Rabenseifner, Gropp 2005, 4.3.  Any
// number of ranks; short blocks.
#include <vector>

#include "algorithms/digits.h"

namespace fanlight::alltoall_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int size = problem.size;
    std::vector<Address> at;
    for (int i = 0; i < size; ++i) at.push_back(input(problem.block((problem.rank + i) % size).offset));
    move_by_digits(b, problem, at, [&](int, int) { return problem.bytes; }, [&](std::size_t bytes) { return b.reserve(bytes); },
                   [](Address in) { return in; });
    for (int i = 0; i < size; ++i)
        b.copy(at[static_cast<std::size_t>(i)], output(problem.block((problem.rank - i + size) % size).offset), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms
