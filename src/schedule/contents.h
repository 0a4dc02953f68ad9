// What one buffer holds: a map from ranges to terms.
#pragma once

#include <span>
#include <vector>

#include "schedule/expression.h"

namespace fanlight::symbolic {

class Contents {
public:
    void clear() { pieces_.clear(); }
    // Appends what [begin, end) holds, at positions counted from `begin`.  False if a byte
    // of it was never written; then *hole is the first such byte.
    bool read(std::size_t begin, std::size_t end, std::vector<Piece>& value, std::size_t* hole) const;
    // Writes a value, given at positions counted from `begin`, over [begin, end).
    void write(std::size_t begin, std::size_t end, std::span<const Piece> value);
    std::span<const Piece> pieces() const { return pieces_; }

private:
    // Sorted, disjoint, none empty; neighbors that continue one another are one piece.
    std::vector<Piece> pieces_;
};

// left (+) right, byte by byte, for two values of the same range.
void combine(Terms&, std::span<const Piece> left, std::span<const Piece> right,
             std::vector<Piece>& result);

}  // namespace fanlight::symbolic
