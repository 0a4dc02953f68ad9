#include "execute/process_watch.h"
#include "execute/wait.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace fanlight {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Died : std::runtime_error {
    using runtime_error::runtime_error;
};

// A test's end of a waiter: death is an exception here.
Waiter::Hooks hooks() {
    Waiter::Hooks h;
    h.dead = [](const std::string& message) { throw Died(message); };
    return h;
}

pid_t child_that_pauses() {
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    return child;
}

void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

std::string death(Waiter& wait, int peer, double limit = 10) {
    const auto start = Clock::now();
    try {
        wait(peer, "barrier (one-to-all)", [&] { return since(start) > limit; });
    } catch (const Died& e) {
        return e.what();
    }
    return "";
}

TEST(Wait, ReturnsAtOnceWhenReady) {
    Waiter wait(1, hooks(), 1);
    int looks = 0;
    wait(0, "x", [&] { return ++looks == 1; });
    EXPECT_EQ(looks, 1);
}

TEST(Wait, OversubscribedRanksDoNotSpin) {
    EXPECT_FALSE(Waiter(2, {}, 2).oversubscribed());
    EXPECT_EQ(Waiter(2, {}, 2).policy_text(), "spin 1 ms, yield, sleep after 1 s (2 ranks on 2 cores)");
    EXPECT_TRUE(Waiter(3, {}, 2).oversubscribed());
    EXPECT_EQ(Waiter(3, {}, 2).policy_text(), "yield, sleep after 5 ms (3 ranks on 2 cores)");
}

TEST(Wait, MpiProgressesWhileWaiting) {
    for (const int ranks : {1, 8}) {
        Waiter::Hooks h = hooks();
        int progressed = 0;
        h.progress = [&] { return ++progressed, Polled{}; };
        Waiter wait(ranks, h, 1);
        // Ready only by what the hook does, as with a rendezvous that this rank owes.
        wait(0, "x", [&] { return progressed >= 20; });
        EXPECT_EQ(progressed, 20);
    }
}

TEST(Wait, ALongWaitSleeps) {
    Waiter wait(8, hooks(), 1);
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    wait(0, "x", [&] { return since(start) > 0.5; });
    EXPECT_LT(since(start), 0.6);
    EXPECT_LT(cpu_seconds() - cpu, 0.2);
}

// From now on this system call of this process, a child, fails.
bool forbid(unsigned call, unsigned error) {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{4, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Kernels before 5.3, and old filters.
TEST(Wait, WithoutPidfdOpenTheProcessIdSaysWhoIsDead) {
    const pid_t tried = fork();
    if (tried == 0) {
        if (!forbid(SYS_pidfd_open, ENOSYS)) _exit(77);
        const pid_t peer = child_that_pauses();
        const auto watch = ProcessWatch::of(peer);
        if (watch->ended()) _exit(1);
        end(peer);
        if (!watch->ended()) _exit(2);
        // That of another user, as a container's or a setuid program's: it must not be signaled, and lives.
        if (!forbid(SYS_kill, EPERM)) _exit(77);
        _exit(ProcessWatch::of(getppid())->ended() ? 3 : 0);
    }
    int status = 0;
    waitpid(tried, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Wait, ADeadPeerIsFoundWithinASecond) {
    for (const int ranks : {2, 8}) {
        Waiter wait(ranks, hooks(), 2);
        const pid_t child = child_that_pauses();
        const pid_t pids[] = {child, getpid()};
        wait.watch(pids, 1);
        EXPECT_EQ(death(wait, 0, 0.5), "") << "alive";
        end(child);
        const auto start = Clock::now();
        EXPECT_EQ(death(wait, 0), "fanlight: rank 0 (process " + std::to_string(child) +
                                      ") has ended while rank 1 waits for it in barrier (one-to-all)");
        EXPECT_LT(since(start), 1);
    }
}

TEST(Wait, AMemberThatDiedBeforeWatchIsNotLost) {
    const pid_t child = child_that_pauses();
    end(child);
    Waiter wait(2, hooks(), 2);
    const pid_t pids[] = {getpid(), child};
    wait.watch(pids, 0);
    EXPECT_NE(death(wait, 1), "");
}

TEST(Wait, AZombieIsDead) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    Waiter wait(2, hooks(), 2);
    const pid_t pids[] = {getpid(), child};
    wait.watch(pids, 0);
    EXPECT_NE(death(wait, 1), "");
    waitpid(child, nullptr, 0);
}

TEST(Wait, WhatTheDeadDidBeforeItsEndCounts) {
    // The peer's last store has arrived when its end is found: not an error, not even in the
    // same instant.
    const pid_t child = child_that_pauses();
    end(child);
    Waiter wait(2, hooks(), 2);
    const pid_t pids[] = {getpid(), child};
    wait.watch(pids, 0);
    const auto start = Clock::now();
    EXPECT_NO_THROW(wait(1, "x", [&] { return since(start) > 0.205; }));
}

TEST(Wait, AnotherMembersEndIsNamedAfterAWhile) {
    const pid_t alive = child_that_pauses(), dead = child_that_pauses();
    Waiter wait(3, hooks(), 3);
    const pid_t pids[] = {getpid(), alive, dead};
    wait.watch(pids, 0);
    end(dead);
    const auto start = Clock::now();
    const std::string message = death(wait, 1);
    EXPECT_EQ(message, "fanlight: rank 2 (process " + std::to_string(dead) +
                           ") has ended while rank 0 waits for rank 1 in barrier (one-to-all)");
    EXPECT_GT(since(start), 2) << "it may have done its part";
    EXPECT_LT(since(start), 6);
    // Who waits for everybody waits for the dead one too.
    const auto again = Clock::now();
    EXPECT_NE(death(wait, -1), "");
    EXPECT_LT(since(again), 1);
    end(alive);
}

TEST(Wait, MembersOfAnotherNamespaceAreNotWatched) {
    Waiter wait(2, hooks(), 2);
    const pid_t pids[] = {getpid(), 0};
    wait.watch(pids, 0);
    EXPECT_EQ(death(wait, 1, 0.6), "");
}

// By the time that an id is watched again it may be another process's.
TEST(Wait, AProcessWithTheIdOfADeadOneIsAlive) {
    pid_t child = child_that_pauses();
    const pid_t pids[] = {getpid(), child};
    Waiter first(2, hooks(), 2);
    first.watch(pids, 0);
    end(child);
    clone_args wanted{};
    wanted.exit_signal = SIGCHLD;
    wanted.set_tid = reinterpret_cast<std::uintptr_t>(&child);
    wanted.set_tid_size = 1;
    const long again = syscall(SYS_clone3, &wanted, sizeof wanted);
    if (again == 0) {
        pause();
        _exit(0);
    }
    if (again < 0) GTEST_SKIP() << "no process may choose its id here";
    Waiter second(2, hooks(), 2);
    second.watch(pids, 0);
    EXPECT_EQ(death(second, 1, 0.5), "");
    end(child);
}

TEST(Wait, AnUnwatchedWaitGoesOn) {
    Waiter wait(2, hooks(), 2);
    EXPECT_EQ(death(wait, 1, 0.3), "");
}

TEST(Wait, ThousandsOfWaitersShareTheirDescriptors) {
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const pid_t child = child_that_pauses();
    const pid_t pids[] = {getpid(), child};
    const auto before = descriptors();
    {
        std::vector<std::unique_ptr<Waiter>> waiters;
        for (int i = 0; i < 2000; ++i) {
            waiters.push_back(std::make_unique<Waiter>(2, hooks(), 2));
            waiters.back()->watch(pids, 0);
        }
        EXPECT_LE(descriptors(), before + 1);
        end(child);
        EXPECT_NE(death(*waiters[1234], 1), "");
    }
    EXPECT_EQ(descriptors(), before);
}

TEST(Wait, WhomNobodyWatchesIsForgotten) {
    const std::shared_ptr<ProcessWatch> watched = ProcessWatch::of(getpid());
    for (pid_t pid = 1; pid <= 5000; ++pid) ProcessWatch::of((1 << 22) + pid);  // above all that Linux gives
    EXPECT_LE(ProcessWatch::kept(), 3u);
    EXPECT_EQ(ProcessWatch::of(getpid()), watched);
}

// Its id may be another process's by then.
TEST(Wait, WhoHasEndedIsNotWatchedAnyMore) {
    const pid_t child = child_that_pauses();
    const std::shared_ptr<ProcessWatch> watched = ProcessWatch::of(child);
    EXPECT_EQ(ProcessWatch::of(child), watched);
    end(child);
    EXPECT_NE(ProcessWatch::of(child), watched);
}

// The rest in processes of their own, since they end, or since settings are read once.

void wait_for_a_dead_child() {
    const pid_t child = child_that_pauses();
    end(child);
    Waiter wait(2, {}, 2);
    const pid_t pids[] = {getpid(), child};
    wait.watch(pids, 0);
    wait(1, "bcast (binomial)", [] { return false; });
}

TEST(WaitDeathTest, WithoutAHookDeathAborts) {
    EXPECT_DEATH(wait_for_a_dead_child(),
                 "fanlight: rank 1 .* has ended while rank 0 waits for it in bcast .binomial.");
}

// Waits and repeats what was said; exits with the number of lines.
void wait_and_count_reports(double seconds) {
    std::vector<std::string> said;
    Waiter::Hooks h;
    h.say = [&](const std::string& line) { said.push_back(line); };
    Waiter wait(8, h, 1);
    const pid_t pids[] = {0, 0};
    wait.watch(pids, 1);
    const auto start = Clock::now();
    wait(0, "allreduce (all-read-all)", [&] { return since(start) > seconds; });
    for (const std::string& line : said) fprintf(stderr, "%s\n", line.c_str());
    _exit(static_cast<int>(said.size()));
}

TEST(WaitDeathTest, SaysWhoWaitsForWhomWithDoublingInterval) {
    setenv("FANLIGHT_WAITING_REPORT", "0.3", 1);
    // After 0.3, 0.6 and 1.2 s.
    EXPECT_EXIT(wait_and_count_reports(1.8), testing::ExitedWithCode(3),
                "fanlight: rank 1 waits for rank 0 in allreduce .all-read-all. since 3[0-9]+ ms");
    setenv("FANLIGHT_WAITING_REPORT", "0", 1);
    EXPECT_EXIT(wait_and_count_reports(0.5), testing::ExitedWithCode(0), "");
    unsetenv("FANLIGHT_WAITING_REPORT");
}

// Says the policy's text; exits with the per cent of a core that waiting used.
void wait_and_measure() {
    Waiter wait(2, {}, 2);
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    wait(0, "x", [&] { return since(start) > 0.3; });
    fprintf(stderr, "%s\n", wait.policy_text().c_str());
    _exit(static_cast<int>(100 * (cpu_seconds() - cpu) / since(start)));
}

TEST(WaitDeathTest, ThePolicyCanBeForced) {
    const auto forced = [](const char* policy, bool idle, const char* text) {
        setenv("FANLIGHT_WAIT", policy, 1);
        // How much a busy machine lets it use is not known: only idling is checked.
        const auto as_expected = [idle](int status) {
            return WIFEXITED(status) && (!idle || WEXITSTATUS(status) < 50);
        };
        EXPECT_EXIT(wait_and_measure(), as_expected, text);
        unsetenv("FANLIGHT_WAIT");
    };
    forced("spin", false, "^spin .2 ranks on 2 cores, forced by FANLIGHT_WAIT");
    forced("yield", false, "^yield .2 ranks");
    forced("sleep", true, "^yield, sleep after 50 us .2 ranks");
}

}  // namespace
}  // namespace fanlight
