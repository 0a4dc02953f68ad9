// What the executor needs from outside while it waits, and Fanlight's messages to the user.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "execute/wait.h"

namespace fanlight {

// `world_ranks`: of the group's members in MPI_COMM_WORLD, for the report.
Waiter::Hooks waiting_hooks(std::vector<int> world_ranks = {});

// "fanlight: ..." on standard error, in one piece; the waiter's messages begin like that already.
void say(const std::string&);

// With FANLIGHT_VERBOSE, by rank 0 of the communicator alone.
template <class Text>
void verbose(Text&& text, int rank) {
    if (config().verbose && rank == 0) say(text());
}

// Ends the job with a message: for what only its user can put right.
[[noreturn]] void stop(const std::string& message);

}  // namespace fanlight
