#include "algorithms/circulant.h"

#include <algorithm>
#include <cstdint>

#include "algorithms/blocks.h"

namespace fanlight {
namespace {

bool is_vector(const Problem& p) { return family_of(p.operation) == Family::vector; }

// Neighboring blocks, or parts, in as few steps as there can be.
std::vector<BlockRun> runs_of(const Problem& p, int first, int count) {
    first %= p.size;
    if (count == 0) return {};
    if (!is_vector(p)) return runs(p, first, count);
    const int before = std::min(count, p.size - first);
    const Block up = parts(p, first, before), around = parts(p, 0, count - before);
    std::vector<BlockRun> result{{up.offset, 0, up.bytes}};
    if (around.bytes > 0) result.push_back({around.offset, up.bytes, around.bytes});
    return result;
}

std::size_t bytes_of(const Problem& p, int first, int count) {
    std::size_t bytes = 0;
    for (const BlockRun& run : runs_of(p, first, count)) bytes += run.bytes;
    return bytes;
}

// One step's exchange at distance j s: with whom, and how many blocks.
struct Meeting {
    int distance, count, up, down;
};

std::vector<Meeting> meetings(const Problem& p, int from, int to) {
    std::vector<Meeting> result;
    for (int d = to; d < from; d += to) result.push_back({d, std::min(to, from - d), (p.rank + d) % p.size, (p.rank - d + p.size) % p.size});
    return result;
}

}  // namespace

int degree_of(const Problem& p) { return std::max(p.parameters.degree, 2); }

std::vector<int> skips(int size, int degree) {
    std::vector<int> result{size};
    while (result.back() > 1) result.push_back((result.back() - 1) / degree + 1);
    return result;
}

std::vector<int> powers(const Problem& p) {
    std::vector<int> result;
    const std::int64_t degree = degree_of(p);
    for (std::int64_t d = 1; d < p.size; d *= degree) result.push_back(static_cast<int>(d));
    return result;
}

std::vector<int> multiples(const Problem& p, int d) {
    std::vector<int> result;
    for (std::int64_t i = 1; i < degree_of(p) && i * d < p.size; ++i) result.push_back(static_cast<int>(i * d));
    return result;
}

void reduce_circulant(Builder& b, const Problem& problem, Address result) {
    const int rank = problem.rank;
    const auto own = [&](int first, int count, const auto& each) {
        for (const BlockRun& run : runs_of(problem, rank + first, count)) each(input(run.offset), run.packed, run.bytes);
    };
    const std::vector<int> skip = skips(problem.size, degree_of(problem));
    if (skip.size() == 1) {
        own(0, 1, [&](Address from, std::size_t, std::size_t bytes) { b.copy(from, result, bytes); });
        return;
    }
    // Of the blocks from the own one on; the same room on all ranks.
    std::size_t most = 0;
    for (int r = 0; r < problem.size; ++r) most = std::max(most, bytes_of(problem, r, skip[1]));
    const Address sums = b.reserve(most);
    for (std::size_t k = 1; k < skip.size(); ++k)
        for (const Meeting& m : meetings(problem, skip[k - 1], skip[k])) {
            const bool begins = k == 1 && m.distance == skip[1];
            const Order order = begins ? Order::overwrite : Order::after;
            if (k == 1) {
                own(m.distance, m.count, [&](Address from, std::size_t packed, std::size_t bytes) { b.put(m.up, from, sums + packed, bytes); });
                own(0, m.count, [&](Address, std::size_t packed, std::size_t bytes) { b.arrive(m.down, sums + packed, bytes, order); });
            } else {
                b.put(m.up, sums + bytes_of(problem, rank, m.distance), sums, bytes_of(problem, rank + m.distance, m.count));
                b.arrive(m.down, sums, bytes_of(problem, rank, m.count), order);
            }
            if (begins) {
                // What comes first takes in the own input, without a copy; where nothing comes that lies there already.
                const std::size_t before = bytes_of(problem, rank, m.count);
                own(m.count, skip[1] - m.count, [&](Address from, std::size_t packed, std::size_t bytes) { b.copy(from, sums + before + packed, bytes); });
                b.next_round();
                own(0, m.count, [&](Address from, std::size_t packed, std::size_t bytes) { b.combine(from, sums + packed, bytes, Order::before); });
            }
            b.next_round();
        }
    b.copy(sums, result, bytes_of(problem, rank, 1));
    b.next_round();
}

void allgather_circulant(Builder& b, const Problem& problem) {
    const std::vector<int> skip = skips(problem.size, degree_of(problem));
    for (std::size_t k = skip.size(); k-- > 1;) {
        for (const Meeting& m : meetings(problem, skip[k - 1], skip[k])) {
            for (const BlockRun& run : runs_of(problem, problem.rank, m.count)) b.put(m.down, output(run.offset), output(run.offset), run.bytes);
            for (const BlockRun& run : runs_of(problem, m.up, m.count)) b.arrive(m.up, output(run.offset), run.bytes);
        }
        b.next_round();
    }
}

namespace {

// Blocks are not shorter, nor more.
constexpr std::size_t usual_minimum = 8192;
constexpr std::size_t most_blocks = 64;

// The greatest skip of which a rank's way from the root, which takes the greatest that fits, is made last.
int last_skip(const std::vector<int>& skip, int relative) {
    for (int k = static_cast<int>(skip.size()) - 2; k >= 0; --k) {
        if (skip[static_cast<std::size_t>(k)] == relative) return k;
        if (skip[static_cast<std::size_t>(k)] < relative) relative -= skip[static_cast<std::size_t>(k)];
    }
    return static_cast<int>(skip.size()) - 1;
}

// For each skip the block of a phase that comes along it: the last skip of the way to the farthest rank from which
// this one still takes part, each skip the last of one way alone.
class Search {
public:
    Search(const std::vector<int>& skip, int relative)
        : skip_(skip), q_(static_cast<int>(skip.size()) - 1), target_(skip.back() + relative), own_(last_skip(skip, relative)), bound_(2 * target_) {
        for (int e = q_; e >= 0; --e)
            if (e != own_) left_.push_back(e);
        from(0, q_);
    }
    // Blocks of this phase are 0 ... q - 1, of the one before -q ... -1.
    std::vector<int> blocks() const {
        std::vector<int> result;
        for (const int e : found_) result.push_back(e == q_ ? own_ : e - q_);
        return result;
    }

private:
    int at(int k) const { return skip_[static_cast<std::size_t>(k)]; }
    void from(int reached, int most) {
        for (int e = most; e >= 0; --e) {
            if (std::ranges::find(left_, e) == left_.end()) continue;
            const auto k = [&] { return static_cast<int>(found_.size()); };
            if (k() == q_) return;
            const int next = reached + at(e);
            if (next > target_ - at(k()) || next >= bound_) continue;
            from(next, e - 1);
            if (k() == q_) return;
            if (next > target_ - at(k()) || next >= bound_ || reached > target_ - at(k() + 1)) continue;
            bound_ = next;
            found_.push_back(e);
            std::erase(left_, e);
        }
    }

    const std::vector<int>& skip_;
    const int q_, target_, own_;
    int bound_;
    std::vector<int> left_, found_;
};

}  // namespace

Flow::Flow(int size, int parts) : size_(size), parts_(parts), skips_(fanlight::skips(size, 2)) {
    std::ranges::reverse(skips_);  // as in the paper: from 1 to P
    const int q = static_cast<int>(skips_.size()) - 1;
    if (q == 0) return;
    rounds_ = parts - 1 + q;
    phase_ = (q - (parts - 1) % q) % q;  // so that the last phase ends with the last round
}

std::vector<int> Flow::received(int relative) const {
    std::vector<int> result(static_cast<std::size_t>(rounds_), -1);
    if (relative == 0) return result;
    const std::vector<int> of_phase = Search(skips_, relative).blocks();
    const int q = static_cast<int>(of_phase.size());
    for (int t = 0; t < rounds_; ++t) {
        const int k = (t + phase_) % q;
        const int block = std::min(of_phase[static_cast<std::size_t>(k)] - phase_ + (t + phase_) / q * q, parts_ - 1);
        if (block >= 0) result[static_cast<std::size_t>(t)] = block;
    }
    return result;
}

namespace {

std::size_t minimum_of(const Problem& p) { return p.parameters.minimum > 0 ? p.parameters.minimum : usual_minimum; }
int parts_of(std::size_t bytes, std::size_t minimum) { return static_cast<int>(std::clamp<std::size_t>(bytes / minimum, 1, most_blocks)); }

}  // namespace

FlowOfBlocks::FlowOfBlocks(const Problem& problem)
    : flow_(problem.size, parts_of(problem.bytes, minimum_of(problem))), dealt_(problem), size_(problem.size), rank_(problem.rank) {
    dealt_.size = flow_.parts();
    const int relative = problem.relative(rank_);
    received_ = flow_.received(relative);
    for (int t = 0; t < flow_.rounds() && t < flow_.skips(); ++t) sent_.push_back(flow_.received((relative + flow_.skip(t)) % size_));
}

FlowOfBlocks::Exchange FlowOfBlocks::round(int t) const {
    const int skip = flow_.skip(t);
    const auto& sent = sent_[static_cast<std::size_t>(t) % sent_.size()];
    return {(rank_ + skip) % size_, sent[static_cast<std::size_t>(t)], (rank_ - skip + size_) % size_, received_[static_cast<std::size_t>(t)]};
}

Block FlowOfBlocks::block(int i) const { return part(dealt_, i); }

namespace {

int parts_of_blocks(const Problem& p) {
    std::size_t longest = 0, all = 0;
    for (int r = 0; r < p.size; ++r) {
        longest = std::max(longest, p.block(r).bytes);
        all += p.block(r).bytes;
    }
    return parts_of(longest, std::max(all / static_cast<std::size_t>(p.size), minimum_of(p)));
}

}  // namespace

FlowsToAll::FlowsToAll(const Problem& problem) : flow_(problem.size, parts_of_blocks(problem)), problem_(problem) {
    for (int relative = 0; relative < problem.size; ++relative) received_.push_back(flow_.received(relative));
}

std::vector<Block> FlowsToAll::come_to(int rank, int t) const {
    std::vector<Block> result;
    for (int root = 0; root < problem_.size; ++root) {
        const int i = received_[static_cast<std::size_t>((rank - root + problem_.size) % problem_.size)][static_cast<std::size_t>(t)];
        if (i < 0) continue;
        const Block whole = problem_.block(root);
        const auto begin = [&](int k) { return whole.bytes * static_cast<std::size_t>(k) / static_cast<std::size_t>(flow_.parts()); };
        const Block part{whole.offset + begin(i), begin(i + 1) - begin(i)};
        if (part.bytes == 0) continue;
        if (!result.empty() && result.back().offset + result.back().bytes == part.offset) result.back().bytes += part.bytes;
        else result.push_back(part);
    }
    return result;
}

}  // namespace fanlight
