// In lanes through the outermost level of the topology.  A rank gives each neighbor in its domain, in one message, the
// blocks of all domains for that neighbor's lane.  Then one message goes along the lane to each other domain, with the
// blocks of all ranks of this one.  Blocks of Parameters::minimum bytes or more (by default of more than 4 KiB) go straight,
// as do all inside a domain.
//
// Cost: n - 1 messages of a rank for d domains of n ranks, and d - 1 between domains instead of (d - 1) n; a short block
// moves twice and is packed twice.  Before that each rank sends its neighbors their blocks' lengths, 8 bytes per domain.
// Source: Träff, Hunold 2020 (multi-lane).  Domains of one size; otherwise all blocks go straight.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "algorithms/levels.h"
#include "algorithms/declarations.h"
#include "algorithms/peers.h"
#include "schedule/domain_lanes.h"

namespace fanlight::alltoallv_algorithms {

namespace {

class LaneExchange {
public:
    explicit LaneExchange(const Problem& problem)
        : problem_(problem), lanes_(problem), b_(problem), minimum_(straight_from(problem)) {
        for (int i = 1; i < lanes_.lanes(); ++i) other_lanes_.push_back((lanes_.own_lane() + i) % lanes_.lanes());
        for (int i = 1; i < lanes_.domains(); ++i) other_domains_.push_back((lanes_.own_domain() + i) % lanes_.domains());
    }

    Schedule finish() {
        const Messages given = pack_for_neighbors();
        const Messages taken = exchange_with_neighbors(given);
        const Messages sent = pack_for_domains(taken);
        unpack(exchange_along_lane(sent));
        return b_.finish();
    }

private:
    // Packed blocks one behind the other.
    struct Message {
        Address at;
        std::size_t bytes = 0;
    };
    using Messages = std::vector<Message>;

    // Of a block between two domains: 0 where it goes straight.
    std::size_t in_lane(const Block& b) const { return b.bytes < minimum_ ? b.bytes : 0; }
    bool goes_straight(int peer, const Block& b) const {
        return b.bytes > 0 && (lanes_.domain(peer) == lanes_.own_domain() || in_lane(b) == 0);
    }
    int neighbor(int lane) const { return lanes_.rank(lanes_.own_domain(), lane); }
    template <class Blocks>
    Message room_for(Blocks&& blocks, const std::vector<int>& of) {
        std::size_t bytes = 0;
        for (const int i : of) bytes += in_lane(blocks(i));
        return {b_.reserve(bytes), bytes};
    }
    std::vector<int> all_lanes() const {
        std::vector<int> all(static_cast<std::size_t>(lanes_.lanes()));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    Messages pack_for_neighbors() {
        Messages given;
        for (const int lane : other_lanes_) {
            const auto block = [&](int domain) -> const Block& { return problem_.sends[static_cast<std::size_t>(lanes_.rank(domain, lane))]; };
            Address to = given.emplace_back(room_for(block, other_domains_)).at;
            for (const int domain : other_domains_) {
                const std::size_t bytes = in_lane(block(domain));
                if (bytes) b_.copy(input(block(domain).offset), to, bytes);
                to = to + bytes;
            }
        }
        b_.next_round();
        return given;
    }

    // And what goes straight, to whomever.
    Messages exchange_with_neighbors(const Messages& given) {
        for (std::size_t i = 0; i < given.size(); ++i)
            if (given[i].bytes) b_.put(neighbor(other_lanes_[i]), given[i].at, unknown(), given[i].bytes);
        const std::vector<int> peers = others(problem_);
        for (const int peer : peers)
            if (const Block block = problem_.send(peer); goes_straight(peer, block)) b_.put(peer, input(block.offset), unknown(), block.bytes);
        const Block own = problem_.send(problem_.rank);
        b_.copy(input(own.offset), output(problem_.block(problem_.rank).offset), own.bytes);
        Messages taken;
        for (const int lane : other_lanes_) {
            const Message& m = taken.emplace_back(room_for([&](int domain) { return passed_on(problem_, lanes_, domain, lane); }, other_domains_));
            if (m.bytes) b_.arrive(neighbor(lane), m.at, m.bytes);
        }
        for (const int peer : peers)
            if (const Block block = problem_.block(peer); goes_straight(peer, block)) b_.arrive(peer, output(block.offset), block.bytes);
        b_.next_round();
        return taken;
    }

    // The blocks of all ranks of this domain, in the order of their lanes.
    Messages pack_for_domains(Messages taken) {
        Messages sent;
        for (const int domain : other_domains_) {
            const auto block = [&](int lane) { return passed_on(problem_, lanes_, domain, lane); };
            Address to = sent.emplace_back(room_for(block, all_lanes())).at;
            for (const int lane : all_lanes()) {
                const std::size_t bytes = in_lane(block(lane));
                Address from = input(block(lane).offset);
                if (lane != lanes_.own_lane()) {
                    Address& next = taken[static_cast<std::size_t>(std::ranges::find(other_lanes_, lane) - other_lanes_.begin())].at;
                    from = std::exchange(next, next + bytes);
                }
                if (bytes) b_.copy(from, to, bytes);
                to = to + bytes;
            }
        }
        b_.next_round();
        return sent;
    }

    Messages exchange_along_lane(const Messages& sent) {
        for (std::size_t i = 0; i < sent.size(); ++i)
            if (sent[i].bytes) b_.put(lanes_.rank(other_domains_[i], lanes_.own_lane()), sent[i].at, unknown(), sent[i].bytes);
        Messages received;
        for (const int domain : other_domains_) {
            const Message& m = received.emplace_back(room_for([&](int lane) { return problem_.block(lanes_.rank(domain, lane)); }, all_lanes()));
            if (m.bytes) b_.arrive(lanes_.rank(domain, lanes_.own_lane()), m.at, m.bytes);
        }
        b_.next_round();
        return received;
    }

    void unpack(const Messages& received) {
        for (std::size_t i = 0; i < received.size(); ++i) {
            Address from = received[i].at;
            for (const int lane : all_lanes()) {
                const Block block = problem_.block(lanes_.rank(other_domains_[i], lane));
                const std::size_t bytes = in_lane(block);
                if (bytes) b_.copy(from, output(block.offset), bytes);
                from = from + bytes;
            }
        }
    }

    const Problem& problem_;
    const DomainLanes lanes_;
    Builder b_;
    const std::size_t minimum_;
    std::vector<int> other_lanes_, other_domains_;  // from this rank's own on
};

}  // namespace

Schedule by_levels(const Problem& problem) {
    if (!DomainLanes(problem).exist()) return all_write_all(problem);
    return LaneExchange(problem).finish();
}

}  // namespace fanlight::alltoallv_algorithms
