// What the executor itself costs: the time of one call and of one step, with 8 bytes, where
// nobody has to wait.  All ranks are in this one thread and take their turns, so that what a
// step waits for has happened before; what is left is the executor's own work, in a warm cache.
//
//   fanlight-steps                          a line for each kind of step: ns a call, ns a step
//   fanlight-steps --case get --ranks 16 --batches 1000
//                                           that alone, for callgrind (bench/steps.py)
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "execute/group.h"

using namespace fanlight;

namespace {

constexpr int batch = 16;  // calls of one rank before the others' turn; less than there are lanes

struct Case {
    const char* name;
    Operation operation;
    const char* algorithm;
    bool root_last;             // the others must have had their turn before
    int (*steps)(int ranks);    // of this kind, of the rank that is timed
};

const Case cases[] = {
    {"put", Operation::bcast, "binomial", false, [](int ranks) { return std::countr_zero(static_cast<unsigned>(ranks)); }},
    {"arrive", Operation::gather, "all-write-root", true, [](int ranks) { return ranks - 1; }},
    {"get", Operation::gather, "root-reads-all", true, [](int ranks) { return ranks - 1; }},
    {"get and combine", Operation::reduce, "root-reads-all", true, [](int ranks) { return ranks - 1; }},
};

void add(const void* left, const void* right, void* into, std::size_t, const void*) {
    double a, b;
    std::memcpy(&a, left, 8);
    std::memcpy(&b, right, 8);
    a += b;
    std::memcpy(into, &a, 8);
}

class Ranks {
public:
    Ranks(const Case& c, int size) : case_(c), memory_(Group::segment_bytes(size) + 4096), buffers_(static_cast<std::size_t>(size)) {
        void* at = memory_.data();
        std::size_t room = memory_.size();
        std::align(4096, Group::segment_bytes(size), at, room);
        const std::span segment(static_cast<std::byte*>(at), Group::segment_bytes(size));
        for (int r = 0; r < size; ++r) {
            groups_.push_back(std::make_unique<Group>(segment, r, size, false, Waiter::Hooks{}));
            Problem p;
            p.operation = c.operation;
            p.rank = r;
            p.size = size;
            p.bytes = p.element = 8;
            plans_.push_back(groups_.back()->plan(*find_algorithm(c.operation, c.algorithm), p));
            buffers_[static_cast<std::size_t>(r)].resize(static_cast<std::size_t>(size) * 16);
        }
    }
    // A batch of calls on all ranks; the time of the root's, in ns.
    double run() {
        if (case_.root_last) others();
        const auto start = std::chrono::steady_clock::now();
        timed();
        const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
        if (!case_.root_last) others();
        return ns;
    }

private:
    void calls(std::size_t rank) {
        std::byte* const memory = buffers_[rank].data();
        for (int i = 0; i < batch; ++i)
            groups_[rank]->run(plans_[rank], memory, case_.operation == Operation::bcast ? memory : memory + buffers_[rank].size() / 2, &combiner_);
    }
    void others() {
        for (std::size_t r = 1; r < groups_.size(); ++r) calls(r);
    }
    [[gnu::noinline]] void timed();

    const Case& case_;
    const Combiner combiner_{add, nullptr};
    std::vector<std::byte> memory_;
    std::vector<std::vector<std::byte>> buffers_;
    std::vector<std::unique_ptr<Group>> groups_;
    std::vector<Plan> plans_;
};

// By this name bench/steps.py tells callgrind what to count.
void Ranks::timed() { calls(0); }

double median_of_call(const Case& c, int ranks, int batches) {
    Ranks all(c, ranks);
    std::vector<double> times;
    for (int i = 0; i < batches; ++i) times.push_back(all.run() / batch);
    std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
    return times[static_cast<std::size_t>(batches / 2)];
}

}  // namespace

int main(int argc, char** argv) {
    std::string only;
    int ranks = 0, batches = 2000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--case")) only = argv[i + 1];
        else if (!std::strcmp(argv[i], "--ranks")) ranks = std::atoi(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--batches")) batches = std::atoi(argv[i + 1]);
        else return std::fprintf(stderr, "fanlight-steps: %s? --case NAME --ranks N --batches N\n", argv[i]), 2;
    }
    for (const Case& c : cases) {
        if (!only.empty() && only != c.name) continue;
        if (ranks) {
            std::printf("%s\t%d\t%d\t%.2f\n", c.name, c.steps(ranks), batches * batch, median_of_call(c, ranks, batches));
            continue;
        }
        const double few = median_of_call(c, 2, batches), many = median_of_call(c, 16, batches);
        const double step = (many - few) / (c.steps(16) - c.steps(2));
        std::printf("%s\t%.1f\t%.1f\n", c.name, few - c.steps(2) * step, step);
    }
    return 0;
}
