#include "algorithms/packing.h"

#include <utility>

namespace fanlight {

Packing::Packing(const Problem& problem, std::vector<int> order)
    : problem_(problem), order_(std::move(order)), packed_(static_cast<std::size_t>(problem.size)) {
    for (const int r : order_) {
        packed_[static_cast<std::size_t>(r)] = {bytes_, problem.block(r).bytes};
        bytes_ += problem.block(r).bytes;
    }
}

void Packing::for_runs(const std::function<void(Block, std::size_t)>& act) const {
    Block run;
    std::size_t packed = 0;
    for (const int r : order_) {
        const Block b = problem_.block(r);
        if (b.bytes == 0) continue;
        if (run.bytes > 0 && run.offset + run.bytes != b.offset) {
            act(run, packed);
            packed += std::exchange(run, {}).bytes;
        }
        if (run.bytes == 0) run.offset = b.offset;
        run.bytes += b.bytes;
    }
    if (run.bytes > 0) act(run, packed);
}

std::optional<std::size_t> Packing::packed_at() const {
    int runs = 0;
    std::size_t first = 0;
    for_runs([&](Block at, std::size_t) {
        ++runs;
        first = at.offset;
    });
    return runs <= 1 ? std::optional(first) : std::nullopt;
}

Address Packing::pack(Composer& composer, bool here) const {
    if (const auto at = packed_at()) return input(*at);
    const Address packed = composer.reserve(bytes_);
    if (here) for_runs([&](Block at, std::size_t to) { composer.copy(input(at.offset), packed + to, at.bytes); });
    return packed;
}

Address Packing::room_to_unpack(Composer& composer) const {
    const auto at = packed_at();
    return at ? output(*at) : composer.reserve(bytes_);
}

void Packing::unpack(Composer& composer, Address packed, bool here) const {
    if (!here || packed_at()) return;
    for_runs([&](Block at, std::size_t from) { composer.copy(packed + from, output(at.offset), at.bytes); });
}

}  // namespace fanlight
