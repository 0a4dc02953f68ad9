// A segment of global memory: a part at each unit of a team.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "collective/mpi_header.h"
#include "global/error.h"
#include "global/table.h"
#include "global/team.h"
#include "memory/segment.h"

namespace fanlight::global {

using Part = fanlight_part;

// This unit's side of a lock, whose queue is in a segment of its own (lock.cpp).
struct Lock {
    std::mutex threads;  // the unit's threads queue here first
    std::atomic<std::thread::id> owner{};
};

// The node's parts are segments of shared memory, really reserved, as a group's (memory/segment.h), and not an
// MPI_Win_allocate_shared: that takes Open MPI 46 ms where this takes a fraction of one.
struct Segment {
    std::int32_t id = -1;
    std::uint32_t units = 0;  // 0: this unit has given it back, and not yet all have
    std::vector<Part> parts;
    Team* team = nullptr;
    std::vector<fanlight::Segment> memory;  // the node's parts; none: registered memory
    MPI_Win window = MPI_WIN_NULL;  // all parts; null: the team is on one node
    // Every unit reaches every part by loads and stores, so that the processor's atomic
    // operations are atomic for all.  Otherwise all use MPI's, also inside a node: MPI's need
    // not be atomic to the processor's.
    bool direct = false;
    bool own = false;               // Fanlight's, not the program's to free
    std::uint16_t flags = 0;        // DART's
    std::int16_t number = 0;        // DART's, in the team; 0: none
    std::unique_ptr<Lock> lock;     // null: no lock's
    fanlight_segment published{};   // what the programs' own checks look at (global_inline.h)
    bool registered() const { return memory.empty(); }
    // This unit's part's, which may be the whole node's.
    fanlight::Segment& own_memory() {
        return memory[memory.size() == 1 ? 0 : static_cast<std::size_t>(team->node_rank[static_cast<std::size_t>(team->unit)])];
    }
};

inline constinit Table<Segment> segments;

// `pages`: of parts that units make themselves.
Segment* allocate(Team&, std::int32_t id, std::size_t bytes, std::size_t alignment, fanlight_code&,
                  fanlight::Segment::Pages pages = fanlight::Segment::Pages::huge);
Segment* attach(Team&, std::int32_t id, void* address, std::size_t bytes, fanlight_code&);
void release(Segment*);
void release_allocated(Segment*);  // that counts among its team's allocations
// Registered memory, by this unit alone: the window is freed when all units have given it back, at
// the team's next registration or its end.
fanlight_code give_back(Segment*);
// As fanlight_allocate, but units may want different numbers of bytes, and all get the greatest.
fanlight_code allocate_greatest(fanlight_team, std::size_t bytes, fanlight_pointer*);
// Null where there is no such lock.
Segment* segment_of(fanlight_lock);

// A part and the place in it that a pointer names.
struct Target {
    Segment* segment = nullptr;
    const Part* part = nullptr;
    int unit = 0;
    std::uint64_t offset = 0;
    char* address() const { return part->address + offset; }
    bool direct() const { return part->address != nullptr; }
};
[[gnu::cold]] fanlight_code explain(fanlight_pointer, std::size_t bytes);

// Checks that these bytes are there; false where they are not.
inline bool reaches(Segment* s, int unit, std::uint64_t offset, std::size_t bytes, Target& target) {
    if (!s || static_cast<std::uint32_t>(unit) >= s->units) [[unlikely]] return false;
    const Part& part = s->parts[static_cast<std::size_t>(unit)];
    if (offset > part.bytes || bytes > part.bytes - offset) [[unlikely]] return false;
    target = {s, &part, unit, offset};
    return true;
}
inline fanlight_code resolve(fanlight_pointer p, std::size_t bytes, Target& target) {
    if (reaches(segments.find(p.segment), p.unit, p.offset, bytes, target)) [[likely]] return FANLIGHT_OK;
    return explain(p, bytes);
}

}  // namespace fanlight::global
