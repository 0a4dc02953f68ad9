#include "schedule/expression.h"

#include <algorithm>

namespace fanlight::symbolic {

Terms::Terms(int ranks, int calls) : ranks_(ranks), inputs_(static_cast<Term>(ranks * calls)) {}

std::size_t Terms::Hash::operator()(const Node& n) const {
    std::uint64_t h = (std::uint64_t{n.left} << 32) | n.right;
    h ^= static_cast<std::uint64_t>(n.shift) * 0x9e3779b97f4a7c15u;
    h ^= h >> 31;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ (h >> 29);
}

Term Terms::combined(Term left, Term right, std::int64_t shift) {
    // The number of leaves is bounded, so that a term that doubles itself does not overflow.
    constexpr std::uint64_t many = std::uint64_t{1} << 40;
    const Node n{left, right, shift, std::min(many, leaves(left) + leaves(right)),
                 shift == 0 && aligned(left) && aligned(right)};
    const auto [found, is_new] =
        known_.try_emplace(n, inputs_ + static_cast<Term>(nodes_.size()));
    if (is_new) nodes_.push_back(n);
    return found->second;
}

std::string Terms::name(Term leaf) const {
    const auto rank = static_cast<int>(leaf) % ranks_;
    const auto call = static_cast<int>(leaf) / ranks_;
    std::string text = std::to_string(rank);
    if (call > 0) text += " of call " + std::to_string(call);
    return text;
}

std::string Terms::mismatch(Term t, int first, int last, int call, bool in_order) {
    const auto known = checked_.find(t);
    if (known != checked_.end() && known->second.first == first && known->second.last == last &&
        known->second.call == call)
        return {};
    std::string wrong = find_mismatch(t, first, last, call, in_order);
    if (wrong.empty()) checked_[t] = {first, last, call};
    return wrong;
}

std::string Terms::find_mismatch(Term t, int first, int last, int call, bool in_order) const {
    if (!aligned(t)) return "it combines bytes of different positions";
    const auto wanted = static_cast<std::uint64_t>(last - first);
    if (leaves(t) > 4 * wanted + 4)
        return "it holds " + std::to_string(leaves(t)) + " contributions where " +
               std::to_string(wanted) + " are wanted";
    std::vector<int> times(static_cast<std::size_t>(ranks_), 0);
    std::vector<Term> stack{t};
    int next = first;
    bool ordered = true;
    while (!stack.empty()) {
        const Term top = stack.back();
        stack.pop_back();
        if (!is_input(top)) {
            stack.push_back(node(top).right);
            stack.push_back(node(top).left);
            continue;
        }
        if (static_cast<int>(top) / ranks_ != call) return "it holds data of an earlier call";
        const int rank = static_cast<int>(top) % ranks_;
        ++times[static_cast<std::size_t>(rank)];
        ordered = ordered && rank == next++;
    }
    for (int r = 0; r < ranks_; ++r) {
        const int n = times[static_cast<std::size_t>(r)];
        const bool wanted_here = r >= first && r < last;
        const std::string who = "the contribution of rank " + std::to_string(r);
        if (wanted_here && n == 0) return who + " is missing";
        if (wanted_here && n > 1) return who + " is there " + std::to_string(n) + " times";
        if (!wanted_here && n > 0) return who + " does not belong there";
    }
    if (in_order && !ordered)
        return "the contributions are not in the order of the ranks, and the operator does not commute";
    return {};
}

std::string Terms::text(Term t, std::size_t longest) const {
    // Written with a stack of what is still to come: terms, or characters between them.
    struct Item {
        Term term;
        std::string literal;
    };
    std::string result;
    std::vector<Item> stack{{t, {}}};
    while (!stack.empty()) {
        const Item item = stack.back();
        stack.pop_back();
        if (result.size() > longest) return result + "...";
        if (item.term == no_term) {
            result += item.literal;
        } else if (is_input(item.term)) {
            result += name(item.term);
        } else {
            const Node& n = node(item.term);
            stack.push_back({no_term, ")"});
            stack.push_back({n.right, {}});
            stack.push_back({no_term, "+"});
            stack.push_back({n.left, {}});
            result += "(";
        }
    }
    return result;
}

}  // namespace fanlight::symbolic
