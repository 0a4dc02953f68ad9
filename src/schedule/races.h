// Checks that no range is touched while another step may write it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schedule/clocks.h"
#include "schedule/matching.h"
#include "schedule/schedule.h"

namespace fanlight::symbolic {

// When an access to a rank's buffer happens:
//  * a local step, a put's source, an arrive or get that combines: within its round;
//  * the target of a put that overwrites: from the begin of the put's round at the sender
//    (a transport may write at once) to the end of the arrive's round;
//  * an offer: a reading from its round to the end of the operation.
// Two accesses of one range, one of them a writing, must be ordered by what the ranks know
// (Clocks).  Input is never written (verify checks that), so only output and scratch count.
//
// Appends what it finds to `faults`, at most until there are `most` of them.
void find_races(std::span<const Schedule>, const Matching&, const Clocks&,
                std::vector<std::string>& faults, std::size_t most);

}  // namespace fanlight::symbolic
