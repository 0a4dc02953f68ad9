// The shared executor with ranks as processes over a real segment: run under AddressSanitizer
// as well.  Single copy reads the memory of another process here.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "catalogue.h"
#include "memory/segment.h"
#include "topology/single_copy.h"

namespace fanlight::testing {
namespace {

// Runs `body(group)` in each of `size` processes; what it returns is printed, and the number
// of processes that complained or died comes back.
int on_processes(int size, bool single_copy, const std::function<std::string(Group&)>& body) {
    std::error_code error;
    Segment segment = Segment::create(Group::segment_bytes(size), error);
    EXPECT_FALSE(error) << error.message();
    const std::string name = segment.name();
    std::vector<pid_t> children;
    for (int r = 0; r < size; ++r) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            std::error_code e;
            Segment mine = Segment::open(name, e);
            if (e) _exit(2);
            int status = 0;
            {
                Group group(mine.bytes(), r, size, single_copy, {});
                // All have written who they are before the first operation.
                SharedLanes lanes(mine.bytes().data(), size);
                for (int other = 0; other < size; ++other)
                    while (load(lanes.member(other).pid) == 0) usleep(100);
                const std::string wrong = body(group);
                if (!wrong.empty()) {
                    std::fprintf(stderr, "%s\n", wrong.c_str());
                    status = 1;
                }
                // A process that ends counts as dead: wait until nobody waits for it.
                lanes.member(r).pid = 1;
                store(lanes.member(r).pid, 1);
                for (int other = 0; other < size; ++other)
                    while (load(lanes.member(other).pid) != 1) usleep(100);
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

}  // namespace
}  // namespace fanlight::testing
