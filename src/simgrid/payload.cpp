#include "simgrid/payload.h"

#include <algorithm>

namespace fanlight {
namespace {

std::size_t blocks_of_input(const Problem& p) {
    switch (p.operation) {
        case Operation::alltoall:
        case Operation::reduce_scatter_block: return static_cast<std::size_t>(p.size);
        case Operation::scatter: return p.rank == p.root ? static_cast<std::size_t>(p.size) : 0;
        default: return 1;
    }
}

std::size_t blocks_of_output(const Problem& p) {
    switch (p.operation) {
        case Operation::alltoall:
        case Operation::allgather: return static_cast<std::size_t>(p.size);
        case Operation::gather: return p.rank == p.root ? static_cast<std::size_t>(p.size) : 0;
        default: return 1;
    }
}

// What a rank has at a place of its input.
std::uint64_t word_of(int rank, std::size_t place) { return (static_cast<std::uint64_t>(rank) + 1) * 1000003 + place * 7919; }

// The same of ranks 0 to `end` - 1 together.
std::uint64_t sum_of(int end, std::size_t place) {
    const auto n = static_cast<std::uint64_t>(end);
    return n * (n + 1) / 2 * 1000003 + n * (place * 7919);
}

}  // namespace

Payload::Payload(const Problem& p)
    : problem_(p), words_(p.bytes / sizeof(std::uint64_t)), input_(words_ * blocks_of_input(p)), output_(words_ * blocks_of_output(p)) {}

void Payload::fill() {
    for (std::size_t i = 0; i < input_.size(); ++i) input_[i] = word_of(problem_.rank, i);
    std::ranges::fill(output_, ~std::uint64_t{0});
}

std::uint64_t Payload::expected(std::size_t i) const {
    const Problem& p = problem_;
    const auto own = static_cast<std::size_t>(p.rank) * words_;
    const int from = words_ ? static_cast<int>(i / words_) : 0;
    switch (p.operation) {
        case Operation::bcast: return word_of(p.root, i);
        case Operation::reduce:
        case Operation::allreduce: return sum_of(p.size, i);
        case Operation::scan: return sum_of(p.rank + 1, i);
        case Operation::exscan: return sum_of(p.rank, i);
        case Operation::allgather:
        case Operation::gather: return word_of(from, i % words_);
        case Operation::scatter: return word_of(p.root, own + i);
        case Operation::alltoall: return word_of(from, own + i % words_);
        default: return sum_of(p.size, own + i);  // reduce_scatter_block
    }
}

bool Payload::is_right() const {
    if ((problem_.operation == Operation::reduce && problem_.rank != problem_.root) || (problem_.operation == Operation::exscan && problem_.rank == 0)) return true;
    for (std::size_t i = 0; i < output_.size(); ++i)
        if (output_[i] != expected(i)) return false;
    return true;
}

}  // namespace fanlight
