#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/arena.h"
#include "memory/peer_arena.h"

namespace fanlight {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20, bytes = 4 * mebibyte;

char* make(std::size_t n = bytes) { return static_cast<char*>(arena::allocate(n)); }

bool is_all(const char* block, std::size_t n, char with) {
    for (std::size_t i = 0; i < n; ++i)
        if (block[i] != with) return false;
    return true;
}

// Two processes in turn: each waits for a byte of the other's.
struct Turns {
    int to_child[2], to_parent[2];
    Turns() { EXPECT_TRUE(pipe(to_child) == 0 && pipe(to_parent) == 0); }
    ~Turns() {
        for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(fd);
    }
    static void give(int (&to)[2]) {
        const char byte = 1;
        if (write(to[1], &byte, 1) != 1) _exit(99);
    }
    static void take(int (&from)[2]) {
        char byte = 0;
        pollfd one{from[0], POLLIN, 0};
        if (poll(&one, 1, 30'000) != 1 || read(from[0], &byte, 1) != 1) _exit(98);
    }
};

int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ArenaFork, NeitherSeesWhatTheOtherWritesLater) {
    char* const block = make();
    ASSERT_NE(block, nullptr);
    std::memset(block, 1, bytes);
    const ArenaName name = arena::name();
    Turns turns;
    const pid_t child = fork();
    if (child == 0) {
        if (!is_all(block, bytes, 1)) _exit(1);
        Turns::give(turns.to_parent);
        Turns::take(turns.to_child);
        if (!is_all(block, bytes, 1)) _exit(2);
        std::memset(block, 3, bytes);
        Turns::give(turns.to_parent);
        Turns::take(turns.to_child);
        // What is allocated now is this one's as well, and so is what a child of it gets.
        char* const more = make();
        if (!more || !is_all(more, bytes, 0) || !arena::owns(more, bytes)) _exit(3);
        std::memset(more, 4, bytes);
        arena::release(block);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            if (!is_all(more, bytes, 4)) _exit(1);
            std::memset(more, 5, bytes);
            _exit(0);
        }
        if (status_of(grandchild) != 0 || !is_all(more, bytes, 4)) _exit(4);
        const ArenaName own = arena::name();
        _exit(own.number != 0 && own.number != name.number && own.pid == static_cast<std::uint64_t>(getpid()) ? 0 : 5);
    }
    Turns::take(turns.to_parent);
    std::memset(block, 2, bytes);
    Turns::give(turns.to_child);
    Turns::take(turns.to_parent);
    EXPECT_TRUE(is_all(block, bytes, 2));
    char* const own = make();
    std::memset(own, 9, bytes);
    Turns::give(turns.to_child);
    EXPECT_EQ(status_of(child), 0);
    EXPECT_TRUE(is_all(own, bytes, 9));
    EXPECT_TRUE(is_all(block, bytes, 2));
    EXPECT_EQ(arena::name().number, name.number);
    arena::release(own);
    arena::release(block);
}

TEST(ArenaFork, APeerStillReachesTheParentAndNotTheChild) {
    char* const block = make();
    std::memset(block, 1, bytes);
    const ArenaName name = arena::name();
    Turns turns;
    const pid_t peer = fork();
    if (peer == 0) {
        const auto arena = PeerArena::find(name);
        auto* const there = arena ? reinterpret_cast<char*>(arena->at(reinterpret_cast<std::uint64_t>(block), bytes)) : nullptr;
        if (!there || !is_all(there, bytes, 1)) _exit(1);
        Turns::give(turns.to_parent);
        Turns::take(turns.to_child);
        if (!is_all(there, bytes, 2)) _exit(2);
        std::memset(there, 3, bytes);
        _exit(0);
    }
    Turns::take(turns.to_parent);
    Turns children;
    const pid_t child = fork();
    if (child == 0) {
        std::memset(block, 7, bytes);
        Turns::take(children.to_child);
        _exit(is_all(block, bytes, 7) ? 0 : 1);
    }
    std::memset(block, 2, bytes);
    Turns::give(turns.to_child);
    EXPECT_EQ(status_of(peer), 0);
    EXPECT_TRUE(is_all(block, bytes, 3));
    Turns::give(children.to_child);
    EXPECT_EQ(status_of(child), 0);
    arena::release(block);
}

TEST(ArenaFork, WhileThreadsAllocate) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&stop] {
            while (!stop) {
                char* const a = make(65536);
                a[0] = 1;
                arena::release(a);
            }
        });
    for (int i = 0; i < 30; ++i) {
        char* const block = make(mebibyte);
        std::memset(block, i + 1, mebibyte);
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            char* const a = make(65536);
            if (!a || !is_all(a, 65536, 0)) _exit(1);
            arena::release(a);
            _exit(is_all(block, mebibyte, static_cast<char>(i + 1)) ? 0 : 2);
        }
        EXPECT_EQ(status_of(child), 0);
        arena::release(block);
    }
    stop = true;
    for (auto& thread : threads) thread.join();
}

// Of other libraries, which are called while the arena is forking.
char* handlers_block = nullptr;

TEST(ArenaFork, HandlersThatAllocateAndFree) {
    handlers_block = make(65536);
    pthread_atfork(
        [] {
            arena::release(handlers_block);
            handlers_block = make(65536);
        },
        [] { arena::release(make(65536)); }, [] { arena::release(make(65536)); });
    const pid_t child = fork();
    if (child == 0) _exit(make(65536) ? 0 : 1);
    EXPECT_EQ(status_of(child), 0);
    EXPECT_NE(make(65536), nullptr);
}

TEST(ArenaFork, OtherProgramsAreStarted) {
    char* const block = make();
    std::memset(block, 1, bytes);
    EXPECT_EQ(system("exit 3"), 3 << 8);
    FILE* const pipe = popen("echo here", "r");
    char line[16] = "";
    EXPECT_TRUE(pipe && fgets(line, sizeof line, pipe));
    EXPECT_STREQ(line, "here\n");
    EXPECT_EQ(pclose(pipe), 0);
    char program[] = "/bin/true";
    char* arguments[] = {program, nullptr};
    pid_t spawned = 0;
    EXPECT_EQ(posix_spawn(&spawned, program, nullptr, nullptr, arguments, environ), 0);
    EXPECT_EQ(status_of(spawned), 0);
    const pid_t child = vfork();
    if (child == 0) {
        execv(program, arguments);
        _exit(1);
    }
    EXPECT_EQ(status_of(child), 0);
    const pid_t forked = fork();
    if (forked == 0) {
        // The arena's file is closed.
        execl("/bin/sh", "sh", "-c", "! ls -l /proc/self/fd | grep memfd:fanlight", nullptr);
        _exit(1);
    }
    EXPECT_EQ(status_of(forked), 0);
    EXPECT_TRUE(is_all(block, bytes, 1));
    arena::release(block);
}

TEST(ArenaFork, AChildForWhichThereIsNoFileRunsButSeesNoBlock) {
    char* const block = make();
    std::memset(block, 1, bytes);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit none{3, files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const auto child_that = [&](auto&& body) {
        const pid_t child = fork();
        if (child == 0) _exit(body());
        return status_of(child);
    };
    EXPECT_EQ(child_that([&] {
        arena::release(block);
        return arena::name().bytes == 0 && !make() && *arena::why() ? 0 : 1;
    }), 0);
    EXPECT_EQ(child_that([&] {
        block[0] = 2;
        return 0;
    }), -SIGSEGV);
    setrlimit(RLIMIT_NOFILE, &files);
    EXPECT_TRUE(is_all(block, bytes, 1));
    EXPECT_EQ(child_that([&] { return is_all(block, bytes, 1) ? 0 : 1; }), 0);
    arena::release(block);
}

}  // namespace
}  // namespace fanlight
