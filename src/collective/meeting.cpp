#include "collective/meeting.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>

#include "collective/communicator_context.h"
#include "collective/hooks.h"
#include "config/config.h"
#include "topology/cores.h"

namespace fanlight {

std::string megabytes(std::size_t bytes) {
    const std::size_t tenths = (10 * bytes + (1u << 20) - 1) >> 20;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

namespace {

// What rank 0 tells the others.
struct Offer {
    char segment[120] = "";       // its name; empty: there is none
    std::uint64_t machine = 0;    // of rank 0
    std::int64_t reason = 0;      // a Reason, where there is none
};

void say_once(const std::string& message) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) say(message);
}

void say_no_memory(std::size_t bytes, Segment::Place place, const std::error_code& error) {
    say_once("no " + megabytes(bytes) + " of shared memory (" + error.message() + "): the MPI library's own collectives are used" +
             (place == Segment::Place::dev_shm ? " (in /dev/shm; containers: --shm-size)" : ""));
}

Segment make_segment(int size, std::size_t bytes, Segment::Place place, Offer& offer) {
    offer.machine = machine_number();
    if (!budget::take(bytes)) {
        offer.reason = static_cast<std::int64_t>(Reason::budget);
        verbose([&] { return "FANLIGHT_SHARED_MEMORY (" + std::to_string(config().shared_memory) + " bytes) is used up: a communicator of " +
                             std::to_string(size) + " ranks stays with the MPI library"; }, 0);
        return {};
    }
    std::error_code error;
    Segment segment = Segment::create(bytes, error, Segment::Pages::parts, place);
    if (!segment || segment.name().size() >= sizeof offer.segment) {
        budget::give_back(bytes);
        offer.reason = static_cast<std::int64_t>(Reason::no_shared_memory);
        say_no_memory(bytes, place, error);
        return {};
    }
    std::strcpy(offer.segment, segment.name().c_str());
    return segment;
}

Segment open_segment(const Offer& offer, std::size_t bytes, Reason& reason, bool& by_name) {
    const bool other_machine = offer.machine != machine_number();
    if (!budget::take(bytes)) {
        reason = other_machine ? Reason::several_nodes : Reason::budget;
        return {};
    }
    std::error_code error;
    Segment segment = Segment::open(offer.segment, error);
    if (segment && segment.bytes().size() >= bytes) return segment;
    budget::give_back(bytes);
    // Not there: rank 0 is on another node, or in a container that shares less.
    by_name = error == std::errc::cross_device_link && !other_machine;
    reason = by_name || (other_machine && error == std::errc::cross_device_link) || error == std::errc::no_such_file_or_directory
                 ? Reason::several_nodes : Reason::no_shared_memory;
    return {};
}

int own_world_rank() {
    int rank = 0;
    mpi().Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

// Random, since it proves that a process id is this process's: in another pid namespace the same number may
// name a process that has the same at the same place, such as the reader itself.
std::uint64_t& own_token() {
    static std::uint64_t token = [] {
        std::uint64_t random = 0;
        return ::getrandom(&random, sizeof random, 0) == sizeof random ? random : 0;
    }();
    return token;
}

Meeting meet(MPI_Comm comm, int rank, int size, const SharedSlots& layout, bool measures, Segment::Place place, Reason mine) {
    Meeting m;
    const std::size_t bytes = layout.bytes();
    // 1. Rank 0 makes a segment and tells its name.
    Offer offer;
    if (rank == 0) m.segment = make_segment(size, bytes, place, offer);
    mpi().Bcast(&offer, sizeof offer, MPI_BYTE, 0, comm);
    if (offer.segment[0] == 0) {
        // Of several nodes' ranks a segment for all would be much too long, and is not needed.
        const int mine_is_other = offer.machine != machine_number();
        int some_are_other = 0;
        mpi().Allreduce(&mine_is_other, &some_are_other, 1, MPI_INT, MPI_MAX, comm);
        m.reason = some_are_other ? Reason::several_nodes : static_cast<Reason>(offer.reason);
        return m;
    }

    // 2. The others open it: whoever can is on the same node.  Each reserves its own part.  All tell how it went.
    bool by_name = false;
    std::error_code error;
    if (rank != 0 && mine == Reason::none) m.segment = open_segment(offer, bytes, mine, by_name);
    if (mine == Reason::none && (error = m.segment.reserve(static_cast<std::size_t>(rank) * layout.part_bytes(), layout.reserved_bytes()))) mine = Reason::no_shared_memory;

    if (measures && size > 1 && mine == Reason::none)
        m.speed = std::make_unique<CopySpeed>(SharedSlots(m.segment.bytes().data(), size), rank);
    m.own.pid = static_cast<std::uint64_t>(getpid());
    m.own.pid_namespace = pid_namespace();
    m.own.address = reinterpret_cast<std::uint64_t>(&own_token());
    m.own.token = own_token();
    m.own.reason = static_cast<std::uint64_t>(mine);
    m.own.error = error.value();
    m.own.by_name = by_name;
    m.own.blocks = m.speed ? m.speed->blocks() : 0;
    m.own.world_rank = static_cast<std::uint64_t>(own_world_rank());
    m.all.resize(static_cast<std::size_t>(size));
    mpi().Allgather(&m.own, sizeof m.own, MPI_BYTE, m.all.data(), sizeof m.own, MPI_BYTE, comm);

    m.segment.unlink();  // everybody has opened it who can
    bool others = false;
    for (const Presence& p : m.all) {
        const auto theirs = static_cast<Reason>(p.reason);
        if (m.reason == Reason::none || theirs == Reason::several_nodes) m.reason = theirs;
        (p.by_name ? m.by_name : others) |= p.reason != 0;
    }
    m.by_name &= !others;
    // Said by rank 0 whoever finds no room: of another communicator that may be another rank.
    const auto refused = std::ranges::find_if(m.all, [](const Presence& p) { return p.error != 0; });
    if (rank == 0 && refused != m.all.end()) say_no_memory(bytes, place, {static_cast<int>(refused->error), std::generic_category()});
    if (m.reason != Reason::none && m.segment) budget::give_back(bytes);
    return m;
}

}  // namespace

Meeting meet(MPI_Comm comm, int rank, int size, const SharedSlots& layout, bool measures, Reason mine) {
    Meeting met = meet(comm, rank, size, layout, measures, Segment::Place::anywhere, mine);
    return met.by_name ? meet(comm, rank, size, layout, measures, Segment::Place::dev_shm, mine) : std::move(met);
}

}  // namespace fanlight
