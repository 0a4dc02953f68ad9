#include "execute/remote.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "execute/copy.h"

namespace fanlight {

RemoteGroup::RemoteGroup(Transport kind, std::unique_ptr<RemoteTransport> transport, int ranks_on_node, Waiter::Hooks hooks, int cores)
    : kind_(kind), transport_(std::move(transport)), waiter_(ranks_on_node, std::move(hooks), cores) {}

Exchange RemoteGroup::piece(const Algorithm& algorithm, const Problem& problem, std::span<const int> members) const {
    const Need need = kind_ == Transport::message     ? Need::numbers
                      : kind_ == Transport::rma_fence ? Need::fences
                                                      : Need::windows;
    return exchange(algorithm, problem, members, need);
}

// The same on all ranks, members or not.
std::size_t RemoteGroup::piece_bytes_for(const Algorithm& algorithm, const Problem& problem) const {
    const std::size_t length = length_of(problem);
    const RemoteRoom room = transport_->room();
    if (room.bytes == 0 || length == 0) return length;
    const std::size_t unit = std::max<std::size_t>(problem.element, 1);
    for (std::size_t bytes = length;; bytes = (bytes / 2 + unit - 1) / unit * unit) {
        Problem p = piece_of(problem, bytes, 0);
        p.rank = -1;
        const Exchange needs = exchange(algorithm, p, {}, Need::windows);
        if (needs.area_bytes <= room.bytes && needs.flags <= room.flags) return bytes;
        if (bytes <= unit || needs.flags > room.flags) break;
    }
    throw std::invalid_argument(std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name) +
                                " needs more than the windows' " + std::to_string(room.bytes) + " bytes and " +
                                std::to_string(room.flags) + " flags");
}

RemotePlan RemoteGroup::plan(const Algorithm& algorithm, const Problem& problem, std::span<const int> members) const {
    if (const std::string why = restriction(algorithm, problem); !why.empty()) throw std::invalid_argument(why);
    RemotePlan plan;
    plan.algorithm = &algorithm;
    plan.name.append(to_string(problem.operation)).append(" (").append(algorithm.name).append(", ")
        .append(to_string(kind_)).append(")");
    plan.piece_bytes = piece_bytes_for(algorithm, problem);
    if (length_of(problem) <= plan.piece_bytes) {
        plan.parts.push_back({piece(algorithm, problem, members), 1});
        return plan;
    }
    for (const Pieces& alike : pieces_of(problem, plan.piece_bytes))
        plan.parts.push_back({piece(algorithm, piece_of(problem, plan.piece_bytes, alike.first), members), alike.number});
    return plan;
}

void RemoteGroup::run(const RemotePlan& plan, const void* input, void* output, const Combiner* combiner,
                      const Meanwhile& meanwhile) {
    const auto* from = static_cast<const std::byte*>(input);
    auto* to = static_cast<std::byte*>(output);
    // A fence waits for all ranks: one that waits for others meanwhile would keep them from it.
    const bool at_the_end = meanwhile && kind_ == Transport::rma_fence;
    for (const RemotePlan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i) {
            const bool last = &part == &plan.parts.back() && i + 1 == part.repeat;
            run_once(part.exchange, from, to, combiner, plan.name.c_str(), last && meanwhile && !at_the_end ? &meanwhile : nullptr);
            // A rank that has no part in it may have no buffers.
            if (from) from += plan.piece_bytes;
            if (to) to += plan.piece_bytes;
        }
    if (at_the_end) meanwhile();
}

void RemoteGroup::run_once(const Exchange& x, const std::byte* input, std::byte* output, const Combiner* combiner,
                           const char* name, const Meanwhile* meanwhile) {
    if (scratch_.size() < x.scratch_bytes) scratch_.resize(x.scratch_bytes);
    if (incoming_.size() < x.incoming_bytes) incoming_.resize(x.incoming_bytes);
    std::byte* const base[] = {const_cast<std::byte*>(input), output, scratch_.data()};
    const auto at = [&](Address a) { return base[static_cast<int>(a.buffer)] + a.offset; };
    const auto combine = [&](const std::byte* from, std::byte* to, const Transfer& t) {
        if (t.bytes == 0) return;
        if (t.order == Order::before) combiner->apply(from, to, to, t.bytes, combiner->context);
        else combiner->apply(to, from, to, t.bytes, combiner->context);
    };

    transport_->begin();
    std::uint32_t begin = 0;
    for (const Exchange::Round& round : x.rounds) {
        const std::span steps(x.steps.data() + begin, round.end - begin);
        begin = round.end;
        int peer = -1;
        for (const Transfer& t : steps) switch (t.kind) {
                case Transfer::Kind::receive:
                    peer = t.message.peer;
                    transport_->receive(t.message, t.order == Order::overwrite ? at(t.to) : incoming_.data() + t.incoming);
                    break;
                case Transfer::Kind::send:
                    if (peer < 0) peer = t.message.peer;
                    transport_->send(t.message, at(t.from));
                    break;
                case Transfer::Kind::copy:
                    if (at(t.from) != at(t.to) && t.bytes > 0) copy_bytes(at(t.to), at(t.from), t.bytes);
                    break;
                case Transfer::Kind::combine:
                    combine(at(t.from), at(t.to), t);
                    break;
            }
        if (meanwhile && &round == &x.rounds.back()) (*meanwhile)();
        waiter_(peer, name, [&] { return transport_->round_over(round.epoch); });
        for (const Transfer& t : steps)
            if (t.kind == Transfer::Kind::receive && t.order != Order::overwrite)
                combine(incoming_.data() + t.incoming, at(t.to), t);
    }
    if (meanwhile && x.rounds.empty()) (*meanwhile)();
    waiter_(-1, name, [&] { return transport_->operation_over(x.epochs); });
}

}  // namespace fanlight
