#include "collective/tuned.h"

#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "collective/hooks.h"
#include "collective/library.h"
#include "config/config.h"
#include "schedule/problem.h"
#include "topology/cores.h"
#include "topology/fingerprint.h"

namespace fanlight::tuned {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;

struct Known {
    std::mutex mutex;
    Rules rules;
};

Known& all_known() {
    static Known& k = *new Known;
    return k;
}

// Measured rules depend on how rank 0 is bound and on whether ranks share cores; the bits of sums then must not.  Left out
// are lines and not their ends, which are counted in what is said of a rule.
std::string without_reductions(const std::string& text) {
    std::istringstream in(text);
    std::string kept;
    for (std::string line, name; std::getline(in, line); kept += '\n') {
        std::istringstream words(line);
        if (!(words >> name) || name.starts_with('#') || !reduces(operation_from(name))) kept += line;
    }
    return kept;
}

// A file that is wrong, of an older version for instance, is no reason to end a program that ran well before it.
TunedRules read() {
    const std::string file = tuned_file(config().tuned, mpi_version(), own_cpus()).string();
    if (file.empty()) return {};
    try {
        std::ifstream in(file);
        TunedRules rules{file, {std::istreambuf_iterator<char>(in), {}}};
        if (!in || rules.text.empty()) throw std::invalid_argument(file + ": cannot be read");
        if (rules.text.size() > most_bytes) throw std::invalid_argument(file + ": too long");
        // Other ranks may not have the file of a plan.
        if (rules.text.find("file(") != std::string::npos) throw std::invalid_argument(file + ": plans from files are for FANLIGHT_RULES");
        Selector("", "", "", rules);
        if (config().rounding == "nodes") rules.text = without_reductions(rules.text);
        return rules;
    } catch (const std::invalid_argument& e) {
        say(std::string(e.what()) + ": the measured rules are left out (`fanlight tune` writes them again)");
        return {};
    }
}

Rules keep(Rules rules) {
    const std::scoped_lock lock(all_known().mutex);
    if (!all_known().rules) all_known().rules = std::move(rules);
    return all_known().rules;
}

}  // namespace

Rules known(int rank) {
    {
        const std::scoped_lock lock(all_known().mutex);
        if (all_known().rules || rank != 0) return all_known().rules;
    }
    return keep(std::make_shared<const TunedRules>(read()));
}

Rules of_rank_0(const Rules& own, MPI_Comm comm, int rank) {
    std::string all = rank == 0 ? own->file + '\n' + own->text : "";
    int length = static_cast<int>(all.size());
    mpi().Bcast(&length, 1, MPI_INT, 0, comm);
    all.resize(static_cast<std::size_t>(length));
    mpi().Bcast(all.data(), length, MPI_CHAR, 0, comm);
    if (rank == 0) return own;
    const std::size_t end = all.find('\n');
    auto received = std::make_shared<const TunedRules>(TunedRules{all.substr(0, end), all.substr(end + 1)});
    keep(received);
    return received;
}

}  // namespace fanlight::tuned
