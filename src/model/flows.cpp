#include "model/flows.h"

#include <algorithm>

namespace fanlight {

void Flows::begin(double now, std::span<const Use> uses, std::uint64_t token) {
    move_to(now);
    Flow f{.left = 0, .token = token, .parts = {}};
    for (const Use& u : uses)
        if (capacities_[u.resource] > 0) f.left = std::max(f.left, u.bytes / capacities_[u.resource]);
    for (const Use& u : uses) {
        if (capacities_[u.resource] <= 0 || u.bytes <= 0) continue;
        f.parts.push_back({u.resource, u.bytes / capacities_[u.resource] / f.left});
        load_[u.resource] += f.parts.back().share;
    }
    flows_.push_back(std::move(f));
    changed_ = true;
}

void Flows::move_to(double now) {
    for (Flow& f : flows_) f.left -= f.rate * (now - now_);
    now_ = now;
}

double Flows::next_end() {
    if (!changed_) return next_;
    changed_ = false;
    next_ = std::numeric_limits<double>::infinity();
    for (Flow& f : flows_) {
        double crowd = 1;
        for (const Part& p : f.parts) crowd = std::max(crowd, load_[p.resource]);
        f.rate = 1 / crowd;
        next_ = std::min(next_, now_ + std::max(f.left, 0.0) / f.rate);
    }
    return next_;
}

void Flows::end(double now, std::vector<std::uint64_t>& tokens) {
    move_to(now);
    // Late on the clock, no difference is less than its last bit.
    const double at_one_time = std::max(1e-12, 4 * std::numeric_limits<double>::epsilon() * now);
    std::erase_if(flows_, [&](const Flow& f) {
        if (f.left > at_one_time) return false;
        for (const Part& p : f.parts) load_[p.resource] -= p.share;
        tokens.push_back(f.token);
        return true;
    });
    changed_ = true;
}

}  // namespace fanlight
