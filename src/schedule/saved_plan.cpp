#include "schedule/saved_plan.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

#include "schedule/verify.h"

namespace fanlight {

namespace {

constexpr std::string_view first_line = "fanlight-plan 1\nhash ";
constexpr int most_ranks = 4096;

[[noreturn]] void wrong(const std::string& what) { throw std::invalid_argument(what); }

std::string quoted(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

// FNV-1a.
std::string hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    std::string digits(16, '0');
    for (std::size_t i = digits.size(); i-- > 0; hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
    return digits;
}

template <class Number>
Number number(std::string_view text, Number least, Number most) {
    Number n{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < least || n > most) wrong(quoted(text) + " is no number that may stand here");
    return n;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t at = text.find_first_not_of(' '); at != std::string_view::npos;) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(' ', end);
    }
    return words;
}

template <class Each>
void split(std::string_view text, char separator, Each&& each) {
    for (;;) {
        const std::size_t end = text.find(separator);
        each(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

bool moves_blocks_of_one_length(Operation o) {
    const Family f = family_of(o);
    return f == Family::signal || f == Family::vector || f == Family::blocks;
}

}  // namespace

// Reads one line after the other.
class SavedPlan::Reader {
public:
    explicit Reader(SavedPlan& into) : plan_(into) {}

    void read(std::string_view line) {
        if (line.empty()) return;
        if (line.front() == ':' || line.starts_with("tmp ")) return rank_line(line);
        const auto words = words_of(line);
        if (words.empty()) return;
        const bool one = words.size() == 2;
        if (one && words[0] == "operation") {
            plan_.operation_ = operation_from(words[1]);
            if (!moves_blocks_of_one_length(plan_.operation_)) wrong(std::string(words[1]) + " has blocks of different lengths, of which a plan knows nothing");
            has_operation_ = true;
        } else if (one && words[0] == "name") {
            plan_.name_ = words[1];
        } else if (one && words[0] == "topology") {
            plan_.topology_ = words[1];
        } else if (one && words[0] == "sizes") {
            sizes(words[1]);
        } else if (line == "commutative") {
            plan_.commutative_ = true;
        } else if (line == "pipelined") {
            plan_.pipelined_ = true;
        } else if (words[0] == "ranks" && words.size() > 1) {
            section(words);
        } else {
            wrong(quoted(line) + " is not understood");
        }
    }

    void end() const {
        if (!has_operation_) wrong("no operation is named");
        if (plan_.sections_.empty()) wrong("there are no schedules");
        if (const Section& s = plan_.sections_.back(); s.schedules.size() < static_cast<std::size_t>(s.ranks))
            wrong("the last section has " + std::to_string(s.schedules.size()) + " ranks of " + std::to_string(s.ranks));
    }

private:
    void sizes(std::string_view text) {
        const std::size_t dots = text.find("..");
        if (dots == std::string_view::npos) wrong(quoted(text) + " is no range");
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
        plan_.from_ = number<std::size_t>(text.substr(0, dots), 0, most);
        if (dots + 2 < text.size()) plan_.to_ = number<std::size_t>(text.substr(dots + 2), plan_.from_, most);
    }

    void section(std::span<const std::string_view> words) {
        if (!plan_.sections_.empty()) end();
        if (!has_operation_) wrong("no operation is named before the first schedules");
        Section s;
        s.ranks = number(words[1], 1, most_ranks);
        for (std::size_t i = 2; i < words.size(); ++i) {
            if (words[i] == "any-root") s.any_root = true;
            else if (words[i] == "commutative") s.ordered = false;
            else if (words[i] == "ordered") s.commutes = false;
            else if (words[i] == "root" && i + 1 < words.size()) s.root = number(words[++i], 0, s.ranks - 1);
            else wrong(quoted(words[i]) + " is not understood");
        }
        s.lengths.add("0");  // number 0: what a step does not have
        plan_.sections_.push_back(std::move(s));
    }

    void rank_line(std::string_view line) {
        if (plan_.sections_.empty()) wrong("steps stand before the first 'ranks'");
        Section& s = plan_.sections_.back();
        if (s.schedules.size() == static_cast<std::size_t>(s.ranks)) wrong("there are more ranks than " + std::to_string(s.ranks));
        Schedule schedule;
        const std::size_t colon = line.find(':');
        const auto head = words_of(line.substr(0, colon));
        if (head.size() == 2 && head[0] == "tmp") schedule.scratch_bytes = s.lengths.add(head[1]);
        else if (!head.empty()) wrong(quoted(line) + " is not understood");
        split(line.substr(colon + 1), '|', [&](std::string_view round) {
            split(round, ';', [&](std::string_view step) {
                const auto words = words_of(step);
                if (words.empty()) return;
                try {
                    schedule.steps.push_back(this->step(words, s, schedule));
                } catch (const std::invalid_argument& e) {
                    wrong("rank " + std::to_string(s.schedules.size()) + ", step " + quoted(step) + ": " + e.what());
                }
            });
            schedule.end_round();
        });
        s.schedules.push_back(std::move(schedule));
    }

    static Address address(std::string_view text, Section& s) {
        const std::size_t plus = text.find('+');
        const std::string_view buffer = text.substr(0, plus);
        const std::size_t offset = s.lengths.add(plus == std::string_view::npos ? "0" : text.substr(plus + 1));
        if (buffer == "in") return input(offset);
        if (buffer == "out") return output(offset);
        if (buffer == "tmp") return scratch(offset);
        wrong(quoted(text) + " is no place in in, out or tmp");
    }

    static Step step(std::span<const std::string_view> words, Section& s, Schedule& schedule) {
        // P: peer, O: an offer's number, F: from, T: to, L: length, R: readers, B: order, b: order or none.
        struct Form {
            std::string_view word;
            StepKind kind;
            std::string_view operands;
        };
        static constexpr Form forms[] = {{"put", StepKind::put, "PFTL"},    {"arrive", StepKind::arrive, "PTLb"}, {"offer", StepKind::offer, "FLR"},
                                         {"get", StepKind::get, "POFTLb"}, {"copy", StepKind::copy, "FTL"},      {"combine", StepKind::combine, "FTLB"}};
        const auto form = std::ranges::find(forms, words.front(), &Form::word);
        if (form == std::end(forms)) wrong("there is no such step");
        Step step{};
        step.kind = form->kind;
        std::size_t at = 1;
        for (const char operand : form->operands) {
            if (at == words.size()) {
                if (operand == 'b') break;
                wrong("something is missing");
            }
            const std::string_view word = words[at++];
            if (operand == 'P') step.peer = number(word, 0, s.ranks - 1);
            else if (operand == 'O') step.offer = number(word, 0, 1 << 20);
            else if (operand == 'F') step.from = address(word, s);
            else if (operand == 'T') step.to = address(word, s);
            else if (operand == 'L') step.bytes = s.lengths.add(word);
            else if (operand == 'R') readers(word, s, schedule, step);
            else step.order = order(word);
        }
        if (at < words.size()) wrong(quoted(words[at]) + " is too much");
        return step;
    }

    static void readers(std::string_view text, const Section& s, Schedule& schedule, Step& step) {
        step.offer = schedule.offers++;
        step.first_reader = static_cast<std::uint32_t>(schedule.readers.size());
        split(text, ',', [&](std::string_view reader) { schedule.readers.push_back(number(reader, 0, s.ranks - 1)); });
        step.readers = static_cast<std::uint32_t>(schedule.readers.size()) - step.first_reader;
    }

    static Order order(std::string_view word) {
        if (word == "before") return Order::before;
        if (word == "after") return Order::after;
        wrong(quoted(word) + " is no order: before or after");
    }

    SavedPlan& plan_;
    bool has_operation_ = false;
};

SavedPlan::SavedPlan(std::string_view text) {
    constexpr std::size_t digits = 16;
    const std::size_t begin = first_line.size() + digits + 1;
    if (!text.starts_with(first_line) || text.size() < begin || text[begin - 1] != '\n')
        wrong("it is not a plan of Fanlight: it does not begin with 'fanlight-plan 1' and a hash");
    hash_ = text.substr(first_line.size(), digits);
    text.remove_prefix(begin);
    if (const std::string own = hash_of(text); own != hash_) wrong("it was changed: its hash would be " + own + " and not " + hash_);
    Reader reader(*this);
    int line = 2;
    const auto at_line = [&line](const std::invalid_argument& e) { return "line " + std::to_string(line) + ": " + e.what(); };
    split(text, '\n', [&](std::string_view one) {
        ++line;
        try {
            reader.read(one);
        } catch (const std::invalid_argument& e) {
            wrong(at_line(e));
        }
    });
    reader.end();
}

std::string SavedPlan::with_hash(std::string_view text) {
    return std::string(first_line).append(hash_of(text)).append("\n").append(text);
}

const SavedPlan::Section* SavedPlan::section(const Problem& p) const {
    for (const Section& s : sections_)
        if (s.ranks == p.size && (s.any_root || !has_root(operation_) || s.root == p.root) && (p.commutative ? s.commutes : s.ordered)) return &s;
    return nullptr;
}

// "2..16" or "2, 4, 8".
std::string SavedPlan::numbers_of_ranks() const {
    std::set<int> numbers;
    for (const Section& s : sections_) numbers.insert(s.ranks);
    std::string list;
    for (auto at = numbers.begin(); at != numbers.end();) {
        const int first = *at;
        int last = first;
        while (++at != numbers.end() && *at == last + 1) ++last;
        list.append(list.empty() ? "" : ", ").append(std::to_string(first));
        if (last > first) list.append("..").append(std::to_string(last));
    }
    return list;
}

std::string SavedPlan::restriction(const Problem& p) const {
    if (p.operation != operation_) return "it is a plan for " + std::string(to_string(operation_));
    if (commutative_ && !p.commutative) return "it needs an operator that commutes";
    if (p.bytes < from_ || p.bytes > to_)
        return "it is a plan for " + std::to_string(from_) + " to " + std::to_string(to_) + " bytes, and there are " + std::to_string(p.bytes);
    // Who asks before a call is there knows no root; a plan has all or one.
    if (std::ranges::none_of(sections_, [&](const Section& s) { return s.ranks == p.size && (p.commutative ? s.commutes : s.ordered); })) {
        return "it is a plan for " + numbers_of_ranks() + " ranks, and there are " + std::to_string(p.size);
    }
    if (topology_.empty()) return {};
    const int places = Topology::places(topology_);
    if ((places == 0 || places == p.size) && Topology::from(topology_, p.size).simplified() == p.topology.simplified()) return {};
    return "it is a plan for the topology " + topology_ + ", and this is " + p.topology.text();
}

Schedule SavedPlan::schedule(const Section& s, const Problem& p, int rank, const std::vector<std::size_t>& lengths) const {
    const int shift = s.any_root && has_root(operation_) ? p.root : 0;
    const auto absolute = [&](int r) { return (r + shift) % p.size; };
    Schedule result = s.schedules[static_cast<std::size_t>((rank - shift + p.size) % p.size)];
    for (Step& step : result.steps) {
        if (step.peer >= 0) step.peer = absolute(step.peer);
        step.from.offset = lengths[step.from.offset];
        step.to.offset = lengths[step.to.offset];
        step.bytes = lengths[step.bytes];
    }
    for (int& reader : result.readers) reader = absolute(reader);
    result.scratch_bytes = lengths[result.scratch_bytes];
    constexpr std::size_t vectors = 8, some = 4096;  // more than any algorithm needs, less than there is memory
    if (result.scratch_bytes / vectors / static_cast<std::size_t>(p.size) > p.bytes + some)
        wrong("rank " + std::to_string(rank) + " asks for " + std::to_string(result.scratch_bytes) + " bytes of scratch");
    return result;
}

std::vector<Schedule> SavedPlan::schedules(const Problem& p) const {
    const Section* const s = section(p);
    if (!s) wrong("it has no schedules for " + std::to_string(p.size) + " ranks" + (has_root(operation_) ? " and root " + std::to_string(p.root) : "") +
                  (p.commutative ? "" : ", and an operator that does not commute"));
    const std::vector<std::size_t> lengths = s->lengths.values(p);
    std::vector<Schedule> all;
    for (int r = 0; r < p.size; ++r) all.push_back(schedule(*s, p, r, lengths));
    return all;
}

// On all ranks alike: it depends on the problem, of which the rank does not matter, and the text.
void SavedPlan::check(const Problem& p) const {
    constexpr std::size_t most_kept = 4096;
    const Asked asked{p.size, has_root(operation_) ? p.root : 0, p.bytes, p.stride, p.element, p.commutative};
    const std::scoped_lock lock(mutex_);
    auto known = verified_.find(asked);
    if (known == verified_.end()) {
        if (verified_.size() >= most_kept) verified_.clear();
        std::string fault;
        try {
            // Twice: what one call leaves in the scratch the next one finds.
            const std::vector<std::string> faults = verify(schedules(p), p, {.calls = 2, .most = 1});
            if (!faults.empty()) fault = faults.front();
        } catch (const std::invalid_argument& e) {
            fault = e.what();
        }
        known = verified_.emplace(asked, std::move(fault)).first;
    }
    if (!known->second.empty()) wrong("the plan " + name_ + " is wrong for " + std::to_string(p.bytes) + " bytes: " + known->second);
}

Schedule SavedPlan::schedule(const Problem& p) const {
    check(p);
    const Section& s = *section(p);
    return schedule(s, p, p.rank, s.lengths.values(p));
}

}  // namespace fanlight
