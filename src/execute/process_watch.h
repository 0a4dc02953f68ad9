// Whether other processes are alive, by pidfd: unlike a process id it never comes to mean another process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

namespace fanlight {

class ProcessWatch {
public:
    // Watches are shared by all that ask for the same process: a communicator costs no
    // descriptors of its own.  A pid of 0 or less (another pid namespace) is never ended.
    static std::shared_ptr<ProcessWatch> of(pid_t);
    // How many are known: those that somebody watches, and what has gone since the last new one.
    static std::size_t kept();

    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;
    ~ProcessWatch();

    pid_t pid() const { return pid_; }
    bool ended() const;

private:
    explicit ProcessWatch(pid_t);

    pid_t pid_;
    int fd_ = -1;        // -1: no pidfd to be had
    bool gone_ = false;  // it had ended before the watch began
};

}  // namespace fanlight
