#include "collective/shared_group.h"

#include <atomic>
#include <system_error>
#include <utility>

#include "collective/hooks.h"
#include "config/config.h"

namespace fanlight {

namespace budget {

namespace {
std::atomic<std::size_t> taken{0};
}

bool take(std::size_t bytes) {
    if (taken.fetch_add(bytes) + bytes <= config().shared_memory) return true;
    taken.fetch_sub(bytes);
    return false;
}

void give_back(std::size_t bytes) { taken.fetch_sub(bytes); }

}  // namespace budget

SharedGroup::SharedGroup(Segment segment, int rank, std::vector<int> world_ranks, const Sharing& sharing)
    : segment_(std::move(segment)),
      counted_(segment_.bytes().size()),
      world_ranks_(std::move(world_ranks)),
      sharing_(sharing),
      group(segment_.bytes(), rank, static_cast<int>(world_ranks_.size()), sharing.single_copy, waiting_hooks(world_ranks_),
            sharing.ranks, sharing.cores) {
    group.copy_once_from(sharing.single_copy_from);
}

SharedGroup::SharedGroup(const SharedGroup& blocking)
    : counted_(0),
      world_ranks_(blocking.world_ranks_),
      sharing_(blocking.sharing_),
      group({}, blocking.group.rank(), blocking.group.size(), sharing_.single_copy, waiting_hooks(world_ranks_), sharing_.ranks, sharing_.cores,
            SharedSlots::Capacity::one) {
    group.copy_once_from(sharing_.single_copy_from);
}

void SharedGroup::place(Segment segment, SharedSlots::Extent extent) {
    budget::give_back(counted_);
    segment_ = std::move(segment);
    counted_ = segment_.bytes().size();
    group.place(segment_.bytes(), extent);
}

void SharedGroup::settle_slots(bool more) {
    if (more) return group.take_more_slots();
    counted_ -= group.more_slots_bytes();
    budget::give_back(group.more_slots_bytes());
}

SharedGroup::~SharedGroup() { budget::give_back(counted_); }

namespace {

Segment unshared(std::size_t bytes) {
    std::error_code error;
    Segment made = Segment::unshared(bytes, error);
    if (!made) throw std::system_error(error, "a group's memory");
    return made;
}

}  // namespace

LoneGroup::LoneGroup(Transport transport, std::shared_ptr<RemoteTransport> remote, const Sharing& sharing)
    : memory(unshared(Group::segment_bytes(1, SharedSlots::Capacity::many))),
      group(memory.bytes(), 0, 1, false, waiting_hooks(), sharing.ranks, sharing.cores, SharedSlots::Capacity::many) {
    group.reach_by(transport, std::move(remote));
}

}  // namespace fanlight
