// What identifies a kind of machine, MPI library and binding: measurements of one mean nothing on another.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "topology/machine.h"

namespace fanlight {

struct Fingerprint {
    std::string processor;  // its model
    std::string domains;    // "1 package, 2 NUMA domains, 8 L3 of 32M, 64 cores, 128 CPUs"
    std::string kernel;     // "Linux 6.8", without what bug fixes count
    std::string mpi;        // "mpich 5.0.2"
    std::string binding;    // the smallest domain that the process cannot leave: "core", "L3", ..., "unbound"

    // Of the machine alone: equal where processor, domains and kernel are.
    std::string machine() const;
    // "mpich-5.0.2-unbound-1a2b3c4d", good as the name of a file.
    std::string name() const;
};

// `mpi`: what MPI_Get_library_version says; `own`: the CPUs of the process.  The folders are ones that tests may make up.
Fingerprint fingerprint(std::string_view mpi, const Cpus& own, const std::filesystem::path& system = system_files,
                        const std::filesystem::path& processes = "/proc");

// The file of rules that `fanlight tune` wrote for this fingerprint, by FANLIGHT_TUNED: `auto` looks into the user's
// folder, then into the site's; `off` finds none; else a folder, or the file itself.  Empty: there is none.
std::filesystem::path tuned_file(const std::string& setting, std::string_view mpi, const Cpus& own);
// Where `auto` looks.  With nothing there it costs no look at the machine.
std::vector<std::filesystem::path> tuned_folders();

}  // namespace fanlight
