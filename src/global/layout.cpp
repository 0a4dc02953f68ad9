#include "global/layout.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "global/mpi_calls.h"

namespace fanlight::global {

std::size_t Layout::bytes() const {
    std::size_t total = count * block;
    if (lengths) {
        total = 0;
        for (std::size_t k = 0; k < count; ++k) total += lengths[k];
    }
    return total * repeats;
}

std::size_t Layout::span() const {
    unsigned __int128 end = 0;
    if (count == 0 || repeats == 0) return 0;
    if (lengths) {
        for (std::size_t k = 0; k < count; ++k)
            end = std::max(end, static_cast<unsigned __int128>(offsets[k]) + lengths[k]);
    } else {
        end = static_cast<unsigned __int128>(count - 1) * stride + block;
    }
    end += static_cast<unsigned __int128>(repeats - 1) * extent;
    return end > SIZE_MAX ? SIZE_MAX : static_cast<std::size_t>(end);
}

namespace {

// Blocks of a length that the compiler knows.
template <std::size_t bytes>
void copy_blocks(char* to, std::size_t to_stride, const char* from, std::size_t from_stride, std::size_t count) {
    for (; count > 0; --count, to += to_stride, from += from_stride) std::memcpy(to, from, bytes);
}

}  // namespace

void copy(char* to, const Layout& to_layout, const char* from, const Layout& from_layout) {
    if (to_layout.is_contiguous() && from_layout.is_contiguous()) {
        std::memcpy(to, from, to_layout.bytes());
        return;
    }
    if (to_layout.is_strided() && from_layout.is_strided() && to_layout.block == from_layout.block) {
        const std::size_t block = to_layout.block, count = to_layout.count;
        if (block == 8) return copy_blocks<8>(to, to_layout.stride, from, from_layout.stride, count);
        if (block == 4) return copy_blocks<4>(to, to_layout.stride, from, from_layout.stride, count);
        for (std::size_t i = 0; i < count; ++i)
            std::memcpy(to + i * to_layout.stride, from + i * from_layout.stride, block);
        return;
    }
    std::size_t a = 0, b = 0, done_a = 0, done_b = 0;
    while (a < to_layout.pieces() && b < from_layout.pieces()) {
        const Layout::Piece x = to_layout.piece(a), y = from_layout.piece(b);
        const std::size_t n = std::min(x.bytes - done_a, y.bytes - done_b);
        std::memcpy(to + x.offset + done_a, from + y.offset + done_b, n);
        if ((done_a += n) == x.bytes) ++a, done_a = 0;
        if ((done_b += n) == y.bytes) ++b, done_b = 0;
    }
}

MPI_Datatype datatype_of(const Layout& layout) {
    MPI_Datatype type;
    if (!layout.lengths && layout.repeats == 1 && layout.block <= INT_MAX && layout.count <= INT_MAX) {
        MPI_Type_create_hvector(static_cast<int>(layout.count), static_cast<int>(layout.block),
                                static_cast<MPI_Aint>(layout.stride), MPI_BYTE, &type);
    } else {
        std::vector<int> lengths;
        std::vector<MPI_Aint> offsets;
        for (std::size_t i = 0; i < layout.pieces(); ++i) {
            const Layout::Piece p = layout.piece(i);
            in_pieces(p.bytes, [&](std::size_t first, int n) {
                lengths.push_back(n);
                offsets.push_back(static_cast<MPI_Aint>(p.offset + first));
                return MPI_SUCCESS;
            });
        }
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

}  // namespace fanlight::global
