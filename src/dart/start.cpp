// Start and end.
#include <cstdlib>

#include "dart/domain.h"
#include "dart/names.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {
bool up = false;  // the program may use fanlight_init and exit as well
}

dart_ret_t dart_init_thread(int*, char***, dart_thread_support_level_t* thread_safety) {
    if (up) return invalid("dart_init", "DART is initialized already");
    if (const fanlight_code code = fanlight_init()) return status("dart_init", code);
    up = true;
    if (thread_safety)
        *thread_safety = global::runtime.several_threads ? DART_THREAD_MULTIPLE : DART_THREAD_SINGLE;
    return dart_team_locality_init(DART_TEAM_ALL);
}

dart_ret_t dart_init(int* argc, char*** argv) { return dart_init_thread(argc, argv, nullptr); }
dart_ret_t dart_exit() {
    if (!up || !fanlight_initialized()) {
        status("dart_exit", global::not_up());
        return DART_ERR_NOTINIT;
    }
    up = false;
    forget_localities();
    return status("dart_exit", fanlight_exit());
}
bool dart_initialized() { return up && fanlight_initialized(); }

void dart_abort(int errorcode) {
    MPI_Abort(MPI_COMM_WORLD, errorcode);
    std::abort();
}

void dart_config(dart_config_t** config) {
    static dart_config_t only = {1};
    *config = &only;
}
