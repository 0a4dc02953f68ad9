// What the simulator knows of each rank, put, offer and message between nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace fanlight::model {

constexpr double never = std::numeric_limits<double>::infinity();

struct Event {
    double time;
    std::uint64_t number, token;  // a rank that goes on, or a letter that has come
    bool operator>(const Event& o) const { return std::tie(time, number) > std::tie(o.time, o.number); }
};
constexpr std::uint64_t first_letter = std::uint64_t{1} << 32;
// A message between nodes.
struct Letter {
    int from, to;
    std::size_t bytes;
    bool sent = false, awaited = false, in_flight = false;
    double left = never, there = never;
};
struct Reader {
    int rank;
    std::uint32_t letter;
};
struct Offer {
    std::size_t bytes = 0;
    double made = never, line_free = 0, data_free = 0;
    std::vector<Reader> gets;
};
struct State {  // of a put inside a node: its flag was written; its arrive is over, its arrive's round began
    double told = never, taken = never, awaited = never;
};
struct Word {  // of the bits that others set for a rank
    double free = 0;
    int holder = -1;
};
enum class At : std::uint8_t { nothing, own, flag, move, bytes, blocked };
struct Rank {
    std::uint32_t round = 0, next = 0;  // the next of the round's own steps
    std::vector<std::uint32_t> waits;   // steps of the round that are for others to begin
    At at = At::nothing, then = At::nothing;
    int peer = -1;  // whose bytes it moves besides its own
    double own = 0, theirs = 0;
    bool direct = false;  // not by way of staging
    std::uint32_t step = 0;
    bool goes_on = false, beside = false;  // it did not wait before this step; its line was fetched beside the one before
    double entered = 0, free = 0, begun = 0, ready = 0;
};

}  // namespace fanlight::model
