// Shared memory that either all units of a node map, or none.
#pragma once

#include <system_error>

#include "collective/mpi_header.h"
#include "memory/segment.h"

namespace fanlight::global {

// Collective.  map(place, problem) makes this unit's segments there and opens the others'; it is called again for
// /dev/shm where some unit cannot reach another one's files.  True on all units where it went well on all; `code`
// is the MPI library's.
template <class Map>
bool map_by_all(MPI_Comm comm, Map&& map, int& code) {
    for (const auto place : {fanlight::Segment::Place::anywhere, fanlight::Segment::Place::dev_shm}) {
        std::error_code problem;
        map(place, problem);
        enum { well, by_name, not_at_all };
        int mine = !problem ? well : problem == std::errc::cross_device_link ? by_name : not_at_all, worst = not_at_all;
        code = MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm);
        if (code != MPI_SUCCESS || worst != by_name) return code == MPI_SUCCESS && worst == well;
    }
    return false;
}

}  // namespace fanlight::global
