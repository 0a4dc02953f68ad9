#include "collective/finalize.h"

#include "collective/communicator.h"
#include "collective/library.h"
#include "collective/report.h"
#include "collective/requests.h"

namespace fanlight {

void finalize() {
    // A program's mistake, which the MPI library will tell.
    int initialized = 0, finalized = 0;
    mpi().Initialized(&initialized);
    mpi().Finalized(&finalized);
    if (!initialized || finalized || communicators::ended.load()) return;
    requests::finish_freed();
    communicators::close();
    report::write();
}

}  // namespace fanlight
