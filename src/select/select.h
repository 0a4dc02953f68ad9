// Which algorithm for which problem: rules as text, the first that fits takes effect.
//
//   # operation  conditions ...                              -> algorithm [parameter=value ...]
//   allreduce    bytes=..2K ranks=2..8 oversubscribed=yes    -> all-read-all
//   bcast        bytes=1M.. single_copy=no                   -> native
//
// A condition that is not given holds always.  Ranges are inclusive, `K`, `M` and `G` are
// powers of 1024.  bytes: the length of the vector, or of one block (v forms: the mean, total
// bytes / ranks).  `native` is the MPI library's own.  Forced algorithms (FANLIGHT_ALGORITHM) are
// written bcast:binomial or bcast:tree(degree=4,piece=8K).  A parameter that an algorithm does
// not take is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/problem.h"

namespace fanlight {

struct Situation {
    Operation operation{};
    std::size_t bytes = 0;
    int ranks = 1;
    bool oversubscribed = false;
    bool single_copy = true;
    bool commutative = true;
    std::string_view mpi;   // "mpich", "openmpi", "impi", ...: the library that would serve it
};

struct Choice {
    const Algorithm* algorithm = nullptr;  // null: native
    Parameters parameters;
    std::string_view rule;                 // the selector's: its text and where it stands, for explain
};

struct Rule;

class Selector {
public:
    // The forced ones (FANLIGHT_ALGORITHM), then the file (FANLIGHT_RULES), then the built-in.
    // Throws std::invalid_argument naming file, line and what is wrong.
    Selector(std::string_view forced, const std::string& file);
    ~Selector();
    // A forced algorithm that a restriction forbids for this situation: std::invalid_argument.
    // A rule's algorithm that a restriction forbids is passed over.
    Choice choose(const Situation&) const;

private:
    std::vector<Rule> rules_;
};

// The built-in rules' text (src/select/rules.txt).
std::string_view built_in_rules();

}  // namespace fanlight
