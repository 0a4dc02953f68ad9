// Which bytes of a piece of memory a transfer touches, and their order.
#pragma once

#include <cstddef>
#include <cstring>

#include "collective/mpi_header.h"

namespace fanlight::global {

// Blocks of one length at one distance; or, with `lengths`, pieces each at an offset of its own.
// All of it `repeats` times, `extent` bytes apart.
struct Layout {
    std::size_t count = 1, block = 0, stride = 0;
    const std::size_t* lengths = nullptr;
    const std::size_t* offsets = nullptr;
    std::size_t repeats = 1, extent = 0;

    static Layout contiguous(std::size_t bytes) { return {.block = bytes}; }
    static Layout strided(std::size_t count, std::size_t block, std::size_t stride) {
        return {.count = count, .block = block, .stride = stride};
    }

    bool is_contiguous() const { return !lengths && repeats == 1 && (count == 1 || stride == block); }
    bool is_strided() const { return !lengths && repeats == 1; }
    std::size_t bytes() const;
    // The end of the last byte; SIZE_MAX where that is not to be expressed.
    std::size_t span() const;

    struct Piece {
        std::size_t offset, bytes;
    };
    std::size_t pieces() const { return repeats * count; }
    Piece piece(std::size_t i) const {
        const std::size_t shift = i / count * extent, k = i % count;
        return lengths ? Piece{shift + offsets[k], lengths[k]} : Piece{shift + k * stride, block};
    }
};

// Both layouts have the same number of bytes.
void copy(char* to, const Layout& to_layout, const char* from, const Layout& from_layout);

// An MPI datatype of the layout, of which one is moved.  The caller frees it.
MPI_Datatype datatype_of(const Layout&);

}  // namespace fanlight::global
