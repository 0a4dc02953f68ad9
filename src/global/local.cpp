#include "global/local.h"

#include <memory>
#include <mutex>

#include "global/pool.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {

// As much is there as is allocated from it: /dev/shm may be small.
struct LocalMemory {
    LocalMemory(Segment& segment, std::size_t bytes) : segment(segment), bytes(bytes), pool(bytes, 128) {}

    std::optional<std::uint64_t> take(std::size_t wanted) {
        const auto offset = pool.take(wanted);
        if (!offset || reserve(*offset + wanted)) return offset;
        pool.give(*offset);
        return std::nullopt;
    }

    Segment& segment;
    const std::size_t bytes;
    Pool pool;

private:
    bool reserve(std::size_t end) {
        constexpr std::size_t step = std::size_t{1} << 20;
        const std::scoped_lock lock(mutex_);
        if (end <= reserved_) return true;
        const std::size_t more = std::min(bytes, (end + step - 1) / step * step);
        if (segment.own_memory().reserve(reserved_, more - reserved_)) return false;
        reserved_ = more;
        return true;
    }

    std::mutex mutex_;
    std::size_t reserved_ = 0;
};
LocalMemory* local = nullptr;

}  // namespace

fanlight_code open_local_memory(Team& all, std::size_t bytes) {
    fanlight_code error = FANLIGHT_OK;
    Segment* const s = allocate(all, 0, bytes, 0, error, fanlight::Segment::Pages::later);
    if (!s) return error;
    s->own = true;
    all.numbers.put(0, s);
    local = new LocalMemory(*s, bytes);
    return FANLIGHT_OK;
}

void close_local_memory() {
    delete local;
    local = nullptr;
}

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_local_allocate(size_t bytes, fanlight_pointer* pointer) {
    if (!is_up()) return not_up();
    if (!pointer) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_local_allocate: a null pointer for the result");
    const auto offset = local->take(bytes);
    if (!offset)
        return fail(FANLIGHT_ERR_MEMORY, "no %zu bytes left of FANLIGHT_LOCAL_MEMORY=%zu", bytes, local->bytes);
    *pointer = {teams.find(FANLIGHT_TEAM_ALL)->unit, 0, *offset};
    return FANLIGHT_OK;
}

fanlight_code fanlight_local_free(fanlight_pointer pointer) {
    if (!is_up()) return not_up();
    if (pointer.segment != 0 || pointer.unit != teams.find(FANLIGHT_TEAM_ALL)->unit ||
        !local->pool.give(pointer.offset))
        return fail(FANLIGHT_ERR_SEGMENT, "this unit has allocated nothing there, or has freed it");
    return FANLIGHT_OK;
}
