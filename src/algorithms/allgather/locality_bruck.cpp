// First, inside the outermost domains everybody reads everybody's block.  Then, in each step, the ranks of a domain that has
// the blocks of d domains each fetch as many: rank 0 from the d-th domain after its own, rank 1 from the 2 d-th, and so on;
// and everybody in the domain reads what each has fetched.  So with m ranks each step makes it m + 1 times as much.
//
//     9 domains of 2 ranks:  0 gets domain 1, 1 gets 2;  then 0 gets 3 to 5, 1 gets 6 to 8
//
// The blocks travel packed, those of the own domain first.
//
// Cost: ceil(log_(m+1) D) steps a between the D domains, where a ring or doubling of one rank has D - 1 or log2 D.  A block
// crosses to each domain once: n (P - m) b there for each domain; m a + n P b inside; n P c, c the time to copy a byte.
// Source: Bienz, Gautam, Kharel 2022 (locality-aware Bruck), where rank 0 fetches nothing.  Any number of ranks and domains
// of any sizes, m that of the smallest; blocks of any lengths (allgatherv uses it as it is).  With one domain it is the operation's bruck.
#include <algorithm>
#include <vector>

#include "algorithms/declarations.h"
#include "schedule/builder.h"

namespace fanlight::allgather_algorithms {

Schedule locality_bruck(const Problem& problem) {
    const Topology topology = problem.topology.simplified();
    if (topology.levels() == 0) return problem.operation == Operation::allgather ? bruck(problem) : allgatherv_algorithms::bruck(problem);
    const Domains& domains = topology.level(0);
    const int rank = problem.rank, count = domains.count(), domain = domains.of(rank), local = domains.local(rank);
    const int lanes = domains.sizes().first;
    const std::span<const int> members = domains.members(domain);

    // How much so many domains have from one on, around behind the last one.
    std::vector<std::size_t> starts{0};
    for (int d = 0; d < 2 * count; ++d) {
        starts.push_back(starts.back());
        for (const int r : domains.members(d % count)) starts.back() += problem.block(r).bytes;
    }
    const auto length = [&](int first, int some) {
        first %= count;
        return starts[static_cast<std::size_t>(first + some)] - starts[static_cast<std::size_t>(first)];
    };

    Builder b(problem);
    const Address packed = b.reserve(starts[static_cast<std::size_t>(count)]);
    std::vector<int> readers;
    for (const int r : members)
        if (r != rank) readers.push_back(r);
    if (!readers.empty()) b.offer(input(), problem.block(rank).bytes, readers);
    std::size_t at = 0;
    for (const int r : members) {
        const std::size_t bytes = problem.block(r).bytes;
        if (r == rank) b.copy(input(), packed + at, bytes);
        else b.get(r, 0, input(), packed + at, bytes);
        at += bytes;
    }
    b.next_round();

    // A rank that fetches in a step has done so in all before: its offers are those of the steps.
    int offer = 1;
    for (int held = 1; held < count; held *= lanes + 1, ++offer) {
        const auto distance = [&](int lane) { return (lane + 1) * held; };
        const auto fetched = [&](int lane) { return std::min(held, count - distance(lane)); };
        const auto place = [&](int of, int lane) { return packed + length(of, distance(lane)); };
        if (local < lanes && distance(local) < count) {
            const int from = (domain + distance(local)) % count, to = (domain - distance(local) + count) % count;
            const auto same = [&](int d) { return domains.members(d)[static_cast<std::size_t>(local)]; };
            b.put(same(to), packed, place(to, local), length(domain, fetched(local)));
            b.arrive(same(from), place(domain, local), length(from, fetched(local)));
            b.next_round();
            if (!readers.empty()) b.offer(place(domain, local), length(from, fetched(local)), readers);
        }
        for (int lane = 0; lane < lanes && distance(lane) < count; ++lane) {
            if (lane == local) continue;
            b.get(members[static_cast<std::size_t>(lane)], offer, place(domain, lane), place(domain, lane), length(domain + distance(lane), fetched(lane)));
        }
        b.next_round();
    }

    at = 0;
    for (int d = 0; d < count; ++d)
        for (const int r : domains.members((domain + d) % count)) {
            const Block block = problem.block(r);
            b.copy(r == rank ? input() : packed + at, output(block.offset), block.bytes);
            at += block.bytes;
        }
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms
