#include "execute/unknown_lengths.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "execute/staging.h"
#include "execute/steps.h"

namespace fanlight {

namespace {

constexpr std::size_t line = 64, word = sizeof(std::uint64_t);
std::size_t words_of_bits(int count) { return (static_cast<std::size_t>(count) + 63) / 64; }

bool writes(const Step& s) { return s.kind == StepKind::put || s.kind == StepKind::offer; }
bool moves(const Step& s) { return writes(s) || s.kind == StepKind::arrive || s.kind == StepKind::get; }

}  // namespace

UnknownLengths::UnknownLengths(Group& group, const Algorithm& algorithm, const Parameters& parameters)
    : group_(group),
      name_(std::string(to_string(algorithm.operation)) + " (" + std::string(algorithm.name) + ")"),
      lengths_(static_cast<std::size_t>(group.size())),
      blocks_(static_cast<std::size_t>(group.size())) {
    Problem blocks;
    blocks.operation = algorithm.operation;
    blocks.rank = group.rank();
    blocks.size = group.size();
    blocks.bytes = 1;
    blocks.parameters = parameters;
    if (const std::string why = restriction(algorithm, blocks); !why.empty()) throw std::invalid_argument(why);
    longest_ = longest_block(algorithm, blocks);
    Problem call;
    call.operation = algorithm.operation;
    called_ = called(call);
    add(algorithm.schedule(blocks), group.lanes_.depth());
    staging_.stages = true;
}

// So long that whatever a member writes in one operation finds room in its staging.  What is longer
// goes by an allgatherv: directly where that is worth it, else piece by piece.
std::size_t UnknownLengths::longest_block(const Algorithm& algorithm, Problem blocks) const {
    std::size_t most = 1, rest = 0;
    for (blocks.rank = 0; blocks.rank < blocks.size; ++blocks.rank) {
        std::size_t written = 0, other = 0;
        for (const Step& s : algorithm.schedule(blocks).steps) {
            if (!writes(s)) continue;
            written += s.bytes;
            other += line + (words_of_bits(static_cast<int>(s.bytes)) + s.bytes) * word;
        }
        most = std::max(most, written);
        rest = std::max(rest, other);
    }
    const std::size_t room = group_.lanes_.staging_bytes();
    if (rest + most > room)
        throw std::invalid_argument(name_ + " for " + std::to_string(blocks.size) + " ranks finds no room for staging");
    const std::size_t longest = (room - rest) / most, direct = group_.options_.single_copy_from;
    if (!group_.options_.single_copy || longest < direct) return longest;
    return std::max(direct, Cell::payload_bytes + 1) - 1;
}

void UnknownLengths::add(const Schedule& schedule, int depth) {
    const SharedLanes& lanes = group_.lanes_;
    const int rank = group_.rank();
    std::vector<int> put(lengths_.size()), arrived(lengths_.size());  // so far, to and from each member
    const auto next = [&](std::vector<int>& counted, int peer) {
        const int number = counted[static_cast<std::size_t>(peer)]++;
        // A cell would have to be used twice.
        if (number >= depth) throw std::logic_error(name_ + " has too many puts from one rank to another");
        return static_cast<std::uint32_t>(number);
    };
    const auto message = [&](const Step& s) {
        Message m{writes(s), s.kind == StepKind::put || s.kind == StepKind::arrive, s.peer, rank, static_cast<int>(s.bytes), 0, 0};
        if (!m.put) {
            const int owner = m.written ? rank : s.peer;
            m.first = owner;
            m.name = message_name(static_cast<std::uint32_t>(s.offer), called_);
            m.cell = lanes.offer_cell(owner, s.offer);
        } else {
            const std::uint32_t number = m.written ? next(put, s.peer) : next(arrived, s.peer);
            m.name = message_name(number, called_);
            m.cell = m.written ? lanes.put_cell(rank, s.peer, number) : lanes.put_cell(s.peer, rank, number);
        }
        const Address at = m.put && !m.written ? s.to : s.from;
        if (at.buffer == Buffer::output && m.put) m.first = static_cast<int>(at.offset);
        else if (at.buffer != Buffer::input || s.bytes != 1) throw std::logic_error(name_ + " moves something else than blocks");
        messages_.push_back(m);
    };
    for (std::size_t r = 0; r < schedule.rounds(); ++r) {
        // Within a round whatever lets others go on comes first.
        for (const Step& s : schedule.round(r))
            if (writes(s)) message(s);
        for (const Step& s : schedule.round(r))
            if (moves(s) && !writes(s)) message(s);
    }
}

// How many of a block's bytes travel with its length.
std::size_t UnknownLengths::carried(int r) const {
    const std::size_t bytes = lengths_[static_cast<std::size_t>(r)];
    return bytes <= longest_ ? bytes : 0;
}

// In front of several blocks: which of them are not empty, and the lengths of these.
std::size_t UnknownLengths::header_words(const Message& m) const {
    if (m.count == 1) return 0;
    const auto first = lengths_.begin() + m.first;
    const auto empty = static_cast<std::size_t>(std::count(first, first + m.count, std::size_t{0}));
    const std::size_t full = static_cast<std::size_t>(m.count) - empty;
    return full ? words_of_bits(m.count) + full : 0;
}

void UnknownLengths::write(const Message& m) {
    std::byte* const segment = group_.lanes_.base();
    auto& cell = *reinterpret_cast<Cell*>(group_.lanes_.lane(sequence_) + m.cell);
    const std::size_t header = header_words(m) * word;
    std::size_t bytes = header;
    for (int r = m.first; r < m.first + m.count; ++r) bytes += carried(r);
    cell.where = m.count == 1 ? lengths_[static_cast<std::size_t>(m.first)] : bytes;
    std::byte* to = cell.payload;
    Place place = Place::inlined;
    if (bytes > Cell::payload_bytes) {
        if (!may_stage_) {
            std::uint64_t same;
            group_.lane_is_free(staging_, sequence_, same, ToTheEnd{group_.waiter_, name_.c_str()});
            may_stage_ = true;
        }
        place = Place::staged;
        to = group_.lanes_.staging(sequence_, group_.rank_) + staged_;
        staged_ += whole_lines(bytes);
        const auto distance = static_cast<std::uint64_t>(to - segment);
        std::memcpy(cell.payload, &distance, sizeof distance);
    }
    if (header) {
        auto* const bits = reinterpret_cast<std::uint64_t*>(to);
        std::uint64_t* length = bits + words_of_bits(m.count);
        std::fill(bits, length, 0);
        for (int i = 0; i < m.count; ++i)
            if (const std::size_t n = lengths_[static_cast<std::size_t>(m.first + i)]) {
                bits[i / 64] |= std::uint64_t{1} << i % 64;
                *length++ = n;
            }
        to += header;
    }
    for (int r = m.first; r < m.first + m.count; ++r)
        if (const std::size_t n = carried(r)) {
            std::memcpy(to, blocks_[static_cast<std::size_t>(r)], n);
            to += n;
        }
    store(cell.flag, flag_of(sequence_, m.name, place));
}

void UnknownLengths::read(const Message& m) {
    const auto& cell = *reinterpret_cast<const Cell*>(group_.lanes_.lane(sequence_) + m.cell);
    std::uint64_t flag;
    group_.waiter_(m.peer, name_.c_str(), [&] { return flag_names(flag = load(cell.flag), sequence_, m.name); });
    group_.note_done(m.peer, sequence_);
    const std::byte* from = cell.payload;
    if (place_of(flag) == Place::staged) {
        std::uint64_t distance;
        std::memcpy(&distance, cell.payload, sizeof distance);
        from = group_.lanes_.base() + distance;
    }
    const auto first = static_cast<std::size_t>(m.first), count = static_cast<std::size_t>(m.count);
    if (count == 1) {
        lengths_[first] = cell.where;
    } else {
        std::fill_n(lengths_.begin() + m.first, count, 0);
        if (cell.where) {
            const auto* const bits = reinterpret_cast<const std::uint64_t*>(from);
            const std::uint64_t* length = bits + words_of_bits(m.count);
            for (std::size_t i = 0; i < count; ++i)
                if (bits[i / 64] >> i % 64 & 1) lengths_[first + i] = *length++;
            from = reinterpret_cast<const std::byte*>(length);
        }
    }
    for (int r = m.first; r < m.first + m.count; ++r) {
        blocks_[static_cast<std::size_t>(r)] = from;
        from += carried(r);
    }
}

void UnknownLengths::exchange(const void* block, std::size_t bytes) {
    if (!group_.out_of_step_.empty()) [[unlikely]] throw OutOfStep(group_.out_of_step_);
    if (group_.sequence_ == 0) group_.meet();
    group_.write_down(group_.doing_ = group_.sequence_, called_);
    group_.lane_is_free(inline_, group_.sequence_, sequence_, ToTheEnd{group_.waiter_, name_.c_str()});
    staged_ = 0;
    may_stage_ = false;
    const auto own = static_cast<std::size_t>(group_.rank_);
    lengths_[own] = bytes;
    blocks_[own] = static_cast<const std::byte*>(block);
    for (const Message& m : messages_) {
        if (m.written) write(m);
        else read(m);
    }
    total_ = std::accumulate(lengths_.begin(), lengths_.end(), std::size_t{0});
    complete_ = std::all_of(lengths_.begin(), lengths_.end(), [&](std::size_t n) { return n <= longest_; });
}

void UnknownLengths::take(void* output) {
    auto* to = static_cast<std::byte*>(output);
    if (to)
        for (std::size_t r = 0; r < lengths_.size(); to += lengths_[r], ++r)
            if (lengths_[r] && blocks_[r] != to) std::memcpy(to, blocks_[r], lengths_[r]);
    group_.sequence_ = sequence_ + 1;
    store(group_.lanes_.member(group_.rank_).done, group_.sequence_);
}

}  // namespace fanlight
