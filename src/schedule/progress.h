// Runs the schedules of all ranks together, step by step, without data: who may continue when.  An observer keeps what is
// of interest about the run (data, clocks, times).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/matching.h"
#include "schedule/schedule.h"
#include "schedule/topology.h"

namespace fanlight {

class Observer {
public:
    virtual ~Observer() = default;
    // A rank begins a round: its local steps, puts and offers happen now.
    virtual void enter(int /*rank*/, std::uint32_t /*round*/) {}
    // Both sides of a message have come to it: the arrive happens now.
    virtual void taken(const Message&) {}
    // The offer that a get names has been made: the get happens now.
    virtual void got(const StepPlace&) {}
    // All steps of the round are over.
    virtual void leave(int /*rank*/, std::uint32_t /*round*/) {}
};

// When a put is over.
enum class Puts {
    rendezvous,  // when its target takes it, as a long message to an MPI library, or one of any length in a
                 // ring of cells that is full: the strictest transport
    one_ahead,   // when the put before it between the same two ranks was taken
    free,        // at once
};

struct Progress {
    // For each rank the round that it came to and did not finish, or Schedule::rounds().
    std::vector<std::uint32_t> round;
    bool finished = true;
    // For each message: whether its arrive, and whether its put, is over.
    std::vector<char> taken;
    std::vector<char> put_over;
};

// Every wait in this language is for one certain event of one certain rank, and nothing
// that has become possible becomes impossible again.  Therefore all orders of progress come
// to the same end: if this one order finishes, every order does, and if it does not, none.
//
// The messages between two ranks are taken in their order.  A bit waits for nobody.
Progress run(std::span<const Schedule> schedules, const Matching& matching, Puts puts,
             Observer& observer);

// As run() on the least strict transport, but throws std::invalid_argument if there is a
// deadlock: for those that count, cost or draw what the verifier has found right.
void run_to_end(std::span<const Schedule> schedules, const Matching& matching, Observer& observer);

// Throws std::invalid_argument unless the topology is of these ranks.
void check_topology(std::span<const Schedule> schedules, const Topology& topology);

// Who waits for whom, one line for each rank of a circle of waits (or for each rank that
// did not finish, if there is no circle).
std::vector<std::string> explain_deadlock(std::span<const Schedule> schedules,
                                          const Matching& matching, const Progress& progress);

}  // namespace fanlight
