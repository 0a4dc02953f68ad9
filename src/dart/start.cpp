// Start and end.
#include <cstdlib>

#include "dart/names.h"

using namespace fanlight;
using namespace fanlight::dart;

dart_ret_t dart_init_thread(int* argc, char*** argv, dart_thread_support_level_t* thread_safety) {
    if (fanlight_initialized()) return invalid("dart_init", "DART is initialised already");
    int up = 0;
    MPI_Initialized(&up);
    if (!up) {
        int level = MPI_THREAD_SINGLE;
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    }
    if (const fanlight_code code = fanlight_init()) return status("dart_init", code);
    global::runtime.finalizes = !up;
    if (thread_safety)
        *thread_safety = global::runtime.several_threads ? DART_THREAD_MULTIPLE : DART_THREAD_SINGLE;
    return dart_team_locality_init(DART_TEAM_ALL);
}

dart_ret_t dart_init(int* argc, char*** argv) { return dart_init_thread(argc, argv, nullptr); }
dart_ret_t dart_exit() {
    if (fanlight_initialized()) dart_team_locality_finalize(DART_TEAM_ALL);
    return status("dart_exit", fanlight_exit());
}
bool dart_initialized() { return fanlight_initialized() != 0; }

void dart_abort(int errorcode) {
    MPI_Abort(MPI_COMM_WORLD, errorcode);
    std::abort();
}

void dart_config(dart_config_t** config) {
    static dart_config_t only = {1};
    *config = &only;
}
