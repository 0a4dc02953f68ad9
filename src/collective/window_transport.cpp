// `rma-fence`, `rma-lock`, `rma-flush`: MPI_Put and MPI_Get on a window.
//
// A process's own memory is not in the window, so payloads are staged: a put goes into the target's window and is copied
// from there; an offer is copied into its owner's window, and readers get it from there.  Consecutive operations use
// consecutive slots of the window.
//
//   rma-fence  a fence ends each epoch; all ranks know in which one each message arrives
//   rma-lock   lock, put, unlock; then the same with the flag that announces it
//   rma-flush  put, flush, then the flag, in one lock_all epoch from first to last
#include <cstring>
#include <vector>

#include "collective/private_communicator.h"
#include "collective/progress.h"
#include "collective/transports.h"
#include "transport/shared.h"

namespace fanlight {

namespace {

constexpr std::uint64_t lanes = 8;
constexpr std::size_t area_bytes = 256 * 1024;
constexpr std::uint32_t flags = 1024;
constexpr std::size_t lane_bytes = flags * sizeof(std::uint64_t) + area_bytes;

class WindowTransport final : public RemoteTransport {
public:
    WindowTransport(MPI_Comm comm, Transport way) : way_(way), comm_(comm) {
        mpi().Comm_rank(comm_, &rank_);
        mpi().Win_allocate(lanes * lane_bytes, 1, MPI_INFO_NULL, comm_, &base_, &window_);
        std::memset(base_, 0, lanes * lane_bytes);
        if (way_ == Transport::rma_flush) mpi().Win_lock_all(0, window_);
        if (way_ == Transport::rma_fence) mpi().Win_fence(0, window_);
        mpi().Barrier(comm_);
    }
    ~WindowTransport() override {
        if (way_ == Transport::rma_flush) mpi().Win_unlock_all(window_);
        if (way_ == Transport::rma_fence) mpi().Win_fence(MPI_MODE_NOSUCCEED, window_);
        mpi().Win_free(&window_);
    }

    RemoteRoom room() const override { return {area_bytes, flags}; }

    // Before a lane is used again all must be through with the operation that had it before.
    void begin() override {
        if (operation_ > 0 && operation_ % lanes == 0) mpi().Barrier(comm_);
        lane_ = operation_ % lanes * lane_bytes;
        ++operation_;
        epoch_ = 0;
    }

    void send(const RemoteMessage& m, const std::byte* from) override {
        if (m.offered) {
            // To write its own window is an access as well.
            if (way_ == Transport::rma_lock) mpi().Win_lock(MPI_LOCK_SHARED, rank_, 0, window_);
            if (m.bytes) std::memcpy(area(m.slot), from, m.bytes);
            if (way_ == Transport::rma_lock) mpi().Win_unlock(rank_, window_);
            if (way_ == Transport::rma_flush) mpi().Win_sync(window_);
        } else if (m.bytes) {
            put(m.peer, from, m.bytes, place(m.slot));
        }
        if (way_ != Transport::rma_fence) put(m.peer, &operation_, sizeof operation_, place_of_flag(m.flag));
    }
    void receive(const RemoteMessage& m, std::byte* to) override { pending_.push_back({m, to}); }

    bool round_over(std::uint32_t epoch) override {
        if (way_ == Transport::rma_fence) {
            fence_until(epoch);
            return true;
        }
        if (pending_.empty()) return true;
        progress();
        // Reading its own window is an access as well, and some implementations must be told.
        if (way_ == Transport::rma_flush) mpi().Win_sync(window_);
        else mpi().Win_lock(MPI_LOCK_SHARED, rank_, 0, window_);
        std::vector<Pending> here;
        std::erase_if(pending_, [&](const Pending& p) {
            const bool there = load(flag(p.message.flag)) == operation_;
            if (there) here.push_back(p);
            return there;
        });
        for (const Pending& p : here)
            if (!p.message.offered && p.message.bytes) std::memcpy(p.to, area(p.message.slot), p.message.bytes);
        if (way_ == Transport::rma_lock) mpi().Win_unlock(rank_, window_);
        for (const Pending& p : here)
            if (p.message.offered && p.message.bytes) get(p);
        return pending_.empty();
    }
    bool operation_over(std::uint32_t epochs) override {
        if (way_ == Transport::rma_fence) fence_until(epochs);
        return true;
    }

private:
    struct Pending {
        RemoteMessage message;
        std::byte* to;
    };

    MPI_Aint place_of_flag(std::uint32_t number) const { return static_cast<MPI_Aint>(lane_ + number * sizeof(std::uint64_t)); }
    MPI_Aint place(std::size_t slot) const { return static_cast<MPI_Aint>(lane_ + flags * sizeof(std::uint64_t) + slot); }
    std::byte* area(std::size_t slot) const { return base_ + place(slot); }
    const std::uint64_t& flag(std::uint32_t number) const {
        return *reinterpret_cast<const std::uint64_t*>(base_ + place_of_flag(number));
    }

    void put(int peer, const void* from, std::size_t bytes, MPI_Aint to) {
        const int n = static_cast<int>(bytes);
        if (way_ == Transport::rma_lock) mpi().Win_lock(MPI_LOCK_SHARED, peer, 0, window_);
        mpi().Put(from, n, MPI_BYTE, peer, to, n, MPI_BYTE, window_);
        if (way_ == Transport::rma_lock) mpi().Win_unlock(peer, window_);
        // It must be there before the flag is; no order is kept between two puts.
        if (way_ == Transport::rma_flush) mpi().Win_flush(peer, window_);
    }
    void get(const Pending& p) {
        const RemoteMessage& m = p.message;
        const int n = static_cast<int>(m.bytes);
        if (way_ == Transport::rma_lock) mpi().Win_lock(MPI_LOCK_SHARED, m.peer, 0, window_);
        mpi().Get(p.to, n, MPI_BYTE, m.peer, place(m.slot), n, MPI_BYTE, window_);
        if (way_ == Transport::rma_lock) mpi().Win_unlock(m.peer, window_);
        if (way_ == Transport::rma_flush) mpi().Win_flush(m.peer, window_);
    }

    // In each epoch what is there is received.
    void fence_until(std::uint32_t epoch) {
        for (;; ++epoch_) {
            std::erase_if(pending_, [&](const Pending& p) {
                if (p.message.epoch > epoch_) return false;
                if (p.message.offered && p.message.bytes) get(p);
                else if (p.message.bytes) std::memcpy(p.to, area(p.message.slot), p.message.bytes);
                return true;
            });
            if (epoch_ >= epoch) return;
            mpi().Win_fence(0, window_);
        }
    }

    const Transport way_;
    PrivateCommunicator comm_;
    int rank_ = 0;
    MPI_Win window_ = MPI_WIN_NULL;
    std::byte* base_ = nullptr;
    std::uint64_t operation_ = 0;  // counted from 1 while it runs
    std::size_t lane_ = 0;
    std::uint32_t epoch_ = 0;      // fences of this operation so far
    std::vector<Pending> pending_;
};

}  // namespace

std::unique_ptr<RemoteTransport> make_window_transport(MPI_Comm comm, Transport way) {
    return std::make_unique<WindowTransport>(comm, way);
}

}  // namespace fanlight
