// Places and lengths of a saved plan, in terms of the problem's length:
//
//     n          the length of the vector, or of a block
//     d          from the start of a block to that of the next
//     c(3/8)     the end of the third of eight parts of the vector, in whole elements
//     l(x)       x in whole cache lines
//     m(x,y)     the greater
//     2n+64      sums, with whole numbers before each
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/problem.h"

namespace fanlight {

// Many expressions, each once.
class LengthExpressions {
public:
    // Its number.  Throws std::invalid_argument.
    std::size_t add(std::string_view text) { return add(text, 0); }
    // The values of all.  Throws std::invalid_argument where one is negative or too large.
    std::vector<std::size_t> values(const Problem&) const;

private:
    enum class Atom : std::uint8_t { one, length, distance, cut, lines, greatest };
    struct Term {
        std::int64_t factor = 1;
        Atom atom = Atom::one;
        std::int64_t part = 0, parts = 1;  // cut
        std::vector<std::size_t> of = {};  // lines, greatest: expressions, with lower numbers
    };
    class Parser;
    std::size_t add(std::string_view text, int depth);

    std::vector<std::vector<Term>> all_;
    std::map<std::string, std::size_t, std::less<>> numbers_;
};

}  // namespace fanlight
