// Which put belongs to which arrive, and which get to which offer, over all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace fanlight {

inline constexpr std::uint32_t none = UINT32_MAX;

struct StepPlace {
    int rank = 0;
    std::uint32_t round = 0;
    std::uint32_t step = 0;  // index in Schedule::steps
};

// The n-th put from one rank to another and the n-th arrive there.
struct Message {
    StepPlace put;
    StepPlace arrive;
    std::size_t bytes = 0;
    std::uint32_t previous = none;  // the message before and behind this one between the
    std::uint32_t next = none;      // same two ranks
};

struct Matching {
    std::vector<Message> messages;
    // For each rank and step: the message of a put or an arrive, else none.
    std::vector<std::vector<std::uint32_t>> message_of;
    // For each rank: where its offers 0, 1, ... are made.
    std::vector<std::vector<StepPlace>> offers;
    // What does not match, in words.  Empty for schedules that belong together.
    std::vector<std::string> faults;
};

Matching match(std::span<const Schedule> schedules);
// As match(), but throws std::invalid_argument with the first fault.
Matching match_or_throw(std::span<const Schedule> schedules);

}  // namespace fanlight
