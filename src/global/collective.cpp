// Collective operations on global memory: the catalogue's algorithms, whose buffers are the units' parts themselves.
//
// Inside a node all units map every part, so a put or get is one copy by loads and stores, straight from part to part.  On
// several nodes the collectives are MPI's, on the parts.
#include <algorithm>
#include <climits>
#include <cstring>

#include "execute/operators.h"
#include "global/arithmetic.h"
#include "global/barrier.h"
#include "global/mpi_calls.h"
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

// All units find the same, also where each has registered memory of a length of its own.
fanlight_code range_of(fanlight_pointer p, std::size_t bytes, Range& range) {
    Target t;
    p.unit = 0;
    do {
        if (const fanlight_code error = resolve(p, bytes, t)) return error;
    } while (t.segment->registered() && ++p.unit < t.segment->team->size);
    range = {t.segment, p.offset};
    return FANLIGHT_OK;
}

// `times` n, where that can be said.
std::size_t several(std::size_t times, std::size_t n) { return n > SIZE_MAX / times ? SIZE_MAX : times * n; }

fanlight_code two_ranges(fanlight_pointer to, std::size_t to_bytes, fanlight_pointer from, std::size_t from_bytes,
                         Range& target, Range& source) {
    if (const fanlight_code error = range_of(to, to_bytes, target)) return error;
    if (const fanlight_code error = range_of(from, from_bytes, source)) return error;
    if (target.segment->team != source.segment->team)
        return fail(FANLIGHT_ERR_TEAM, "the two segments are not of the same team");
    return FANLIGHT_OK;
}

bool overlap(const Range& a, std::size_t a_bytes, const Range& b, std::size_t b_bytes) {
    return a.segment == b.segment && a.offset < b.offset + b_bytes && b.offset < a.offset + a_bytes;
}

int team_size(fanlight_pointer p) {
    const Segment* const s = segments.find(p.segment);
    return s ? s->team->size : 1;
}

// By the catalogue where all units reach all parts, else, and where a rule says so, by
// mpi(n), n being `length` as MPI's int.
template <class Mpi>
fanlight_code run(Problem problem, const Range& to, const Range& from, const Combiner* combiner, std::size_t length,
                  const char* name, Mpi&& mpi) {
    Team& team = to.team();
    if (problem.bytes == 0) return barrier(team);
    if (to.direct() && from.direct()) {
        fanlight_code error = FANLIGHT_OK;
        if (!team.collectives) team.collectives = NodeGroup::make(team, error);
        if (error != FANLIGHT_OK) return error;
        problem.rank = team.unit;
        problem.size = team.size;
        std::vector<std::byte*> input, output;
        for (int u = 0; u < team.size; ++u) {
            input.push_back(reinterpret_cast<std::byte*>(from.at(u)));
            output.push_back(reinterpret_cast<std::byte*>(to.at(u)));
            // What lies in the target already.
            if (problem.operation == Operation::allgather && from.segment == to.segment &&
                from.own() == to.own() + static_cast<std::size_t>(team.unit) * problem.bytes)
                input.back() = output.back() + static_cast<std::size_t>(u) * problem.bytes;
        }
        if (team.collectives->run(problem, {input, output}, combiner, error)) return error;
    }
    if (length > INT_MAX) return fail(FANLIGHT_ERR_ARGUMENT, "%s: %zu are too many between nodes", name, length);
    return mpi_code(mpi(static_cast<int>(length)), name);
}

// A reduction's operator, for these elements.
class TypedOperator {
public:
    TypedOperator(fanlight_type type, fanlight_operator op) : op_(op) {
        constexpr Number numbers[] = {Number::int8,   Number::uint8,  Number::int16,   Number::uint16,  Number::int32, Number::uint32,
                                      Number::int64,  Number::uint64, Number::float32, Number::float64, Number::none};
        constexpr Arithmetic operators[] = {Arithmetic::min,         Arithmetic::max,    Arithmetic::sum,
                                            Arithmetic::product,     Arithmetic::bit_and, Arithmetic::logical_and,
                                            Arithmetic::bit_or,      Arithmetic::logical_or, Arithmetic::bit_xor,
                                            Arithmetic::logical_xor};
        static_assert(std::size(numbers) == FANLIGHT_LONG_DOUBLE + 1 && std::size(operators) == FANLIGHT_LXOR + 1);
        combiner_ = {type == FANLIGHT_LONG_DOUBLE ? long_doubles : arithmetic(operators[op], numbers[type]), &op_};
    }
    TypedOperator(const TypedOperator&) = delete;
    const Combiner& combiner() const { return combiner_; }

private:
    static void long_doubles(const void* left, const void* right, void* into, std::size_t bytes, const void* op) {
        const auto* l = static_cast<const long double*>(left);
        const auto* r = static_cast<const long double*>(right);
        for (std::size_t i = 0; i < bytes / sizeof *l; ++i)
            static_cast<long double*>(into)[i] = combined(l[i], r[i], *static_cast<const fanlight_operator*>(op));
    }
    fanlight_operator op_;
    Combiner combiner_;
};

// These bytes of all units' vectors, combined into this unit's own, which is one of them.
void reduce_in_place(const Range& range, std::size_t first, std::size_t bytes, const Combiner& combine) {
    alignas(64) std::byte sum[4096];
    for (std::size_t i = first; i < first + bytes; i += sizeof sum) {
        const std::size_t n = std::min(sizeof sum, first + bytes - i);
        std::memcpy(sum, range.at(0) + i, n);
        for (int u = 1; u < range.team().size; ++u) combine(sum, range.at(u) + i, sum, n);
        std::memcpy(range.own() + i, sum, n);
    }
}

// The checks of a reduction.
fanlight_code reduction(fanlight_pointer to, fanlight_pointer from, std::size_t count, fanlight_type type,
                        fanlight_operator op, Range& target, Range& source, std::size_t& bytes) {
    if (const fanlight_code error = check_arithmetic(type, op)) return error;
    if (op > FANLIGHT_LXOR) return fail(FANLIGHT_ERR_ARGUMENT, "no operator of a reduction");
    const std::size_t element = types[type].bytes;
    bytes = several(element, count);
    if (const fanlight_code error = two_ranges(to, bytes, from, bytes, target, source)) return error;
    if (target.offset % element || source.offset % element)
        return fail(FANLIGHT_ERR_ARGUMENT, "an offset is not aligned to elements of %zu bytes", element);
    if (target.own() != source.own() && overlap(target, bytes, source, bytes))
        return fail(FANLIGHT_ERR_ARGUMENT, "the two vectors overlap");
    return FANLIGHT_OK;
}

Problem problem_of(Operation operation, std::size_t bytes, std::size_t element = 1, int root = 0) {
    Problem p;
    p.operation = operation;
    p.bytes = bytes;
    p.element = element;
    p.root = root;
    return p;
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight;
using namespace fanlight::global;

fanlight_code fanlight_global_broadcast(fanlight_pointer data, size_t bytes, int root) {
    Range range;
    if (const fanlight_code error = range_of(data, bytes, range)) return error;
    const Team& team = range.team();
    if (const fanlight_code error = check_unit(team, root)) return error;
    return run(problem_of(Operation::bcast, bytes, 1, root), range, range, nullptr, 0, "MPI_Bcast", [&](int) {
        return in_pieces(bytes, [&](std::size_t first, int n) { return MPI_Bcast(range.own() + first, n, MPI_BYTE, root, team.comm); });
    });
}

fanlight_code fanlight_global_allgather(fanlight_pointer to, fanlight_pointer from, size_t bytes) {
    Range target, source;
    const std::size_t all = several(static_cast<std::size_t>(team_size(to)), bytes);
    if (const fanlight_code error = two_ranges(to, all, from, bytes, target, source)) return error;
    const Team& team = target.team();
    const bool in_place = target.own() + static_cast<std::size_t>(team.unit) * bytes == source.own();
    if (!in_place && overlap(target, all, source, bytes))
        return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_allgather: the two overlap");
    return run(problem_of(Operation::allgather, bytes), target, source, nullptr, bytes, "MPI_Allgather", [&](int n) {
        return MPI_Allgather(in_place ? MPI_IN_PLACE : source.own(), n, MPI_BYTE, target.own(), n, MPI_BYTE, team.comm);
    });
}

fanlight_code fanlight_global_alltoall(fanlight_pointer to, fanlight_pointer from, size_t bytes) {
    Range target, source;
    const std::size_t all = several(static_cast<std::size_t>(team_size(to)), bytes);
    if (const fanlight_code error = two_ranges(to, all, from, all, target, source)) return error;
    if (overlap(target, all, source, all)) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_global_alltoall: the two overlap");
    return run(problem_of(Operation::alltoall, bytes), target, source, nullptr, bytes, "MPI_Alltoall", [&](int n) {
        return MPI_Alltoall(source.own(), n, MPI_BYTE, target.own(), n, MPI_BYTE, target.team().comm);
    });
}

fanlight_code fanlight_global_reduce(fanlight_pointer to, fanlight_pointer from, size_t count, fanlight_type type,
                              fanlight_operator op, int root) {
    Range target, source;
    std::size_t bytes = 0;
    if (const fanlight_code error = reduction(to, from, count, type, op, target, source, bytes)) return error;
    Team& team = target.team();
    if (const fanlight_code error = check_unit(team, root)) return error;
    const TypedOperator combine(type, op);
    const bool in_place = target.own() == source.own();
    if (in_place && target.direct()) {
        if (const fanlight_code error = barrier(team)) return error;
        if (team.unit == root) reduce_in_place(target, 0, bytes, combine.combiner());
        return barrier(team);
    }
    return run(problem_of(Operation::reduce, bytes, types[type].bytes, root), target, source, &combine.combiner(), count,
               "MPI_Reduce", [&](int n) {
                   return MPI_Reduce(in_place && team.unit == root ? MPI_IN_PLACE : source.own(), target.own(), n,
                                     mpi_type(type), mpi_op(op), root, team.comm);
               });
}

fanlight_code fanlight_global_allreduce(fanlight_pointer to, fanlight_pointer from, size_t count, fanlight_type type,
                                 fanlight_operator op) {
    Range target, source;
    std::size_t bytes = 0;
    if (const fanlight_code error = reduction(to, from, count, type, op, target, source, bytes)) return error;
    Team& team = target.team();
    const TypedOperator combine(type, op);
    const bool in_place = target.own() == source.own();
    if (!in_place || !target.direct())
        return run(problem_of(Operation::allreduce, bytes, types[type].bytes), target, source, &combine.combiner(), count,
                   "MPI_Allreduce", [&](int n) {
                       return MPI_Allreduce(in_place ? MPI_IN_PLACE : source.own(), target.own(), n, mpi_type(type),
                                            mpi_op(op), team.comm);
                   });
    // Every unit reduces a slice where it lies, then fetches the others'.  Slices start a line of
    // memory, so that no two units write the same one.
    const auto size = static_cast<std::size_t>(team.size), own = static_cast<std::size_t>(team.unit);
    constexpr std::size_t line = 128;
    const std::size_t slice = (bytes / size + line) / line * line;
    const auto start = [&](std::size_t u) { return std::min(bytes, u * slice); };
    if (const fanlight_code error = barrier(team)) return error;
    reduce_in_place(target, start(own), start(own + 1) - start(own), combine.combiner());
    if (const fanlight_code error = barrier(team)) return error;
    for (std::size_t i = 1; i < size; ++i) {
        const std::size_t u = (own + i) % size;
        std::memcpy(target.own() + start(u), target.at(static_cast<int>(u)) + start(u), start(u + 1) - start(u));
    }
    return barrier(team);
}
