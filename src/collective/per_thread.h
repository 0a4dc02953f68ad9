// What each thread keeps from call to call, so that a call allocates nothing.
//
// It lies on the heap: a library that is loaded late (by dlopen, as by a Python program that has not preloaded it) gets
// little static thread-local storage, and cannot be loaded if it needs more.
#pragma once

#include <memory>

namespace fanlight {

template <class T>
class PerThread {
public:
    T& operator*() const { return *object_; }

private:
    std::unique_ptr<T> object_ = std::make_unique<T>();
};

}  // namespace fanlight
