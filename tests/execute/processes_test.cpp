// The shared executor with ranks as processes over a real segment: run under AddressSanitizer
// as well.  Single copy reads the memory of another process here.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "catalogue.h"
#include "execute/lending.h"
#include "memory/segment.h"
#include "topology/single_copy.h"

namespace fanlight::testing {
namespace {

// Goes on in a new pid namespace, as a process whose number there is `number` (2 or more); what it
// returns with, its parent returns with.
void go_on_in_a_pid_namespace(int number) {
    const auto child_goes_on = [] {
        const pid_t child = fork();
        if (child == 0) return;
        int status = 0;
        waitpid(child, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    };
    if (unshare(CLONE_NEWPID) != 0) _exit(4);
    child_goes_on();  // process 1 there, which lives as long as the namespace
    for (int i = 2; i < number; ++i) {
        const pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, nullptr, 0);
    }
    child_goes_on();
}

bool may_make_pid_namespaces() {
    const pid_t child = fork();
    if (child == 0) _exit(unshare(CLONE_NEWPID) == 0 ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
}

// Runs `body(group)` in each of `size` processes; what it returns is printed, and the number
// of processes that complained or died comes back.
int on_processes(int size, bool single_copy, const std::function<std::string(Group&)>& body, bool own_namespaces = false) {
    std::error_code error;
    Segment segment = Segment::create(Group::segment_bytes(size), error);
    EXPECT_FALSE(error) << error.message();
    const std::string name = segment.name();
    std::vector<pid_t> children;
    for (int r = 0; r < size; ++r) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            if (own_namespaces) go_on_in_a_pid_namespace(2 + r);
            std::error_code e;
            Segment mine = Segment::open(name, e);
            if (e) _exit(2);
            int status = 0;
            {
                Group group(mine.bytes(), r, size, single_copy, {});
                // All have written who they are before the first operation.
                SharedSlots slots(mine.bytes().data(), size);
                for (int other = 0; other < size; ++other)
                    while (load(slots.member(other).pid) == 0) usleep(100);
                const std::string wrong = body(group);
                if (!wrong.empty()) {
                    std::fprintf(stderr, "%s\n", wrong.c_str());
                    status = 1;
                }
                // A process that ends counts as dead: wait until nobody waits for it.
                slots.member(r).pid = 1;
                store(slots.member(r).pid, 1);
                for (int other = 0; other < size; ++other)
                    while (load(slots.member(other).pid) != 1) usleep(100);
            }
            _exit(status);
        }
        children.push_back(child);
    }
    int bad = 0;
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        if (status != 0) ++bad;
    }
    segment.unlink();
    return bad;
}

// A rank's process id means nothing to ranks of another pid namespace, where it is a stranger's or
// nobody's: whoever waits for it long enough to look must not take it for dead.
std::string in_a_namespace_of_its_own(Group& g) {
    const Algorithm& barrier = *find_algorithm(Operation::barrier, "dissemination");
    const Plan plan = g.plan(barrier, {.operation = Operation::barrier, .rank = g.rank(), .size = g.size()});
    for (int round = 0; round < 2; ++round) {
        if (round == 1 && g.rank() == 0) usleep(700000);
        g.run(plan, nullptr, nullptr, nullptr);
    }
    return {};
}

TEST(Processes, PidNamespacesOfTheirOwn) {
    if (!may_make_pid_namespaces()) GTEST_SKIP() << "new pid namespaces are not allowed here";
    EXPECT_EQ(on_processes(3, false, in_a_namespace_of_its_own, true), 0);
}

// How many of a hundred messages each rank lends.
std::string lends(Group& g, std::int64_t costly, std::uint64_t least, std::uint64_t most) {
    Lending::costly = costly;
    Problem p{.operation = Operation::allgather, .size = g.size(), .bytes = 65536};
    if (std::string w = run_and_check(g, *find_algorithm(p.operation, "all-read-all"), p, 100, nullptr, true); !w.empty()) return w;
    return g.lent() < least || g.lent() > most ? std::to_string(g.lent()) + " messages were lent" : std::string();
}

// The first is staged, since nobody has opened the arena yet; two looks say that it does not pay.
TEST(Processes, LendWhereThatPays) {
    for (const int size : {2, 3}) {
        EXPECT_EQ(on_processes(size, false, [](Group& g) { return lends(g, 1'000'000, 90, 99); }), 0);
        EXPECT_EQ(on_processes(size, false, [](Group& g) { return lends(g, -1'000'000, 2, 8); }), 0);
    }
}

bool may_read_children() {
    // The probe that the preload makes, here between two processes of the test.
    static std::uint64_t word = 0x1234567890abcdef;
    const pid_t child = fork();
    if (child == 0) {
        usleep(300000);
        _exit(0);
    }
    const bool allowed = probe_single_copy(child, &word, word).allowed;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return allowed;
}

std::string all_of(Group& g) {
    for (const Algorithm& a : algorithms())
        for (const Problem& p : problems(a, g.size(), {1, 15, 2049, 9001}))
            if (std::string w = run_and_check(g, a, p, 3); !w.empty()) return w;
    return {};
}

TEST(Processes, StagedCatalogue) {
    for (int size : {1, 2, 3, 5, 8}) EXPECT_EQ(on_processes(size, false, all_of), 0) << size << " ranks";
}

TEST(Processes, SingleCopyCatalogue) {
    if (!may_read_children()) GTEST_SKIP() << "process_vm_readv is not allowed here";
    for (int size : {2, 3, 8}) EXPECT_EQ(on_processes(size, true, all_of), 0) << size << " ranks";
}

// Blocks of both kinds in one operation: some in pieces, and longer ones copied once.
TEST(Processes, PiecesAndSingleCopy) {
    if (!may_read_children()) GTEST_SKIP() << "process_vm_readv is not allowed here";
    const auto those_of_unknown_lengths = [](Group& g) {
        constexpr std::size_t once_from = 200000;
        g.copy_once_from(once_from);
        for (const Algorithm& a : algorithms()) {
            if (!lengths_are_unknown(a.operation)) continue;
            for (const Problem& p : problems(a, g.size(), {9000, once_from / 8, once_from / 8 + 1}))
                if (std::string w = run_and_check(g, a, p, 3); !w.empty()) return w;
        }
        return std::string();
    };
    for (int size : {2, 3, 5}) EXPECT_EQ(on_processes(size, true, those_of_unknown_lengths), 0) << size << " ranks";
}

}  // namespace
}  // namespace fanlight::testing
