// Locks: a queue (queue.h) in global memory.  A lock's handle is the number of its segment, so a freed one is recognized.
#include "global/queue.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

namespace {

struct Words {
    const Segment& lock;

    std::int64_t exchange(int unit, Word word, std::int64_t value) const {
        return fetch(unit, word, value, FANLIGHT_REPLACE);
    }
    // MPI's operations need not be atomic to those of another kind, and replace_tail's is a compare-and-swap.
    std::int64_t exchange_tail(std::int64_t value) const {
        if (lock.direct) return exchange(0, Word::tail, value);
        std::int64_t before = 0, expected;
        do {
            expected = before;
            before = replace_tail(expected, value);
        } while (before != expected);
        return before;
    }
    std::int64_t load(int unit, Word word) const { return fetch(unit, word, 0, FANLIGHT_NO_OP); }
    std::int64_t replace_tail(std::int64_t from, std::int64_t to) const {
        std::int64_t old = 0;
        fanlight_compare_and_swap(at(0, Word::tail), &to, &from, &old, FANLIGHT_INT64);
        return old;
    }

private:
    fanlight_pointer at(int unit, Word word) const { return {unit, lock.id, static_cast<std::uint64_t>(word)}; }
    std::int64_t fetch(int unit, Word word, std::int64_t value, fanlight_operator op) const {
        std::int64_t old = 0;
        fanlight_fetch_and_op(at(unit, word), &value, &old, FANLIGHT_INT64, op);
        return old;
    }
};

// Waits for a unit of the lock's team.
struct ForUnit {
    const Segment& lock;
    template <class Ready>
    void operator()(int unit, const Ready& ready) const {
        wait_for(lock.team->world[static_cast<std::size_t>(unit)], "lock", ready);
    }
};

// Null, and an error, where there is no such lock.
Segment* find_lock(fanlight_lock lock, fanlight_code& error) {
    Segment* const s = segment_of(lock);
    if (!s) error = is_up() ? fail(FANLIGHT_ERR_ARGUMENT, "the lock has been freed, or never existed") : not_up();
    return s;
}

bool is_mine(const Lock& lock) { return lock.owner.load() == std::this_thread::get_id(); }
fanlight_code held_already() { return fail(FANLIGHT_ERR_STATE, "this thread holds the lock already"); }

}  // namespace

Segment* segment_of(fanlight_lock lock) {
    const auto id = reinterpret_cast<std::intptr_t>(lock);
    Segment* const s = id > 0 && id <= INT32_MAX ? segments.find(static_cast<std::int32_t>(id)) : nullptr;
    return s && s->lock ? s : nullptr;
}

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_lock_create(fanlight_team team, fanlight_lock* lock) {
    fanlight_pointer pointer;
    if (const fanlight_code error =
            fanlight_allocate(team, static_cast<std::size_t>(Word::end), 0, lock ? &pointer : nullptr))
        return error;
    Segment& s = *segments.find(pointer.segment);
    s.own = true;
    s.lock = std::make_unique<Lock>();  // the queue is empty: its memory is new, and so 0
    *lock = reinterpret_cast<fanlight_lock>(static_cast<std::intptr_t>(s.id));
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_free(fanlight_lock* lock) {
    if (!lock) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_lock_free: no lock");
    fanlight_code error = FANLIGHT_OK;
    Segment* const s = find_lock(*lock, error);
    if (!s) return error;
    if (s->lock->owner.load() != std::thread::id{}) error = fail(FANLIGHT_ERR_STATE, "this unit holds the lock");
    if ((error = agree(s->team->comm, error))) return error;
    release_allocated(s);
    *lock = FANLIGHT_LOCK_NULL;
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_acquire(fanlight_lock lock) {
    fanlight_code error = FANLIGHT_OK;
    Segment* const s = find_lock(lock, error);
    if (!s) return error;
    if (is_mine(*s->lock)) return held_already();
    s->lock->threads.lock();
    const Words words{*s};
    Queue(words, s->team->unit).enter(ForUnit{*s});
    s->lock->owner = std::this_thread::get_id();
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_try(fanlight_lock lock, int* acquired) {
    fanlight_code error = FANLIGHT_OK;
    Segment* const s = find_lock(lock, error);
    if (!s) return error;
    if (!acquired) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_lock_try: a null pointer for the result");
    *acquired = 0;
    if (is_mine(*s->lock)) return held_already();
    if (!s->lock->threads.try_lock()) return FANLIGHT_OK;
    const Words words{*s};
    *acquired = Queue(words, s->team->unit).try_enter();
    if (*acquired)
        s->lock->owner = std::this_thread::get_id();
    else
        s->lock->threads.unlock();
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_release(fanlight_lock lock) {
    fanlight_code error = FANLIGHT_OK;
    Segment* const s = find_lock(lock, error);
    if (!s) return error;
    if (!is_mine(*s->lock)) return fail(FANLIGHT_ERR_STATE, "this thread does not hold the lock");
    s->lock->owner = std::thread::id{};
    const Words words{*s};
    Queue(words, s->team->unit).leave(ForUnit{*s});
    s->lock->threads.unlock();
    return FANLIGHT_OK;
}
