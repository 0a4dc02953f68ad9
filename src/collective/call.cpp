#include "collective/call.h"

#include "collective/device_memory.h"
#include "collective/error.h"
#include "collective/guard.h"
#include "collective/hooks.h"
#include "collective/library.h"

namespace fanlight {

CommunicatorContext* Call::starting() {
    std::shared_ptr<CommunicatorContext> context = initializes_ ? communicator_->initializing(reason_) : communicator_->starting(reason_);
    if (!context) return nullptr;
    begun_ = initializes_ ? persistent_ = new Persistent(std::move(context)) : new InFlightOperation(std::move(context));
    return begun_->context.get();
}

bool Call::may_be_first() {
    reason_ = why_unknown();
    if (!device_memory::is_staged() || !communicators::open.load(std::memory_order_relaxed)) return false;
    int inter = 0;
    if (mpi().Comm_test_inter(comm_, &inter) != MPI_SUCCESS) return false;
    communicators::first_seen(comm_, starts(), MPI_SUCCESS);
    return (communicator_ = communicators::find(comm_)) != nullptr;
}

bool Call::guard_leaves_it(guard::Calls& calls) {
    const auto [theirs, compared] = calls.next(true);
    if (compared) compared_ = &calls;
    if (theirs) reason_ = compared ? Reason::guard_compares : Reason::guard;
    return !theirs;
}

guard::Calls* Call::theirs_beside(const Decision& d) {
    const auto [theirs, compared] = d.guarded->next(false);
    if (compared) compared_ = d.guarded;
    return theirs ? d.guarded : nullptr;
}

void Call::guard_learns() const { compared_->over(); }

int raised(const std::exception& e, MPI_Comm comm) {
    say(e.what());
    return raise(comm, e.what());
}

std::size_t bytes_of(const void* buffer, MPI_Count count, MPI_Datatype handle) {
    if (buffer == MPI_IN_PLACE || count <= 0 || handle == MPI_DATATYPE_NULL || communicators::ended.load(std::memory_order_relaxed)) return 0;
    // Not datatype(), which needs MPI_COMM_SELF: a program of sessions alone has none.
    MPI_Count size = 0;
    return mpi().Type_size_x(handle, &size) == MPI_SUCCESS && size > 0 ? static_cast<std::size_t>(count * size) : 0;
}

}  // namespace fanlight
