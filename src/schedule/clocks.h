// What each rank knows, at the start of each round, about how far the others are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace fanlight::symbolic {

// Vector clocks.  Entry p of a rank's clock says: rounds 0 .. entry - 1 of rank p have begun.
// A rank that has begun round b has finished the rounds before it.  Only what every
// transport guarantees counts: an arrive tells what its put's rank knew when the put's round
// began, a get tells the same of its offer.
class Clocks {
public:
    explicit Clocks(std::span<const Schedule> schedules) : size_(schedules.size()) {
        std::size_t rows = 0;
        for (const Schedule& s : schedules) {
            first_row_.push_back(rows);
            rows += s.rounds() + 1;  // one behind the last round: what is known at the end
        }
        entries_.assign(rows * size_, 0);
    }

    void enter(int rank, std::uint32_t round) {
        std::uint32_t* now = row(rank, round);
        now[rank] = round + 1;
        std::uint32_t* later = row(rank, round + 1);
        for (std::size_t i = 0; i < size_; ++i) later[i] = now[i];
    }
    // Something in `round` of `rank` waited for something in `peer_round` of `peer`.
    void learn(int rank, std::uint32_t round, int peer, std::uint32_t peer_round) {
        std::uint32_t* later = row(rank, round + 1);
        const std::uint32_t* told = row(peer, peer_round);
        for (std::size_t i = 0; i < size_; ++i) later[i] = later[i] < told[i] ? told[i] : later[i];
    }

    // Whether round b of rank p is over before this round of `rank` begins.
    bool over(int p, std::uint32_t b, int rank, std::uint32_t round) const {
        return row(rank, round)[p] > b + 1;
    }
    // Whether rank p has begun before this round of `rank` begins.
    bool begun(int p, int rank, std::uint32_t round) const { return row(rank, round)[p] > 0; }

private:
    std::uint32_t* row(int rank, std::uint32_t round) {
        return &entries_[(first_row_[static_cast<std::size_t>(rank)] + round) * size_];
    }
    const std::uint32_t* row(int rank, std::uint32_t round) const {
        return &entries_[(first_row_[static_cast<std::size_t>(rank)] + round) * size_];
    }

    std::size_t size_;
    std::vector<std::size_t> first_row_;
    std::vector<std::uint32_t> entries_;
};

}  // namespace fanlight::symbolic
