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

dart_ret_t result(const char* function, size_t bytes, fanlight_code code, fanlight_pointer pointer, dart_gptr_t* gptr) {
    if (code != FANLIGHT_OK && bytes == SIZE_MAX)
        return invalid(function, "no contiguous datatype, or more bytes than there can be");
    if (code != FANLIGHT_OK) return status(function, code);
    *gptr = gptr_of(pointer);
    return DART_OK;
}

}  // namespace

dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void** addr) {
    if (!addr) return invalid("dart_gptr_getaddr", "no place for the address");
    *addr = nullptr;
    global::Target t;
    if (const fanlight_code code = global::resolve(pointer_of(gptr), 0, t)) return status("dart_gptr_getaddr", code);
    if (t.unit == t.segment->team->unit) *addr = t.address();
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
    global::Segment* const s = global::segments.find(pointer_of(gptr).segment);
    if (!s || !flags) return invalid("dart_gptr_getflags", "no such segment, or no place for the flags");
    *flags = s->flags;
    return DART_OK;
}

dart_ret_t dart_gptr_setflags(dart_gptr_t* gptr, uint16_t flags) {
    global::Segment* const s = gptr ? global::segments.find(pointer_of(*gptr).segment) : nullptr;
    if (!s) return invalid("dart_gptr_setflags", "no such segment");
    s->flags = flags;
    gptr->flags = flags & 0xff;
    return DART_OK;
}

dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t type, dart_gptr_t* gptr) {
    if (!gptr) return invalid("dart_memalloc", "no place for the pointer");
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    return result("dart_memalloc", bytes, fanlight_local_allocate(bytes, &pointer), pointer, gptr);
}

dart_ret_t dart_memfree(dart_gptr_t gptr) {
    if (DART_GPTR_ISNULL(gptr)) return DART_OK;
    return status("dart_memfree", fanlight_local_free(pointer_of(gptr)));
}

dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t type, dart_gptr_t* gptr) {
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    // What one unit gives wrong is an error for all.
    return result("dart_team_memalloc_aligned", bytes,
                  fanlight_allocate(fanlight_id(team), bytes, 0, gptr ? &pointer : nullptr), pointer, gptr);
}

dart_ret_t dart_team_memfree(dart_gptr_t gptr) {
    if (DART_GPTR_ISNULL(gptr)) return DART_OK;
    return status("dart_team_memfree", fanlight_free(pointer_of(gptr)));
}

dart_ret_t dart_team_memregister(dart_team_t team, size_t nelem, dart_datatype_t type, void* addr,
                                 dart_gptr_t* gptr) {
    fanlight_pointer pointer;
    const size_t bytes = bytes_of(nelem, type);
    return result("dart_team_memregister", bytes,
                  fanlight_register(fanlight_id(team), addr, bytes, gptr ? &pointer : nullptr), pointer, gptr);
}

dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t type, void* addr,
                                         dart_gptr_t* gptr) {
    return dart_team_memregister(team, nelem, type, addr, gptr);
}

dart_ret_t dart_team_memderegister(dart_gptr_t gptr) { return dart_team_memfree(gptr); }

struct dart_allocator_struct {
    fanlight_pointer base;
    int unit;
    global::Pool pool;
};

dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t id, dart_allocator_t* allocator) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_allocator_new", id, error);
    if (!team) return error;
    fanlight_pointer base;
    if (const fanlight_code code = fanlight_allocate(team->id, pool_size, 0, allocator ? &base : nullptr))
        return status("dart_allocator_new", code);
    *allocator = new dart_allocator_struct{base, team->unit, global::Pool(pool_size)};
    return DART_OK;
}

dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t type, dart_gptr_t* gptr, dart_allocator_t allocator) {
    if (!gptr || !allocator) return invalid("dart_allocator_alloc", "no allocator, or no place for the pointer");
    *gptr = DART_GPTR_NULL;
    const auto offset = allocator->pool.take(bytes_of(nelem, type));
    if (!offset) return said("dart_allocator_alloc", global::fail(FANLIGHT_ERR_MEMORY, "the pool has no such piece left"));
    *gptr = gptr_of(fanlight_at(allocator->base, allocator->unit, *offset));
    return DART_OK;
}

dart_ret_t dart_allocator_free(dart_gptr_t* gptr, dart_allocator_t allocator) {
    if (!gptr || !allocator) return invalid("dart_allocator_free", "no allocator, or no pointer");
    const fanlight_pointer p = pointer_of(*gptr);
    if (p.segment != allocator->base.segment || p.unit != allocator->unit || !allocator->pool.give(p.offset))
        return invalid("dart_allocator_free", "this unit has allocated nothing there, or has freed it");
    *gptr = DART_GPTR_NULL;
    return DART_OK;
}

dart_ret_t dart_allocator_destroy(dart_allocator_t* allocator) {
    if (!allocator || !*allocator) return invalid("dart_allocator_destroy", "no allocator");
    const fanlight_code code = fanlight_free((*allocator)->base);
    if (code != FANLIGHT_OK) return status("dart_allocator_destroy", code);
    delete *allocator;
    *allocator = nullptr;
    return DART_OK;
}
