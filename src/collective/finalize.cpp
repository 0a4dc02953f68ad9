#include "collective/finalize.h"

#include "collective/communicator.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/progress_hook.h"
#include "collective/report.h"
#include "collective/requests.h"
#include "topology/single_copy.h"

namespace fanlight {

void finalize() {
    if (!takes_waits()) return;
    // A program's mistake, which the MPI library will tell.
    int initialized = 0, finalized = 0;
    mpi().Initialized(&initialized);
    mpi().Finalized(&finalized);
    if (!initialized || finalized || communicators::ended.load()) return;
    requests::finish_freed();
    progress_hook::remove();
    communicators::close();
    report::write();
    let_others_read_no_more(true);
}

}  // namespace fanlight
