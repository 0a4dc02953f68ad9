// What the ranks of one operation must call alike, in one word: which operation, from which root, how many bytes.
// Each rank records it for its peers (SharedSlots::Called) and puts a few of its bits into its flags.  So ranks that call
// different things never take each other's bytes, and find out why they wait.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "schedule/problem.h"

namespace fanlight {

std::uint64_t called(const Problem&);
// "bcast of 8 bytes, root 0"
std::string call_text(std::uint64_t called);

// The ranks of a group called different collectives, or one with different lengths.  What they
// call in this group afterwards ends so as well.
struct MismatchedCollectives : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace fanlight
