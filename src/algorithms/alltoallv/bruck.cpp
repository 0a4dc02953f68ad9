// alltoall/bruck.cpp with blocks of any lengths: each goes along the digits of its way, to base Parameters::degree or 2, packed
// with those that have the same digit.  Blocks of Parameters::minimum bytes or more (by default of more than 4 KiB) go
// straight, behind the others.
//
// Cost: (k - 1) ceil(log_k P) messages of a rank instead of P - 1; a short block moves (k - 1) / k log_k P times, and is packed
// each time.  Before that the lengths take the same way, 8 bytes each.
// Source: Fan et al. 2024 (TuNA).  Any number of ranks; short blocks, many nodes; a rank needs the lengths of what it passes on.
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/digits.h"
#include "algorithms/levels.h"
#include "algorithms/peers.h"

namespace fanlight::alltoallv_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank, size = problem.size;
    const std::size_t minimum = straight_from(problem);
    const auto if_short = [&](std::size_t bytes) { return bytes < minimum ? bytes : 0; };
    std::vector<Address> at;
    for (int i = 0; i < size; ++i) at.push_back(input(problem.send((rank + i) % size).offset));
    move_by_digits(b, problem, at, [&](int from, int to) { return if_short(length_between(problem, from, to)); },
                   [&](std::size_t bytes) { return b.reserve(bytes); }, [](Address) { return unknown(); });
    for (int i = 0; i < size; ++i) {
        const Block block = problem.block((rank - i + size) % size);
        const std::size_t bytes = i == 0 ? block.bytes : if_short(block.bytes);
        if (bytes) b.copy(at[static_cast<std::size_t>(i)], output(block.offset), bytes);
    }
    for (const int peer : others(problem))
        if (const Block block = problem.send(peer); block.bytes >= minimum) b.put(peer, input(block.offset), unknown(), block.bytes);
    for (const int peer : others(problem))
        if (const Block block = problem.block(peer); block.bytes >= minimum) b.arrive(peer, output(block.offset), block.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoallv_algorithms
