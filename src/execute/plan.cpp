#include "execute/plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace fanlight {

namespace {

constexpr std::size_t line = 64;
std::size_t lines(std::size_t bytes) { return (bytes + line - 1) / line * line; }

Place place_of_put(std::size_t bytes) {
    return bytes <= Cell::payload_bytes ? Place::inlined : Place::staged;
}

Place place_of_offer(std::size_t bytes, const BindOptions& options) {
    if (bytes <= Cell::payload_bytes) return Place::inlined;
    if (options.single_copy && bytes >= options.single_copy_from) return Place::direct;
    return Place::staged;
}

// Hands out the sender's staging: as many slots for each channel as it has cells, each as
// long as the longest message that uses it.  Only the sender needs to know: a reader finds
// the place in the cell.
class Staging {
public:
    Staging(const Schedule& schedule, const SharedLanes& lanes, const BindOptions& options)
        : depth_(static_cast<std::size_t>(lanes.depth())) {
        for (const Step& s : schedule.steps) {
            if (s.kind == StepKind::put && place_of_put(s.bytes) == Place::staged) {
                Slot& slot = slot_of(s.peer);
                slot.bytes = std::max(slot.bytes, s.bytes);
            } else if (s.kind == StepKind::put) {
                slot_of(s.peer);
            }
        }
        for (Slot& slot : slots_) slot.at = take(slot.bytes);
        for (const Step& s : schedule.steps)
            if (s.kind == StepKind::offer)
                offers_[static_cast<std::size_t>(s.offer)] =
                    place_of_offer(s.bytes, options) == Place::staged ? take(s.bytes) : 0;
        counts_.clear();
    }
    // The place of the next put to this peer, in the order of the schedule.
    std::size_t next_put(int peer) { return slot_of(peer).at; }
    std::size_t offer(int k) const { return offers_[static_cast<std::size_t>(k)]; }
    std::size_t total() const { return total_; }
    std::size_t longest() const { return longest_; }

private:
    struct Slot {
        int peer;
        std::size_t number, bytes, at;
    };
    struct Count {
        int peer;
        std::size_t puts;
    };
    Slot& slot_of(int peer) {
        auto count = std::find_if(counts_.begin(), counts_.end(), [&](const Count& c) { return c.peer == peer; });
        if (count == counts_.end()) count = counts_.insert(counts_.end(), {peer, 0});
        const std::size_t number = count->puts++ % depth_;
        for (Slot& slot : slots_)
            if (slot.peer == peer && slot.number == number) return slot;
        return slots_.emplace_back(Slot{peer, number, 0, 0});
    }
    std::size_t take(std::size_t bytes) {
        const std::size_t at = total_;
        total_ += lines(bytes);
        longest_ = std::max(longest_, bytes);
        return at;
    }
    std::size_t depth_;
    std::vector<Slot> slots_;
    std::vector<Count> counts_;
    std::size_t offers_[SharedLanes::offers_per_operation] = {};
    std::size_t total_ = 0, longest_ = 0;
};

// How many puts or arrives of each peer were seen so far.
class Counter {
public:
    std::size_t& operator[](int peer) {
        for (auto& [p, n] : counts_)
            if (p == peer) return n;
        return counts_.emplace_back(peer, 0).second;
    }

private:
    std::vector<std::pair<int, std::size_t>> counts_;
};

// get overwrites X, the next step combines Y into that same X: one pass instead of two.
bool fusible(const Step& get, const Step& next) {
    return get.kind == StepKind::get && get.order == Order::overwrite && get.bytes > 0 &&
           next.kind == StepKind::combine && next.to == get.to && next.bytes == get.bytes;
}

}  // namespace

Staged staged_by(const Schedule& schedule, const SharedLanes& lanes, const BindOptions& options) {
    const Staging staging(schedule, lanes, options);
    return {staging.total(), staging.longest()};
}

BoundSchedule bind(const Schedule& schedule, int rank, std::size_t element,
                   const SharedLanes& lanes, const BindOptions& options) {
    if (schedule.offers > SharedLanes::offers_per_operation)
        throw std::logic_error("a schedule with " + std::to_string(schedule.offers) +
                               " offers; the shared transport has cells for " +
                               std::to_string(SharedLanes::offers_per_operation));
    Staging staging(schedule, lanes, options);
    if (staging.total() > lanes.staging_bytes())
        throw std::logic_error("a schedule that stages " + std::to_string(staging.total()) +
                               " bytes at once; there is room for " +
                               std::to_string(lanes.staging_bytes()));
    const auto depth = static_cast<std::size_t>(lanes.depth());
    Counter puts, arrives, arrives_total;
    for (const Step& s : schedule.steps)
        if (s.kind == StepKind::arrive) ++arrives_total[s.peer];

    BoundSchedule bound;
    bound.readers = schedule.readers;
    bound.element = element;
    bound.scratch_bytes = schedule.scratch_bytes;
    bound.steps.reserve(schedule.steps.size());

    // Within a round whatever lets others go on comes first.
    std::vector<Step> steps;
    for (std::size_t r = 0; r < schedule.rounds(); ++r) {
        const auto round = schedule.round(r);
        const std::size_t begin = steps.size();
        steps.insert(steps.end(), round.begin(), round.end());
        std::stable_partition(steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.end(),
                              [](const Step& s) { return s.kind == StepKind::put || s.kind == StepKind::offer; });
    }

    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& s = steps[i];
        BoundStep b{};
        b.kind = s.kind;
        b.order = s.order;
        b.from_buffer = s.from.buffer;
        b.to_buffer = s.to.buffer;
        b.fused = Order::overwrite;
        b.peer = s.peer;
        b.from = s.from.offset;
        b.to = s.to.offset;
        b.bytes = s.bytes;
        switch (s.kind) {
            case StepKind::put: {
                const std::size_t j = puts[s.peer]++;
                b.message = static_cast<std::uint32_t>(j);
                b.cell = lanes.put_cell(rank, s.peer, j);
                b.place = place_of_put(s.bytes);
                b.staging = lanes.staging(rank) + staging.next_put(s.peer);
                b.acknowledged = j >= depth;  // must wait for the cell
                b.ack = lanes.ack(s.peer, rank);
                break;
            }
            case StepKind::arrive: {
                const std::size_t j = arrives[s.peer]++;
                b.message = static_cast<std::uint32_t>(j);
                b.cell = lanes.put_cell(s.peer, rank, j);
                b.place = place_of_put(s.bytes);
                b.acknowledged = arrives_total[s.peer] > depth;
                b.ack = lanes.ack(rank, s.peer);
                break;
            }
            case StepKind::offer:
                b.message = static_cast<std::uint32_t>(s.offer);
                b.cell = lanes.offer_cell(rank, s.offer);
                b.place = place_of_offer(s.bytes, options);
                b.staging = lanes.staging(rank) + staging.offer(s.offer);
                b.first_reader = s.first_reader;
                b.readers = s.readers;
                bound.has_direct_offers |= b.place == Place::direct;
                break;
            case StepKind::get:
                b.message = static_cast<std::uint32_t>(s.offer);
                b.cell = lanes.offer_cell(s.peer, s.offer);
                if (i + 1 < steps.size() && fusible(s, steps[i + 1])) {
                    b.fused = steps[i + 1].order;
                    b.operand_buffer = steps[i + 1].from.buffer;
                    b.operand = steps[i + 1].from.offset;
                    ++i;
                }
                break;
            case StepKind::copy:
            case StepKind::combine:
                break;
        }
        bound.steps.push_back(b);
    }
    return bound;
}

std::size_t length_of(const Problem& p) {
    std::size_t longest = p.bytes;
    for (const Block& b : p.blocks) longest = std::max(longest, b.bytes);
    return longest;
}

std::size_t total_bytes(const Problem& p) {
    switch (family_of(p.operation)) {
        case Family::signal: return 0;
        case Family::vector: return p.bytes;
        case Family::blocks: return p.bytes * static_cast<std::size_t>(p.size);
        case Family::blocks_v: break;
    }
    std::size_t total = 0;
    for (const Block& b : p.blocks) total += b.bytes;
    return total;
}

Problem piece_of(const Problem& p, std::size_t piece_bytes, std::size_t index) {
    Problem piece = p;
    const std::size_t begin = index * piece_bytes;
    const auto cut = [&](std::size_t bytes) {
        return bytes <= begin ? 0 : std::min(piece_bytes, bytes - begin);
    };
    piece.bytes = cut(p.bytes);
    if (family_of(p.operation) == Family::blocks && p.stride == 0) piece.stride = p.bytes;
    for (Block& b : piece.blocks) b.bytes = cut(b.bytes);
    return piece;
}

}  // namespace fanlight
