#include "global/segment.h"

#include <algorithm>
#include <iterator>

#include "global/barrier.h"
#include "global/map_by_all.h"
#include "global/runtime.h"

namespace fanlight::global {

namespace {

constexpr std::size_t line = 128;  // processors fetch lines in pairs

// The windows' errors come back as codes; their one epoch begins.
int open(MPI_Win win) {
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
}

void close(MPI_Win& win) {
    if (win == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

Segment* empty_segment(Team& team, std::int32_t id) {
    auto* s = new Segment;
    s->id = id;
    s->units = static_cast<std::uint32_t>(team.size);
    s->team = &team;
    return s;
}

Part& own_part(Segment& s) { return s.parts[static_cast<std::size_t>(s.team->unit)]; }

const fanlight_segment* published[FANLIGHT_SEGMENTS];
static_assert(FANLIGHT_SEGMENTS == Table<Segment>::slots);

// In one order with `runtime.windows`, for kept() and open_window().
void publish(std::int32_t id, const fanlight_segment* s) {
    std::atomic_ref(published[id & (FANLIGHT_SEGMENTS - 1)]).store(s);
}

Segment* kept(Segment* s, fanlight_code error) {
    if (error == FANLIGHT_OK) {
        segments.put(s);
        s->team->segments.push_back(s);
        s->published = {s->id, s->units, s->parts.data()};
        publish(s->id, &s->published);
        // The program's own copies would let no window progress, of which another thread may open the first one just now.
        if (runtime.windows) publish(s->id, nullptr);
        return s;
    }
    segments.withdraw(s->id);
    delete s;
    return nullptr;
}

// From this length on every unit makes its own part, whose pages then lie on its own NUMA node;
// shorter parts are in one piece that the node's first unit makes.
constexpr std::size_t own_from = 65536;

// Makes the node's parts and maps them.  All units of the team succeed, or none.
fanlight_code map_parts(Segment& s, std::size_t reserved, fanlight::Segment::Pages pages) {
    Team& team = *s.team;
    const auto size = static_cast<std::size_t>(team.size), own = static_cast<std::size_t>(team.unit);
    std::vector<std::size_t> here;  // this node's units
    for (std::size_t u = 0; u < size; ++u)
        if (team.node_rank[u] >= 0) here.push_back(u);
    const bool one_piece = reserved < own_from;
    struct Name {
        char text[64];
    };
    const auto map = [&](fanlight::Segment::Place place, std::error_code& problem) {
        std::vector<Name> names(size);
        s.memory.clear();
        s.memory.resize(one_piece ? 1 : here.size());
        if (!one_piece || here[0] == own) {
            fanlight::Segment& mine = s.own_memory();
            mine = fanlight::Segment::create(one_piece ? reserved * here.size() : reserved, problem,
                                             one_piece ? fanlight::Segment::Pages::ordinary : pages, place);
            mine.name().copy(names[own].text, sizeof(Name) - 1);
        }
        if (one_piece && team.one_node)
            MPI_Bcast(names.data(), sizeof(Name), MPI_BYTE, 0, team.comm);
        else
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, names.data(), sizeof(Name), MPI_BYTE, team.comm);
        for (std::size_t i = 0; i < s.memory.size() && !problem; ++i)
            if (!s.memory[i]) s.memory[i] = open_others(names[here[i]].text, problem);
    };
    const fanlight_code error = map_by_all(team.comm, reserved, map);
    for (fanlight::Segment& piece : s.memory) piece.unlink();
    if (error != FANLIGHT_OK) return error;
    for (std::size_t i = 0; i < here.size(); ++i)
        s.parts[here[i]].address = reinterpret_cast<char*>(s.memory[one_piece ? 0 : i].bytes().data()) +
                                   (one_piece ? i * reserved : 0);
    return FANLIGHT_OK;
}

fanlight_code open_window(Segment& s, void* address, std::size_t bytes) {
    if (s.team->size > 1 && !runtime.windows.exchange(true))
        for (std::int32_t id = 0; id < FANLIGHT_SEGMENTS; ++id) publish(id, nullptr);
    int error = MPI_Win_create(address, static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, s.team->comm, &s.window);
    if (error == MPI_SUCCESS) error = open(s.window);
    return mpi_code(error, "MPI_Win_create");
}

}  // namespace

Segment* allocate(Team& team, std::int32_t id, std::size_t bytes, std::size_t alignment, fanlight_code& error,
                  fanlight::Segment::Pages pages) {
    Segment* const s = empty_segment(team, id);
    const std::size_t unit = std::max(alignment, line);
    const std::size_t reserved = (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
    s->parts.assign(s->units, {nullptr, bytes});
    error = map_parts(*s, reserved, pages);
    s->direct = team.one_node;
    if (error == FANLIGHT_OK && !team.one_node) error = open_window(*s, own_part(*s).address, reserved);
    return kept(s, error);
}

Segment* attach(Team& team, std::int32_t id, void* address, std::size_t bytes, fanlight_code& error) {
    Segment* const s = empty_segment(team, id);
    std::vector<std::uint64_t> sizes(s->units);
    const std::uint64_t own = bytes;
    MPI_Allgather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, team.comm);
    for (const std::uint64_t size : sizes) s->parts.push_back({nullptr, size});
    own_part(*s).address = static_cast<char*>(address);
    s->direct = team.size == 1;
    error = open_window(*s, address, bytes);
    return kept(s, error);
}

void release_allocated(Segment* s) {
    --s->team->allocations;
    release(s);
}

void release(Segment* s) {
    publish(s->id, nullptr);
    segments.take(s);
    std::erase(s->team->segments, s);
    s->team->numbers.withdraw(s->number, s);
    close(s->window);
    delete s;
}

fanlight_code give_back(Segment* s) {
    const int code = MPI_Win_flush_all(s->window);
    publish(s->id, nullptr);
    s->units = 0;
    --s->team->allocations;
    return mpi_code(code, "MPI_Win_flush_all");
}

namespace {

// A program that registers memory and gives it back again and again keeps few windows.
void release_given_back(Team& team) {
    std::vector<Segment*> all;
    std::ranges::copy_if(team.segments, std::back_inserter(all), &Segment::registered);
    if (all.empty()) return;
    std::vector<unsigned char> given;
    for (const Segment* s : all) given.push_back(s->units == 0);
    MPI_Allreduce(MPI_IN_PLACE, given.data(), static_cast<int>(given.size()), MPI_UNSIGNED_CHAR, MPI_MIN, team.comm);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (given[i]) release(all[i]);
}

}  // namespace

fanlight_code explain(fanlight_pointer p, std::size_t bytes) {
    if (!is_up()) return not_up();
    const Segment* const s = segments.find(p.segment);
    if (!s || s->units == 0) return fail(FANLIGHT_ERR_SEGMENT, "segment %d has been freed, or never existed", p.segment);
    if (p.unit < 0 || p.unit >= s->team->size)
        return fail(FANLIGHT_ERR_UNIT, "unit %d is not in the segment's team, which has %d units", p.unit,
                    s->team->size);
    return fail(FANLIGHT_ERR_RANGE, "%zu bytes at offset %llu leave the %zu bytes that unit %d has in segment %d",
                bytes, static_cast<unsigned long long>(p.offset), s->parts[static_cast<std::size_t>(p.unit)].bytes,
                p.unit, p.segment);
}

}  // namespace fanlight::global

using namespace fanlight::global;

const fanlight_segment* const* const fanlight_segments = published;

namespace {

fanlight_code begin(fanlight_team id, fanlight_code own, std::int64_t value, Team*& team, Agreement& agreed) {
    fanlight_code error = FANLIGHT_OK;
    team = find_team(id, error);
    if (!team) return error;
    agreed = agree_on_segment(team->comm, team->id, own, value);
    return agreed.code;
}

fanlight_code begun(Team& team, const Agreement& agreed, std::size_t bytes, std::size_t alignment,
                    fanlight_pointer* pointer) {
    fanlight_code error = FANLIGHT_OK;
    if (!allocate(team, agreed.segment, bytes, alignment, error)) return error;
    ++team.allocations;
    *pointer = {0, agreed.segment, 0};
    return FANLIGHT_OK;
}

}  // namespace

fanlight_code fanlight::global::allocate_greatest(fanlight_team id, std::size_t bytes, fanlight_pointer* pointer) {
    fanlight_code error = FANLIGHT_OK;
    if (!pointer) error = fail(FANLIGHT_ERR_ARGUMENT, "a null pointer for the result");
    if (bytes > PTRDIFF_MAX) error = fail(FANLIGHT_ERR_MEMORY, "%zu bytes are too many", bytes);
    Team* team = nullptr;
    Agreement agreed;
    if ((error = begin(id, error, static_cast<std::int64_t>(bytes), team, agreed))) return error;
    return begun(*team, agreed, static_cast<std::size_t>(agreed.greatest), 0, pointer);
}

fanlight_code fanlight_allocate(fanlight_team id, size_t bytes, size_t alignment, fanlight_pointer* pointer) {
    fanlight_code error = FANLIGHT_OK;
    if (!pointer) error = fail(FANLIGHT_ERR_ARGUMENT, "fanlight_allocate: a null pointer for the result");
    if (alignment > 4096 || (alignment & (alignment - 1)))
        error = fail(FANLIGHT_ERR_ARGUMENT, "an alignment of %zu is not a power of two up to 4096", alignment);
    // Both in one number.
    constexpr std::size_t alignments = 4096 * 2;
    if (bytes > PTRDIFF_MAX / alignments) error = fail(FANLIGHT_ERR_MEMORY, "%zu bytes are too many", bytes);
    const std::size_t wanted = error == FANLIGHT_OK ? bytes * alignments + std::max(alignment, line) : 0;
    Team* team = nullptr;
    Agreement agreed;
    if ((error = begin(id, error, static_cast<std::int64_t>(wanted), team, agreed))) return error;
    if (!agreed.same) {
        segments.withdraw(agreed.segment);
        return fail(FANLIGHT_ERR_ARGUMENT, "the units want different numbers of bytes, or alignments");
    }
    return begun(*team, agreed, bytes, alignment, pointer);
}

fanlight_code fanlight_register(fanlight_team id, void* address, size_t bytes, fanlight_pointer* pointer) {
    fanlight_code error = FANLIGHT_OK;
    if (!pointer || (!address && bytes) || bytes > PTRDIFF_MAX)
        error = fail(FANLIGHT_ERR_ARGUMENT, "fanlight_register: no memory, or a null pointer for the result");
    Team* team = nullptr;
    Agreement agreed;
    if ((error = begin(id, error, 0, team, agreed))) return error;
    release_given_back(*team);
    if (!attach(*team, agreed.segment, address, bytes, error)) return error;
    ++team->allocations;
    *pointer = {0, agreed.segment, 0};
    return FANLIGHT_OK;
}

fanlight_code fanlight_free(fanlight_pointer pointer) {
    if (!is_up()) return not_up();
    Segment* const s = segments.find(pointer.segment);
    if (!s || s->units == 0) return explain(pointer, 0);
    if (s->own) return fail(FANLIGHT_ERR_SEGMENT, "segment %d was not allocated by the program", pointer.segment);
    if (const fanlight_code error = barrier(*s->team)) return error;
    release_allocated(s);
    return FANLIGHT_OK;
}

void* fanlight_ptr(fanlight_pointer pointer) {
    Target t;
    return resolve(pointer, 0, t) == FANLIGHT_OK && t.direct() ? t.address() : nullptr;
}

fanlight_code fanlight_segment_team(fanlight_pointer pointer, fanlight_team* team) {
    Target t;
    if (const fanlight_code error = resolve({0, pointer.segment, 0}, 0, t)) return error;
    if (!team) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_segment_team: a null pointer for the team");
    *team = t.segment->team->id;
    return FANLIGHT_OK;
}
