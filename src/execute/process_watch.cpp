#include "execute/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

namespace fanlight {

ProcessWatch::ProcessWatch(pid_t pid) : pid_(pid) {
    if (pid <= 0) return;
    fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));  // closed by exec
    gone_ = fd_ < 0 && errno == ESRCH;
}

ProcessWatch::~ProcessWatch() {
    if (fd_ >= 0) ::close(fd_);
}

bool ProcessWatch::ended() const {
    if (gone_) return true;
    if (pid_ <= 0) return false;
    if (fd_ < 0) {
        // Kernels before 5.3, old seccomp filters, no descriptor left: the process id is
        // better than nothing.
        return ::kill(pid_, 0) != 0 && errno == ESRCH;
    }
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

std::shared_ptr<ProcessWatch> ProcessWatch::of(pid_t pid) {
    // Never destroyed: waiting may go on while static objects are.
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::map<pid_t, std::weak_ptr<ProcessWatch>>;
    const std::lock_guard lock(mutex);
    std::weak_ptr<ProcessWatch>& entry = known[pid];
    // One that has ended is opened again: the id may belong to a new process by now.
    std::shared_ptr<ProcessWatch> watch = entry.lock();
    if (!watch || watch->ended()) {
        watch.reset(new ProcessWatch(pid));
        entry = watch;
    }
    return watch;
}

}  // namespace fanlight
