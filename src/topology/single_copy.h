// Whether this process may read and write another one's memory directly (process_vm_readv, process_vm_writev).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace fanlight {

struct SingleCopyProbe {
    bool allowed = false;
    std::string why_not;  // for the report
};

// Reads the 64-bit number at `address` of process `pid` and compares it, since a process id of
// another namespace may name a stranger, whose memory reads without an error; then writes it
// back as it is.
SingleCopyProbe probe_single_copy(pid_t pid, const void* address, std::uint64_t expected);

// Where Yama lets a process be read by its parents alone (kernel.yama.ptrace_scope=1, as Ubuntu
// has it): lets those of the same user read this one, as MPI libraries do for themselves.  The kernel
// does not tell what is set already.  So this is for where the others were found unable to read; then
// nobody has set it before, and it may be taken back.
// False: there is no Yama.  `if_they_may`: asks to keep what another thread has set, and sets nothing.
bool let_others_read(bool if_they_may = false);
// Takes back one let_others_read(), or all.
void let_others_read_no_more(bool all = false);

}  // namespace fanlight
