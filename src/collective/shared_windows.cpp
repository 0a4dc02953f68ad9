#include "collective/shared_windows.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/private_communicator.h"
#include "config/config.h"
#include "execute/lending.h"
#include "memory/shared_blocks.h"
#include "topology/cores.h"

namespace fanlight::shared_windows {

namespace {

// Each message looks through all of them, and each has a communicator.
constexpr std::size_t most_windows = 16;
constexpr int most_ranks = 256;

struct Window {
    MPI_Win handle;
    std::unique_ptr<PrivateCommunicator> comm;
    std::shared_ptr<const SharedBlock> block;
};

struct Windows {
    std::mutex mutex;
    std::vector<Window> all;
};

Windows& windows() {
    static Windows& known = *new Windows;  // never destroyed: MPI may be over
    return known;
}

bool has_room() {
    const std::lock_guard lock(windows().mutex);
    return windows().all.size() < most_windows;
}

// What each rank tells each other one.
struct Told {
    std::uint64_t pid, pid_namespace;
    std::uint64_t address;  // of its own part
    std::uint64_t may;      // it lends, and has room for one window more
    std::uint64_t reaches;  // so many bytes of the other one's part
};

// Where this process reaches the parts of all ranks; nowhere, where the library does not say.
std::vector<SharedBlock::Peer> parts(MPI_Win win, int size) {
    std::vector<SharedBlock::Peer> all(static_cast<std::size_t>(size), SharedBlock::Peer{});
    int version = 0, subversion = 0, found = 0, *flavor = nullptr;
    mpi().Get_version(&version, &subversion);
    if (mpi().Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found) != MPI_SUCCESS || !found) return all;
    // MPI-4.1 allows to ask of any window; Intel MPI, which has that version, calls it an error.
    if (*flavor != MPI_WIN_FLAVOR_SHARED && version * 100 + subversion < 401) return all;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (mpi().Win_get_errhandler(win, &handler) != MPI_SUCCESS) return all;
    mpi().Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int r = 0; r < size; ++r) {
        MPI_Aint bytes = 0;
        int unit = 0;
        void* here = nullptr;
        if (mpi().Win_shared_query(win, r, &bytes, &unit, &here) != MPI_SUCCESS) break;
        auto& part = all[static_cast<std::size_t>(r)];
        if (here && bytes > 0) part.here = static_cast<std::byte*>(here), part.bytes = static_cast<std::size_t>(bytes);
    }
    mpi().Win_set_errhandler(win, handler);
    mpi().Errhandler_free(&handler);
    return all;
}

}  // namespace

void allocated(MPI_Comm comm, MPI_Win win) {
    // Of a program that is only linked to this library other ranks may run another one, which is not.
    if (!takes_collectives()) return;
    int rank = 0, size = 0;
    mpi().Comm_rank(comm, &rank);
    mpi().Comm_size(comm, &size);
    if (size == 1 || size > most_ranks || !communicators::world_is_there() || communicators::has_another_job(comm)) return;

    // Who reaches whom.  Whatever this rank's settings: the others' may be different.
    std::vector<SharedBlock::Peer> all = parts(win, size);
    const SharedBlock::Peer own = all[static_cast<std::size_t>(rank)];
    std::vector<Told> tells, told(all.size());
    for (const SharedBlock::Peer& part : all)
        tells.push_back({static_cast<std::uint64_t>(::getpid()), pid_namespace(), reinterpret_cast<std::uint64_t>(own.here),
                         config().enabled && has_room() && !communicators::may_be_of_a_session(comm), part.bytes});
    if (mpi().Alltoall(tells.data(), sizeof(Told), MPI_BYTE, told.data(), sizeof(Told), MPI_BYTE, comm) != MPI_SUCCESS) return;

    auto block = std::make_shared<SharedBlock>();
    block->own = own.here;
    block->bytes = own.bytes;
    int facts[2] = {1, 0}, least[2] = {0, 0};  // all may; somebody has something to lend
    for (std::size_t r = 0; r < all.size(); ++r) {
        facts[0] &= told[r].may != 0;
        if (r == static_cast<std::size_t>(rank) || pid_namespace() == 0 || told[r].pid_namespace != pid_namespace()) continue;
        SharedBlock::Peer& peer = all[r];
        peer.pid = static_cast<pid_t>(told[r].pid);
        peer.there = told[r].address;
        peer.reaches_own = told[r].reaches == own.bytes;
        if (peer.reaches_own && own.bytes >= lent_from()) facts[1] = -1;
        block->peers.push_back(peer);
    }
    mpi().Allreduce(facts, least, 2, MPI_INT, MPI_MIN, comm);
    if (!least[0] || !least[1]) return;

    auto own_comm = std::make_unique<PrivateCommunicator>(comm);
    const MPI_Comm all_ranks = *own_comm;
    SharedBlocks::here().add(block);
    {
        const std::lock_guard lock(windows().mutex);
        windows().all.push_back({win, std::move(own_comm), std::move(block)});
    }
    // Who returns from here may lend.
    mpi().Barrier(all_ranks);
}

void freed(MPI_Win win) {
    Window window;
    {
        const std::lock_guard lock(windows().mutex);
        const auto at = std::ranges::find(windows().all, win, &Window::handle);
        if (at == windows().all.end()) return;
        window = std::move(*at);
        windows().all.erase(at);
    }
    // Whoever is here has been read from for the last time; and no address of it may be known when one is used again.
    mpi().Barrier(*window.comm);
    SharedBlocks::here().remove(window.block.get());
    mpi().Barrier(*window.comm);
}

}  // namespace fanlight::shared_windows
