// The program's buffers as the executor needs them: contiguous bytes, without a copy if they already are.
#pragma once

#include <cstring>

#include "collective/call.h"
#include "collective/datatype.h"
#include "collective/device_memory.h"
#include "collective/mpi_header.h"
#include "collective/workspace.h"

namespace fanlight {

// A buffer of the fast path: an address of the program's.
inline bool ordinary(const void* buffer) { return buffer != nullptr && buffer != MPI_IN_PLACE; }

// A rank's own block given as input and, at its place, as output, without MPI_IN_PLACE.  MPI
// forbids it, and MPICH's family says so where both are of one datatype.  Open MPI takes it as
// MPI_IN_PLACE, and so do we, also of two datatypes.  The fast path looks at the addresses alone.
inline bool wrongly_in_place(const void* own, const void* place) {
#if defined(OPEN_MPI)
    return static_cast<void>(own), static_cast<void>(place), false;
#else
    return own == place;
#endif
}
inline const void* place_of_block(const void* all, int rank, std::size_t bytes) {
    return static_cast<const std::byte*>(all) + static_cast<std::size_t>(rank) * bytes;
}

// Some elements of a datatype at a place in memory.
struct Elements {
    const void* memory = nullptr;
    MPI_Count count = 0;
    const Datatype* datatype = nullptr;
    bool on_device = false;

    // Packed, and where the executor can read and write it: then it may be used as it is.
    bool direct() const { return datatype->contiguous && !on_device; }
    std::size_t bytes() const { return static_cast<std::size_t>(count) * datatype->size; }
    // Where element i is; only for what is not MPI_BOTTOM.
    const std::byte* at(std::ptrdiff_t i) const {
        return static_cast<const std::byte*>(memory) + i * datatype->extent;
    }
    Elements part(std::ptrdiff_t first, MPI_Count n) const { return {at(first), n, datatype, on_device}; }
    // Between their places in memory and packed bytes.
    void pack(std::byte* packed) const;
    void unpack(const std::byte* packed) const;
};

inline std::size_t bytes_of(const Elements& e) { return e.count ? e.bytes() : 0; }

// Given without MPI_IN_PLACE.  Of other datatypes the elements may lie between each other, or far apart.
inline bool same_memory(const Elements& a, const Elements& b) {
    return bytes_of(a) && bytes_of(b) && a.memory == b.memory && a.datatype->contiguous && b.datatype->contiguous;
}
inline bool wrongly_in_place(const Elements& own, const Elements& place) {
    return same_memory(own, place) && own.datatype->handle == place.datatype->handle && wrongly_in_place(own.memory, place.memory);
}

// As a call has them.
struct Argument {
    const void* memory;
    MPI_Count count;
    MPI_Datatype type;
};

// Whether a call with it can be known again by count and datatype alone.
inline bool is_plain(const Elements& e) { return e.datatype->named() && e.datatype->contiguous && !device_memory::is_staged(); }

// No buffer where there must be one.  A datatype of the program's may hold addresses: then null is MPI_BOTTOM.
inline bool lacks_memory(const void* memory, std::size_t bytes, const Datatype& d) {
    return !memory && bytes > 0 && (d.named() || d.contiguous);
}

// False for what the MPI library would not accept: a negative count, a datatype that is null
// or not committed, no buffer.
inline bool acceptable(const void* memory, MPI_Count count, MPI_Datatype handle, Elements& e) {
    if (count < 0 || memory == MPI_IN_PLACE) return false;
    e = {memory, count, datatype(handle), device_memory::holds(memory)};
    return e.datatype && !lacks_memory(memory, e.bytes(), *e.datatype);
}

// Where the packed bytes are for reading.
inline const std::byte* packed_input(const Elements& e, Workspace& workspace, Workspace::Use use = Workspace::input) {
    if (e.direct()) return static_cast<const std::byte*>(e.memory);
    std::byte* packed = workspace.get(use, e.bytes());
    e.pack(packed);
    return packed;
}

// A copy of the packed bytes: of a buffer that will be written while it is still read.
inline std::byte* packed_copy(const Elements& e, Workspace& workspace) {
    std::byte* packed = workspace.get(Workspace::input, e.bytes());
    e.pack(packed);
    return packed;
}

// Where packed bytes are to be written, and then brought to their place.
class PackedOutput {
public:
    PackedOutput(const Elements& e, Call& call, CommunicatorContext& s)
        : elements_(e),
          is_copy_(!e.direct()),
          packed_(e.direct() ? static_cast<std::byte*>(const_cast<void*>(e.memory))
                                     : call.workspace(s).get(Workspace::output, e.bytes())) {
        if (is_copy_) elements_.datatype = call.kept(e.datatype);  // the program may have freed its own when it is over
    }
    std::byte* bytes() const { return packed_; }
    bool is_copy() const { return is_copy_; }
    void finish() const {
        if (is_copy_) elements_.unpack(packed_);
    }

private:
    Elements elements_;
    bool is_copy_;
    std::byte* packed_;
};

// Packed bytes of any length?  MPI_Pack without large counts ends at 2 GiB; asked of a total
// that all ranks know, also by the ranks that pack nothing.
inline bool can_pack(std::size_t total_bytes) { return total_bytes < (std::size_t{1} << 31) || packs_large(); }

// Frees what was large when the operation is over.
struct Trim {
    Workspace& workspace;
    ~Trim() { workspace.trim(); }
};

}  // namespace fanlight
