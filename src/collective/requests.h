// Non-blocking and persistent operations that Fanlight serves, and the program's requests for them.
//
// A non-blocking operation's request is a generalized request of the MPI library: a real MPI_Request, which the library's
// own MPI_Wait and MPI_Test take, alone or in an array with others.  The next thread of the program that calls MPI
// completes it, because no other thread may call MPI; the helper thread (OperationsInFlight) only touches memory.
//
// A persistent operation's request is a persistent receive from this rank itself, which a message completes.  If its start
// already provides all that others need, the operation completes in the library: MPI never sees it, and its receive stays
// inactive, as that of a completed one is.  Only if the program passes it to a function that picks one of several
// requests, the MPI library learns of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "collective/datatype.h"
#include "collective/mpi_header.h"
#include "collective/communicator_context.h"
#include "collective/workspace.h"
#include "execute/run.h"

namespace fanlight {

// An operation that was started, until its request is complete.
struct InFlightOperation : Run {
    explicit InFlightOperation(std::shared_ptr<CommunicatorContext>);
    virtual ~InFlightOperation();

    // Starts it under a new request, and is no more the caller's.
    virtual void begin(const Decision&, const void* input, void* output, const Combiner*, MPI_Request*);
    // By a thread of the program's, when the run is finished; the last that is heard of it.
    virtual void complete();

    // The same datatype under a handle of our own: the program may free its own while the
    // operation that uses it is in flight.
    const Datatype* kept(const Datatype*);
    // The same of an operator.
    void uses(MPI_Op);

    std::shared_ptr<CommunicatorContext> context;
    MPI_Request request = MPI_REQUEST_NULL;  // null: the program has freed it
    Workspace workspace;
    std::shared_ptr<const Decision> decision;  // whose plan is run
    bool abandoned = false;  // the program has freed its request, and MPI_Finalize waits for it
    std::function<void()> finish;  // by a thread of the program's; may be empty

private:
    const void* input_of(const Problem&, const void* input);
    void raise();

    std::byte short_input_[256];
    std::list<Datatype> datatypes_;
    MPI_Op op_ = MPI_OP_NULL;
    void* number_ = nullptr;  // what the request is known by in its callbacks
};

namespace requests {

// Whether what is in flight in shared memory can be advanced while the program is elsewhere.
bool can_be_in_flight();

// For progress_hook.h: whether anything with messages is in flight; advances all.
bool messages_in_flight();
void advance_inside();

// How many there are: requests that are not complete.
extern std::atomic<int> count;
inline bool any() { return count.load(std::memory_order_relaxed) != 0; }

// MPI_Start, MPI_Startall: false if none is a persistent operation of Fanlight's.
bool start(MPI_Request);
bool start(int count, const MPI_Request[], int& error);

// What completes in the library; only where any_in_library().
// MPI_Wait: false where it does not complete in the library.
bool wait_in_library(MPI_Request, MPI_Status*);
// MPI_Test: the same.
bool test_in_library(MPI_Request, int* flag, MPI_Status*);
// MPI_Request_get_status of any persistent one; false where it is none.  The MPI library is not asked: MPICH 5.0.2
// ends a persistent receive by that.
bool get_status(MPI_Request, int* flag, MPI_Status*);
// Of several: waits for all that do; says whether all that do are finished, and then they may be
// ended.  For the MPI library they are inactive.
void finish_in_library(int count, const MPI_Request[]);
bool finished_in_library(int count, const MPI_Request[]);
void end_in_library(int count, const MPI_Request[]);
// From here on they run as others do.
void hand_over(int count, const MPI_Request[]);

// Advances all and completes what is finished; whether that was anything.
bool progress();

// By MPI_Test and its like, whose next call may come late: the same, and what the network has for Fanlight's messages is
// taken at once.
void poll();

// Until test(), which asks the MPI library whether the call may return, is true; false when
// Fanlight has nothing in flight any more, so that the MPI library may wait by itself.
bool wait(const std::function<bool()>& test);

// MPI_Waitall while Fanlight has something in flight, by the MPI library's MPI_Test of one after the
// other: MPICH 5.0.2's MPI_Testall fails where a persistent collective of its own is among them.
int wait_all(int count, MPI_Request[], MPI_Status[], int (*test)(MPI_Request*, int*, MPI_Status*));

// MPI_Request_free: an active operation goes on, and nobody is told of its end.
void freed(MPI_Request);
bool persistent_freed(MPI_Request);  // false: it is none
// One that Group::begin has begun goes on among the others.
void adopt(Group&, Run&);
// What MPI calls an empty status.
void set_empty(MPI_Status*);
// MPI_Op_free: true where something that is in flight uses it, after which it is freed.
bool kept(MPI_Op*);
// At MPI_Finalize: others may wait for this rank's part in what it has freed.
void finish_freed();

}  // namespace requests

}  // namespace fanlight
