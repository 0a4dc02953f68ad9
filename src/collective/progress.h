// The MPI library's progress while the program is in none of its functions: a rank that waits in Fanlight may owe a peer
// the other half of a send, or its part in a one-sided operation.
#pragma once

#include "execute/polled.h"

namespace fanlight {

// Lets the MPI library progress on all that it has pending; nothing where another thread, or one
// of this thread's callers, is at it.
Polled progress();
// The same before a call that asks the MPI library once how far it is, and only where Fanlight
// serves a communicator: the calls that it serves would have made that progress.
void progress_before_test();

// The program's windows: who may be asked for something at any moment does not sleep.
void window_created();
void window_freed();

// At MPI_Finalize, before the quiet communicator is freed.
void end_progress();

}  // namespace fanlight
