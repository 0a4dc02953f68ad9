// The data of a simulated operation's ranks, and whether the result is right.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/problem.h"

namespace fanlight {

class Payload {
public:
    // `bytes` of the problem are a multiple of 8: words of 64 bits, which a reduction adds up.
    explicit Payload(const Problem&);

    std::uint64_t* input() { return input_.data(); }
    std::uint64_t* output() { return output_.data(); }
    // Before each run.
    void fill();
    // Of an operation that was run.
    bool is_right() const;

private:
    std::uint64_t expected(std::size_t word) const;

    const Problem& problem_;
    const std::size_t words_;  // of a vector or block
    std::vector<std::uint64_t> input_, output_;
};

}  // namespace fanlight
