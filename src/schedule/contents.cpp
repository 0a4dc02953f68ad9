#include "schedule/contents.h"

#include <algorithm>

namespace fanlight::symbolic {
namespace {

void append(std::vector<Piece>& pieces, const Piece& p) {
    if (p.begin == p.end) return;
    if (!pieces.empty()) {
        Piece& last = pieces.back();
        if (last.end == p.begin && last.term == p.term && last.shift == p.shift) {
            last.end = p.end;
            return;
        }
    }
    pieces.push_back(p);
}

// The part of a piece in [begin, end).
Piece part(Piece p, std::size_t begin, std::size_t end) {
    p.begin = std::max(p.begin, begin);
    p.end = std::min(p.end, end);
    return p;
}

}  // namespace

bool Contents::read(std::size_t begin, std::size_t end, std::vector<Piece>& value,
                    std::size_t* hole) const {
    auto it = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                               [](std::size_t at, const Piece& p) { return at < p.end; });
    std::size_t at = begin;
    for (; at < end; ++it) {
        if (it == pieces_.end() || it->begin > at) {
            *hole = at;
            return false;
        }
        Piece p = part(*it, begin, end);
        at = p.end;
        p.begin -= begin;
        p.end -= begin;
        p.shift += static_cast<std::int64_t>(begin);
        append(value, p);
    }
    return true;
}

void Contents::write(std::size_t begin, std::size_t end, std::span<const Piece> value) {
    if (begin == end) return;
    auto first = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                  [](std::size_t at, const Piece& p) { return at < p.end; });
    auto last = std::lower_bound(first, pieces_.end(), end,
                                 [](const Piece& p, std::size_t at) { return p.begin < at; });
    // One piece more on either side, since the value may continue it.
    if (first != pieces_.begin()) --first;
    if (last != pieces_.end()) ++last;

    std::vector<Piece> replacement;
    replacement.reserve(value.size() + 4);
    for (auto it = first; it != last; ++it)
        if (it->begin < begin) append(replacement, part(*it, 0, begin));
    for (Piece p : value) {
        p.begin += begin;
        p.end += begin;
        p.shift -= static_cast<std::int64_t>(begin);
        append(replacement, p);
    }
    for (auto it = first; it != last; ++it)
        if (it->end > end) append(replacement, part(*it, end, it->end));

    const auto old = static_cast<std::size_t>(last - first);
    const std::size_t common = std::min(old, replacement.size());
    const auto rest = static_cast<std::ptrdiff_t>(common);
    std::copy_n(replacement.begin(), common, first);
    if (replacement.size() > old)
        pieces_.insert(first + rest, replacement.begin() + rest, replacement.end());
    else
        pieces_.erase(first + rest, last);
}

void combine(Terms& terms, std::span<const Piece> left, std::span<const Piece> right,
             std::vector<Piece>& result) {
    std::size_t l = 0, r = 0;
    while (l < left.size() && r < right.size()) {
        const Piece& a = left[l];
        const Piece& b = right[r];
        Piece p;
        p.begin = std::max(a.begin, b.begin);
        p.end = std::min(a.end, b.end);
        p.term = terms.combined(a.term, b.term, b.shift - a.shift);
        p.shift = a.shift;
        append(result, p);
        if (a.end == p.end) ++l;
        if (b.end == p.end) ++r;
    }
}

}  // namespace fanlight::symbolic
