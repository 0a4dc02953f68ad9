#include "execute/called.h"

#include "execute/plan.h"

namespace fanlight {

namespace {
constexpr int root_bits = 18, byte_bits = 40;
constexpr std::uint64_t low(int bits) { return (std::uint64_t{1} << bits) - 1; }
}  // namespace

std::uint64_t called(const Problem& p) {
    // Of gatherv, scatterv and alltoallv the ranks know their own lengths; `bytes` is what they agreed on.
    const std::uint64_t bytes = knows_all_lengths(p.operation) ? total_bytes(p) : p.bytes;
    const std::uint64_t root = has_root(p.operation) ? static_cast<std::uint64_t>(p.root) : 0;
    return ((static_cast<std::uint64_t>(p.operation) << root_bits | (root & low(root_bits))) << byte_bits) | (bytes & low(byte_bits));
}

std::string call_text(std::uint64_t called) {
    const auto operation = static_cast<Operation>(called >> (root_bits + byte_bits));
    std::string text(to_string(operation));
    if (const std::uint64_t bytes = called & low(byte_bits)) text += " of " + std::to_string(bytes) + " bytes";
    if (has_root(operation)) text += ", root " + std::to_string(called >> byte_bits & low(root_bits));
    return text;
}

}  // namespace fanlight
