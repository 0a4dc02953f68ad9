#include "memory/shared_blocks.h"

#include <algorithm>
#include <utility>

namespace fanlight {

namespace {

bool lies_in(std::uint64_t from, std::size_t bytes, std::uint64_t block, std::size_t all) {
    return from >= block && from - block <= all && bytes <= all - (from - block);
}

bool is_in(const SharedBlock& block, const std::byte* from, std::size_t bytes) {
    return lies_in(reinterpret_cast<std::uint64_t>(from), bytes, reinterpret_cast<std::uint64_t>(block.own), block.bytes);
}

}  // namespace

SharedBlocks& SharedBlocks::here() {
    static SharedBlocks& blocks = *new SharedBlocks;  // never destroyed: groups may be while static objects are
    return blocks;
}

void SharedBlocks::add(std::shared_ptr<const SharedBlock> block) {
    const std::unique_lock lock(mutex_);
    blocks_.push_back(std::move(block));
    any_ = true;
}

void SharedBlocks::remove(const SharedBlock* block) {
    const std::unique_lock lock(mutex_);
    std::erase_if(blocks_, [block](const auto& one) { return one.get() == block; });
    any_ = !blocks_.empty();
}

bool SharedBlocks::find(const std::byte* from, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    return std::ranges::any_of(blocks_, [&](const auto& block) { return is_in(*block, from, bytes); });
}

bool SharedBlocks::reached_by(pid_t pid, const std::byte* from, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    return std::ranges::any_of(blocks_, [&](const auto& block) {
        return is_in(*block, from, bytes) &&
               std::ranges::any_of(block->peers, [pid](const SharedBlock::Peer& peer) { return peer.pid == pid && peer.reaches_own; });
    });
}

std::byte* SharedBlocks::find(pid_t pid, std::uint64_t there, std::size_t bytes) const {
    const std::shared_lock lock(mutex_);
    for (const auto& block : blocks_)
        for (const SharedBlock::Peer& peer : block->peers)
            if (peer.pid == pid && peer.here && lies_in(there, bytes, peer.there, peer.bytes)) return peer.here + (there - peer.there);
    return nullptr;
}

}  // namespace fanlight
