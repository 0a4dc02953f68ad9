// What each thread keeps from call to call, so that a call allocates nothing.
//
// It lies on the heap: a library that is loaded late (by dlopen, as by a Python program that has not preloaded it) gets
// little static thread-local storage, and cannot be loaded if it needs more.  It ends with the thread.  But a program may
// call MPI later, from its own destructors: exit() ends what the main thread keeps before it calls these.  Then it is made
// once more.
#pragma once

#include <utility>

namespace fanlight {

// `Tag` tells apart those of one type.
template <class T, class Tag = T>
T& per_thread() {
    static constinit thread_local T* object = nullptr;
    struct AtEnd {
        ~AtEnd() { delete std::exchange(object, nullptr); }
    };
    if (!object) [[unlikely]] {
        object = new T;
        static thread_local AtEnd at_end;
        static_cast<void>(at_end);
    }
    return *object;
}

}  // namespace fanlight
