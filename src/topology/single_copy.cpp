#include "topology/single_copy.h"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace fanlight {

namespace {

// EPERM has three usual causes; the kernel does not say which.
std::string why_forbidden() {
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    if (scope > 0)
        return "kernel.yama.ptrace_scope is " + std::to_string(scope) +
               (scope == 1 ? ": only descendants may be read (0 allows it)" : "");
    return "another user or user namespace, a process that cannot be dumped, or a seccomp filter "
           "(containers: --cap-add=SYS_PTRACE)";
}

std::string explain(int error) {
    const std::string text = std::string("process_vm_readv: ") + std::strerror(error);
    switch (error) {
        case EPERM: return text + " (" + why_forbidden() + ")";
        case ESRCH: return text + " (another pid namespace, or it has ended)";
        case ENOSYS: return text + " (a kernel without it, or a seccomp filter)";
        default: return text;
    }
}

}  // namespace

ReadProbe probe_read(pid_t pid, const void* address, std::uint64_t expected) {
    std::uint64_t found = 0;
    const iovec local{&found, sizeof found};
    const iovec remote{const_cast<void*>(address), sizeof found};
    const ssize_t n = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (n < 0) return {false, explain(errno)};
    if (n != static_cast<ssize_t>(sizeof found))
        return {false, "process_vm_readv: read less than asked for"};
    if (found != expected)
        return {false, "process_vm_readv: process " + std::to_string(pid) +
                           " is another one here (another pid namespace)"};
    return {true, {}};
}

bool can_read(pid_t pid, const void* address, std::uint64_t expected) {
    return probe_read(pid, address, expected).allowed;
}

}  // namespace fanlight
