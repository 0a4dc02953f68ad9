// Global memory, and pointers to it.
#include "dart/datatype.h"
#include "dart/names.h"
#include "global/pool.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {

// The bytes of nelem elements; SIZE_MAX, which nobody has, where there are none such.
size_t bytes_of(size_t nelem, dart_datatype_t type) {
    const Datatype* const t = datatype(type);
    if (!t || (t->kind != Datatype::Kind::basic && t->kind != Datatype::Kind::custom)) return SIZE_MAX;
    return nelem > PTRDIFF_MAX / t->bytes ? SIZE_MAX : nelem * t->bytes;
}

dart_ret_t failed(const char* function, size_t bytes, fanlight_code code) {
    return bytes == SIZE_MAX ? invalid(function, "no contiguous datatype, or more bytes than there can be")
                             : status(function, code);
}

// A new segment of the team gets its number; sign: that number's.
dart_ret_t numbered(const char* function, fanlight_pointer pointer, int sign, dart_gptr_t* gptr) {
    global::Segment* const s = global::segments.find(pointer.segment);
    s->number = s->team->numbers.give(s, sign);
    if (s->number == 0) {
        fanlight_free(pointer);
        return said(function, global::fail(FANLIGHT_ERR_MEMORY, "the team has %d segments already", INT16_MAX));
    }
    *gptr = gptr_of(pointer);
    return DART_OK;
}

}  // namespace

dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void** addr) {
    if (!addr) return invalid("dart_gptr_getaddr", "a null pointer for the address");
    *addr = nullptr;
    // Neither bytes nor unit need be there: pointers are calculated with, and one past the end is none to memory.
    const global::Segment* const s = segment_of(gptr);
    if (!s || s->units == 0) return status("dart_gptr_getaddr", global::explain(pointer_of(gptr), 0));
    if (gptr.unitid == s->team->unit)
        *addr = s->parts[static_cast<size_t>(gptr.unitid)].address + gptr.addr_or_offs.offset;
    return DART_OK;
}

dart_ret_t dart_gptr_setaddr(dart_gptr_t* gptr, void* addr) {
    if (!gptr) return invalid("dart_gptr_setaddr", "no pointer");
    dart_gptr_t start = *gptr;
    start.addr_or_offs.offset = 0;
    void* base = nullptr;
    if (const dart_ret_t error = dart_gptr_getaddr(start, &base)) return error;
    if (!base) return invalid("dart_gptr_setaddr", "the memory is another unit's");
    gptr->addr_or_offs.offset = static_cast<uint64_t>(static_cast<char*>(addr) - static_cast<char*>(base));
    return DART_OK;
}

dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t* flags) {
    const global::Segment* const s = segment_of(gptr);
    if (!s || !flags) return invalid("dart_gptr_getflags", "no such segment, or a null pointer for the flags");
    *flags = s->flags;
    return DART_OK;
}

dart_ret_t dart_gptr_setflags(dart_gptr_t* gptr, uint16_t flags) {
    global::Segment* const s = gptr ? segment_of(*gptr) : nullptr;
    if (!s) return invalid("dart_gptr_setflags", "no such segment");
    s->flags = flags;
    gptr->flags = flags & 0xff;
    return DART_OK;
}

dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t type, dart_gptr_t* gptr) {
    if (!gptr) return invalid("dart_memalloc", "a null pointer for the result");
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    if (const fanlight_code code = fanlight_local_allocate(bytes, &pointer))
        return failed("dart_memalloc", bytes, code);
    *gptr = gptr_of(pointer);
    return DART_OK;
}

dart_ret_t dart_memfree(dart_gptr_t gptr) {
    if (DART_GPTR_ISNULL(gptr)) return DART_OK;
    return status("dart_memfree", fanlight_local_free(pointer_of(gptr)));
}

dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t type, dart_gptr_t* gptr) {
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    // What one unit gives wrong is an error for all.
    if (const fanlight_code code = global::allocate_greatest(fanlight_id(team), bytes, gptr ? &pointer : nullptr))
        return failed("dart_team_memalloc_aligned", bytes, code);
    return numbered("dart_team_memalloc_aligned", pointer, 1, gptr);
}

dart_ret_t dart_team_memfree(dart_gptr_t gptr) {
    if (DART_GPTR_ISNULL(gptr)) return DART_OK;
    return status("dart_team_memfree", fanlight_free(pointer_of(gptr)));
}

dart_ret_t dart_team_memregister(dart_team_t team, size_t nelem, dart_datatype_t type, void* addr,
                                 dart_gptr_t* gptr) {
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    if (const fanlight_code code = fanlight_register(fanlight_id(team), addr, bytes, gptr ? &pointer : nullptr))
        return failed("dart_team_memregister", bytes, code);
    return numbered("dart_team_memregister", pointer, -1, gptr);
}

dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t type, void* addr,
                                         dart_gptr_t* gptr) {
    return dart_team_memregister(team, nelem, type, addr, gptr);
}

dart_ret_t dart_team_memderegister(dart_gptr_t gptr) {
    if (DART_GPTR_ISNULL(gptr)) return DART_OK;
    global::Segment* const s = segment_of(gptr);
    if (!s || !s->registered() || s->units == 0)
        return invalid("dart_team_memderegister", "no registered memory, or it has been given back");
    return status("dart_team_memderegister", global::give_back(s));
}

struct dart_allocator_struct {
    dart_gptr_t base;  // this unit's part
    global::Pool pool;
};

dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t id, dart_allocator_t* allocator) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_allocator_new", id, error);
    if (!team) return error;
    // Aligned for every type.
    constexpr size_t piece = alignof(max_align_t);
    const size_t bytes = pool_size > PTRDIFF_MAX ? pool_size : (pool_size + piece - 1) / piece * piece;
    dart_gptr_t base;
    if ((error = dart_team_memalloc_aligned(id, bytes, DART_TYPE_BYTE, allocator ? &base : nullptr))) return error;
    base.unitid = team->unit;
    *allocator = new dart_allocator_struct{base, global::Pool(bytes, piece)};
    return DART_OK;
}

dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t type, dart_gptr_t* gptr, dart_allocator_t allocator) {
    if (!gptr || !allocator) return invalid("dart_allocator_alloc", "no allocator, or a null pointer for the result");
    *gptr = DART_GPTR_NULL;
    const auto offset = allocator->pool.take(bytes_of(nelem, type));
    if (!offset)
        return said("dart_allocator_alloc", global::fail(FANLIGHT_ERR_MEMORY, "the pool has no such piece left"));
    *gptr = allocator->base;
    gptr->addr_or_offs.offset = *offset;
    return DART_OK;
}

dart_ret_t dart_allocator_free(dart_gptr_t* gptr, dart_allocator_t allocator) {
    if (!gptr || !allocator) return invalid("dart_allocator_free", "no allocator, or no pointer");
    dart_gptr_t p = allocator->base;
    p.addr_or_offs.offset = gptr->addr_or_offs.offset;
    if (!DART_GPTR_EQUAL(*gptr, p) || !allocator->pool.give(p.addr_or_offs.offset))
        return invalid("dart_allocator_free", "this unit has allocated nothing there, or has freed it");
    *gptr = DART_GPTR_NULL;
    return DART_OK;
}

dart_ret_t dart_allocator_destroy(dart_allocator_t* allocator) {
    if (!allocator || !*allocator) return invalid("dart_allocator_destroy", "no allocator");
    if (const dart_ret_t error = dart_team_memfree((*allocator)->base)) return error;
    delete *allocator;
    *allocator = nullptr;
    return DART_OK;
}
