// How long a collective would take on another machine: all ranks' schedules, event by event.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "model/machine.h"
#include "schedule/schedule.h"

namespace fanlight {

// How steps are carried out inside a node.
struct Transfer {
    std::size_t inlined = 112;      // so many bytes travel in the flag's own line
    std::size_t copied_once = 32768;  // from here on a peer's memory is read or written where it is; shorter: staged
    // Whether each rank's lines are in its own memory; else all are in that of the node's first rank.
    bool own_pages = false;
    // Whether a core asks for all lines that it needs before it tests the first; else for one after the other.
    bool asks_ahead = false;
    // Between nodes each put is under a lock (epochs.h): a way there and back before it, and one back behind it.
    bool locks = false;
    // A long message goes in so many pieces, of which the schedules are one; the last may be a part of one.
    double pieces = 1;
};

// What a rank did, for the timeline: it waited until `ready` and was done at `end`.
struct Span {
    int rank = 0;
    std::uint32_t round = 0;
    StepKind kind{};
    int peer = -1;
    std::size_t bytes = 0;
    double begin = 0, ready = 0, end = 0;
};

struct Simulation {
    double seconds = 0;          // until the last rank has finished
    std::vector<double> finish;  // until each has
    std::vector<Span> spans;     // if asked for, each rank's in the order of their ends
};

// All ranks begin at the same time, as after a barrier, and do what the executor does:
//  - what they send and copy in a round first, then what the round waits for, as it comes;
//  - a step costs machine.step; who waits sees a line one hop after it was written, who comes later waits a hop for
//    it; of lines that are asked for ahead `gather` are on the way at one time; the readers of one line follow each
//    other; so do those who set bits of one word;
//  - what is staged has its lines in the cache of who read them last, from where their writer gets them first;
//  - bytes that do not travel with the flag take one hop more, and the bandwidth of all that they pass, shared by
//    those who use it at that time (flows.h).  What a rank combines into counts once as long as its own cache
//    holds it.  Of buffers that exceed a shared cache the excess comes from memory, all from twice its size on;
//  - of pieces each rank begins the next when it is done with the one before; a few of them are run, and each further
//    one takes what the last of these took;
//  - between nodes LogGP: the overhead at both ends, the link of both nodes, the latency; long ones wait for their
//    receiver.
// Not modelled: what is in the way between nodes, clock frequencies that change, page faults and address
// translation, other programs.  Throws std::invalid_argument as count() does.
Simulation simulate(std::span<const Schedule> schedules, const Machine&, const Placement&, const Transfer& = {}, bool spans = false);

}  // namespace fanlight
