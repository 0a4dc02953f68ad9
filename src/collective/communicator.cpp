#include "collective/communicator.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "collective/activation.h"
#include "collective/agreement.h"
#include "collective/device_memory.h"
#include "collective/finalize.h"
#include "collective/keyval.h"
#include "collective/library.h"
#include "collective/persistent.h"
#include "collective/progress.h"
#include "collective/quiet.h"
#include "collective/report.h"
#include "collective/communicator_context.h"
#include "config/config.h"

namespace fanlight {

Communicator::Communicator(MPI_Comm handle, Reason permanent, int rank, int size, bool starts)
    : handle_(handle),
      rank_(rank),
      size_(size),
      reason_(permanent == Reason::none ? Reason::few_calls : permanent),
      // The call at which it was first seen has been counted when this is made.
      calls_left_(permanent == Reason::none ? std::max<std::int64_t>(config().start_after - 1, 0) : -1),
      starts_left_(permanent == Reason::none ? device_memory::is_staged() ? 0 : std::max<std::int64_t>(config().start_after, 1) - starts : -1),
      agreed_(permanent != Reason::none) {}

Communicator::~Communicator() { report::communicator(size_, reason_); }

template <class Pointer>
Pointer Communicator::by_selector(Pointer context) const {
    if (context) context->decide_by(selector_ ? selector_ : selector({}, tuned()));
    return context;
}

void Communicator::decide_by(std::shared_ptr<const Selector> selector) {
    selector_ = std::move(selector);
    if (context_) context_->decide_by(selector_);
    if (starting_) starting_->decide_by(selector_);
}

TunedRules Communicator::tuned() const { return tuned_ ? *tuned_ : TunedRules{}; }

std::shared_ptr<const Selector> Communicator::selector_with(const std::string& chosen) {
    if (!agreed_) agree();
    return selector(chosen, tuned());
}

void Communicator::prepare() {
    // Processes of another job have Fanlight if they call this.
    if (reason_ == Reason::other_job) reason_ = Reason::few_calls, calls_left_ = starts_left_ = 0, agreed_ = false;
    if (!agreed_) agree(true);
    if (calls_left_ > 0) calls_left_ = 0;
    if (starts_left_ > 0) starts_left_ = 0;
    ready_ = nullptr;
    Reason reason;
    count(reason);
}

CommunicatorContext* Communicator::count(Reason& reason) {
    if (!agreed_) agree();
    if (calls_left_ == 0) {
        calls_left_ = -1;
        context_ = by_selector(activate(handle_, rank_, size_, reason_));
        if (context_) {
            reason_ = Reason::none;
            context_->neighborhood = Neighborhood::of(handle_, rank_);
        }
    }
    if (context_) {
        if (starts_left_ == 0) {
            starts_left_ = -1;
            starting_ = by_selector(
                activate_for_requests(*context_, handle_, rank_, size_, slots_of_nonblocking, why_not_starting_));
            if (starting_) starting_->neighborhood = context_->neighborhood;
        }
        return ready_ = context_.get();
    }
    count_call();
    reason = reason_;
    return nullptr;
}

// Before anything that follows from a setting, such as the number of calls that come before a group;
// and not earlier than in a blocking call, in which the ranks may wait for each other.
void Communicator::agree(bool all_have_it) {
    agreed_ = true;
    const Reason why_not = !all_have_it && communicators::has_another_job(handle_) ? Reason::other_job
                                                                                  : agree_on_settings(handle_, rank_, size_, tuned_, number_);
    if (why_not == Reason::none) return;
    reason_ = why_not;
    calls_left_ = starts_left_ = -1;
}

void Communicator::end_context() {
    ready_ = nullptr;
    initialized_.clear();
    starting_.reset();
    context_.reset();
}

void Communicator::count_call() {
    if (calls_left_ > 0) --calls_left_;
}

// All ranks come to the same answer: it depends on the calls before on this communicator, which
// MPI demands in the same order on all of them, blocking and non-blocking ones together.
std::shared_ptr<CommunicatorContext> Communicator::starting(Reason& reason) {
    if (starting_) return starting_;
    count_call();
    if (starts_left_ > 0) --starts_left_;
    if (starts_left_ == 0) ready_ = nullptr;
    reason = reason_ != Reason::none ? reason_ : why_not_starting_;
    return nullptr;
}

std::shared_ptr<CommunicatorContext> Communicator::initializing(Reason& reason) {
    if (!context(reason)) return nullptr;
    if (const std::uint64_t free = free_on_all_ranks())
        return by_selector(initialized_[static_cast<std::size_t>(std::countr_zero(free))]);
    std::shared_ptr<CommunicatorContext> made = by_selector(activate_for_persistent(*context_, {next_slot_, slots_for_pieces}, reason));
    if (!made) return nullptr;
    next_slot_ += slots_for_pieces;
    if (initialized_.size() < 64) initialized_.push_back(made);
    return made;
}

bool Communicator::give_memory(CommunicatorContext& persistent, const Decision& d, Reason& reason) {
    return fanlight::give_memory(persistent, d, *context_, handle_, rank_, size_, reason);
}

// As bits: which of `initialized_` no rank has an operation for, nor a mismatch of its last one.
std::uint64_t Communicator::free_on_all_ranks() const {
    std::uint64_t here = 0;
    std::int64_t everywhere = 0;
    for (std::size_t i = 0; i < initialized_.size(); ++i)
        if (initialized_[i].use_count() == 1 && initialized_[i]->group().why_mismatched().empty()) here |= std::uint64_t{1} << i;
    const auto mine = static_cast<std::int64_t>(here);
    context_->combine(Arithmetic::bit_and, &mine, &everywhere, 1);
    return static_cast<std::uint64_t>(everywhere);
}

namespace communicators {

std::atomic<std::uint64_t> generation{1};
std::atomic<bool> open{true}, ended{false};
std::atomic<int> sessions{0};
// Fast to reach: this library is loaded at the start of the program.
__attribute__((tls_model("initial-exec"))) constinit thread_local Last last{};

namespace {

struct Table {
    std::shared_mutex mutex;
    std::unordered_map<MPI_Comm, std::unique_ptr<Communicator>> all;
    int key = MPI_KEYVAL_INVALID;
};

Table& table() {
    // Never destroyed: programs call MPI in their own static destructors.
    static Table& t = *new Table;
    return t;
}

void forget(MPI_Comm comm) {
    std::unique_ptr<Communicator> gone;
    {
        const std::unique_lock lock(table().mutex);
        if (const auto it = table().all.find(comm); it != table().all.end()) {
            gone = std::move(it->second);
            table().all.erase(it);
        }
        generation.fetch_add(1, std::memory_order_release);
    }
}

// MPI calls it however a communicator ends: MPI_Comm_free, MPI_Comm_disconnect, a library's
// own call of PMPI_Comm_free.
extern "C" int fanlight_communicator_freed(MPI_Comm comm, int, void*, void*) {
    forget(comm);
    return MPI_SUCCESS;
}

// MPI_COMM_SELF is the first to be freed in MPI_Finalize, also where the program, or a tool
// above, calls PMPI_Finalize.
extern "C" int fanlight_self_freed(MPI_Comm, int, void*, void*) {
    finalize();
    return MPI_SUCCESS;
}

int attribute_key() {
    static std::atomic<int> key{MPI_KEYVAL_INVALID};
    bool made = false;
    const int known = keyval(key, mpi().Comm_create_keyval, mpi().Comm_free_keyval, MPI_COMM_NULL_COPY_FN, fanlight_communicator_freed, made);
    if (!made) return known;
    int self = MPI_KEYVAL_INVALID;
    mpi().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fanlight_self_freed, &self, nullptr);
    mpi().Comm_set_attr(MPI_COMM_SELF, self, nullptr);
    return known;
}

}  // namespace

bool world_is_there() {
    int initialized = 0, finalized = 0;
    mpi().Initialized(&initialized);
    mpi().Finalized(&finalized);
    return initialized && !finalized;
}

bool may_be_of_a_session(MPI_Comm comm) { return comm != MPI_COMM_WORLD && sessions != 0; }

bool has_another_job(MPI_Comm comm) {
    if (comm == MPI_COMM_WORLD || may_be_of_a_session(comm)) return false;
    MPI_Group all, own, others;
    int outside = 0;
    mpi().Comm_group(comm, &all);
    mpi().Comm_group(MPI_COMM_WORLD, &own);
    mpi().Group_difference(all, own, &others);
    mpi().Group_size(others, &outside);
    for (MPI_Group* group : {&all, &own, &others}) mpi().Group_free(group);
    return outside > 0;
}

Communicator* look_up(MPI_Comm comm) {
    const std::uint64_t now = generation.load(std::memory_order_acquire);
    const std::shared_lock lock(table().mutex);
    const auto it = table().all.find(comm);
    if (it == table().all.end()) return nullptr;
    last = {comm, now, it->second.get()};
    return it->second.get();
}

Freeing::Freeing(MPI_Comm comm) : dying_(comm) { forget(comm); }

void first_seen(MPI_Comm comm, bool starts, int error) {
    if (Dying<MPI_Comm>::is(comm)) return;
    if (error != MPI_SUCCESS) {
        int error_class = MPI_ERR_COMM;
        mpi().Error_class(error, &error_class);
        if (error_class == MPI_ERR_COMM) return;
    }
    // A program of sessions alone has no MPI_COMM_SELF for what we need.
    if (!world_is_there()) return;
    int inter = 0, rank = 0, size = 0;
    mpi().Comm_test_inter(comm, &inter);
    mpi().Comm_rank(comm, &rank);
    mpi().Comm_size(comm, &size);
    const Reason permanent = inter ? Reason::intercommunicator : size == 1 ? Reason::one_rank : Reason::none;
    auto made = std::make_unique<Communicator>(comm, permanent, rank, size, starts);
    if (mpi().Comm_set_attr(comm, attribute_key(), nullptr) != MPI_SUCCESS) return;
    const std::unique_lock lock(table().mutex);
    table().all.try_emplace(comm, std::move(made));
}

void close() {
    if (ended.exchange(true)) return;
    open.store(false, std::memory_order_relaxed);
    end_progress();
    // Those that a delete function of the program's starts later, and frees, have their requests on it.
    if (!requests::any_persistent()) free_quiet_communicator();
    std::unordered_map<MPI_Comm, std::unique_ptr<Communicator>> gone;
    {
        const std::unique_lock lock(table().mutex);
        gone.swap(table().all);
        generation.fetch_add(1, std::memory_order_release);
    }
    // Windows are freed by all their ranks together: everywhere in the same order, whichever thread came first.
    std::vector<Communicator*> served;
    for (const auto& [handle, communicator] : gone)
        if (communicator->served()) served.push_back(communicator.get());
    std::sort(served.begin(), served.end(), [](auto* a, auto* b) { return a->number() < b->number(); });
    for (Communicator* communicator : served) communicator->end_context();
}

}  // namespace communicators

}  // namespace fanlight
