#include "select/rule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "algorithms/level_names.h"
#include "algorithms/plan_files.h"
#include "config/mpi_libraries.h"
#include "config/parse.h"

namespace fanlight {

namespace {

constexpr std::array<std::string_view, 7> conditions{"bytes", "ranks", "nodes", "oversubscribed", "single_copy", "blocking", "mpi"};
// Of how an algorithm runs, whichever it is; beside the parameters of its own.
constexpr std::array<std::string_view, 3> ways{"transport", "flat", "lanes"};
constexpr auto libraries = [] {
    std::array<std::string_view, mpi_libraries.size()> names{};
    std::ranges::transform(mpi_libraries, names.begin(), &MpiLibrary::name);
    return names;
}();

[[noreturn]] void wrong(const std::string& message) { throw std::invalid_argument(message); }

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

using Names = std::span<const std::string_view>;

std::string listed(Names words) {
    std::string list;
    for (const std::string_view w : words) list.append(list.empty() ? "" : ", ").append(w);
    return list;
}

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
    }
    return words;
}

struct Assignment {
    std::string_view name, value;
};

// `unknown` begins the complaint about a name that is not allowed.
Assignment assignment(std::string_view word, Names allowed, const std::string& unknown,
                      std::vector<std::string_view>& seen) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
        wrong(unknown + " " + quoted(name) + "; there are " + listed(allowed));
    if (equals == std::string_view::npos || equals + 1 == word.size())
        wrong(quoted(name) + " needs a value: " + std::string(name) + "=...");
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
        wrong(quoted(name) + " is given twice");
    seen.push_back(name);
    return {name, word.substr(equals + 1)};
}

std::size_t bytes_or_throw(const Assignment& a, std::string_view text) {
    const auto n = parse_bytes(text);
    if (!n)
        wrong(std::string(a.name) + "=" + std::string(a.value) +
              ": expected numbers such as 64, 4K or 1M, or a range: 1K..64K, ..2K, 1M..");
    return *n;
}

Range<std::size_t> range(const Assignment& a) {
    Range<std::size_t> r;
    const std::size_t dots = a.value.find("..");
    if (dots == std::string_view::npos) {
        r.from = r.to = bytes_or_throw(a, a.value);
        return r;
    }
    const std::string_view from = a.value.substr(0, dots), to = a.value.substr(dots + 2);
    if (from.empty() && to.empty()) bytes_or_throw(a, "");
    if (!from.empty()) r.from = bytes_or_throw(a, from);
    if (!to.empty()) r.to = bytes_or_throw(a, to);
    if (r.from > r.to)
        wrong(std::string(a.name) + "=" + std::string(a.value) + ": the range is empty");
    return r;
}

template <class Number>
Number whole(const Assignment& a, std::size_t n) {
    if (n > static_cast<std::size_t>(std::numeric_limits<Number>::max()))
        wrong(std::string(a.name) + "=" + std::string(a.value) + ": too large");
    return static_cast<Number>(n);
}

bool yes_or_no(const Assignment& a) {
    if (a.value != "yes" && a.value != "no")
        wrong(std::string(a.name) + "=" + std::string(a.value) + ": expected yes or no");
    return a.value == "yes";
}

void set_condition(Rule& rule, const Assignment& a) {
    if (a.name == "bytes") {
        rule.bytes = range(a);
    } else if (a.name == "ranks" || a.name == "nodes") {
        const Range<std::size_t> r = range(a);
        Range<int>& numbers = a.name == "ranks" ? rule.ranks : rule.nodes;
        numbers.from = whole<int>(a, r.from);
        if (r.to != Range<std::size_t>{}.to) numbers.to = whole<int>(a, r.to);
    } else if (a.name == "oversubscribed") {
        rule.oversubscribed = yes_or_no(a);
    } else if (a.name == "single_copy") {
        rule.single_copy = yes_or_no(a);
    } else if (a.name == "blocking") {
        rule.blocking = yes_or_no(a);
    } else {
        if (std::find(libraries.begin(), libraries.end(), a.value) == libraries.end())
            wrong("unknown MPI library " + quoted(a.value) + "; there are " + listed(libraries));
        rule.mpi = a.value;
    }
}

void set_parameter(Choice& choice, const Assignment& a) {
    if (a.name == "transport") {
        choice.transport = transport_from(a.value);
        return;
    }
    if (a.name == "flat") {
        choice.flat = yes_or_no(a);
        choice.by_levels = !choice.flat;
        return;
    }
    if (a.name == "lanes") {
        choice.lanes = yes_or_no(a);
        return;
    }
    const std::size_t n = bytes_or_throw(a, a.value);
#define PARAMETER(field, type, description) \
    if (a.name == #field) choice.parameters.field = whole<type>(a, n);
#include "schedule/parameters.def"
#undef PARAMETER
}

Choice choice_of(const Algorithm* algorithm, std::span<const std::string_view> words) {
    if (!algorithm && !words.empty()) wrong("native has no parameters");
    Choice choice;
    choice.algorithm = algorithm;
    choice.parameters.plan = algorithm ? algorithm->plan : 0;
    if (words.empty()) return choice;
    std::vector<std::string_view> allowed(algorithm->parameters.begin(), algorithm->parameters.end()), seen;
    allowed.insert(allowed.end(), ways.begin(), ways.end());
    const std::string unknown = std::string(to_string(algorithm->operation)) + ":" +
                                std::string(algorithm->name) + " has no parameter";
    std::vector<std::string_view> names;
    const bool lanes = algorithm->name == "multi-lane", takes_names = lanes || algorithm->name == "by-levels";
    for (const std::string_view w : words) {
        if (takes_names && w.find('=') == std::string_view::npos) names.push_back(w);
        else set_parameter(choice, assignment(w, allowed, unknown, seen));
    }
    if (lanes && names.size() > 1) wrong("multi-lane takes the name of one algorithm, which runs between the outermost domains");
    choice.parameters.levels = level_names(algorithm->operation, names);
    if (choice.lanes && choice.flat) wrong("lanes=yes and flat=yes exclude each other");
    return choice;
}

Rule parse(const std::vector<std::string_view>& words) {
    Rule rule;
    rule.operation = operation_from(words.front());
    const auto arrow = std::find(words.begin(), words.end(), "->");
    if (arrow == words.end() || arrow + 1 == words.end())
        wrong("no algorithm; a rule is: operation conditions -> algorithm parameters");
    std::vector<std::string_view> seen;
    for (auto w = words.begin() + 1; w != arrow; ++w)
        set_condition(rule, assignment(*w, conditions, "unknown condition", seen));
    static_cast<Choice&>(rule) = parse_choice(rule.operation, {arrow[1].data(), static_cast<std::size_t>(words.back().data() + words.back().size() - arrow[1].data())});
    return rule;
}

}  // namespace

const Algorithm* algorithm_or_native(Operation operation, std::string_view name) {
    if (name == "native") return nullptr;
    if (const Algorithm* found = find_algorithm(operation, name)) return found;
    std::string message = "unknown algorithm " + quoted(name) + " for " +
                          std::string(to_string(operation)) + "; there are ";
    for (const Algorithm& a : algorithms())
        if (a.operation == operation) message.append(a.name).append(", ");
    wrong(message + "native");
}

Choice parse_choice(Operation operation, std::string_view text) {
    const std::size_t open = text.find('('), close = text.rfind(')');
    const auto name = words_of(text.substr(0, open));
    std::vector<std::string_view> words(name.begin() + !name.empty(), name.end());
    if (open != std::string_view::npos) {
        if (close == std::string_view::npos || close < open) wrong(quoted(text) + ": expected ')'");
        std::string_view inside = text.substr(open + 1, close - open - 1);
        while (!inside.empty()) {
            const std::size_t comma = inside.find(',');
            for (const std::string_view word : words_of(inside.substr(0, comma))) words.push_back(word);
            inside.remove_prefix(comma == std::string_view::npos ? inside.size() : comma + 1);
        }
        // In a rule's line parameters may stand behind it.
        for (const std::string_view word : words_of(text.substr(close + 1))) words.push_back(word);
    }
    if (!name.empty() && name.front() == "file") {
        if (words.empty() || words.front().find('=') != std::string_view::npos) wrong("file needs the name of a plan: file(mine.plan)");
        const Algorithm& read = algorithm_of_file(operation, words.front());
        return choice_of(&read, std::span(words).subspan(1));
    }
    return choice_of(algorithm_or_native(operation, name.empty() ? "" : name.front()), words);
}

bool Rule::fits(const Situation& s) const {
    return s.operation == operation && bytes.contains(s.bytes) && ranks.contains(s.ranks) &&
           nodes.contains(s.nodes) &&
           oversubscribed.value_or(s.oversubscribed) == s.oversubscribed &&
           single_copy.value_or(s.single_copy) == s.single_copy && blocking.value_or(s.blocking) == s.blocking &&
           (mpi.empty() || mpi == s.mpi);
}

Rule parse_rule(std::string_view line, const std::string& where) {
    const std::vector<std::string_view> words = words_of(line);
    try {
        Rule rule = parse(words);
        rule.text = where + ":";
        for (const std::string_view w : words) rule.text.append(" ").append(w);
        return rule;
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(where + ": " + e.what());
    }
}

}  // namespace fanlight
