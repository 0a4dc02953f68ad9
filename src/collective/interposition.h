// How this library came into the program.  Preloaded, it stands in for MPI's collectives.  Linked alone, it leaves them to
// the MPI library and serves only fanlight_xxx: other programs of the same job, which share MPI_COMM_WORLD, need not have
// it.  Preloaded into a program whose MPI library has another ABI, or handles that no ABI has, it prints that and leaves
// everything to that library.
#pragma once

#include <atomic>

namespace fanlight {

enum class Role : unsigned char { unknown, none, waits, waits_and_collectives };
extern constinit std::atomic<Role> known_role;
// Found out when the program first calls MPI, whose library may be loaded long after this one.
Role find_role();
inline Role role() {
    const Role r = known_role.load(std::memory_order_relaxed);
    return r == Role::unknown ? find_role() : r;
}

// Whether this library stands in for MPI's collectives, and for the functions that wait.
inline bool takes_collectives() { return role() == Role::waits_and_collectives; }
inline bool takes_waits() { return role() >= Role::waits; }

// Whether the program's MPI_Wait is this library's.  Not where the MPI library was linked before
// it, or a tool above wraps MPI_Wait: a request of Fanlight's would then never be complete.
bool waits_come_here();

}  // namespace fanlight
