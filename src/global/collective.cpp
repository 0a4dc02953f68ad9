// Collective operations on global memory.
//
// Inside a node every unit loads what it needs from the others' parts, between two barriers: one
// copy for each byte that arrives, and none between.  Time for m bytes and n units, with barriers
// of t: broadcast 2t + m/B, allgather and alltoall 2t + nm/B; an allreduce is a reduce-scatter and
// an allgather, 3t + 2m/B.  Over several nodes they are MPI's, from and to the parts themselves.
//
// R. Rabenseifner, "Optimization of collective reduction operations", 2004, for the allreduce.
#include <algorithm>
#include <climits>
#include <cstring>

#include "global/arithmetic.h"
#include "global/barrier.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {

// A range of the same bytes in all parts of a segment.
struct Range {
    Segment* segment = nullptr;
    std::uint64_t offset = 0;
    Team& team() const { return *segment->team; }
    char* at(int unit) const { return segment->parts[static_cast<std::size_t>(unit)].address + offset; }
    char* own() const { return at(team().unit); }
    // Whether all units reach all parts; the same on all of them.
    bool direct() const { return segment->direct; }
};

fanlight_code range_of(fanlight_pointer p, std::size_t bytes, Range& range) {
    Target t;
    p.unit = 0;
    if (const fanlight_code error = resolve(p, bytes, t)) return error;
    p.unit = t.segment->team->unit;
    if (const fanlight_code error = resolve(p, bytes, t)) return error;
    range = {t.segment, p.offset};
    return FANLIGHT_OK;
}

// `times` n, where that can be said.
std::size_t several(std::size_t times, std::size_t n) { return n > SIZE_MAX / times ? SIZE_MAX : times * n; }

fanlight_code two_ranges(fanlight_pointer to, std::size_t to_bytes, fanlight_pointer from, std::size_t from_bytes,
                         std::size_t length, Range& target, Range& source) {
    if (const fanlight_code error = range_of(to, to_bytes, target)) return error;
    if (const fanlight_code error = range_of(from, from_bytes, source)) return error;
    if (target.segment->team != source.segment->team)
        return fail(FANLIGHT_ERR_TEAM, "the two segments are not of the same team");
    if (length > INT_MAX && !(target.direct() && source.direct()))
        return fail(FANLIGHT_ERR_ARGUMENT, "%zu are too many between nodes", length);
    return FANLIGHT_OK;
}

bool overlap(const Range& a, std::size_t a_bytes, const Range& b, std::size_t b_bytes) {
    return a.segment == b.segment && a.offset < b.offset + b_bytes && b.offset < a.offset + a_bytes;
}

int team_size(fanlight_pointer p) {
    const Segment* const s = segments.find(p.segment);
    return s ? s->team->size : 1;
}

// own[i] = others[0][i] op others[1][i] op ...; a unit's own place may be one of them.
void reduce(const Range& to, const Range& from, std::size_t first, std::size_t count, fanlight_type type,
            fanlight_operator op) {
    with_type(type, [&]<class T>(T) {
        constexpr std::size_t block = 4096 / sizeof(T);
        T sum[block];
        for (std::size_t i = first; i < first + count; i += block) {
            const std::size_t n = std::min(block, first + count - i);
            const auto element = [&](int u) { return reinterpret_cast<const T*>(from.at(u)) + i; };
            std::copy_n(element(0), n, sum);
            for (int u = 1; u < from.team().size; ++u) {
                const T* const other = element(u);
                with_reduction(op, [&](auto known) {
                    for (std::size_t k = 0; k < n; ++k) sum[k] = combined<T>(sum[k], other[k], known);
                });
            }
            std::copy_n(sum, n, reinterpret_cast<T*>(to.own()) + i);
        }
    });
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_global_broadcast(fanlight_pointer data, size_t bytes, int root) {
    Range range;
    if (const fanlight_code error = range_of(data, bytes, range)) return error;
    Team& team = range.team();
    if (root < 0 || root >= team.size)
        return fail(FANLIGHT_ERR_UNIT, "unit %d is not in team %d, which has %d units", root, team.id, team.size);
    if (!range.direct()) {
        for (std::size_t done = 0; done < bytes; done += INT_MAX) {
            const auto n = static_cast<int>(std::min<std::size_t>(bytes - done, INT_MAX));
            if (const int code = MPI_Bcast(range.own() + done, n, MPI_BYTE, root, team.comm))
                return mpi_code(code, "MPI_Bcast");
        }
        return FANLIGHT_OK;
    }
    if (const fanlight_code error = barrier(team)) return error;
    if (team.unit != root) std::memcpy(range.own(), range.at(root), bytes);
    return barrier(team);
}

fanlight_code fanlight_global_allgather(fanlight_pointer to, fanlight_pointer from, size_t bytes) {
    Range target, source;
    const std::size_t all = several(static_cast<std::size_t>(team_size(to)), bytes);
    if (const fanlight_code error = two_ranges(to, all, from, bytes, bytes, target, source)) return error;
    Team& team = target.team();
    const auto place = [&](int u) { return target.own() + static_cast<std::size_t>(u) * bytes; };
    const bool in_place = place(team.unit) == source.own();
    if (!in_place && overlap(target, all, source, bytes))
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_allgather: the two overlap");
    if (!target.direct() || !source.direct()) {
        const auto n = static_cast<int>(bytes);
        return mpi_code(MPI_Allgather(in_place ? MPI_IN_PLACE : source.own(), n, MPI_BYTE, target.own(), n, MPI_BYTE,
                                      team.comm),
                        "MPI_Allgather");
    }
    if (const fanlight_code error = barrier(team)) return error;
    for (int i = 0; i < team.size; ++i) {
        // Not all from the same one at a time.
        const int u = (team.unit + i) % team.size;
        if (u != team.unit || !in_place) std::memcpy(place(u), in_place ? target.at(u) + (place(u) - target.own()) : source.at(u), bytes);
    }
    return barrier(team);
}

fanlight_code fanlight_global_alltoall(fanlight_pointer to, fanlight_pointer from, size_t bytes) {
    Range target, source;
    const std::size_t all = several(static_cast<std::size_t>(team_size(to)), bytes);
    if (const fanlight_code error = two_ranges(to, all, from, all, bytes, target, source)) return error;
    if (overlap(target, all, source, all)) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_alltoall: the two overlap");
    Team& team = target.team();
    if (!target.direct() || !source.direct()) {
        const auto n = static_cast<int>(bytes);
        return mpi_code(MPI_Alltoall(source.own(), n, MPI_BYTE, target.own(), n, MPI_BYTE, team.comm), "MPI_Alltoall");
    }
    if (const fanlight_code error = barrier(team)) return error;
    for (int i = 0; i < team.size; ++i) {
        const int u = (team.unit + i) % team.size;
        std::memcpy(target.own() + static_cast<std::size_t>(u) * bytes,
                    source.at(u) + static_cast<std::size_t>(team.unit) * bytes, bytes);
    }
    return barrier(team);
}

fanlight_code fanlight_global_allreduce(fanlight_pointer to, fanlight_pointer from, size_t count, fanlight_type type,
                                 fanlight_operator op) {
    if (const fanlight_code error = check_arithmetic(type, op)) return error;
    if (op > FANLIGHT_LXOR) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_allreduce: no operator of a reduction");
    const std::size_t element = types[type].bytes, bytes = several(element, count);
    Range target, source;
    if (const fanlight_code error = two_ranges(to, bytes, from, bytes, count, target, source)) return error;
    if (target.offset % element || source.offset % element)
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_allreduce: an offset is not aligned to elements of %zu bytes",
                    element);
    const bool in_place = target.own() == source.own();
    if (!in_place && overlap(target, bytes, source, bytes))
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_allreduce: the two overlap");
    Team& team = target.team();
    if (!target.direct() || !source.direct())
        return mpi_code(MPI_Allreduce(in_place ? MPI_IN_PLACE : source.own(), target.own(), static_cast<int>(count),
                                      mpi_type(type), mpi_op(op), team.comm),
                        "MPI_Allreduce");
    // Slices that start a line of memory, so that no two units write the same one.
    const auto size = static_cast<std::size_t>(team.size), line = 128 / element;
    const std::size_t slice = ((count + size - 1) / size + line - 1) / line * line;
    const auto start = [&](std::size_t u) { return std::min(count, u * slice); };
    const auto own = static_cast<std::size_t>(team.unit);
    if (const fanlight_code error = barrier(team)) return error;
    reduce(target, source, start(own), start(own + 1) - start(own), type, op);
    if (const fanlight_code error = barrier(team)) return error;
    for (std::size_t i = 1; i < size; ++i) {
        const std::size_t u = (own + i) % size, at = start(u) * element;
        std::memcpy(target.own() + at, target.at(static_cast<int>(u)) + at, start(u + 1) * element - at);
    }
    return barrier(team);
}
