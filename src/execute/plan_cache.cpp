#include "execute/plan_cache.h"

namespace fanlight {

bool is_same_call(const Problem& a, const Problem& b) {
    return a.operation == b.operation && a.root == b.root && a.bytes == b.bytes && a.element == b.element &&
           a.commutative == b.commutative && a.blocks == b.blocks && a.sends == b.sends && a.edges == b.edges;
}

std::size_t hash_of_call(const Problem& p) {
    std::uint64_t h = static_cast<std::uint64_t>(p.operation) << 1 | p.commutative;
    const auto mix = [&](std::uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15u; h ^= h >> 32; };
    mix(static_cast<std::uint64_t>(p.root));
    mix(p.bytes);
    mix(p.element);
    for (const std::vector<Block>* blocks : {&p.blocks, &p.sends})
        for (const Block& b : *blocks) mix(b.offset * 0x100000001b3u + b.bytes);
    for (const Edge& e : p.edges) mix((e.sent * 0x100000001b3u + e.taken) * 0x100000001b3u + e.bytes);
    return h;
}

std::size_t Planned::steps() const {
    std::size_t n = plan.moves.steps.size();
    for (const Plan::Part& part : plan.parts) n += part.schedule.steps.size();
    return n;
}

}  // namespace fanlight
