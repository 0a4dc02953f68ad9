#include "execute/process_watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>

namespace fanlight {

namespace {

std::atomic<std::size_t> entries{0};

}  // namespace

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
    if (const auto it = known.find(pid); it != known.end())
        // One that has ended is opened again: the id may belong to a new process by now.
        if (auto watch = it->second.lock(); watch && !watch->ended()) return watch;
    std::erase_if(known, [](const auto& one) { return one.second.expired(); });
    std::shared_ptr<ProcessWatch> watch(new ProcessWatch(pid));
    known[pid] = watch;
    entries = known.size();
    return watch;
}

std::size_t ProcessWatch::kept() { return entries; }

}  // namespace fanlight
