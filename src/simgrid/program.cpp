// Times collectives on a simulated network: each rank runs the schedules by the executor's messages, as ranks of several
// nodes do, in SimGrid's time.
//
//   smpirun -np RANKS ... fanlight-simgrid OPERATION ROOT TOPOLOGY SIZES ALGORITHM...
//
// TOPOLOGY as in FANLIGHT_TOPOLOGY, `-` for none; SIZES with commas.  It prints a line of JSON for each size and algorithm,
// with `wrong` if a rank found other bytes than MPI defines.  The ranks are threads of one process, of which one runs at a
// time: what they share here never changes.
#include <mpi.h>
#include <simgrid/s4u/Barrier.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "collective/private_communicator.h"
#include "collective/transports.h"
#include "execute/group.h"
#include "execute/operators.h"
#include "memory/segment.h"
#include "select/rule.h"
#include "simgrid/payload.h"

namespace fanlight {
namespace {

// Each rank by itself; one for all of them.
const Domains& apart(int ranks) {
    static const Domains all = [&] {
        std::vector<int> domains(static_cast<std::size_t>(ranks));
        std::iota(domains.begin(), domains.end(), 0);
        return Domains(domains);
    }();
    return all;
}

const Topology& topology(const std::string& text, int ranks) {
    static const Topology all = text == "-" ? Topology() : Topology::from(text, ranks);
    return all;
}

Segment unshared() {
    std::error_code error;
    Segment made = Segment::unshared(Group::segment_bytes(1), error);
    if (!made) throw std::system_error(error, "a rank's memory");
    return made;
}

// What all ranks have found: they run one at a time.
struct Found {
    double end = 0;
    bool wrong = false;
    static Found& of_all() {
        static Found found;
        return found;
    }
};

struct Rank {
    int rank = 0, size = 0;
    const Segment memory = unshared();
    std::unique_ptr<Group> group;

    Rank() {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        group = std::make_unique<Group>(memory.bytes(), 0, 1, false, Waiter::Hooks{}, 1, 1);
        group->reach_by(Transport::message, make_message_transport(std::make_shared<const PrivateCommunicator>(MPI_COMM_WORLD)));
    }

    // Takes no time on the network: all go on at the same one.
    void meet() const {
        static const simgrid::s4u::BarrierPtr barrier = simgrid::s4u::Barrier::create(static_cast<unsigned int>(size));
        barrier->wait();
    }

    // Seconds from the time at which all begin until the last one is through; what rank 0 prints.
    void time(const Choice& choice, const char* text, Problem problem) {
        problem.parameters = choice.parameters;
        const Plan plan = group->plan(*choice.algorithm, problem, {.nodes = &apart(size), .transport = Transport::message});
        Payload payload(problem);
        payload.fill();
        const Combiner sum{arithmetic(Arithmetic::sum, Number::uint64), nullptr};

        meet();
        const double begin = PMPI_Wtime();
        group->run(plan, payload.input(), payload.output(), reduces(problem.operation) ? &sum : nullptr);
        Found& found = Found::of_all();
        found.end = std::max(found.end, PMPI_Wtime());
        found.wrong |= !payload.is_right();
        meet();
        if (rank != 0) return;
        std::printf("{\"algorithm\": \"%s\", \"size\": %zu, \"seconds\": %.9g%s}\n", text, problem.bytes, found.end - begin, found.wrong ? ", \"wrong\": true" : "");
        std::fflush(stdout);
        found = {};
    }
};

std::size_t number(std::string_view text) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) throw std::invalid_argument("'" + std::string(text) + "' is no number");
    return n;
}

void run(const std::vector<std::string>& arguments) {
    if (arguments.size() < 5) throw std::invalid_argument("expected OPERATION ROOT TOPOLOGY SIZES ALGORITHM...");
    Rank rank;
    const Operation operation = operation_from(arguments[0]);
    if (family_of(operation) != Family::signal && family_of(operation) != Family::vector && family_of(operation) != Family::blocks)
        throw std::invalid_argument(arguments[0] + ": blocks of different lengths are not simulated");
    for (std::string_view sizes = arguments[3]; !sizes.empty();) {
        const std::string_view size = sizes.substr(0, sizes.find(','));
        sizes.remove_prefix(std::min(size.size() + 1, sizes.size()));
        const std::size_t bytes = number(size);
        if (bytes % sizeof(std::uint64_t) != 0) throw std::invalid_argument(std::string(size) + " bytes are no multiple of 8");
        for (std::size_t i = 4; i < arguments.size(); ++i) {
            const Choice choice = parse_choice(operation, arguments[i]);
            if (!choice.algorithm) throw std::invalid_argument(arguments[i] + ": the MPI library's own is not simulated");
            rank.time(choice, arguments[i].c_str(), {.operation = operation, .rank = rank.rank, .size = rank.size,
                .root = static_cast<int>(number(arguments[1])), .bytes = bytes, .element = sizeof(std::uint64_t), .topology = topology(arguments[2], rank.size)});
        }
    }
}

}  // namespace
}  // namespace fanlight

int main(int count, char** arguments) {
    PMPI_Init(&count, &arguments);
    try {
        fanlight::run({arguments + 1, arguments + count});
    } catch (const std::exception& e) {
        std::fprintf(stderr, "fanlight-simgrid: %s\n", e.what());
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    PMPI_Finalize();
    return 0;
}
