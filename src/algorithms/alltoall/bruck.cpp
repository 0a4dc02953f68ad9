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

#include "algorithms/circulant.h"

namespace fanlight::alltoall_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const std::size_t bytes = problem.bytes;
    const int degree = degree_of(problem);
    // Where the block is that has come i ranks up from its source, or that has still to go i
    // ranks: it is always one block for each i.
    std::vector<Address> at;
    for (int i = 0; i < size; ++i) at.push_back(input(problem.block((rank + i) % size).offset));
    for (const int power : powers(problem)) {
        struct Message {
            int distance;
            std::vector<int> going;
            Address out, in;
        };
        std::vector<Message> messages;
        for (const int distance : multiples(problem, power)) {
            Message& m = messages.emplace_back(Message{distance, {}, {}, {}});
            for (int i = distance; i < size; ++i)
                if (i / power % degree == distance / power) m.going.push_back(i);
            m.out = b.reserve(m.going.size() * bytes);
            m.in = b.reserve(m.going.size() * bytes);
            for (std::size_t k = 0; k < m.going.size(); ++k) b.copy(at[static_cast<std::size_t>(m.going[k])], m.out + k * bytes, bytes);
        }
        b.next_round();
        for (const Message& m : messages) {
            b.put((rank + m.distance) % size, m.out, m.in, m.going.size() * bytes);
            b.arrive((rank - m.distance + size) % size, m.in, m.going.size() * bytes);
            for (std::size_t k = 0; k < m.going.size(); ++k) at[static_cast<std::size_t>(m.going[k])] = m.in + k * bytes;
        }
        b.next_round();
    }
    for (int i = 0; i < size; ++i)
        b.copy(at[static_cast<std::size_t>(i)],
               output(problem.block((rank - i + size) % size).offset), bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms
