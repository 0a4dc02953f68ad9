// Blocks with lengths, places and datatypes of their own, as alltoallv, alltoallw and neighborhoods have them.
#pragma once

#include <algorithm>
#include <vector>

#include "collective/buffers.h"
#include "schedule/problem.h"

namespace fanlight {

// One side's blocks, by the ranks, or the neighbors, that they go to or come from.
using Blocks = std::vector<Elements>;

// The datatypes of one side, and what its displacements count.
struct OneForAll {
    MPI_Datatype handle;
    const Datatype* found = nullptr;

    bool acceptable() { return (found = datatype(handle)) != nullptr; }
    const Datatype* of(int) const { return found; }
    std::ptrdiff_t unit() const { return found->extent; }
    static constexpr bool in_bytes = false;
};
struct OneForEach {
    const MPI_Datatype* handles;

    bool acceptable() const { return handles != nullptr; }
    const Datatype* of(int rank) const { return datatype(handles[rank]); }
    std::ptrdiff_t unit() const { return 1; }
    static constexpr bool in_bytes = true;
};

// `none`: of which of them there is none (MPI_PROC_NULL), so that its arguments say nothing.
template <class C, class D, class Types, class None>
bool acceptable(const void* memory, const C* counts, const D* displacements, Types types, int size, Blocks& blocks, None&& none) {
    if (memory == MPI_IN_PLACE) return false;
    blocks.assign(static_cast<std::size_t>(size), {});
    if (size == 0) return true;
    if (!counts || !displacements || !types.acceptable()) return false;
    for (int r = 0; r < size; ++r) {
        if (none(r)) continue;
        if (counts[r] < 0) return false;
        if (counts[r] == 0) continue;  // whose datatype some libraries do not look at
        const Datatype* const type = types.of(r);
        if (!type) return false;
        const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(displacements[r]) * types.unit();
        // In bytes they may be addresses: then null is MPI_BOTTOM.
        const bool addresses = types.unit() == 1 && (Types::in_bytes || sizeof(D) >= sizeof(void*)) && distance != 0;
        if (!memory && type->size > 0 && !addresses && (type->named() || type->contiguous)) return false;
        blocks[static_cast<std::size_t>(r)] = {static_cast<const std::byte*>(memory) + distance, counts[r], type,
                                                device_memory::holds(static_cast<const std::byte*>(memory) + distance)};
    }
    return true;
}

inline bool all_packed(const Blocks& blocks) {
    return std::all_of(blocks.begin(), blocks.end(), [](const Elements& e) { return !bytes_of(e) || e.direct(); });
}

// Where they lie in the program's memory, from the first one's address, which is returned.
inline std::byte* as_they_lie(const Blocks& blocks, std::vector<Block>& places) {
    const std::byte* first = nullptr;
    for (const Elements& e : blocks)
        if (bytes_of(e) && (!first || e.memory < first)) first = e.at(0);
    places.clear();
    for (const Elements& e : blocks)
        places.push_back({bytes_of(e) ? static_cast<std::size_t>(e.at(0) - first) : 0, bytes_of(e)});
    return const_cast<std::byte*>(first);
}

// One behind the other.
inline std::byte* in_line(const Blocks& blocks, std::vector<Block>& places, Workspace& workspace, Workspace::Use use) {
    std::size_t total = 0;
    places.clear();
    for (const Elements& e : blocks) {
        places.push_back({total, bytes_of(e)});
        total += bytes_of(e);
    }
    return workspace.get(use, total);
}

inline void pack_all(const Blocks& blocks, const std::vector<Block>& places, std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r)
        if (places[r].bytes > 0) blocks[r].pack(packed + places[r].offset);
}
inline void unpack_all(const Blocks& blocks, const std::vector<Block>& places, const std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r)
        if (places[r].bytes > 0) blocks[r].unpack(packed + places[r].offset);
}

}  // namespace fanlight
