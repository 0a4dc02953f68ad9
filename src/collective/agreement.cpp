#include "collective/agreement.h"

#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "collective/device_memory.h"
#include "collective/hooks.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/report.h"
#include "collective/communicator_context.h"
#include "collective/tuned.h"
#include "config/config.h"

namespace fanlight {

namespace {

struct Fact {
    std::string name, value;
};

// Where a rank alone cannot read one, that is a difference as well.
std::string contents_of_files() {
    try {
        return selector()->digest();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

std::vector<Fact> facts() {
    std::vector<Fact> all;
    for (const Setting& s : settings())
        if (s.same) all.push_back({std::string(s.variable), s.value(config())});
    all.push_back({"what the files of FANLIGHT_ALGORITHM and FANLIGHT_RULES say", contents_of_files()});
    all.push_back({"the first function of requests that is not Fanlight's", waits_elsewhere().empty() ? "none" : std::string(waits_elsewhere())});
    return all;
}

void wait_for_all(MPI_Request request, int rank, int size) {
    // Where a rank has not loaded this library it is in another call, and this one waits for ever.  That
    // shows in the first communicator of a program, which most often is MPI_COMM_WORLD.
    Waiter waiter(size, waiting_hooks(), 1);
    waiter.watch({}, rank);
    waiter(-1, "the comparison of the settings (where it waits for ever: is Fanlight preloaded for all ranks, with one FANLIGHT_GPU?)", [&] {
        int over = 0;
        mpi().Test(&request, &over, MPI_STATUS_IGNORE);
        return over != 0;
    });
}

bool has_all_ranks(MPI_Comm comm) {
    int result = MPI_UNEQUAL;
    mpi().Comm_compare(comm, MPI_COMM_WORLD, &result);
    return result != MPI_UNEQUAL;
}

void say_difference(const Fact& mine, MPI_Comm comm, int rank, int size) {
    constexpr std::size_t length = 64;
    char own[length] = "";
    mine.value.copy(own, length - 1);
    std::vector<char> all(static_cast<std::size_t>(size) * length);
    mpi().Gather(own, length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, comm);
    static std::atomic<bool> said{false};
    if (rank != 0 || said.exchange(true)) return;
    const auto value = [&](int r) { return std::string(&all[static_cast<std::size_t>(r) * length]); };
    int other = 1;
    while (other < size - 1 && value(other) == value(0)) ++other;
    say(mine.name + " differs between the ranks (\"" + value(0) + "\" on rank 0, \"" + value(other) + "\" on rank " +
        std::to_string(other) + " of " + std::to_string(size) + "): these ranks stay with the MPI library's own collectives");
}

}  // namespace

Reason agree_on_settings(MPI_Comm comm, int rank, int size, tuned::Rules& rules, std::uint64_t& number) {
    const std::vector<Fact> own = facts();
    std::vector<std::uint64_t> mine, least;
    for (const Fact& fact : own) {
        const std::uint64_t hash = std::hash<std::string>{}(fact.value);
        mine.insert(mine.end(), {hash, ~hash});
    }
    mine.push_back(device_memory::may_be_used(comm) ? 0 : 1);
    mine.push_back(communicators::may_be_of_a_session(comm) ? 0 : 1);
    // Whoever knows none has no hash, so that rank 0's are sent.
    rules = tuned::known(rank);
    const std::uint64_t of_rules = rules ? std::hash<std::string>{}(rules->file + '\n' + rules->text) : 0;
    mine.insert(mine.end(), {of_rules, rules ? ~of_rules : 0});
    // Not compared: the ranks that have no file for the report, or the trace, take part in it.
    mine.push_back(report::on(report::calls) ? 0 : 1);
    mine.push_back(report::on(report::trace) ? 0 : 1);
    if (::getrandom(&number, sizeof number, 0) < 0)  // a filter of system calls
        number = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    mine.push_back(number);
    least.resize(mine.size());
    const int count = static_cast<int>(mine.size());
    if (comm == MPI_COMM_WORLD) {
        MPI_Request request;
        mpi().Iallreduce(mine.data(), least.data(), count, MPI_UINT64_T, MPI_MIN, comm, &request);
        wait_for_all(request, rank, size);
    } else {
        // Not the one above: it counts among the program's non-blocking ones.
        mpi().Allreduce(mine.data(), least.data(), count, MPI_UINT64_T, MPI_MIN, comm);
    }
    const std::uint64_t* const others = &least[2 * own.size()];
    const bool of_a_session = others[1] == 0;
    number = others[6];
    const unsigned wanted = (others[4] == 0 ? report::calls : 0u) | (others[5] == 0 ? report::trace : 0u);
    if (!of_a_session && has_all_ranks(comm)) report::join(wanted, report::calls | report::trace);
    for (std::size_t i = 0; i < own.size(); ++i)
        if (least[2 * i] != ~least[2 * i + 1]) {
            say_difference(own[i], comm, rank, size);
            return Reason::settings_differ;
        }
    if (others[0] == 0) return Reason::device_memory;
    if (!config().enabled) return Reason::disabled;
    if (of_a_session) return Reason::session;
    if (others[2] != ~others[3]) rules = tuned::of_rank_0(rules, comm, rank);
    if (!rules->text.empty()) verbose([&] { return "rules measured by fanlight tune: " + rules->file; }, rank);
    return Reason::none;
}

}  // namespace fanlight
