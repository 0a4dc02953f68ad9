// How a rank that waits polls the MPI library, and to whom it leaves its core meanwhile: by counts
// of polls and of sleeps, which hold on a busy machine too.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "execute/wait.h"

namespace fanlight {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double cpu_microseconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

// The times that this thread has slept so far; a yield is none.
long sleeps() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

struct Counts {
    long polls = 0, sleeps = 0;
    double cpu_us = 0;
};

// A wait until done(), in which poll number n of the MPI library comes to poll(n).
template <class Poll, class Done>
Counts wait_until(Done&& done, int ranks, int cores, Poll&& poll) {
    Counts counts;
    Waiter::Hooks hooks;
    hooks.progress = [&] { return poll(counts.polls++); };
    Waiter wait(ranks, hooks, cores);
    const double cpu = cpu_microseconds();
    const long slept = sleeps();
    wait(0, "x", done);
    counts.sleeps = sleeps() - slept;
    counts.cpu_us = cpu_microseconds() - cpu;
    return counts;
}

template <class Poll>
Counts wait_for_polls(long enough, int ranks, int cores, Poll&& poll) {
    long n = 0;
    return wait_until([&] { return n >= enough; }, ranks, cores, [&](long) { return poll(n++); });
}

template <class Poll>
Counts wait_for(Clock::duration time, int ranks, int cores, Poll&& poll) {
    const auto end = Clock::now() + time;
    return wait_until([end] { return Clock::now() >= end; }, ranks, cores, poll);
}

Polled nothing(long) { return {}; }
Polled awake(long) { return {.awake = true}; }

TEST(Polling, OnceInAMicrosecond) {
    const Counts c = wait_for_polls(1000, 2, 2, nothing);
    EXPECT_LT(c.cpu_us, 4 * 1000);
    EXPECT_EQ(c.sleeps, 0);
}

TEST(Polling, AtEveryYieldOfAnOversubscribedRank) {
    const Counts c = wait_for_polls(200, 8, 1, nothing);
    EXPECT_LT(c.cpu_us, 100 * 200);
}

TEST(Polling, ShortWaitsAddUp) {
    long polls = 0;
    Waiter::Hooks hooks;
    hooks.progress = [&] { return ++polls, Polled{}; };
    Waiter spins(2, hooks, 2), yields(8, hooks, 1);
    for (Waiter* wait : {&spins, &yields}) {
        polls = 0;
        int waits = 0;
        for (; polls == 0 && waits < 100'000; ++waits) {
            int checks = 0;
            (*wait)(0, "x", [&] { return ++checks > 3; });
        }
        EXPECT_EQ(polls, 1);
        EXPECT_GT(waits, 10);
    }
}

TEST(Polling, ALongWaitSleepsUnlessTheProgramHasWindows) {
    const auto start = Clock::now();
    const long slept = sleeps();
    const auto enough = [&] { return sleeps() - slept > 20 || Clock::now() - start > 5s; };
    EXPECT_GT(wait_until(enough, 8, 1, nothing).sleeps, 10);
    EXPECT_LT(wait_for(50ms, 8, 1, awake).sleeps, 5) << "a page fault may be one";
}

TEST(Polling, WhoFindsWorkPollsOnAndDoesNotSleep) {
    // 100 polls of work after 20 ms of sleeps: as the fragments of a long message, of which each poll
    // moves one.
    long first = 0;
    double begun = 0, ended = 0;
    const auto start = Clock::now();
    wait_until([&] { return ended > 0; }, 8, 1, [&](long n) {
        if (Clock::now() - start < 20ms) return Polled{};
        if (first == 0) first = n, begun = cpu_microseconds();
        if (n == first + 100) ended = cpu_microseconds();
        return Polled{.worked = n < first + 100};
    });
    EXPECT_LT(ended - begun, 1000) << "no sleep, no yield in between";
}

// Two threads on one core, although there are two, that wait for each other in turn.
TEST(Polling, ARankLeavesItsCoreToAPeerThatIsOnIt) {
    cpu_set_t allowed, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    struct alignas(128) Member {
        std::uint64_t core = 0;
    } members[2];
    constexpr int turns = 200;
    std::atomic<int> turn{0};
    std::atomic<long> polls{0};
    const auto run = [&](int rank) {
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        Waiter::Hooks hooks;
        hooks.progress = [&] { return ++polls, Polled{}; };
        Waiter wait(2, hooks, 2);
        const pid_t unwatched[2] = {0, 0};
        wait.watch(unwatched, rank);
        wait.share_cores(&members[0].core, sizeof(Member));
        for (int i = rank; i < turns; i += 2) {
            wait(1 - rank, "x", [&] { return turn == i; });
            turn = i + 1;
        }
    };
    std::thread other([&] { run(1); });
    run(0);
    other.join();
    EXPECT_LT(polls, 250 * turns) << "a rank that kept its core for a millisecond would poll a thousand times";
}

}  // namespace
}  // namespace fanlight
