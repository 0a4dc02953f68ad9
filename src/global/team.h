// Teams: a communicator, and which of its units share this unit's node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/mpi_header.h"
#include "global/error.h"
#include "global/node_group.h"
#include "global/numbers.h"
#include "global/table.h"

namespace fanlight::global {

struct Segment;

struct Team {
    std::int32_t id = -1;
    MPI_Comm comm = MPI_COMM_NULL;
    int unit = 0, size = 0;
    std::vector<int> world;      // the number in FANLIGHT_TEAM_ALL of each unit
    std::vector<int> node_rank;  // among the team's units on this node; -1: on another node
    bool one_node = true;
    int allocations = 0;         // that the program has not freed yet
    std::vector<Segment*> segments;  // in the order in which they were made, the same on all units
    Numbers<Segment> numbers;        // DART's

    // Notifications: how many each unit has sent this one, in each unit's part of a segment that
    // the team always has.  Row `unit` of a part has one writer, that unit.  The part's first
    // word is the lock for long doubles (atomics.cpp).
    static constexpr std::size_t barrier_at = 128;  // one counter for each round, 32 at most
    static constexpr std::size_t counters_at = barrier_at + 256;
    Segment* notifications = nullptr;
    std::uint64_t barriers = 0;
    std::unique_ptr<NodeGroup> collectives;  // where all units share a node, from the first call on
    std::vector<std::uint64_t> sent, seen;  // [unit * FANLIGHT_NOTIFICATIONS + index]
};

inline constinit Table<Team> teams;

// Null, and an error, where there is no such team.
Team* find_team(fanlight_team, fanlight_code& error);

// The number in the team of one of FANLIGHT_TEAM_ALL; -1: it is not in it.
int unit_in(const Team&, int world);
// An error where the team has no such unit.
fanlight_code check_unit(const Team&, int unit);

// Makes a Team of a communicator, which is then its own, with these numbers, which have been agreed
// on.  Collective over it.
Team* make_team(MPI_Comm comm, std::int32_t id, std::int32_t segment, fanlight_code& error);
// With all segments that are left.  Collective.
void free_team(Team&);

// What all units of a team must agree on before they do something together: numbers that are free
// for all (put() or withdraw() follows), the greatest value that one gave and whether all gave the
// same, and whether one of them cannot take part.
struct Agreement {
    std::int32_t segment = -1, team = -1;
    std::int64_t greatest = 0;
    bool same = true;
    fanlight_code code = FANLIGHT_OK;  // OK, this unit's own error, or that another one has one
};
// `asker` is the team that does.
Agreement agree_on_segment(MPI_Comm comm, std::int32_t asker, fanlight_code own, std::int64_t value = 0);
// And on the segment that a team always has.
Agreement agree_on_team(const Team& parent, fanlight_code own);
// The last of these alone.
fanlight_code agree(MPI_Comm comm, fanlight_code own);

}  // namespace fanlight::global
