// Locks: a queue (queue.h) in global memory.
#include <atomic>
#include <mutex>
#include <thread>

#include "global/queue.h"
#include "global/runtime.h"
#include "global/segment.h"

struct fanlight_lock_object {
    std::int32_t segment;
    fanlight_team team;
    int unit;
    std::mutex threads;                       // the unit's threads queue here first
    std::atomic<std::thread::id> owner{};
};

namespace fanlight::global {

namespace {

// Other units change them by the same kind of operation.
struct Words {
    std::int32_t segment;

    std::int64_t exchange(int unit, Word word, std::int64_t value) const {
        return fetch(unit, word, value, FANLIGHT_REPLACE);
    }
    std::int64_t load(int unit, Word word) const { return fetch(unit, word, 0, FANLIGHT_NO_OP); }
    std::int64_t replace_tail(std::int64_t from, std::int64_t to) const {
        std::int64_t old = 0;
        fanlight_compare_and_swap(at(0, Word::tail), &to, &from, &old, FANLIGHT_INT64);
        return old;
    }

private:
    fanlight_pointer at(int unit, Word word) const { return {unit, segment, static_cast<std::uint64_t>(word)}; }
    std::int64_t fetch(int unit, Word word, std::int64_t value, fanlight_operator op) const {
        std::int64_t old = 0;
        fanlight_fetch_and_op(at(unit, word), &value, &old, FANLIGHT_INT64, op);
        return old;
    }
};

// Waits for a unit of the lock's team.
struct ForUnit {
    const fanlight_lock_object& lock;
    template <class Ready>
    void operator()(int unit, const Ready& ready) const {
        wait_for(teams.find(lock.team)->world[static_cast<std::size_t>(unit)], "lock", ready);
    }
};

fanlight_code usable(const fanlight_lock_object* lock) {
    if (!is_up()) return not_up();
    if (!lock || !segments.find(lock->segment)) return fail(FANLIGHT_ERR_ARGUMENT, "no such lock");
    return FANLIGHT_OK;
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_lock_create(fanlight_team team, fanlight_lock* lock) {
    if (!lock) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_lock_create: no place for the lock");
    fanlight_pointer pointer;
    if (const fanlight_code error = fanlight_allocate(team, static_cast<std::size_t>(Word::end), 0, &pointer)) return error;
    auto* made = new fanlight_lock_object{.segment = pointer.segment, .team = team, .unit = 0, .threads = {}};
    fanlight_team_unit(team, &made->unit);
    const Words words{made->segment};
    Queue(words, made->unit).make();
    *lock = made;
    return fanlight_team_barrier(team);
}

fanlight_code fanlight_lock_free(fanlight_lock* lock) {
    if (!lock) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_lock_free: no lock");
    if (const fanlight_code error = usable(*lock)) return error;
    if ((*lock)->owner.load() != std::thread::id{}) return fail(FANLIGHT_ERR_STATE, "the lock is held");
    const fanlight_code error = fanlight_free({0, (*lock)->segment, 0});
    if (error == FANLIGHT_OK) {
        delete *lock;
        *lock = FANLIGHT_LOCK_NULL;
    }
    return error;
}

fanlight_code fanlight_lock_acquire(fanlight_lock lock) {
    if (const fanlight_code error = usable(lock)) return error;
    if (lock->owner.load() == std::this_thread::get_id())
        return fail(FANLIGHT_ERR_STATE, "this thread holds the lock already");
    lock->threads.lock();
    const Words words{lock->segment};
    Queue(words, lock->unit).enter(ForUnit{*lock});
    lock->owner = std::this_thread::get_id();
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_try(fanlight_lock lock, int* acquired) {
    if (const fanlight_code error = usable(lock)) return error;
    if (!acquired) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_lock_try: no place for the result");
    *acquired = 0;
    if (lock->owner.load() == std::this_thread::get_id())
        return fail(FANLIGHT_ERR_STATE, "this thread holds the lock already");
    if (!lock->threads.try_lock()) return FANLIGHT_OK;
    const Words words{lock->segment};
    *acquired = Queue(words, lock->unit).try_enter();
    if (*acquired)
        lock->owner = std::this_thread::get_id();
    else
        lock->threads.unlock();
    return FANLIGHT_OK;
}

fanlight_code fanlight_lock_release(fanlight_lock lock) {
    if (const fanlight_code error = usable(lock)) return error;
    if (lock->owner.load() != std::this_thread::get_id())
        return fail(FANLIGHT_ERR_STATE, "this thread does not hold the lock");
    lock->owner = std::thread::id{};
    const Words words{lock->segment};
    Queue(words, lock->unit).leave(ForUnit{*lock});
    lock->threads.unlock();
    return FANLIGHT_OK;
}
