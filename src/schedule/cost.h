// An estimate of the time that a collective takes: a LogGP model over the steps.
#pragma once

#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/topology.h"

namespace fanlight {

// LogGP's parameters of one kind of link, in seconds.
struct Link {
    double latency = 0;   // L: from the sender to the receiver
    double overhead = 0;  // o: the processor's part in sending, and in receiving
    double gap = 0;       // g: at least so long between two messages of one rank
    double per_byte = 0;  // G: and so long for each byte
};

// The defaults are the order of magnitude of a node and a network of the 2020s; what is to
// decide anything must be measured.
struct CostModel {
    Link inside{0.15e-6, 0.05e-6, 0.05e-6, 1.0 / 10e9};
    Link between{1.5e-6, 0.3e-6, 0.3e-6, 1.0 / 12e9};
    double copy_per_byte = 1.0 / 10e9;
    double combine_per_byte = 1.0 / 5e9;  // gamma
};

struct Cost {
    double seconds = 0;           // until the last rank has finished
    std::vector<double> finish;   // until each rank has
};

// All ranks begin at the same time.  Each rank has one processor and, for each direction,
// one port: messages in one direction follow one another at a distance of g or of their
// bytes.  A put costs o at either side, L and its bytes; a get waits L for the offer, then
// costs o, L and its bytes.  What the ranks do at the same time does not slow them down
// otherwise: a node's memory or a network's middle is not modelled.
//
// Links between domains of the topology's first level are `between`, all others `inside`.  Throws
// as count() does.
Cost cost(std::span<const Schedule> schedules, const CostModel& model = {},
          const Topology& topology = {});

}  // namespace fanlight
