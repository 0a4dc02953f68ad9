#include "topology/single_copy.h"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

namespace fanlight {

namespace {

int ptrace_scope() {
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    return scope;
}

// EPERM has three usual causes; the kernel does not say which.
std::string why_forbidden() {
    if (const int scope = ptrace_scope(); scope > 0)
        return "kernel.yama.ptrace_scope is " + std::to_string(scope) +
               (scope == 1 ? ": only descendants may be read (0 allows it)" : "");
    return "another user or user namespace, a process that cannot be dumped, or a seccomp filter "
           "(containers: --cap-add=SYS_PTRACE)";
}

SingleCopyProbe no(const char* call, int error) {
    const std::string text = std::string(call) + ": " + std::strerror(error);
    switch (error) {
        case EPERM: return {false, text + " (" + why_forbidden() + ")"};
        case ESRCH: return {false, text + " (another pid namespace, or it has ended)"};
        case ENOSYS: return {false, text + " (a kernel without it, or a seccomp filter)"};
        default: return {false, text};
    }
}

}  // namespace

SingleCopyProbe probe_single_copy(pid_t pid, const void* address, std::uint64_t expected) {
    std::uint64_t found = 0;
    const iovec local{&found, sizeof found};
    const iovec remote{const_cast<void*>(address), sizeof found};
    const auto whole = static_cast<ssize_t>(sizeof found);
    const ssize_t read = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (read < 0) return no("process_vm_readv", errno);
    if (read != whole) return {false, "process_vm_readv: read less than asked for"};
    if (found != expected)
        return {false, "process_vm_readv: process " + std::to_string(pid) +
                           " is another one here (another pid namespace)"};
    const ssize_t written = ::process_vm_writev(pid, &local, 1, &remote, 1, 0);
    if (written < 0) return no("process_vm_writev", errno);
    if (written != whole) return {false, "process_vm_writev: wrote less than asked for"};
    return {true, {}};
}

namespace {

// How many have asked for it.
std::mutex readable_mutex;
int readable = 0;

bool set_readers(unsigned long readers) {
#ifdef PR_SET_PTRACER
    return ::prctl(PR_SET_PTRACER, readers, 0, 0, 0) == 0;
#else
    return false;
#endif
}

}  // namespace

bool let_others_read(bool if_they_may) {
    const std::scoped_lock lock(readable_mutex);
    if (readable == 0 && (if_they_may || !set_readers(PR_SET_PTRACER_ANY))) return false;
    ++readable;
    return true;
}

void let_others_read_no_more(bool all) {
    const std::scoped_lock lock(readable_mutex);
    if (readable == 0) return;
    readable = all ? 0 : readable - 1;
    if (readable == 0) set_readers(0);
}

}  // namespace fanlight
