// One selection rule, as read from a line of text.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "select/select.h"

namespace fanlight {

template <class Number>
struct Range {
    Number from = 0;
    Number to = std::numeric_limits<Number>::max();  // inclusive
    bool contains(Number n) const { return from <= n && n <= to; }
};

// What it chooses, and for what.
struct Rule : Choice {
    Operation operation{};
    Range<std::size_t> bytes;
    Range<int> ranks;
    Range<int> nodes;
    std::optional<bool> oversubscribed;
    std::optional<bool> single_copy;
    std::optional<bool> blocking;
    std::string mpi;                       // empty: any
    std::string text;                      // where it stands and what it says

    bool fits(const Situation&) const;
};

// The line without its comment.  `where` (file:line) goes before every message of the
// std::invalid_argument that is thrown.
Rule parse_rule(std::string_view line, const std::string& where);

// An operation's algorithm by name, null for `native`; std::invalid_argument lists the names
// that exist.
const Algorithm* algorithm_or_native(Operation, std::string_view name);

// "tree", "tree(degree=4,piece=8K)" or "native"; throws as the others do.
Choice parse_choice(Operation, std::string_view text);

}  // namespace fanlight
