// Round k: all blocks whose way to their target still has 2^k in it go to rank r + 2^k, packed.
//
// A block for rank r + i travels the powers of two of which i is the sum.  Blocks that came in
// one round wait where they arrived until they go on, or to the output.
//
// Cost: ceil(log2 P) a + n P / 2 log2 P (b + c), n the length of a block, c the time to copy a
// byte: few messages, but each block moves more than once.
// Source: Bruck et al. 1997; Thakur, Rabenseifner, Gropp 2005, 4.3.  Any number of ranks; short
// blocks.
#include <vector>

#include "schedule/builder.h"

namespace fanlight::alltoall_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const std::size_t bytes = problem.bytes;
    // Where the block is that has come i ranks up from its source, or that has still to go i
    // ranks: it is always one block for each i.
    std::vector<Address> at;
    for (int i = 0; i < size; ++i) at.push_back(input(problem.block((rank + i) % size).offset));
    for (int distance = 1; distance < size; distance *= 2) {
        std::vector<int> going;
        for (int i = 0; i < size; ++i)
            if ((i & distance) != 0) going.push_back(i);
        const std::size_t length = going.size() * bytes;
        const Address out = b.reserve(length);
        const Address in = b.reserve(length);
        for (std::size_t k = 0; k < going.size(); ++k)
            b.copy(at[static_cast<std::size_t>(going[k])], out + k * bytes, bytes);
        b.next_round();
        b.put((rank + distance) % size, out, in, length);
        b.arrive((rank - distance + size) % size, in, length);
        b.next_round();
        for (std::size_t k = 0; k < going.size(); ++k)
            at[static_cast<std::size_t>(going[k])] = in + k * bytes;
    }
    for (int i = 0; i < size; ++i)
        b.copy(at[static_cast<std::size_t>(i)],
               output(problem.block((rank - i + size) % size).offset), bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms
