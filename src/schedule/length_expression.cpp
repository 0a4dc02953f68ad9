#include "schedule/length_expression.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "schedule/schedule.h"

namespace fanlight {

namespace {

// No buffer is longer, and sums of a few stay far from the ends of what is counted with.
constexpr std::int64_t longest = std::int64_t{1} << 46;
constexpr int deepest = 16;

[[noreturn]] void wrong(std::string_view text, const std::string& why) {
    throw std::invalid_argument("'" + std::string(text) + "' is no length: " + why);
}

}  // namespace

class LengthExpressions::Parser {
public:
    Parser(LengthExpressions& into, std::string_view text, int depth) : into_(into), whole_(text), rest_(text), depth_(depth) {
        if (depth > deepest) wrong(text, "too deep");
    }

    std::vector<Term> sum() {
        std::vector<Term> terms;
        do {
            const bool minus = taken('-');
            if (!minus && !terms.empty() && !taken('+')) wrong(whole_, "expected + or -");
            terms.push_back(term());
            if (minus) terms.back().factor = -terms.back().factor;
        } while (!rest_.empty());
        return terms;
    }

private:
    bool taken(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::int64_t number() {
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
        if (error != std::errc() || n < 0 || n > longest) wrong(whole_, "expected a number that is not negative and not too large");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return n;
    }
    Term term() {
        Term t;
        const bool numbered = !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
        if (numbered) t.factor = number();
        if (taken('n')) t.atom = Atom::length;
        else if (taken('d')) t.atom = Atom::distance;
        else if (taken('c')) cut(t);
        else if (taken('l')) inner(t, Atom::lines);
        else if (taken('m')) inner(t, Atom::greatest);
        else if (!numbered) wrong(whole_, "expected a number, n, d, c, l or m");
        return t;
    }
    void cut(Term& t) {
        t.atom = Atom::cut;
        if (!taken('(')) wrong(whole_, "expected (");
        t.part = number();
        if (!taken('/')) wrong(whole_, "expected /");
        t.parts = number();
        if (!taken(')')) wrong(whole_, "expected )");
        if (t.parts < 1 || t.parts > (1 << 20) || t.part > t.parts) wrong(whole_, "there is no such part");
    }
    // Up to its own closing bracket.
    void inner(Term& t, Atom atom) {
        t.atom = atom;
        if (!taken('(')) wrong(whole_, "expected (");
        std::size_t begin = 0;
        for (std::size_t i = 0, open = 0; i < rest_.size(); ++i) {
            const char c = rest_[i];
            if (open == 0 && (c == ')' || (c == ',' && atom == Atom::greatest))) {
                t.of.push_back(into_.add(rest_.substr(begin, i - begin), depth_ + 1));
                begin = i + 1;
            }
            if (c == '(') ++open;
            if (c != ')') continue;
            if (open == 0) {
                rest_.remove_prefix(i + 1);
                return;
            }
            --open;
        }
        wrong(whole_, "expected )");
    }

    LengthExpressions& into_;
    const std::string_view whole_;
    std::string_view rest_;
    const int depth_;
};

std::size_t LengthExpressions::add(std::string_view text, int depth) {
    if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
    std::vector<Term> terms = Parser(*this, text, depth).sum();
    all_.push_back(std::move(terms));
    return numbers_[std::string(text)] = all_.size() - 1;
}

std::vector<std::size_t> LengthExpressions::values(const Problem& p) const {
    if (p.bytes > static_cast<std::size_t>(longest) || p.stride > static_cast<std::size_t>(longest))
        throw std::invalid_argument("too long for a saved plan");
    const auto bytes = static_cast<std::int64_t>(p.bytes), element = static_cast<std::int64_t>(std::max<std::size_t>(p.element, 1));
    const std::int64_t elements = bytes / element;
    std::vector<std::size_t> values;
    values.reserve(all_.size());
    const auto value = [&](const Term& t) -> std::int64_t {
        switch (t.atom) {
            case Atom::one: return 1;
            case Atom::length: return bytes;
            case Atom::distance: return p.stride ? static_cast<std::int64_t>(p.stride) : bytes;
            // The last part takes what is no whole element, as parts() in algorithms/blocks.h.
            case Atom::cut: return t.part == t.parts ? bytes : (elements / t.parts * t.part + elements % t.parts * t.part / t.parts) * element;
            case Atom::lines: return static_cast<std::int64_t>(whole_lines(values[t.of.front()]));
            case Atom::greatest: break;
        }
        std::size_t most = 0;
        for (const std::size_t i : t.of) most = std::max(most, values[i]);
        return static_cast<std::int64_t>(most);
    };
    for (const std::vector<Term>& terms : all_) {
        std::int64_t sum = 0;
        for (const Term& t : terms) {
            std::int64_t product = 0;
            if (__builtin_mul_overflow(t.factor, value(t), &product) || __builtin_add_overflow(sum, product, &sum) || sum > longest || sum < -longest)
                throw std::invalid_argument("a place or length of the plan is too large");
        }
        if (sum < 0) throw std::invalid_argument("a place or length of the plan is negative");
        values.push_back(static_cast<std::size_t>(sum));
    }
    return values;
}

}  // namespace fanlight
