// Whether this process may read another one's memory directly (process_vm_readv).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace fanlight {

struct ReadProbe {
    bool allowed = false;
    std::string why_not;  // for the report
};

// Reads the 64-bit number at `address` of process `pid` and compares it: a process id of
// another namespace may name a stranger, whose memory reads without an error.
ReadProbe probe_read(pid_t pid, const void* address, std::uint64_t expected);

bool can_read(pid_t pid, const void* address, std::uint64_t expected);

}  // namespace fanlight
