// The trace of calls (FANLIGHT_TRACE), as ui.perfetto.dev and chrome://tracing read it.
//
// A JSON object whose "traceEvents" has one line for each call, and for each wait of some microseconds and more: "pid" is
// the rank in MPI_COMM_WORLD, "tid" counts the threads of a rank that called MPI, "ts" and "dur" are microseconds.  A call
// ("cat": "collective") has the operation's name, and in "args" its bytes, and algorithm and transport, or why the MPI
// library served it.  A wait ("cat": "wait") lies inside the call that waits; "for" in its "args" is the rank waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/mpi_header.h"
#include "collective/reason.h"

namespace fanlight::trace_file {

struct Event {
    std::int64_t begun_ns, ns;
    const char* operation;  // null: a wait
    const char* algorithm;  // empty: the MPI library's
    const char* transport;
    std::size_t bytes;
    Reason reason;
    int peer;               // that is waited for; -1: no certain one
};

// Of one thread: the first ones, as many as FANLIGHT_TRACE_EVENTS says.
class Events {
public:
    void add(const Event&);
    const std::vector<std::vector<Event>>& blocks() const { return blocks_; }
    std::uint64_t left_out() const { return left_out_; }

private:
    std::vector<std::vector<Event>> blocks_;  // full ones stay where they are
    std::size_t kept_ = 0;
    std::uint64_t left_out_ = 0;
};

// By the ranks of `all`; `file` may be empty on some.
void write(const std::string& file, const std::vector<const Events*>& threads, std::int64_t process_started_ns, MPI_Comm all);

}  // namespace fanlight::trace_file
