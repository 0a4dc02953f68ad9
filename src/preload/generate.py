"""Makes the preload's wrappers from signatures.txt.

    generate.py signatures.txt WRAPPERS.cpp SYMBOLS.map

WRAPPERS.cpp: MPI_Xxx and MPI_Xxx_c, and for Open MPI their Fortran entry points.
SYMBOLS.map: the linker's version script.
"""

import sys

from c_wrapper import c_wrapper
from fortran_wrapper import f08_names, fortran_names, fortran_wrapper
from signatures import read


def guarded(f, text):
    if not f.since:
        return text
    major, minor = f.since
    return f"#if MPI_VERSION > {major} || (MPI_VERSION == {major} && MPI_SUBVERSION >= {minor})\n{text}\n#endif"


def wrappers(functions):
    parts = ["// Made by generate.py from signatures.txt.",
             '#include "preload/mpi_t.h"',
             '#include "preload/wrappers.h"',
             '#pragma GCC visibility push(default)',
             'extern "C" {']
    parts += [guarded(f, c_wrapper(f, False)) for f in functions if f.kind != "initialized"]
    parts.append("#if FANLIGHT_PERSISTENT")
    parts += [c_wrapper(f, False) for f in functions if f.kind == "initialized"]
    parts += ["#endif", "#if MPI_VERSION >= 4"]
    parts += [c_wrapper(f, True) for f in functions if f.has_large]
    parts += ["#endif", "#if defined(OPEN_MPI)"]
    parts += [guarded(f, fortran_wrapper(f, fortran_names)) for f in functions]
    # MPICH's mpi_f08 calls PMPI_Xxx where there is no buffer (f08_mpich.cpp has the others).
    parts.append("#else")
    kinds = ("waited", "tested", "polled", "starts", "freed", "kept", "comm_gone", "type_gone", "window_gone")
    parts += [guarded(f, fortran_wrapper(f, f08_names)) for f in functions if f.kind in kinds]
    parts += ["#endif", '}  // extern "C"', "#pragma GCC visibility pop"]
    of_requests = [f for f in functions if f.kind in ("waited", "polled", "starts", "freed", "kept")
                   and (f.kind == "kept" or any("Request" in p.type for p in f.parameters))]
    parts += ["static constexpr const char* of_requests[] = {", *(guarded(f, f'"MPI_{f.name}",') for f in of_requests), "};",
              "std::span<const char* const> fanlight::request_functions() { return of_requests; }"]
    names = ", ".join(f'"{f.operation}"' for f in functions if f.is_collective)
    parts += [f"static constexpr const char* names[] = {{{names}}};",
              "std::span<const char* const> fanlight::mpi_t::collective_functions() { return names; }", ""]
    return "\n\n".join(parts)


# The API has a version.  MPI's names have none, as in MPI libraries: what is in no list here is exported as it is, if it
# is visible at all.  Names with an underscore in front are the compiler's, of templates for instance.
SYMBOLS = "FANLIGHT_0 {\n  global: fanlight_*;\n  local: _*;\n};\n"


def main():
    signatures, wrappers_file, symbols_file = sys.argv[1:]
    functions = read(signatures)
    for path, text in ((wrappers_file, wrappers(functions)), (symbols_file, SYMBOLS)):
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
