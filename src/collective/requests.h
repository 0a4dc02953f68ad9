// Non-blocking and persistent operations that Fanlight serves, and the program's requests for them.
//
// A request is a generalized one of the MPI library's: a real MPI_Request, which the library's
// own MPI_Wait and MPI_Test take, alone and among its own in one array.  It is completed by
// whichever thread of the program calls MPI next, since only such a one may call MPI; the thread
// that advances operations meanwhile (UnderWay) touches memory alone.
// A persistent operation's is a persistent receive of the library's, from this rank itself: what
// completes it is the message.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "collective/datatype.h"
#include "collective/mpi_header.h"
#include "collective/serving.h"
#include "collective/workspace.h"
#include "execute/run.h"

namespace fanlight {

// An operation that was started, until its request is complete.
struct Started : Run {
    explicit Started(std::shared_ptr<Serving>);
    virtual ~Started();

    // Starts it under a new request, and is no more the caller's.
    virtual void begin(const Plan&, const void* input, void* output, const Combiner*, MPI_Request*);
    // By a thread of the program's, when the run is finished; the last that is heard of it.
    virtual void complete();

    // The same datatype under a handle of our own: the program may free its own while the
    // operation that uses it is under way.
    const Datatype* kept(const Datatype*);

    std::shared_ptr<Serving> serving;
    MPI_Request request = MPI_REQUEST_NULL;  // null: the program has freed it
    Workspace workspace;
    Plan plan;                     // where its decision has none
    std::function<void()> finish;  // by a thread of the program's; may be empty

protected:
    void go(const Plan&, const void* input, void* output, const Combiner*);

private:
    std::vector<MPI_Datatype> datatypes_;
};

class Call;

// A persistent operation: its group serves nothing else, since MPI lets each rank start what it
// has initialised in an order of its own.
class Persistent : public Started {
public:
    explicit Persistent(std::shared_ptr<Serving> s) : Started(std::move(s)) {}
    ~Persistent() override;

    // At its initialisation: notes the plan and the buffers.  Later: starts it.
    void begin(const Plan&, const void* input, void* output, const Combiner*, MPI_Request*) override;
    void complete() override;
    // MPI_Start.
    void start();
    // MPI_Request_free; true: it may go.
    bool let_go();

    // Does what the initialising call did once more: where buffers have to be packed.
    std::function<void(Call&)> again;

private:
    const Plan* plan_ = nullptr;
    const void* input_ = nullptr;
    void* output_ = nullptr;
    Combiner combiner_;
    bool reduces_ = false, as_it_lies_ = false;  // no buffer is packed
    bool active_ = false, freed_ = false;
    int tag_ = 0;
};

namespace requests {

// How many there are: requests that are not complete.
extern std::atomic<int> count;
inline bool any() { return count.load(std::memory_order_relaxed) != 0; }

// MPI_Start, MPI_Startall: false where none is a persistent operation's of ours.
bool start(int count, const MPI_Request[], int& error);

// Advances all and completes what is finished; whether that was anything.
bool progress();

// Until test(), which asks the MPI library whether the call may return, is true; false when
// nothing of ours is under way any more, so that the MPI library may wait by itself.
bool wait(const std::function<bool()>& test);

// MPI_Request_free: an active operation goes on, and nobody is told of its end.
void freed(MPI_Request);
// At MPI_Finalize: others may wait for this rank's part in what it has freed.
void finish_freed();

}  // namespace requests

}  // namespace fanlight
