// Every algorithm of the catalogue is right: for 1 to 64 ranks, every root of up to 17 ranks and
// some beyond, operators that commute and that do not, all kinds of lengths and parameters.
#include <gtest/gtest.h>

#include <limits>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

#include "algorithms/registry.h"
#include "every_algorithm.h"
#include "graphs.h"
#include "schedule/all_ranks.h"
#include "schedule/verify.h"

namespace fanlight {

namespace {

constexpr int most_ranks = 64;

std::vector<int> roots_of(Operation operation, int size) {
    if (!has_root(operation)) return {0};
    if (size > 17) return {0, 1, size / 3, size - 1};
    std::vector<int> roots(static_cast<std::size_t>(size));
    std::iota(roots.begin(), roots.end(), 0);
    return roots;
}

struct Length {
    std::size_t elements;
    std::size_t element;
    std::size_t gap;  // blocks: bytes between the end of a block and the start of the next
};

// Nothing, one element, more ranks than elements, a length that no rank count divides, a
// long one.
constexpr Length lengths[] = {{0, 8, 0}, {1, 8, 0}, {5, 8, 0}, {13, 4, 64}, {100003, 8, 0}};

// Blocks of different lengths, some of them empty, in an order that is not the ranks', with
// gaps: kind 0 is that, kind 1 has (long) data at one rank alone, kind 2 has none at all.
std::vector<Block> uneven_blocks(int size, int kind) {
    std::vector<Block> blocks(static_cast<std::size_t>(size));
    std::size_t offset = 0;
    for (int i = 0; i < size; ++i) {
        const int r = size - 1 - i;
        std::size_t bytes = kind == 0 ? static_cast<std::size_t>((r * 7 + 3) % 5) * 8 : 0;
        if (kind == 1 && r == size / 2) bytes = 8000;
        blocks[static_cast<std::size_t>(r)] = {offset, bytes};
        offset += bytes + (r % 3 == 0 ? 8 : 0);
    }
    return blocks;
}

// Those that it takes, with what is usual and what is far out.
std::vector<Parameters> parameters_of(const Algorithm& algorithm, int size) {
    std::vector<Parameters> result;
    if (algorithm.takes("degree"))
        for (int degree : {1, 2, 4, size + 3, std::numeric_limits<int>::max()}) result.push_back({.degree = degree});
    if (algorithm.takes("shift"))
        for (int shift : {1, size + 3, std::numeric_limits<int>::max()}) result.push_back({.shift = shift});
    if (algorithm.takes("minimum"))
        for (std::size_t minimum : {1, 8, 50000}) result.push_back({.minimum = minimum});
    return result;
}

// For those that depend on it: even, uneven, interleaved, of several levels.
std::vector<Topology> topologies_of(const Algorithm& algorithm, int size) {
    std::vector<Topology> result;
    if (!algorithm.has(property::levels)) return result;
    for (const char* text : {"1x*", "2x*", "3x*:cyclic", "2x3x*", "2x2x2x*:cyclic"}) result.push_back(Topology::from(text, size));
    result.push_back(Topology::from(std::to_string(size) + "x1", size));
    if (size > 3) result.push_back(Topology::from("1+2x1+" + std::to_string(size - 3), size));
    return result;
}

// What each rank has for each other: much of it nothing (kind 0), data between one pair of ranks
// alone (1), none at all (2).
void set_uneven_exchange(Problem& p, int kind) {
    std::vector<std::size_t> lengths;
    for (int r = 0; r < p.size; ++r)
        for (int s = 0; s < p.size; ++s)
            lengths.push_back(kind == 0   ? static_cast<std::size_t>((r * 7 + s * 3) % 5) * 8
                              : kind == 1 ? (r == 0 && s == p.size - 1 ? 1000 : 0)
                                          : 0);
    set_exchange(p, lengths, kind == 0 ? 8 : 0);
}

std::vector<Problem> problems(const Algorithm& algorithm, int size) {
    std::vector<Problem> result;
    Problem p;
    p.operation = algorithm.operation;
    p.size = size;
    for (int root : roots_of(p.operation, size))
        for (bool commutative : {true, false}) {
            if (!commutative && !reduces(p.operation)) continue;
            p.root = root;
            p.commutative = commutative;
            if (family_of(p.operation) == Family::neighbors) {
                for (int kind = 0; kind < graphs::kinds && size <= 32; ++kind)
                    for (const auto& [bytes, gap] : {std::pair<std::size_t, std::size_t>{0, 0}, {8, 8}, {1000, 0}}) {
                        graphs::set(p, static_cast<graphs::Kind>(kind), bytes, gap);
                        result.push_back(p);
                        p.parameters.piece = 300;
                        result.push_back(p);
                        p.parameters = {};
                    }
                continue;
            }
            if (family_of(p.operation) == Family::blocks_v) {
                for (int kind = 0; kind < 3; ++kind) {
                    p.element = reduces(p.operation) ? 8 : 1;
                    if (p.operation == Operation::alltoallv) set_uneven_exchange(p, kind);
                    else p.blocks = uneven_blocks(size, kind);
                    result.push_back(p);
                }
                continue;
            }
            for (const Length& length : lengths) {
                p.element = length.element;
                p.bytes = length.elements * length.element;
                const bool blocks = family_of(p.operation) == Family::blocks;
                p.stride = blocks && length.gap > 0 ? p.bytes + length.gap : 0;
                result.push_back(p);
                if (family_of(p.operation) == Family::signal) break;
            }
        }
    // An algorithm's parameters change its schedule, never its result; nor does the topology.  Of many ranks some roots.
    const std::size_t plain = result.size();
    const auto varies = [&](const Problem& one) {
        return size <= 9 || (size <= 17 && (one.root <= 1 || one.root == size / 3 || one.root == size - 1));
    };
    for (std::size_t i = 0; i < plain; ++i) {
        if (!varies(result[i])) continue;
        for (const Parameters& parameters : parameters_of(algorithm, size)) {
            result.push_back(result[i]);
            const std::size_t piece = result[i].parameters.piece;
            result.back().parameters = parameters;
            result.back().parameters.piece = piece;
        }
        for (const Topology& topology : topologies_of(algorithm, size)) {
            result.push_back(result[i]);
            result.back().topology = topology;
            if (!algorithm.takes("minimum")) continue;
            result.push_back(result.back());
            result.back().parameters.minimum = 16;
        }
    }
    return result;
}

std::string text(const Problem& p) {
    return std::to_string(p.size) + " ranks, root " + std::to_string(p.root) + ", " +
           std::to_string(p.bytes) + " bytes, stride " + std::to_string(p.stride) + ", element " +
           std::to_string(p.element) + (p.commutative ? "" : ", does not commute") +
           (p.blocks.empty() ? "" : ", uneven blocks") +
           (p.parameters == Parameters{} ? ""
                                         : ", degree " + std::to_string(p.parameters.degree) +
                                               ", minimum " + std::to_string(p.parameters.minimum) +
                                               ", shift " + std::to_string(p.parameters.shift)) +
           (p.topology.levels() == 0 ? "" : ", topology " + p.topology.text());
}

// The sizes that fail, with their first fault, for all problems of one algorithm.
class Catalogue : public testing::TestWithParam<Algorithm> {
protected:
    void verify_size(int size) {
        for (const Problem& p : problems(GetParam(), size)) {
            if (!restriction(GetParam(), p).empty()) continue;
            const auto ranks = schedules_of_all(GetParam().schedule, p);
            // The calls after the first can only differ where scratch is read; a few sizes
            // show that they do not.
            const auto faults = verify(ranks, p, {.calls = size <= 9 ? 3 : 1, .most = 3});
            ++verified;
            if (faults.empty()) continue;
            const std::lock_guard lock(mutex);
            if (failures.size() < 8) {
                std::string message = text(p);
                for (const std::string& fault : faults) message += "\n    " + fault;
                failures.push_back(message);
            }
            return;  // the other problems of this size most likely fail alike
        }
    }

    std::atomic<int> verified{0};
    std::mutex mutex;
    std::vector<std::string> failures;
};

TEST_P(Catalogue, is_right) {
    // Large sizes first, so that no thread is left with the largest at the end.
    std::atomic<int> next{most_ranks};
    const auto work = [&] {
        for (int size = next--; size >= 1; size = next--) verify_size(size);
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
        threads.emplace_back(work);
    work();
    threads.clear();
    for (const std::string& failure : failures) ADD_FAILURE() << failure;
    EXPECT_GT(verified, 0) << "its restrictions forbid every problem";
    RecordProperty("problems", verified);
}

INSTANTIATE_TEST_SUITE_P(every, Catalogue,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()), test_name);

}  // namespace
}  // namespace fanlight
