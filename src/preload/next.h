// The function that the program would have called if the preload were not there: the MPI
// library's, or that of a profiling tool in between.
#pragma once

#include <atomic>

#include "collective/library.h"

namespace fanlight {

template <class Function>
class Next {
public:
    // `others`: names to try where there is none of the first name.
    constexpr explicit Next(const char* name, const char* second = nullptr, const char* third = nullptr,
                            const char* fourth = nullptr)
        : names_{name, second, third, fourth} {}

    // Found at the first call: the MPI library may have been loaded long after the preload.
    Function get() {
        Function f = function_.load(std::memory_order_relaxed);
        return f ? f : find();
    }

private:
    [[gnu::noinline]] Function find() {
        void* found = nullptr;
        for (const char* name : names_)
            if (name && !found) found = find_in_mpi(name);
        if (!found) missing(names_[0]);
        const auto f = reinterpret_cast<Function>(found);
        function_.store(f, std::memory_order_relaxed);
        return f;
    }

    const char* names_[4];
    std::atomic<Function> function_{nullptr};
};

}  // namespace fanlight
