// Which messages a schedule's steps become where its ranks share no memory.
//
// An algorithm is a pure function of the problem, so every rank can compute every other rank's schedule.  Hence a get
// needs no request: the owner has computed the reader's schedule, and sends what the reader will get as soon as it offers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/registry.h"
#include "execute/reach.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"
#include "transport/remote.h"

namespace fanlight {

struct Exchange {
    struct Send {
        std::uint32_t step;  // of the schedule: a put, or an offer, of which each reader is sent what it will get
        Address from;
        RemoteMessage message;
    };
    std::vector<Send> sends;              // in the order of the schedule
    std::vector<RemoteMessage> receives;  // arrives and gets, in the order of the schedule
    // Fences: how many lie before each round's end, and in the operation; the latter is the same on all ranks.
    std::vector<std::uint32_t> round_epochs;
    std::uint32_t epochs = 0;
};

Exchange exchange(const Algorithm&, const Problem&, const Reach&);

}  // namespace fanlight
