// The blocks of all ranks side by side, in the order of the ranks' places in a topology.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedule/composer.h"
#include "schedule/problem.h"

namespace fanlight {

class Packing {
public:
    // `order`: all ranks.
    Packing(const Problem&, std::vector<int> order);

    const std::vector<int>& order() const { return order_; }
    // Where a rank's block lies when they are packed, and all of them together.
    Block of(int rank) const { return packed_[static_cast<std::size_t>(rank)]; }
    std::size_t bytes() const { return bytes_; }

    // The input's blocks packed; room for what unpack() brings to its places in the output.  Neither copies where
    // the blocks lie so already.  `here`: whether this rank does; all ranks call them.
    Address pack(Composer&, bool here = true) const;
    Address room_to_unpack(Composer&) const;
    void unpack(Composer&, Address packed, bool here = true) const;

    // Where they start, if they lie so already.
    std::optional<std::size_t> packed_at() const;

private:
    // Those that follow each other both ways are one.
    void for_runs(const std::function<void(Block at, std::size_t packed)>&) const;

    const Problem& problem_;
    std::vector<int> order_;
    std::vector<Block> packed_;  // of each rank
    std::size_t bytes_ = 0;
};

}  // namespace fanlight
