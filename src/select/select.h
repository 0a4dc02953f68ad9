// Which algorithm for which problem: rules as text, the first that matches applies.
//
//   # operation  conditions ...                              -> algorithm [parameter=value ...]
//   allreduce    bytes=..2K ranks=2..8 oversubscribed=yes    -> all-read-all
//   bcast        bytes=1M.. single_copy=no                   -> native
//
// A condition that is not given always holds.  Ranges are inclusive; `K`, `M` and `G` are powers of 1024.  bytes: the
// length of the vector, or of one block (v forms: the mean, total bytes / ranks; 0 where no rank knows it, known_bytes()).
// `native` is the MPI library's own.
// Forced algorithms (FANLIGHT_ALGORITHM) are written bcast:binomial or bcast:tree(degree=4,piece=8K).  A parameter that an
// algorithm does not take is an error.  file(mine.plan) is an algorithm saved in a file (docs/own-algorithms.md); if it is
// not meant for the problem the next rule is tried, even if it is forced.
//
// blocking=no matches non-blocking and persistent calls.
// nodes=2.. matches communicators with ranks on several nodes.  There the algorithm runs between the nodes:
//   (default)    among one rank of each: `ring` is short for by-levels(ring)
//   lanes=yes    among all, each with its part of the data: `ring` is short for multi-lane(ring).  Only for nodes with
//                equally many ranks and operators that commute; elsewhere the rule is passed over
//   flat=yes     among all ranks, as it also does if the operation has no levels; flat=no: then the rule is passed over
// transport= is how the data moves: shared, message, rma-fence, rma-lock or rma-flush; by default shared in a node, else
// message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/problem.h"
#include "transport/kind.h"

namespace fanlight {

struct Situation {
    Operation operation{};
    std::size_t bytes = 0;
    int ranks = 1;
    int nodes = 1;
    bool by_levels = false;  // an operation on several nodes that need not be flat
    bool lanes = false;      // nor leave out any rank of a node
    bool oversubscribed = false;
    bool single_copy = true;
    bool blocking = true;    // no: non-blocking and persistent ones
    bool commutative = true;
    Topology topology = {};  // of the ranks
    std::string_view mpi;   // the library that would serve it: a name of config/mpi_libraries.h
};

struct Choice {
    const Algorithm* algorithm = nullptr;  // null: native
    Parameters parameters;
    std::optional<Transport> transport;
    bool flat = false, by_levels = false, lanes = false;  // flat=yes, flat=no
    bool forced = false;                                  // and by no rule
    std::string_view rule;                 // the selector's: its text and where it stands, for explain
    std::string passed_over;               // plans from files that came before it, and why they were not chosen
};

struct Rule;

// What `fanlight tune` wrote; rank 0's, for all ranks of a communicator.
struct TunedRules {
    std::string file, text;  // no text: none
    bool operator==(const TunedRules&) const = default;
};

class Selector {
public:
    // The forced ones (FANLIGHT_ALGORITHM), those that the program chose for a communicator
    // (fanlight_set_algorithm), the file (FANLIGHT_RULES), the measured, the built-in.
    // Throws std::invalid_argument naming file, line and what is wrong.
    Selector(std::string_view forced, const std::string& file, std::string_view chosen = {}, const TunedRules& tuned = {});
    ~Selector();
    // A forced algorithm that a restriction forbids for this situation: std::invalid_argument.
    // A rule's algorithm that a restriction forbids is passed over.
    Choice choose(const Situation&) const;
    // What was read from files: with the same settings and the same digest two selectors choose alike.
    std::string digest() const;
    // The least and the greatest length for which the same rules hold as for this situation's.
    std::pair<std::size_t, std::size_t> alike(const Situation&) const;

private:
    std::vector<Rule> rules_;
    std::string file_;  // its text
};

// The built-in rules' text: those for many ranks on a node, by the model (src/select/modelled.txt), those that `fanlight tune`
// measured (measured.txt), then rules.txt.
std::string_view built_in_rules();

}  // namespace fanlight
