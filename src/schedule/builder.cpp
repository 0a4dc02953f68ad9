#include "schedule/builder.h"

#include <utility>

#include "schedule/per_thread.h"

namespace fanlight {

namespace {
Schedule& spare() { return per_thread<Schedule, Builder>(); }
}  // namespace

Builder::Builder(const Problem& problem) : problem_(problem), schedule_(std::exchange(spare(), {})) {}

void Builder::recycle(Schedule&& schedule) {
    schedule.steps.clear();
    schedule.round_ends.clear();
    schedule.readers.clear();
    schedule.scratch_bytes = 0;
    schedule.offers = 0;
    schedule.bounds = {};
    schedule.kind_of.clear();
    schedule.kinds.clear();
    spare() = std::move(schedule);
}

Step& Builder::add(StepKind kind) {
    Step& step = schedule_.steps.emplace_back();
    step.kind = kind;
    return step;
}

void Builder::put(int peer, Address from, Address to, std::size_t bytes) {
    Step& step = add(StepKind::put);
    step.peer = peer;
    step.from = from;
    step.to = to;
    step.bytes = bytes;
}

void Builder::arrive(int peer, Address to, std::size_t bytes, Order order) {
    Step& step = add(StepKind::arrive);
    step.peer = peer;
    step.to = to;
    step.bytes = bytes;
    step.order = order;
}

void Builder::set_bit(int peer) {
    put(peer, input(), output(), 0);
    schedule_.steps.back().bit = true;
}

void Builder::await_bit(int peer) {
    arrive(peer, output(), 0);
    schedule_.steps.back().bit = true;
}

int Builder::offer(Address from, std::size_t bytes, std::span<const int> readers) {
    Step& step = add(StepKind::offer);
    step.offer = schedule_.offers++;
    step.from = from;
    step.bytes = bytes;
    step.first_reader = static_cast<std::uint32_t>(schedule_.readers.size());
    step.readers = static_cast<std::uint32_t>(readers.size());
    schedule_.readers.insert(schedule_.readers.end(), readers.begin(), readers.end());
    return step.offer;
}

int Builder::offer_to(int reader, Address from, std::size_t bytes) {
    return offer(from, bytes, {&reader, 1});
}

int Builder::offer_to_all_others(Address from, std::size_t bytes) {
    const int number = offer(from, bytes, {});
    Step& step = schedule_.steps.back();
    for (int r = 0; r < problem_.size; ++r)
        if (r != problem_.rank) schedule_.readers.push_back(r);
    step.readers = static_cast<std::uint32_t>(schedule_.readers.size()) - step.first_reader;
    return number;
}

void Builder::get(int peer, int offer, Address from, Address to, std::size_t bytes, Order order) {
    Step& step = add(StepKind::get);
    step.peer = peer;
    step.offer = offer;
    step.from = from;
    step.to = to;
    step.bytes = bytes;
    step.order = order;
}

void Builder::copy(Address from, Address to, std::size_t bytes) {
    Step& step = add(StepKind::copy);
    step.from = from;
    step.to = to;
    step.bytes = bytes;
}

void Builder::combine(Address from, Address to, std::size_t bytes, Order order) {
    Step& step = add(StepKind::combine);
    step.from = from;
    step.to = to;
    step.bytes = bytes;
    step.order = order;
}

void Builder::next_round() { schedule_.end_round(); }

Address Builder::reserve(std::size_t bytes) {
    const std::size_t offset = whole_lines(schedule_.scratch_bytes);
    schedule_.scratch_bytes = offset + bytes;
    return scratch(offset);
}

Schedule Builder::finish() {
    next_round();
    return std::move(schedule_);
}

}  // namespace fanlight
