// What was read from a file is bound as the built-in algorithm with the same schedule is: the same pieces, and in them the
// same steps.  From then on nothing tells the two apart, and they take the same time.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/plan_files.h"
#include "on_threads.h"
#include "schedule/all_ranks.h"
#include "schedule/saved_plan.h"

namespace fanlight::testing {
namespace {

auto fields(const Step& s) {
    return std::tuple(s.kind, s.order, s.peer, s.offer, s.from.buffer, s.from.offset, s.to.buffer, s.to.offset, s.bytes, s.bit,
                      s.first_reader, s.readers);
}

auto fields(const BoundStep& s) {
    return std::tuple(s.kind, s.order, s.from_buffer, s.to_buffer, s.fused, s.operand_buffer, s.place, s.acknowledged, s.lendable, s.peer,
                      s.message, s.tag, s.first_reader, s.readers, s.from, s.to, s.operand, s.bytes, s.cell, s.staging, s.channel);
}

auto fields(const BoundSchedule& s) {
    return std::tuple(s.readers, s.messages.size(), s.scratch_bytes, s.element, s.staged, s.in_many_areas, s.stages_at_reader,
                      s.reuses_cells, s.has_long_results, s.is_followed, s.readers_copy,
                      s.has_direct_offers, s.may_lend_scratch, s.results_are_read, s.ahead, s.sends_end, s.sends_complete_first);
}

auto fields(const Plan& p) {
    return std::tuple(p.called, p.piece_bytes, p.parts.size(), p.in_flight, p.whole, p.sends_complete_first, p.rebinds_counts_to, p.lengths == nullptr);
}

template <class One>
bool same(const std::vector<One>& a, const std::vector<One>& b) {
    return std::ranges::equal(a, b, [](const One& x, const One& y) { return fields(x) == fields(y); });
}

bool same(const Schedule& a, const Schedule& b) {
    return same(a.steps, b.steps) && a.round_ends == b.round_ends && a.readers == b.readers && a.scratch_bytes == b.scratch_bytes && a.offers == b.offers;
}

bool same(const Plan& a, const Plan& b) {
    return fields(a) == fields(b) && std::ranges::equal(a.parts, b.parts, [](const auto& x, const auto& y) {
        return x.repeat == y.repeat && fields(x.schedule) == fields(y.schedule) && same(x.schedule.steps, y.schedule.steps);
    });
}

// A built-in algorithm's schedules for a vector, as a file has them; lengths are multiples of the vector's or of a part's.
class Text {
public:
    // Empty: the file could not say it.
    static std::string of(const Algorithm& a, int size, int roots) {
        Text t(a, size);
        for (int root = 0; root < roots; ++root) t.section(root);
        return t.sayable_ ? SavedPlan::with_hash(t.text_) : std::string();
    }

private:
    Text(const Algorithm& a, int size) : algorithm_(a), size_(size) {
        text_.append("operation ").append(to_string(a.operation)).append("\n");
        if (a.has(property::commutative)) text_.append("commutative\n");
        if (a.has(property::pipelined)) text_.append("pipelined\n");
    }

    void section(int root) {
        text_.append("ranks ").append(std::to_string(size_));
        if (has_root(algorithm_.operation)) text_.append(" root ").append(std::to_string(root));
        text_.append("\n");
        const Problem problem{.operation = algorithm_.operation, .size = size_, .root = root, .bytes = vector, .element = 8};
        for (const Schedule& s : schedules_of_all(algorithm_.schedule, problem)) {
            if (s.scratch_bytes) text_.append("tmp ").append(length(s.scratch_bytes, "l(n)")).append(" ");
            text_.append(":");
            for (std::size_t r = 0; r < s.rounds(); ++r) {
                if (r > 0) text_.append(" |");
                for (const Step& step : s.round(r)) text_.append(&step == s.round(r).data() ? " " : " ; ").append(this->step(s, step));
            }
            text_.append("\n");
        }
    }

    std::string step(const Schedule& schedule, const Step& s) {
        static constexpr std::string_view words[] = {"put", "arrive", "offer", "get", "copy", "combine"};
        std::string text(words[static_cast<std::size_t>(s.kind)]);
        sayable_ = sayable_ && !s.bit;
        if (s.peer >= 0) text.append(" ").append(std::to_string(s.peer));
        if (s.kind == StepKind::get) text.append(" ").append(std::to_string(s.offer));
        if (s.kind != StepKind::arrive) text.append(" ").append(place(s.from));
        if (s.kind != StepKind::offer) text.append(" ").append(place(s.to));
        text.append(" ").append(length(s.bytes, "n"));
        for (const int& reader : schedule.readers_of(s))
            text.append(&reader == schedule.readers_of(s).data() ? " " : ",").append(std::to_string(reader));
        if (s.order != Order::overwrite) text.append(s.order == Order::before ? " before" : " after");
        return text;
    }

    std::string place(const Address& a) {
        sayable_ = sayable_ && a.buffer != Buffer::unknown;
        static constexpr std::string_view buffers[] = {"in", "out", "tmp", ""};
        const bool scratch = a.buffer == Buffer::scratch;
        return std::string(buffers[static_cast<std::size_t>(a.buffer)]) + "+" + length(a.offset, scratch ? "l(n)" : "n");
    }

    std::string length(std::size_t bytes, const std::string& whole) {
        const std::size_t times = bytes / vector, parts = bytes % vector * static_cast<std::size_t>(size_);
        sayable_ = sayable_ && parts % vector == 0;
        std::string text = times || !parts ? std::to_string(times) + whole : std::string();
        if (parts) text.append(text.empty() ? "c(" : "+c(").append(std::to_string(parts / vector) + "/" + std::to_string(size_) + ")");
        return text;
    }

    static constexpr std::size_t vector = 64 * 8 * 60;
    const Algorithm& algorithm_;
    const int size_;
    std::string text_;
    bool sayable_ = true;
};

const Algorithm& from_a_file(const Algorithm& built_in, const std::string& text) {
    static int number = 0;
    const std::string name = "fanlight-test-" + std::to_string(getpid()) + "-" + std::to_string(++number) + ".plan";
    const auto file = std::filesystem::temp_directory_path() / name;
    std::ofstream(file) << text;
    const Algorithm& read = algorithm_of_file(built_in.operation, file.string());
    std::filesystem::remove(file);
    return read;
}

// Whether they give all ranks the same schedules: not where parts are of unlike lengths, which Text says as alike, or where
// a built-in one takes another way for some lengths.
bool same_schedules(const Algorithm& built_in, const Algorithm& own, Problem p) try {
    for (p.rank = 0; p.rank < p.size; ++p.rank)
        if (!same(built_in.schedule(p), own.schedule(p))) return false;
    return true;
} catch (const std::invalid_argument&) {
    return false;
}

class Comparison {
public:
    explicit Comparison(int size) : size_(size) {}

    void compare(const Algorithm& built_in) {
        const bool rooted = has_root(built_in.operation);
        const std::string text = Text::of(built_in, size_, rooted ? 2 : 1);
        if (text.empty()) return;
        const Algorithm& own = from_a_file(built_in, text);
        for (const bool copied_once : {false, true})
            for (const int cores : {1, size_}) {
                Aligned segment((Group::segment_bytes(size_) + 4095) / 4096 * 4096);
                for (int rank = 0; rank < size_; ++rank) {
                    const Group group(std::span(segment.base, segment.size), rank, size_, copied_once, Waiter::Hooks{}, size_, cores,
                                      SharedSlots::Capacity::many, {});
                    for (const std::size_t bytes : {8, 96, 1024, 8192, 24'576, 32'768, 40'960, 65'536, 524'288, 4'194'304})
                        for (const std::size_t piece : {0, 4096})
                            for (int root = 0; root < (rooted ? 2 : 1); ++root)
                                compare(group, built_in, own, {.operation = built_in.operation, .rank = rank, .size = size_, .root = root,
                                                               .bytes = bytes, .element = 8, .parameters = {.piece = piece}});
                }
            }
    }

    std::set<std::string> compared, in_pieces;

private:
    void compare(const Group& group, const Algorithm& built_in, const Algorithm& own, Problem problem) {
        const Plan theirs = group.plan(built_in, problem);
        problem.parameters.plan = own.plan;
        for (const Pieces& pieces : pieces_of(problem, theirs.piece_bytes))
            if (!same_schedules(built_in, own, piece_of(problem, theirs.piece_bytes, pieces.first))) return;
        if (!same_schedules(built_in, own, problem)) return;
        const Plan ours = group.plan(own, problem);
        EXPECT_TRUE(same(ours, theirs)) << theirs.name << ", rank " << problem.rank << " of " << problem.size << ", root " << problem.root << ", "
                                        << problem.bytes << " bytes, single copy " << group.single_copy() << ", oversubscribed "
                                        << group.oversubscribed() << ", piece " << problem.parameters.piece << ": " << ours.piece_bytes
                                        << " bytes a piece, and the built-in one's " << theirs.piece_bytes;
        compared.insert(theirs.name);
        if (!theirs.whole) in_pieces.insert(theirs.name);
    }

    const int size_;
};

TEST(saved_plans, are_bound_as_the_built_in_ones) {
    for (const int size : {2, 4}) {
        Comparison all(size);
        for (const Algorithm& a : algorithms())
            if (family_of(a.operation) == Family::vector && !a.has(property::levels)) all.compare(a);
        for (const char* name : {"bcast (binomial)", "bcast (tree)", "bcast (one-to-all)", "bcast (pruned-ring)", "reduce (binomial)",
                                 "reduce (tree)", "allreduce (recursive-doubling)", "allreduce (reduce-scatter-allgather)", "scan (all-read-lower)"})
            EXPECT_TRUE(all.compared.contains(name) && all.in_pieces.contains(name)) << name;
        EXPECT_GE(all.compared.size(), 20u) << size;
    }
}

TEST(saved_plans, say_for_which_lengths_they_are) {
    const Algorithm& binomial = *find_algorithm(Operation::bcast, "binomial");
    const std::string text = Text::of(binomial, 4, 4);
    const std::string lines = text.substr(text.find("operation"));
    for (const auto& [sizes, least, most] : {std::tuple("16..", 16, 1 << 20), {"8..", 8, 1 << 20}, {"16..4096", 16, 4096}}) {
        const Algorithm& own = from_a_file(binomial, SavedPlan::with_hash("sizes " + std::string(sizes) + "\n" + lines));
        const auto refused = [&](int bytes) {
            return !restriction(own, {.operation = Operation::bcast, .size = 4, .bytes = static_cast<std::size_t>(bytes)}).empty();
        };
        EXPECT_TRUE(refused(least - 1) && !refused(least) && !refused(most)) << sizes;
        EXPECT_EQ(refused(most + 1), most == 4096) << sizes;
    }
}

}  // namespace
}  // namespace fanlight::testing
