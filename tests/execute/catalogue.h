// Runs algorithms of the catalogue on a group and compares every byte of the result with what
// MPI defines.  The members may be threads or processes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "execute/group.h"

namespace fanlight::testing {

// Elements compose affine maps x -> a x + b over the integers mod 2^32: associative, not
// commutative, so that a wrong order shows.
Combiner affine_combiner();
// Commutative: addition of 64-bit integers.
Combiner sum_combiner();

// What rank p.rank brings into a call, and what it must have in `out` afterwards.
struct Data {
    std::vector<std::byte> in, out, expected;
};
Data data_of(const Problem& p, int call);

// One member's part of `calls` calls in a row of one problem; the payload is a function of
// (source rank, index, call).  Returns what was wrong, empty if nothing.
// mapped: the buffers to run on, where all members reach all of them; lent: on buffers in this process's arena.
// prepare: what is done with the plan before.
std::string run_and_check(Group&, const Algorithm&, Problem, int calls, const Mapped* mapped = nullptr, bool lent = false,
                          const std::function<void(Plan&)>& prepare = {});
// What run_and_check runs, for the operations whose plan can be made beforehand.
Plan plan_of(const Group&, const Algorithm&, const Problem&, const Reach& = {});
// Where lengths travel first: as if they were here.
void hear_lengths(const Group&, const Plan&, const Problem& whole);

// Problems of an algorithm for this many ranks: all roots, several lengths, uneven blocks.
std::vector<Problem> problems(const Algorithm&, int size, const std::vector<std::size_t>& elements);
// Of every algorithm, in the order of algorithms().
std::vector<std::vector<Problem>> problems_of_all(int size, const std::vector<std::size_t>& elements);

}  // namespace fanlight::testing
