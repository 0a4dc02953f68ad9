// Persistent operations: initialized once, started again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "collective/requests.h"

namespace fanlight {

class Call;

namespace requests {
// Persistent operations that complete in the library.
extern std::atomic<int> in_library;
inline bool any_in_library() { return in_library.load(std::memory_order_relaxed) != 0; }
// That there are.
extern std::atomic<std::size_t> persistent;
inline bool any_persistent() { return persistent.load(std::memory_order_relaxed) != 0; }
}  // namespace requests

// A persistent operation: its group serves nothing else, since MPI lets each rank start what it
// has initialized in an order of its own.
class Persistent : public InFlightOperation {
public:
    explicit Persistent(std::shared_ptr<CommunicatorContext> s) : InFlightOperation(std::move(s)), group_(context->group()) {}
    ~Persistent() override;

    // At its initialization: notes the plan and the buffers.  Later: starts it.
    void begin(const Decision&, const void* input, void* output, const Combiner*, MPI_Request*) override;
    void complete() override;
    // MPI_Start.
    void start();
    // While it completes in the library: advances it, and says whether it is finished; waits for that; ends it,
    // when it is finished; tells the MPI library of it.
    bool is_in_library() const { return apart_; }
    bool is_active() const { return (state_ & active) != 0; }
    bool poll();
    void wait();
    void end();
    void hand_over();
    // MPI_Request_free; true: it may go.
    bool let_go();

    // Does what the initializing call did once more: where buffers have to be packed.  It has copies of the call's
    // arguments, since the program may give back its own; what MPI does not look at may be anything.
    std::function<void(Call&)> again;
    MPI_Datatype copy(MPI_Datatype handle, bool significant) {
        const Datatype* const d = significant ? datatype(handle) : nullptr;
        return d ? kept(d)->handle : handle;
    }
    template <class T>
    std::vector<T> copy_of_each(const T* list, bool significant) const {
        if (!significant) return {};
        return {list, list + context->size};
    }
    template <class Count>
    std::vector<MPI_Datatype> copy_of_each(const MPI_Datatype* list, const Count* counts, bool significant) {
        std::vector<MPI_Datatype> all = copy_of_each(list, significant);
        for (std::size_t r = 0; r < all.size(); ++r) all[r] = copy(all[r], counts[r] > 0);
        return all;
    }
    template <class T>
    std::vector<T> copy_of_neighbors(const T* list, bool targets) const {
        return {list, list + neighbors(targets).size()};
    }
    template <class Count>
    std::vector<MPI_Datatype> copy_of_neighbors(const MPI_Datatype* list, const Count* counts, bool targets) {
        std::vector<MPI_Datatype> all = copy_of_neighbors(list, targets);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = copy(all[i], neighbors(targets)[i] != Neighborhood::nobody && counts[i] > 0);
        return all;
    }
    bool is_rank(int root) const { return context->rank == root; }

private:
    const std::vector<int>& neighbors(bool targets) const {
        return targets ? context->neighborhood->targets : context->neighborhood->sources;
    }

    Group& group_;
    const void* input_ = nullptr;
    void* output_ = nullptr;
    Combiner combiner_;
    bool reduces_ = false, as_it_lies_ = false;  // no buffer is packed
    void repack();
    void complete_request();

    static constexpr unsigned active = 1, freed = 2;
    std::atomic<unsigned> state_{0};
    bool apart_ = false;
    int tag_ = 0;
    unsigned starts_ = 0;
};

}  // namespace fanlight
