#include "global/local.h"

#include <memory>

#include "config/config.h"
#include "global/pool.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {
std::unique_ptr<Pool> pool;
}

fanlight_code open_local_memory(Team& all) {
    fanlight_code error = FANLIGHT_OK;
    const std::size_t bytes = config().local_memory;
    Segment* const s = allocate(all, 0, bytes, 0, error);
    if (!s) return error;
    s->own = true;
    pool = std::make_unique<Pool>(bytes);
    return FANLIGHT_OK;
}

void close_local_memory() { pool.reset(); }

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_local_allocate(size_t bytes, fanlight_pointer* pointer) {
    if (!is_up()) return not_up();
    if (!pointer) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_local_allocate: no place for the pointer");
    const auto offset = pool->take(bytes);
    if (!offset)
        return fail(FANLIGHT_ERR_MEMORY, "no %zu bytes left of FANLIGHT_LOCAL_MEMORY=%zu", bytes,
                    fanlight::config().local_memory);
    *pointer = {teams.find(FANLIGHT_TEAM_ALL)->unit, 0, *offset};
    return FANLIGHT_OK;
}

fanlight_code fanlight_local_free(fanlight_pointer pointer) {
    if (!is_up()) return not_up();
    if (pointer.segment != 0 || pointer.unit != teams.find(FANLIGHT_TEAM_ALL)->unit || !pool->give(pointer.offset))
        return fail(FANLIGHT_ERR_SEGMENT, "this unit has allocated nothing there, or has freed it");
    return FANLIGHT_OK;
}
