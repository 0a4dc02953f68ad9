// The report of calls (FANLIGHT_REPORT): for each operation and class of sizes the calls, bytes
// and time, which algorithm of Fanlight's served them, over which transport, or why the MPI library did.
//
// The file is JSON:
//   {"fanlight_report": 1, "mpi": "...", "ranks": 4, "seconds": 12.5,
//    "communicators": [{"ranks": 4, "count": 2, "served": true, "reason": ""}],
//    "calls": [{"operation": "allreduce", "bytes_from": 64, "bytes_to": 255,
//               "by": "fanlight", "algorithm": "all-read-all", "transport": "shared", "reason": "",
//               "calls": 1000, "bytes": 64000, "seconds": 0.002, "seconds_max": 0.0006}],
//    "by_rank": [{"seconds": 0.0006, "lent": 12, "waits": 90, "waited": 0.0004,
//                 "for": [{"rank": 3, "waits": 90, "seconds": 0.0004}]}],
//    "guard": [{"operation": "allreduce", "bytes_from": 64, "bytes_to": 127, "ranks": 4, "nodes": 1, "mpi": "mpich",
//               "oversubscribed": false, "algorithm": "all-read-all", "faster": "mpi", "applied": true,
//               "ratio": 1.31, "communicators": 2}]}
// `by` is "fanlight" or "mpi" (then `reason` says why).  On several nodes `transport` is the one
// between them.  A class is of the bytes of one call on
// one rank: the vector, or one block.  calls, bytes and seconds are sums over all ranks,
// seconds_max is the most of one rank; `seconds` at the top is the longest run of a rank, from
// its start to MPI_Finalize.  Where a rank reports alone (gathering.h), "ranks" is 1 and "rank" says which it is.
// `by_rank` has what each rank of MPI_COMM_WORLD spent in these calls, how many
// of its messages were lent, so that others read them where they lay (execute/peer_memory.h), and what it waited in Fanlight (also in MPI_Wait) for more than some microseconds, and the peers for which it
// waited longest; rank -1 stands for messages from other nodes.  `guard` has what the guard found (guard.h): on how many
// communicators, whether the MPI library's own serves such calls since, the mean ratio of our time to its; "bytes_to" is
// null where lengths are not known to all ranks.
//
// The trace (FANLIGHT_TRACE) has each call and each such wait: trace_file.h.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "collective/reason.h"

namespace fanlight::report {

// What is wanted: `unknown` until the settings are read, at the first call.  For MPI_T calls are counted, and no report
// is made of it.
enum : unsigned { calls = 1, trace = 2, unknown = 4, tools = 8 };
extern std::atomic<unsigned> wanted;
unsigned find_out();
inline bool on(unsigned what = calls | trace) {
    unsigned w = wanted.load(std::memory_order_relaxed);
    if (w & unknown) [[unlikely]] w = find_out();
    return (w & what) != 0;
}

std::int64_t now_ns();
// `algorithm` and `transport`, or `reason`, are empty; all live for ever.
void call(const char* operation, std::size_t bytes, const char* algorithm, const char* transport, Reason reason,
          std::int64_t begun_ns);
// For a rank of MPI_COMM_WORLD, or -1.
void waited(int peer, std::int64_t begun_ns, std::int64_t ended_ns);

// Of one call.
class Timer {
public:
    Timer() = default;
    explicit Timer(const char* operation) : operation_(operation) {
        if (on(calls | trace | tools)) [[unlikely]] started_ = now_ns();
    }
    bool is_on() const { return started_ != 0; }
    // As call().
    void end(std::size_t bytes, std::string_view algorithm, std::string_view transport, Reason reason) const {
        if (is_on()) [[unlikely]] call(operation_, bytes, algorithm.data(), transport.data(), reason, started_);
    }

private:
    const char* operation_ = nullptr;
    std::int64_t started_ = 0;
};

// A communicator ended, or lives at MPI_Finalize.
void communicator(int ranks, Reason reason);

// What the guard found for a class of calls on a communicator, by one of its ranks.
struct Found {
    std::string_view operation, algorithm;
    std::size_t bytes_from = 0, bytes_to = 0;
    int ranks = 0, nodes = 0;
    bool oversubscribed = false, is_theirs = false, applied = false;
    friend auto operator<=>(const Found&, const Found&) = default;
};
void found(const Found&, double ratio);

// What this rank has counted so far of an operation (null: of all) that the MPI library served, for this reason (null:
// for any), or Fanlight.  Other threads may be in calls.
struct Count {
    std::uint64_t calls = 0, bytes = 0;
    std::int64_t ns = 0;
};
Count counted(const char* operation, bool is_served, const Reason* reason = nullptr);
// Whether it is counted for tools, from now on.
void count_for_tools(bool);

// From now on, because a rank of MPI_COMM_WORLD has a file for it.  Of what is `known` all ranks do the same.
void join(unsigned what, unsigned known);
// From now on, to this file where FANLIGHT_REPORT names none; by all ranks.
void begin(const char* file);

// What was counted so far, to the file that the first rank names which names one; counts from now on.  By all ranks,
// while no other thread is in a call.  Throws std::runtime_error where the file cannot be written, on that rank.
void write_now(const std::string& file);

// From MPI_Finalize before MPI ends; by all ranks where they know that it is on (join), else each writes its own.
void write();

}  // namespace fanlight::report
