// Runs every algorithm on real memories in random order of progress and compares the outcome
// with what MPI defines.  It shares nothing with the verifier, so that neither hides the
// other's mistakes.  A byte is a text: an input byte is "<rank>.<offset>", a combination is
// "(left+right)", so that order and bracketing show.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../schedule/graphs.h"
#include "algorithms/lengths.h"
#include "algorithms/registry.h"
#include "schedule/all_ranks.h"

namespace fanlight {

void PrintTo(const Algorithm& a, std::ostream* out) { *out << to_string(a.operation) << '/' << a.name; }

namespace {

using Bytes = std::vector<std::string>;

std::string bracketed(const std::string& left, const std::string& right) {
    std::string text(1, '(');
    text.append(left).append(1, '+').append(right).append(1, ')');
    return text;
}

// How a put travels: it waits in a queue for its arrive; or it is written to its place at
// once where that is allowed; or it is not over before its arrive is due.
enum class Transport { queue, direct, rendezvous };

class Machine {
public:
    Machine(std::vector<Schedule> schedules, std::size_t element, std::size_t extent,
            Transport transport, unsigned seed)
        : schedules_(std::move(schedules)),
          transport_(transport),
          random_(seed),
          element_(element) {
        for (std::size_t r = 0; r < schedules_.size(); ++r) {
            Rank rank;
            rank.memory[0].resize(extent);
            for (std::size_t i = 0; i < extent; ++i)
                rank.memory[0][i] = std::to_string(r) + "." + std::to_string(i);
            rank.memory[1].assign(extent, "?");
            rank.memory[2].assign(schedules_[r].scratch_bytes, "?");
            rank.offered.assign(static_cast<std::size_t>(schedules_[r].offers), false);
            ranks_.push_back(std::move(rank));
            for (const Step& s : schedules_[r].steps)
                if (s.kind == StepKind::arrive) {
                    arrives_[{s.peer, static_cast<int>(r)}].push_back(s.order);
                    places_[{s.peer, static_cast<int>(r)}].push_back(s.to);
                }
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r) enter(r);
    }

    // False if no rank can go on and one of them is not at its end.
    bool run() {
        for (;;) {
            std::vector<std::pair<std::size_t, std::size_t>> ready;
            for (std::size_t r = 0; r < ranks_.size(); ++r)
                for (std::size_t i = 0; i < ranks_[r].pending.size(); ++i)
                    if (can_run(r, i)) ready.emplace_back(r, i);
            if (ready.empty()) break;
            const auto [r, i] = ready[random_() % ready.size()];
            const Step step = *ranks_[r].pending[i];
            ranks_[r].pending.erase(ranks_[r].pending.begin() + static_cast<std::ptrdiff_t>(i));
            execute(static_cast<int>(r), step);
            if (ranks_[r].pending.empty()) {
                ++ranks_[r].round;
                enter(r);
            }
        }
        return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.done; });
    }

    // What was illegal in itself; empty if nothing was.
    const std::string& fault() const { return fault_; }
    const Bytes& output(int rank) const { return ranks_[at(rank)].memory[1]; }
    bool input_is_unchanged(int rank) const {
        const Bytes& in = ranks_[at(rank)].memory[0];
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i] != std::to_string(rank) + "." + std::to_string(i)) return false;
        return true;
    }

private:
    struct Rank {
        Bytes memory[3];
        std::size_t round = 0;
        std::vector<const Step*> pending;
        std::vector<bool> offered;
        bool done = false;
    };
    using Pair = std::pair<int, int>;  // from, to

    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

    void enter(std::size_t r) {
        Rank& rank = ranks_[r];
        rank.done = rank.round == schedules_[r].rounds();
        if (rank.done) return;
        for (const Step& s : schedules_[r].round(rank.round)) rank.pending.push_back(&s);
    }

    // Puts and arrives of one pair of ranks keep their order within a round.
    bool is_first(const Rank& rank, std::size_t i) const {
        for (std::size_t k = 0; k < i; ++k)
            if (rank.pending[k]->kind == rank.pending[i]->kind &&
                rank.pending[k]->peer == rank.pending[i]->peer)
                return false;
        return true;
    }

    bool can_run(std::size_t r, std::size_t i) {
        const Step& s = *ranks_[r].pending[i];
        const int me = static_cast<int>(r);
        switch (s.kind) {
            case StepKind::put:
                if (!is_first(ranks_[r], i)) return false;
                if (transport_ != Transport::rendezvous) return true;
                return std::any_of(
                    ranks_[at(s.peer)].pending.begin(), ranks_[at(s.peer)].pending.end(),
                    [&](const Step* p) { return p->kind == StepKind::arrive && p->peer == me; });
            case StepKind::arrive: return is_first(ranks_[r], i) && !queue_[{s.peer, me}].empty();
            case StepKind::get: return ranks_[at(s.peer)].offered[at(s.offer)];
            default: return true;
        }
    }

    Bytes read(int rank, Address from, std::size_t bytes) {
        const Bytes& memory = ranks_[at(rank)].memory[static_cast<int>(from.buffer)];
        if (from.offset + bytes > memory.size()) {
            fault_ = "reads behind the end of a buffer";
            return Bytes(bytes, "?");
        }
        return {memory.begin() + static_cast<std::ptrdiff_t>(from.offset),
                memory.begin() + static_cast<std::ptrdiff_t>(from.offset + bytes)};
    }

    void write(int rank, Address to, const Bytes& data, Order order) {
        Bytes& memory = ranks_[at(rank)].memory[static_cast<int>(to.buffer)];
        if (to.offset + data.size() > memory.size()) {
            fault_ = "writes behind the end of a buffer";
            return;
        }
        if (order != Order::overwrite && (data.size() % element_ != 0 || to.offset % element_ != 0))
            fault_ = "combines parts of elements";
        for (std::size_t i = 0; i < data.size(); ++i) {
            std::string& byte = memory[to.offset + i];
            if (order == Order::overwrite) byte = data[i];
            if (order == Order::before) byte = bracketed(data[i], byte);
            if (order == Order::after) byte = bracketed(byte, data[i]);
        }
    }

    void execute(int me, const Step& s) {
        switch (s.kind) {
            case StepKind::put: {
                const Pair pair{me, s.peer};
                const std::size_t n = put_[pair]++;
                if (n >= arrives_[pair].size()) {
                    fault_ = "a put that never arrives";
                    break;
                }
                const Order order = arrives_[pair][n];
                const Bytes data = read(me, s.from, s.bytes);
                // Of a place that its target alone knows the transport must be told.
                const bool known = s.to.buffer != Buffer::unknown;
                if (transport_ == Transport::direct && order == Order::overwrite)
                    write(s.peer, known ? s.to : places_[pair][n], data, order);
                queue_[pair].push_back(data);
                break;
            }
            case StepKind::arrive: {
                auto& queue = queue_[{s.peer, me}];
                if (queue.front().size() != s.bytes) fault_ = "arrives with another length";
                if (transport_ != Transport::direct || s.order != Order::overwrite)
                    write(me, s.to, queue.front(), s.order);
                queue.pop_front();
                break;
            }
            case StepKind::offer: ranks_[at(me)].offered[at(s.offer)] = true; break;
            case StepKind::get: write(me, s.to, read(s.peer, s.from, s.bytes), s.order); break;
            case StepKind::copy: write(me, s.to, read(me, s.from, s.bytes), s.order); break;
            case StepKind::combine: write(me, s.to, read(me, s.from, s.bytes), s.order); break;
        }
    }

    std::vector<Schedule> schedules_;
    Transport transport_;
    std::mt19937 random_;
    std::size_t element_;
    std::vector<Rank> ranks_;
    std::map<Pair, std::vector<Order>> arrives_;
    std::map<Pair, std::vector<Address>> places_;
    std::map<Pair, std::size_t> put_;
    std::map<Pair, std::deque<Bytes>> queue_;
    std::string fault_;
};

std::string without_brackets(std::string text) {
    std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
    return text;
}

// Ranks first .. last - 1, combined in rank order, without brackets.
std::string sum(int first, int last, std::size_t offset) {
    std::string text;
    for (int r = first; r < last; ++r)
        text += (r > first ? "+" : "") + std::to_string(r) + "." + std::to_string(offset);
    return text;
}

std::string sorted(const std::string& text) {
    std::vector<std::string> terms;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find('+', begin);
        terms.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) break;
    }
    std::sort(terms.begin(), terms.end());
    std::string result;
    for (const std::string& t : terms) result += t + "+";
    return result;
}

// What MPI defines, "?" where the output stays as it is.
Bytes expected(const Problem& p, int rank, std::size_t extent) {
    Bytes out(extent, "?");
    const auto blocks_of_all = [&] {
        for (int r = 0; r < p.size; ++r)
            for (std::size_t i = 0; i < p.block(r).bytes; ++i)
                out[p.block(r).offset + i] =
                    sum(r, r + 1, p.operation == Operation::alltoall ? p.block(rank).offset + i : i);
    };
    const auto own_block = [&](int first, int last) {
        for (std::size_t i = 0; i < p.block(rank).bytes; ++i)
            out[i] = sum(first, last, p.block(rank).offset + i);
    };
    const auto vector = [&](int first, int last) {
        for (std::size_t i = 0; i < p.bytes; ++i) out[i] = sum(first, last, i);
    };
    switch (p.operation) {
        case Operation::barrier: break;
        case Operation::bcast: vector(p.root, p.root + 1); break;
        case Operation::reduce: if (rank == p.root) vector(0, p.size); break;
        case Operation::allreduce: vector(0, p.size); break;
        case Operation::scan: vector(0, rank + 1); break;
        case Operation::exscan: if (rank > 0) vector(0, rank); break;
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::alltoall: blocks_of_all(); break;
        case Operation::gather:
        case Operation::gatherv: if (rank == p.root) blocks_of_all(); break;
        case Operation::scatter:
        case Operation::scatterv: own_block(p.root, p.root + 1); break;
        case Operation::reduce_scatter_block:
        case Operation::reduce_scatter: own_block(0, p.size); break;
        case Operation::alltoallv:
            for (int r = 0; r < p.size; ++r) {
                const Block to = p.blocks[static_cast<std::size_t>(rank * p.size + r)];
                const Block from = p.sends[static_cast<std::size_t>(r * p.size + rank)];
                for (std::size_t i = 0; i < to.bytes; ++i)
                    out[to.offset + i] = sum(r, r + 1, from.offset + i);
            }
            break;
        case Operation::neighbor_allgather:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
            for (const Edge& e : p.edges)
                for (std::size_t i = 0; i < e.bytes && e.to == rank; ++i)
                    out[e.taken + i] = sum(e.from, e.from + 1, e.sent + i);
            break;
    }
    return out;
}

Problem as_seen_by(int rank, Problem p) {
    p.rank = rank;
    const bool root_knows = p.operation == Operation::gatherv || p.operation == Operation::scatterv;
    if (root_knows && rank != p.root) {
        const std::size_t own = p.block(rank).bytes;
        p.blocks.assign(p.blocks.size(), {});
        p.blocks[static_cast<std::size_t>(rank)].bytes = own;
    }
    if (p.operation == Operation::alltoallv)
        for (auto* list : {&p.sends, &p.blocks})
            *list = {list->begin() + rank * p.size, list->begin() + (rank + 1) * p.size};
    std::erase_if(p.edges, [&](const Edge& e) { return e.from != rank && e.to != rank; });
    for (Edge& e : p.edges) {
        if (e.to != rank) e.taken = 999999;
        if (e.from != rank && p.operation == Operation::neighbor_alltoallv) e.sent = 999999;
    }
    return p;
}

std::vector<Schedule> schedules_of(const Algorithm& algorithm, const Problem& whole) {
    std::vector<Schedule> result;
    for (int r = 0; r < whole.size; ++r) {
        Problem p = as_seen_by(r, whole);
        // It hears nothing but this.
        for (const Awaited& a : lengths_travel(algorithm, p) && p.operation == Operation::alltoallv ? awaited_lengths(algorithm, p) : std::vector<Awaited>{})
            p.passing.push_back({a.from, a.to, whole.sends[static_cast<std::size_t>(a.from * whole.size + a.to)].bytes});
        std::ranges::sort(p.passing, {}, [](const Passing& x) { return std::pair(x.from, x.to); });
        result.push_back(algorithm.schedule(p));
    }
    return result;
}

// What is wrong; empty if nothing is.
std::string fault(const std::vector<Schedule>& schedules, const Problem& whole,
                  Transport transport, unsigned seed) {
    std::size_t extent = whole.bytes;
    for (int r = 0; r < whole.size; ++r)
        extent = std::max(extent, whole.block(r).offset + whole.block(r).bytes);
    for (const auto* list : {&whole.sends, &whole.blocks})
        for (const Block& b : *list) extent = std::max(extent, b.offset + b.bytes);
    for (const Edge& e : whole.edges) extent = std::max({extent, e.sent + e.bytes, e.taken + e.bytes});
    Machine machine(schedules, whole.element, extent, transport, seed);
    if (!machine.run()) return "deadlock";
    if (!machine.fault().empty()) return machine.fault();
    for (int r = 0; r < whole.size; ++r) {
        if (schedules[static_cast<std::size_t>(r)].offers > 8) return "more than 8 offers";
        if (!machine.input_is_unchanged(r)) return "rank " + std::to_string(r) + "'s input changed";
        const Bytes want = expected(whole, r, extent);
        const Bytes& got = machine.output(r);
        for (std::size_t i = 0; i < extent; ++i) {
            std::string terms = without_brackets(got[i]);
            std::string wanted = want[i];
            if (whole.commutative) {
                terms = sorted(terms);
                wanted = sorted(wanted);
            }
            if (terms != wanted)
                return "rank " + std::to_string(r) + ", byte " + std::to_string(i) + ": " + got[i] +
                       " in place of " + want[i];
            if (whole.operation == Operation::allreduce && got[i] != machine.output(0)[i])
                return "rank " + std::to_string(r) + " has another bracketing than rank 0";
        }
    }
    return {};
}

class Interpreter : public testing::TestWithParam<Algorithm> {};

TEST_P(Interpreter, computes_what_mpi_defines) {
    const Algorithm& algorithm = GetParam();
    struct Layout {
        std::size_t bytes, gap;
        int shift;
    };
    unsigned seed = 1;
    for (int size = 1; size <= 13; ++size)
        for (int root = 0; root < (has_root(algorithm.operation) ? size : 1); ++root)
            for (const Layout& layout : {Layout{0, 0, 0}, Layout{4, 0, 0}, Layout{12, 8, 2}}) {
                Problem p;
                p.operation = algorithm.operation;
                p.size = size;
                p.root = root;
                p.commutative = algorithm.has(property::commutative);
                p.element = 4;
                p.bytes = layout.bytes;
                p.parameters = {.degree = layout.shift, .minimum = 7, .shift = layout.shift};
                const Family family = family_of(algorithm.operation);
                if (family == Family::vector && layout.gap > 0) p.bytes = 4 * 17;
                if (family == Family::blocks && layout.gap > 0) p.stride = p.bytes + layout.gap;
                if (family == Family::neighbors) {
                    const auto kind = static_cast<graphs::Kind>(size % graphs::kinds);
                    graphs::set(p, kind, layout.bytes, layout.gap);
                    p.parameters = {.piece = layout.gap, .minimum = 7};
                } else if (algorithm.operation == Operation::alltoallv) {
                    std::vector<std::size_t> lengths;
                    for (int i = 0; i < size * size; ++i)
                        lengths.push_back(layout.bytes * static_cast<std::size_t>(i % 4) / 4);
                    set_exchange(p, lengths, layout.gap);
                } else if (family == Family::blocks_v) {
                    std::size_t offset = 0;
                    for (int r = size - 1; r >= 0; --r) {
                        const std::size_t bytes = layout.bytes * static_cast<std::size_t>(r % 3) / 4 * (reduces(algorithm.operation) ? 4 : 1);
                        p.blocks.insert(p.blocks.begin(), {offset, bytes});
                        offset += bytes + layout.gap;
                    }
                }
                if (!restriction(algorithm, p).empty()) continue;
                for (Transport t : {Transport::queue, Transport::direct, Transport::rendezvous}) {
                    SCOPED_TRACE(std::to_string(size) + " ranks, root " + std::to_string(root) +
                                 ", " + std::to_string(p.bytes) + " bytes, transport " +
                                 std::to_string(static_cast<int>(t)));
                    ASSERT_EQ(fault(schedules_of(algorithm, p), p, t, seed++), "");
                }
            }
}

INSTANTIATE_TEST_SUITE_P(every, Interpreter,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& info) {
                             std::string name = std::string(to_string(info.param.operation)) + "_" +
                                                std::string(info.param.name);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// The interpreter must see what is wrong: each of these changes one step of a right schedule.
class Red : public testing::Test {
protected:
    Red() {
        whole.operation = Operation::allreduce;
        whole.size = 6;
        whole.bytes = 8;
        whole.element = 4;
        whole.commutative = false;
    }
    std::vector<Schedule> right() const {
        return schedules_of(*find_algorithm(whole.operation, "recursive_doubling"), whole);
    }
    static Step& first(Schedule& schedule, StepKind kind) {
        return *std::find_if(schedule.steps.begin(), schedule.steps.end(),
                             [&](const Step& s) { return s.kind == kind; });
    }
    std::string fault_of(const std::vector<Schedule>& schedules) const {
        return fault(schedules, whole, Transport::queue, 1);
    }
    Problem whole;
};

TEST_F(Red, as_it_is_the_schedule_is_right) { EXPECT_EQ(fault_of(right()), ""); }

TEST_F(Red, a_reordered_combine) {
    auto schedules = right();
    Step& step = first(schedules[5], StepKind::combine);
    step.order = step.order == Order::before ? Order::after : Order::before;
    EXPECT_NE(fault_of(schedules), "");
}

TEST_F(Red, a_dropped_notification) {
    auto schedules = right();
    first(schedules[0], StepKind::put).peer = 5;
    EXPECT_NE(fault_of(schedules), "");
}

TEST_F(Red, a_wrong_place) {
    auto schedules = right();
    first(schedules[5], StepKind::arrive).to.offset += 4;
    EXPECT_NE(fault_of(schedules), "");
}

TEST_F(Red, a_missing_contribution) {
    auto schedules = right();
    first(schedules[2], StepKind::put).from = output();
    EXPECT_NE(fault_of(schedules), "");
}

}  // namespace
}  // namespace fanlight
