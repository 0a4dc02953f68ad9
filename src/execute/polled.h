// The result of a poll of the MPI library (Waiter::Hooks::progress).
#pragma once

namespace fanlight {

struct Polled {
    bool worked = false;   // it had something to do, and may have more
    bool yielded = false;  // it has given the core to others already
    bool awake = false;    // others may want something of this process at any time: no sleep
};

}  // namespace fanlight
