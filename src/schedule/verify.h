// Proves a collective right, for one problem, by a symbolic run of the schedules of all ranks together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/problem.h"
#include "schedule/progress.h"
#include "schedule/schedule.h"

namespace fanlight {

struct VerifyOptions {
    // The schedule runs so many times in a row, the scratch keeping what it held.
    int calls = 1;
    Puts puts = Puts::rendezvous;
    // No more messages than this.
    std::size_t most = 20;
};

// What is wrong, one line for each fault, naming rank and round (both count from 0); empty
// if the schedules are right.  `schedules` holds those of ranks 0 .. size - 1; `whole` is
// the problem as the root knows it, its rank does not matter.
//
// Right means:
//  * every put has its arrive, of the same bytes and place; every get lies in an offer that
//    names this reader; every reader of an offer gets it; nothing is left over at the end;
//  * every address is in its buffer, and nobody writes his input.  The root of a broadcast
//    has one memory for input and output, so it may only copy the one to the same place of
//    the other;
//  * there is no deadlock, in whatever order the steps of a round and the ranks advance;
//  * no range is touched while another step may write it (races.h);
//  * nothing is read before it is written;
//  * the output holds what MPI defines, combined in the order of the ranks if the operator
//    does not commute, and, for an allreduce, combined alike at all ranks, so that all get
//    the same bits; a barrier's end follows every rank's begin;
//  * no other byte of the output is written.
std::vector<std::string> verify(std::span<const Schedule> schedules, const Problem& whole,
                                const VerifyOptions& options = {});

// How the schedules of a reduction bracket the ranks' contributions: for each rank what its result
// holds, "((0+1)+2)", several where not all of its elements are combined alike.  Schedules with the
// same brackets give the same bits also where the operator does not associate.
std::vector<std::vector<std::string>> brackets(std::span<const Schedule> schedules, const Problem& whole);

}  // namespace fanlight
