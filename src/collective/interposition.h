// How this library came into the program.  Preloaded, it stands in for MPI's collectives.  Linked alone, it leaves them to
// the MPI library and serves only fanlight_xxx: other programs of the same job, which share MPI_COMM_WORLD, need not have
// it.  Preloaded into a program whose MPI library has another ABI, or handles that no ABI has, it prints that and leaves
// everything to that library.
#pragma once

#include <atomic>
#include <span>
#include <string_view>

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

// The first of MPI's functions of requests that the program has from elsewhere: where the MPI library was linked before
// this one, or a tool above wraps it.  A request of Fanlight's would then never be complete.  Empty if all come here.
std::string_view waits_elsewhere();
inline bool waits_come_here() { return waits_elsewhere().empty(); }

// Their names (generated).
std::span<const char* const> request_functions();

}  // namespace fanlight
