#include "execute/staging.h"

namespace fanlight {

Place place_of(std::size_t bytes, const BindOptions& options) {
    if (bytes <= options.inlined) return Place::inlined;
    if (options.single_copy && bytes >= options.single_copy_from) return Place::direct;
    return Place::staged;
}

bool is_read_near(const Schedule& schedule, int rank, const Step& offer, const Reach& reach) {
    if (!reach.nodes) return true;
    return std::ranges::any_of(schedule.readers_of(offer), [&](int reader) { return reach.near(rank, reader); });
}

InWindow::Place InWindow::next(const Step& s) {
    const auto is_far = [this](int peer) { return !reach_.near(rank_, peer); };
    const Place place{used_.bytes, used_.flags};
    const bool comes = (s.kind == StepKind::arrive || s.kind == StepKind::get) && is_far(s.peer);
    const bool is_read = s.kind == StepKind::offer && std::ranges::any_of(schedule_.readers_of(s), is_far);
    if (is_read || (comes && s.kind == StepKind::arrive)) used_.bytes += whole_lines(s.bytes);
    if (comes) ++used_.flags;
    return place;
}

Needs needs_of(const Schedule& schedule, int rank, const SharedSlots& slots, const BindOptions& options) {
    const Staging staging(schedule, rank, slots, options);
    Needs needs{staging.total(), staging.longest(), schedule.scratch_bytes, 0, {}};
    for (const Step& s : schedule.steps)
        if (s.kind == StepKind::offer && is_read_near(schedule, rank, s, options.reach)) needs.offers = std::max(needs.offers, s.offer + 1);
    if (!options.reach.over_windows()) return needs;
    InWindow window(schedule, rank, options.reach);
    for (const Step& s : schedule.steps) window.next(s);
    needs.window = window.used();
    return needs;
}

}  // namespace fanlight
