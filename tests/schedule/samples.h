// Small collectives written by hand for the tests, independent of src/algorithms, and the
// means to break them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight::samples {

struct Sample {
    Problem problem;
    std::vector<Schedule> ranks;
};

Problem problem_of(Operation, int size, std::size_t bytes, std::size_t element = 1);

// The vector goes from rank to rank.
Sample chain_broadcast(int size, std::size_t bytes);
// Two ranks: the halves of the vector go one after the other through one slot of scratch;
// the reader signals that the slot is free.
Sample slot_broadcast(std::size_t half);
// Every rank offers its block; every other gets it.
Sample offered_allgather(int size, std::size_t bytes);
// Everybody puts its vector to rank 0, which combines them in the order of the ranks.
Sample linear_reduce(int size, std::size_t bytes, std::size_t element);
// linear_reduce to rank 0, which offers the result to all.
Sample linear_allreduce(int size, std::size_t bytes, std::size_t element);
// Three ranks, each puts its block s to rank s, all in one round.
Sample direct_alltoall(int size, std::size_t bytes);
// Ranks that have blocks of different lengths for each other: the places of what they put their
// targets alone know.
Sample direct_alltoallv(int size);
// Everybody signals everybody.
Sample signal_barrier(int size);

// The index of the n-th step of this kind in a rank's schedule.
std::size_t find(const Schedule&, StepKind, int n = 0);
// Removes a step; its round stays, even when it is empty then.
void erase(Schedule&, std::size_t step);
// Makes one round of round `first` and the one behind it.
void join_rounds(Schedule&, std::size_t first);

}  // namespace fanlight::samples
