// Blocks with lengths, places and datatypes of their own.
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
bool acceptable(const void* memory, const C* counts, const D* displacements, Types& types, int size, Blocks& blocks, None&& none) {
    if (memory == MPI_IN_PLACE) return false;
    blocks.assign(static_cast<std::size_t>(size), {});
    if (size == 0) return true;
    if (!counts || !displacements || !types.acceptable()) return false;
    // One question where they are of one buffer: of a block that is there, since the buffer itself may begin elsewhere.
    const bool in_one_buffer = memory && !Types::in_bytes;
    bool asked = false, on_device = false;
    for (int r = 0; r < size; ++r) {
        if (none(r)) continue;
        if (counts[r] < 0) return false;
        if (counts[r] == 0) continue;  // whose datatype some libraries do not look at
        const Datatype* const type = types.of(r);
        if (!type) return false;
        const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(displacements[r]) * types.unit();
        // In bytes they may be addresses: then null is MPI_BOTTOM.
        const bool addresses = types.unit() == 1 && (Types::in_bytes || sizeof(D) >= sizeof(void*)) && distance != 0;
        if (!addresses && lacks_memory(memory, type->size, *type)) return false;
        const std::byte* const place = static_cast<const std::byte*>(memory) + distance;
        if (!asked || !in_one_buffer) on_device = device_memory::holds(place);
        asked = true;
        blocks[static_cast<std::size_t>(r)] = {place, counts[r], type, on_device};
    }
    return true;
}
inline bool is_nobody(int) { return false; }  // where all of them are there

inline bool all_packed(const Blocks& blocks) {
    return std::all_of(blocks.begin(), blocks.end(), [](const Elements& e) { return !bytes_of(e) || e.direct(); });
}

// Whether they lie packed, one behind the other, in the program's memory: from `first` on, which is left as it is if all are empty.
inline bool are_in_line(const Blocks& blocks, std::byte*& first) {
    const std::byte* next = nullptr;
    for (const Elements& e : blocks) {
        if (!bytes_of(e)) continue;
        if (!e.direct() || (next && e.memory != next)) return false;
        if (!next) first = const_cast<std::byte*>(e.at(0));
        next = e.at(0) + e.bytes();
    }
    return true;
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

// One behind the other: the bytes of all.
inline std::size_t put_in_line(const Blocks& blocks, std::vector<Block>& places) {
    std::size_t total = 0;
    places.clear();
    for (const Elements& e : blocks) {
        places.push_back({total, bytes_of(e)});
        total += bytes_of(e);
    }
    return total;
}

inline void pack_all(const Blocks& blocks, const std::vector<Block>& places, std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r)
        if (places[r].bytes > 0) blocks[r].pack(packed + places[r].offset);
}
inline void unpack_all(const Blocks& blocks, const std::vector<Block>& places, const std::byte* packed) {
    for (std::size_t r = 0; r < blocks.size(); ++r)
        if (places[r].bytes > 0) blocks[r].unpack(packed + places[r].offset);
}

// Runs it, and then unpacks what has come, if that is not `direct`: now, or when it is over.
inline void run_into(Call& call, CommunicatorContext& s, const Decision& d, const void* input, std::byte* output, bool direct,
                     Blocks& blocks, const std::vector<Block>& places) {
    if (direct) return call.run(s, d, input, output, nullptr);
    if (!call.starts()) {
        s.run(d, input, output, nullptr);
        return unpack_all(blocks, places, output);
    }
    const Datatype *last = nullptr, *kept = nullptr;
    for (Elements& e : blocks) {
        if (!e.datatype) continue;
        if (e.datatype != last) kept = call.kept(last = e.datatype);
        e.datatype = kept;
    }
    call.run(s, d, input, output, nullptr, [=] { unpack_all(blocks, places, output); });
}

}  // namespace fanlight
