// Keys of attributes, each made when it is first needed.
#pragma once

#include <atomic>

#include "collective/mpi_header.h"

namespace fanlight {

// `key` is MPI_KEYVAL_INVALID at first; `made` becomes true if this call has made it.  No lock, nor a static object's, is held
// while MPI is called: another thread may come to us from a callback of the program's, with a lock of the MPI library's.
template <class Create, class Free, class Copy, class Forget>
int keyval(std::atomic<int>& key, Create&& create, Free&& free, Copy* copy, Forget* forget, bool& made) {
    int known = key.load(std::memory_order_acquire), own = MPI_KEYVAL_INVALID;
    if (known != MPI_KEYVAL_INVALID) return known;
    create(copy, forget, &own, nullptr);
    made = key.compare_exchange_strong(known, own);
    if (made) return own;
    free(&own);
    return known;
}
template <class Create, class Free, class Copy, class Forget>
int keyval(std::atomic<int>& key, Create&& create, Free&& free, Copy* copy, Forget* forget) {
    bool made;
    return keyval(key, create, free, copy, forget, made);
}

}  // namespace fanlight
