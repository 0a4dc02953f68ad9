// The message pattern of a collective as a picture (SVG).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "schedule/schedule.h"
#include "schedule/topology.h"

namespace fanlight {

enum class Label : std::uint8_t {
    automatic,  // bytes (or blocks, if `block` is set), unless there are too many arrows
    bytes,      // "8 B"
    blocks,     // "3" or "3-5": which blocks of `block` bytes
    nothing,
};

struct DrawOptions {
    std::string title = {};
    Label label = Label::automatic;
    // Bytes of one block, for Label::blocks.
    std::size_t block = 0;
    // Ranks of one node have columns of one shade; above them are the numbers of their domains.
    Topology topology = {};
};

// Ranks are columns, time goes down: a row for each step of the critical path.  An arrow is
// a put, with a ring at its begin a get, dotted a signal; a circled plus says that bytes are
// combined there, at once at an arrow's end or later on a rank's line.  Colors change from row to row.
// Throws std::invalid_argument as count() does, and if blocks are wanted but `block` is 0.
std::string draw_svg(std::span<const Schedule> schedules, const DrawOptions& options = {});

}  // namespace fanlight
