#include "collective/guard.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>
#include <vector>

#include "collective/hooks.h"
#include "collective/report.h"
#include "collective/communicator_context.h"

namespace fanlight::guard {

namespace {

std::size_t first_of(int width) { return width <= 0 ? 0 : std::size_t{1} << (width - 1); }
std::size_t last_of(int width) { return width < 0 ? ~std::size_t{0} : width == 0 ? 0 : first_of(width) * 2 - 1; }

std::string times(double ratio) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

}  // namespace

Class::Class(const Situation& s, std::string_view algorithm_)
    : operation(s.operation),
      width(lengths_are_unknown(s.operation) ? -1 : static_cast<int>(std::bit_width(s.bytes))),
      algorithm(algorithm_),
      commutative(s.commutative) {}

Calls::Turn Calls::next(bool same_bits) {
    const Comparison& c = comparisons_[same_bits];
    if (c.verdict() != Comparison::Verdict::open)
        return {c.verdict() == Comparison::Verdict::theirs && same_bits && guard_.switches, false};
    same_bits_ = same_bits;
    began_ = report::now_ns();
    ended_ = 0;
    return {c.is_theirs(), true};
}

void Calls::beside_begins() { began_ = report::now_ns(); }
void Calls::beside_ends() { ended_ = report::now_ns(); }

void Calls::over() {
    if (ended_ == 0) ended_ = report::now_ns();
    Comparison& c = comparisons_[same_bits_];
    // The clocks of two nodes have nothing in common: there it is the longest that a rank has been in the call.
    if (!guard_.context.on_one_node()) ended_ -= std::exchange(began_, 0);
    if (!c.over(began_, ended_)) return;
    std::vector<std::int64_t> last(c.times().size());
    guard_.context.combine(Arithmetic::max, c.times().data(), last.data(), last.size());
    if (c.judge(last) != Comparison::Verdict::open) tell(same_bits_);
}

std::string Calls::found() const {
    std::string text;
    for (const bool same_bits : {true, false}) {
        const Comparison& c = comparisons_[same_bits];
        if (c.verdict() == Comparison::Verdict::open) continue;
        const bool theirs = c.verdict() == Comparison::Verdict::theirs;
        const char* const serves = !theirs || (same_bits && guard_.switches) ? "serves"
                                   : same_bits                               ? "is faster, FANLIGHT_GUARD=record"
                                                                             : "is faster, but gives other bits";
        text.append(text.empty() ? "" : "; ").append("guard: ").append(theirs ? "the MPI library's own " : "ours ").append(serves);
        text.append(" (our time / its time: ").append(times(c.ratio())).append(")");
    }
    return text;
}

void Calls::tell(bool same_bits) const {
    const Comparison& c = comparisons_[same_bits];
    const bool theirs = c.verdict() == Comparison::Verdict::theirs;
    const CommunicatorContext& s = guard_.context;
    if (s.rank != 0) return;
    report::found({.operation = to_string(class_.operation), .algorithm = class_.algorithm, .bytes_from = first_of(class_.width),
                   .bytes_to = last_of(class_.width), .ranks = s.size, .nodes = s.topology().level(0).count(),
                   .oversubscribed = guard_.oversubscribed, .is_theirs = theirs,
                   .applied = theirs && same_bits && guard_.switches},
                  c.ratio());
    verbose([&] {
        return std::string(to_string(class_.operation)) + (class_.width < 0 ? "" : " of " + std::to_string(first_of(class_.width)) + " to " + std::to_string(last_of(class_.width)) + " bytes") +
               ", " + std::string(class_.algorithm) + ": " + found();
    }, s.rank);
}

Calls* Guard::calls(const Class& c) { return &calls_.try_emplace(c, *this, c).first->second; }

std::string Guard::found(const Class& c) const {
    const auto it = calls_.find(c);
    return it == calls_.end() ? "" : it->second.found();
}

}  // namespace fanlight::guard
