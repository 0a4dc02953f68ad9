#include "select/select.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "algorithms/level_names.h"
#include "algorithms/plan_files.h"
#include "select/rule.h"

namespace fanlight {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Calls `each` with every part of `text` between separators (a comma in parentheses is none),
// and its number from 1.
template <class Each>
void split(std::string_view text, char separator, Each&& each) {
    const auto next_separator = [&] {
        int open = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (separator == ',') open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
            if (open <= 0 && text[i] == separator) return i;
        }
        return std::string_view::npos;
    };
    for (int number = 1;; ++number) {
        const std::size_t end = next_separator();
        each(text.substr(0, end), number);
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

// `comments`: they are part of what is said of a rule.
void add_rules(std::vector<Rule>& rules, std::string_view text, const std::string& file, bool comments = false) {
    split(text, '\n', [&](std::string_view line, int number) {
        const std::size_t comment = std::min(line.find('#'), line.size());
        const std::string_view rule = trimmed(line.substr(0, comment));
        if (rule.empty()) return;
        rules.push_back(parse_rule(rule, file + ":" + std::to_string(number)));
        if (comments && comment < line.size()) rules.back().text.append("  ").append(trimmed(line.substr(comment)));
    });
}

void add_forced(std::vector<Rule>& rules, std::string_view text, const std::string& by) {
    const std::size_t before = rules.size();
    split(text, ',', [&](std::string_view entry, int) {
        entry = trimmed(entry);
        if (entry.empty()) return;
        Rule rule;
        rule.text = by + ": " + std::string(entry);
        const std::size_t colon = entry.find(':');
        try {
            rule.operation = operation_from(trimmed(entry.substr(0, colon)));
            if (colon == std::string_view::npos)
                throw std::invalid_argument("expected operation:algorithm");
            static_cast<Choice&>(rule) = parse_choice(rule.operation, trimmed(entry.substr(colon + 1)));
            rule.forced = true;
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument(rule.text + ": " + e.what());
        }
        for (std::size_t i = before; i < rules.size(); ++i)
            if (rules[i].operation == rule.operation)
                throw std::invalid_argument(rule.text + ": this operation is forced twice");
        rules.push_back(std::move(rule));
    });
}

std::string read_file(const std::string& file) {
    const auto unreadable = [&file](const std::string& why) {
        return std::invalid_argument("FANLIGHT_RULES: cannot read " + file + ": " + why);
    };
    std::error_code ignored;  // whatever it is, to open it fails as well
    if (std::filesystem::is_directory(file, ignored)) throw unreadable("it is a directory");
    std::ifstream in(file);
    if (!in) throw unreadable(std::strerror(errno));
    return {std::istreambuf_iterator<char>(in), {}};
}

// What a restriction may ask of a problem: nothing that only one rank knows.
Problem problem_of(const Situation& s, const Rule& rule) {
    Problem p;
    p.operation = s.operation;
    p.size = (s.by_levels && !rule.flat) || (s.lanes && rule.lanes) ? s.nodes : s.ranks;
    p.bytes = s.bytes;
    p.commutative = s.commutative;
    if (rule.algorithm && rule.algorithm->plan) {
        p.size = s.ranks;
        p.topology = s.topology;
    }
    return p;
}

}  // namespace

Selector::Selector(std::string_view forced, const std::string& file, std::string_view chosen, const TunedRules& tuned) {
    add_forced(rules_, forced, "FANLIGHT_ALGORITHM");
    add_forced(rules_, chosen, "fanlight_set_algorithm");
    if (!file.empty()) add_rules(rules_, file_ = read_file(file), file);
    add_rules(rules_, tuned.text, tuned.file, true);
    add_rules(rules_, built_in_rules(), "built-in rules", true);
}

Selector::~Selector() = default;

std::string Selector::digest() const {
    std::string text;
    for (const Rule& rule : rules_)
        if (rule.algorithm && rule.algorithm->plan)
            text.append(text.empty() ? "" : ", ").append(hash_of_file(rule.algorithm->plan)).append(" ").append(rule.algorithm->name);
    return file_.empty() ? text : text + (text.empty() ? "" : "; ") + file_;
}

Choice Selector::choose(const Situation& situation) const {
    std::string passed_over;
    for (const Rule& rule : rules_) {
        if (!rule.fits(situation)) continue;
        if (rule.lanes && !situation.lanes && !rule.forced) continue;
        if (rule.by_levels && situation.nodes > 1 && !situation.by_levels && !rule.forced) continue;
        if (rule.algorithm) {
            const Problem p = problem_of(situation, rule);
            std::string why = restriction(*rule.algorithm, p);
            if (!why.empty() && p.size != situation.ranks) why += " (one of each node; flat=yes takes all ranks)";
            if (!why.empty() && rule.forced && !rule.algorithm->plan) throw std::invalid_argument(rule.text + ": " + why);
            if (!why.empty()) {
                if (rule.algorithm->plan) passed_over.append(passed_over.empty() ? "" : "; ").append(why);
                continue;
            }
        }
        Choice choice = rule;
        choice.passed_over = std::move(passed_over);
        choice.lanes = rule.lanes && situation.lanes;
        choice.rule = rule.text;
        const bool between = choice.lanes || (situation.by_levels && !choice.flat);
        if (choice.algorithm && !choice.algorithm->has(property::levels) && between) {
            const OnLevels all = choice.lanes ? in_lanes(*choice.algorithm) : by_levels(*choice.algorithm);
            if (rule.forced && all.names == 0)
                throw std::invalid_argument(rule.text + ": it cannot run between nodes; flat=yes runs it among all ranks");
            choice.algorithm = all.algorithm;
            choice.parameters.levels = all.names;
        }
        return choice;
    }
    Choice native;
    native.rule = "no rule fits: native";
    native.passed_over = std::move(passed_over);
    return native;
}

std::pair<std::size_t, std::size_t> Selector::alike(const Situation& situation) const {
    Range<std::size_t> same;
    for (const Rule& rule : rules_) {
        if (rule.operation != situation.operation) continue;
        // At either of these a rule begins or ceases to hold.
        const std::size_t behind = rule.bytes.to == Range<std::size_t>{}.to ? 0 : rule.bytes.to + 1;
        for (const std::size_t bound : {rule.bytes.from, behind}) {
            if (bound == 0) continue;
            if (bound <= situation.bytes) same.from = std::max(same.from, bound);
            else same.to = std::min(same.to, bound - 1);
        }
    }
    return {same.from, same.to};
}

}  // namespace fanlight
