#include "dart/names.h"

using namespace fanlight;
using namespace fanlight::dart;

// A DART lock is a Fanlight lock by another name.
namespace {
fanlight_lock own(dart_lock_t lock) { return reinterpret_cast<fanlight_lock>(lock); }
}

dart_ret_t dart_team_lock_init(dart_team_t team, dart_lock_t* lock) {
    return status("dart_team_lock_init",
                  fanlight_lock_create(fanlight_id(team), reinterpret_cast<fanlight_lock*>(lock)));
}
dart_ret_t dart_team_lock_destroy(dart_lock_t* lock) {
    if (lock && global::is_up() && !dart_lock_initialized(*lock)) {
        *lock = DART_LOCK_NULL;
        return DART_OK;
    }
    return status("dart_team_lock_destroy", fanlight_lock_free(reinterpret_cast<fanlight_lock*>(lock)));
}
dart_ret_t dart_lock_acquire(dart_lock_t lock) { return status("dart_lock_acquire", fanlight_lock_acquire(own(lock))); }
dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t* result) {
    return status("dart_lock_try_acquire", fanlight_lock_try(own(lock), result));
}
dart_ret_t dart_lock_release(dart_lock_t lock) { return status("dart_lock_release", fanlight_lock_release(own(lock))); }
bool dart_lock_initialized(struct dart_lock_struct const* lock) {
    return global::segment_of(own(const_cast<dart_lock_t>(lock))) != nullptr;
}
