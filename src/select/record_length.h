// The length of records that carry blocks whose lengths only their owners know (allgatherv_any.cpp): as long as the blocks
// of the last calls needed, if that moves little more than the blocks themselves.
//
// The same on all ranks, because it follows from lengths that all have learned.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

namespace fanlight {

class RecordLength {
public:
    std::size_t bytes() const { return bytes_; }

    // After each call: how long the longest record would have been, and all ranks' records together.
    void follow(std::size_t longest, std::size_t total, std::size_t ranks) {
        const std::size_t wanted = rounded(longest);
        if (wanted * ranks <= cheap || (wanted * ranks <= dear && wanted * ranks <= 2 * total)) {
            wanted_lately_ = std::max(wanted_lately_, wanted);
            bytes_ = std::max(bytes_, wanted);
        }
        if (++calls_ % 16 == 0) {
            bytes_ = std::max(wanted_lately_, least);
            wanted_lately_ = 0;
        }
    }

private:
    // Of few lengths, for each of which there is a plan.
    static std::size_t rounded(std::size_t n) {
        const std::size_t step = std::max(least, std::bit_floor(n)) / 4;
        return (n + step - 1) / step * step;
    }
    static constexpr std::size_t least = 32;
    // All ranks' records together: another operation takes longer than to move these; and than this may be.
    static constexpr std::size_t cheap = 4096, dear = 65536;

    std::size_t bytes_ = 112;  // as much as a cell has room for
    std::size_t wanted_lately_ = 0;
    unsigned calls_ = 0;
};

}  // namespace fanlight
