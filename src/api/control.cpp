// Functions that MPI does not have: fanlight_prepare, fanlight_set_algorithm, fanlight_get_algorithm, fanlight_report,
// fanlight_write_report.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "algorithms/level_names.h"
#include "collective/communicator.h"
#include "collective/library.h"
#include "collective/report.h"
#include "collective/communicator_context.h"
#include "collective/error.h"
#include "fanlight/collectives.h"

namespace fanlight {

namespace {

// By all ranks together, before anything else: the MPI library judges the handle.  Null where
// Fanlight does not look at communicators.
Communicator* meet(MPI_Comm comm, int& error) {
    error = mpi().Barrier(comm);
    if (error != MPI_SUCCESS || !communicators::open.load(std::memory_order_relaxed)) return nullptr;
    Communicator* c = communicators::find(comm);
    if (!c) {
        communicators::first_seen(comm, false, MPI_SUCCESS);
        c = communicators::find(comm);
    }
    return c;
}

bool same_on_all_ranks(MPI_Comm comm, const std::string& text) {
    const std::uint64_t hash = std::hash<std::string>{}(text);
    const std::uint64_t mine[2] = {hash, ~hash};
    std::uint64_t most[2] = {0, 0};
    mpi().Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, comm);
    return most[0] == ~most[1];
}

// Of `size` ranks: throws where an algorithm cannot serve so many.
void check_restrictions(const Selector& chosen, const Communicator& c) {
    for (const Algorithm& a : algorithms()) {
        Situation s;
        s.operation = a.operation;
        s.ranks = c.size();
        s.mpi = mpi_name();
        chosen.choose(s);
    }
}

std::string answer(const Communicator& c, Operation operation, std::size_t bytes) {
    const auto native = [](const std::string& why) { return "native: " + why; };
    if (!c.context()) return native(to_string(c.reason()));
    Problem problem{.operation = operation, .bytes = bytes};
    if (knows_all_lengths(operation))
        problem.blocks.assign(static_cast<std::size_t>(c.size()), {0, bytes});
    const Choice choice = c.context()->choice(problem);
    const std::string passed_over = choice.passed_over.empty() ? "" : "; passed over: " + choice.passed_over;
    if (!choice.algorithm) return native(std::string(choice.rule) + passed_over);
    const std::string guard = c.context()->found(problem);
    return std::string(text_of(*choice.algorithm, choice.parameters.levels)) + " by " + std::string(choice.rule) +
           (guard.empty() ? "" : "; " + guard) + passed_over;
}

}  // namespace

}  // namespace fanlight

using namespace fanlight;

extern "C" {

int fanlight_prepare(MPI_Comm comm) try {
    int error;
    if (Communicator* c = meet(comm, error)) c->prepare();
    return error;
} catch (const std::exception& e) {
    return raise(comm, e.what());
}

int fanlight_set_algorithm(MPI_Comm comm, const char* algorithms) try {
    int error;
    Communicator* const c = meet(comm, error);
    // An intercommunicator, or one rank: nothing to choose.
    if (!c || c->reason() == Reason::intercommunicator) return error;
    const std::string text = algorithms ? algorithms : "";
    if (!same_on_all_ranks(comm, text))
        return raise(comm, "fanlight_set_algorithm: the ranks do not name the same algorithms (here \"" + text + "\")");
    std::shared_ptr<const Selector> chosen;
    std::string read, wrong;
    try {
        chosen = c->selector_with(text);
        check_restrictions(*chosen, *c);
        read = chosen->digest();
    } catch (const std::invalid_argument& e) {
        wrong = e.what();
    }
    // A file may be another one, or missing, on another node.
    if (!same_on_all_ranks(comm, read + wrong))
        return raise(comm, "fanlight_set_algorithm: the ranks do not read the same from the files that are named (here " + (wrong.empty() ? read : wrong) + ")");
    if (!wrong.empty()) return raise(comm, wrong);
    c->decide_by(chosen);
    return MPI_SUCCESS;
} catch (const std::exception& e) {
    return raise(comm, e.what());
}

int fanlight_get_algorithm(MPI_Comm comm, const char* operation, MPI_Count bytes, char* text, int length) try {
    if (!operation || !text || length < 1 || bytes < 0)
        return raise(comm, "fanlight_get_algorithm: an operation, bytes and room for the answer are needed");
    const Operation wanted = operation_from(operation);
    const Communicator* c = communicators::find(comm);
    const std::string said = c ? answer(*c, wanted, static_cast<std::size_t>(bytes)) : std::string("native: ") + to_string(Reason::few_calls);
    text[said.copy(text, static_cast<std::size_t>(length - 1))] = 0;
    return MPI_SUCCESS;
} catch (const std::exception& e) {
    return raise(comm, std::string("fanlight_get_algorithm: ") + e.what());
}

int fanlight_report(const char* file) try {
    if (!file || !*file) return raise(MPI_COMM_WORLD, "fanlight_report: a file's name is needed");
    report::begin(file);
    return MPI_SUCCESS;
} catch (const std::exception& e) {
    return raise(MPI_COMM_WORLD, std::string("fanlight_report: ") + e.what());
}

int fanlight_write_report(const char* file) try {
    report::write_now(file ? file : "");
    return MPI_SUCCESS;
} catch (const std::exception& e) {
    return raise(MPI_COMM_WORLD, std::string("fanlight_write_report: ") + e.what());
}

}  // extern "C"
