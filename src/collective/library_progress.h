// Lets the MPI library progress, and returns whether it had anything to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>

#include "collective/mpi_header.h"
#include "execute/polled.h"

namespace fanlight {

class LibraryProgress {
public:
    // `version`: what MPI_Get_library_version says; `find`: a symbol of the MPI library's, or null.
    LibraryProgress(const char* version, void* (*find)(const char* symbol)) {
        if (!std::strstr(version, "Open MPI v")) return;
        yields_when_idle_ = static_cast<const bool*>(find("opal_progress_yield_when_idle"));
        // Before version 5 it does not say how much it has done.
        if (std::strstr(version, "Open MPI v4") || std::strstr(version, "Open MPI v3")) return;
        opal_progress_ = reinterpret_cast<int (*)()>(find("opal_progress"));
    }

    // `test` is MPI_Test of a receive that nobody ever answers: it looks at everything.  MPI_Iprobe
    // does not: in MPICH a probe of a communicator of one rank looks at what this rank has sent
    // itself, and the others' one-sided operations wait for ever (MPICH 5.0.2; MPI_Win_lock_all).
    template <class Test>
    Polled poll(Test&& test) {
        Polled result;
        if (opal_progress_) {
            result.worked = opal_progress_() > 0;
        } else {
            const auto start = std::chrono::steady_clock::now();
            test();
            result.worked = !as_usual(std::chrono::steady_clock::now() - start);
        }
        result.yielded = !result.worked && yields_when_idle_ && *yields_when_idle_;
        return result;
    }

private:
    // Most polls of a rank that waits find nothing, and all take as long.  One that moves data takes
    // longer; one that finds a message takes less, where the library then leaves the network alone
    // (MPICH).  A wrong guess costs a poll, or a yield.
    bool as_usual(std::chrono::nanoseconds time) {
        const std::int64_t t = time.count();
        const bool usual = t > usual_ns_ * 5 / 8 && t < usual_ns_ * 2;
        usual_ns_ += (t > usual_ns_ ? 1 : -1) * (usual_ns_ / 32 + 1);  // towards the median
        return usual;
    }

    int (*opal_progress_)() = nullptr;
    const bool* yields_when_idle_ = nullptr;
    std::int64_t usual_ns_ = 200;
};

}  // namespace fanlight
