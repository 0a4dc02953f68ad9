// Blocks that this process and others have mapped without Fanlight, such as the windows that an MPI library allocates:
// which of them are this process's own, and where it reaches those of others.
//
// Whoever adds a block states which processes reach it.  All add theirs before any uses it, and remove it after all have
// stopped.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace fanlight {

struct SharedBlock {
    // Another process of this one's pid namespace.
    struct Peer {
        pid_t pid;
        std::uint64_t there;  // its own block: its address of it, this process's, and the bytes; null: not reached
        std::byte* here;
        std::size_t bytes;
        bool reaches_own;     // and it reaches this process's
    };
    const std::byte* own = nullptr;
    std::size_t bytes = 0;
    std::vector<Peer> peers;
};

class SharedBlocks {
public:
    // Those of this process.
    static SharedBlocks& here();

    void add(std::shared_ptr<const SharedBlock>);
    void remove(const SharedBlock*);

    // Whether all of it lies in one of this process's own.
    bool owns(const std::byte* from, std::size_t bytes) const { return any() && find(from, bytes); }
    // ... which this process reaches as well.
    bool reached_by(pid_t, const std::byte* from, std::size_t bytes) const;
    // Where this process reaches what `pid` calls `there`; null: nowhere.
    std::byte* at(pid_t pid, std::uint64_t there, std::size_t bytes) const { return any() ? find(pid, there, bytes) : nullptr; }

private:
    bool any() const { return any_.load(std::memory_order_acquire); }
    bool find(const std::byte* from, std::size_t bytes) const;
    std::byte* find(pid_t, std::uint64_t there, std::size_t bytes) const;

    mutable std::shared_mutex mutex_;
    std::atomic<bool> any_{false};
    std::vector<std::shared_ptr<const SharedBlock>> blocks_;
};

}  // namespace fanlight
