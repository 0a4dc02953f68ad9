// Locks: the queue of Mellor-Crummey and Scott ("Algorithms for scalable synchronization on
// shared-memory multiprocessors", 1991) in global memory.  Each unit waits at a word of its own,
// which its predecessor writes; the lock costs a constant number of remote operations and is
// handed on in the order of arrival.
#include <atomic>
#include <mutex>
#include <thread>

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

// The words of a unit's part; numbers of units are stored plus one, 0 is nobody.  Each on a
// line of its own.  The tail is that of unit 0.
enum Word : std::uint64_t { tail = 0, next = 128, waiting = 256, part_bytes = 384 };

fanlight_pointer at(const fanlight_lock_object& lock, int unit, Word word) { return {unit, lock.segment, word}; }

std::int64_t exchange(const fanlight_lock_object& lock, int unit, Word word, std::int64_t value) {
    std::int64_t old = 0;
    fanlight_fetch_and_op(at(lock, unit, word), &value, &old, FANLIGHT_INT64, FANLIGHT_REPLACE);
    return old;
}

// Other units write it by the same kind of operation.
std::int64_t own_word(const fanlight_lock_object& lock, Word word) {
    std::int64_t value = 0;
    fanlight_fetch_and_op(at(lock, lock.unit, word), &value, &value, FANLIGHT_INT64, FANLIGHT_NO_OP);
    return value;
}

std::int64_t replace_tail(const fanlight_lock_object& lock, std::int64_t from, std::int64_t to) {
    std::int64_t old = 0;
    fanlight_compare_and_swap(at(lock, 0, tail), &to, &from, &old, FANLIGHT_INT64);
    return old;
}

int world_unit(const fanlight_lock_object& lock, int unit) {
    return teams.find(lock.team)->world[static_cast<std::size_t>(unit)];
}

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
    if (const fanlight_code error = fanlight_allocate(team, part_bytes, 0, &pointer)) return error;
    auto* made = new fanlight_lock_object{.segment = pointer.segment, .team = team, .unit = 0, .threads = {}};
    fanlight_team_unit(team, &made->unit);
    for (const Word word : {tail, next, waiting}) exchange(*made, made->unit, word, 0);
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
    exchange(*lock, lock->unit, next, 0);
    exchange(*lock, lock->unit, waiting, 1);
    if (const std::int64_t before = exchange(*lock, 0, tail, lock->unit + 1); before != 0) {
        const int predecessor = static_cast<int>(before - 1);
        exchange(*lock, predecessor, next, lock->unit + 1);
        wait_for(world_unit(*lock, predecessor), "lock", [&] { return own_word(*lock, waiting) == 0; });
    }
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
    exchange(*lock, lock->unit, next, 0);
    *acquired = replace_tail(*lock, 0, lock->unit + 1) == 0;
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
    const std::int64_t last = replace_tail(*lock, lock->unit + 1, 0);
    if (last != lock->unit + 1) {
        // Somebody has come, and is about to say who.
        std::int64_t successor = 0;
        wait_for(world_unit(*lock, static_cast<int>(last - 1)), "lock",
                 [&] { return (successor = own_word(*lock, next)) != 0; });
        exchange(*lock, static_cast<int>(successor - 1), waiting, 0);
    }
    lock->threads.unlock();
    return FANLIGHT_OK;
}
