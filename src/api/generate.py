"""Makes the collectives' own API from the preload's table of signatures.

    generate.py headers FOLDER       collectives.h and fanlight.f90, which are kept in include/fanlight
    generate.py entries FILE.cpp     what fanlight.f90's procedures call
"""

import pathlib
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "preload"))
from signatures import read  # noqa: E402
from wrapper_parts import from_c, to_c  # noqa: E402

SIGNATURES = HERE.parent / "preload" / "signatures.txt"

# Above the blocking function.  For others, such as neighborhood collectives, MPI's name says it.
MEANING = {
    "barrier": "Returns when all ranks have called it.",
    "bcast": "Copies the root's `buffer` to all ranks.",
    "reduce": "Combines the ranks' vectors of `count` elements, element by element, at the root.",
    "allreduce": "As reduce, but all ranks get the result, with the same bits everywhere.",
    "scan": "Rank r gets the combination of the vectors of ranks 0 to r.",
    "exscan": "Rank r gets the combination of the vectors of ranks 0 to r - 1; rank 0 gets nothing.",
    "reduce_scatter_block": "Combines vectors of size x `recvcount` elements; rank r gets block r.",
    "reduce_scatter": "As reduce_scatter_block, with blocks of `recvcounts[r]` elements.",
    "allgather": "On all ranks, block r of `recvbuf`, `recvcount` elements, is rank r's `sendbuf`.",
    "allgatherv": "As allgather; rank r's block has `recvcounts[r]` elements and begins at element `displs[r]`.",
    "gather": "As allgather, but only the root gets the result.",
    "gatherv": "As allgatherv, but only the root gets the result.",
    "scatter": "Rank r gets block r of the root's `sendbuf`.",
    "scatterv": "As scatter; rank r's block has `sendcounts[r]` elements and begins at element `displs[r]`.",
    "alltoall": "Block r of `sendbuf` goes to rank r; block r of `recvbuf` comes from rank r.",
    "alltoallv": "As alltoall, with a count and a displacement in elements for each rank.",
    "alltoallw": "As alltoall, with a count, a displacement in bytes and a datatype for each rank.",
}

KINDS = {"Blocking": ("served",), "Non-blocking": ("started", "counted"), "Persistent": ("initialized",)}
PERSISTENT = "MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)"


def collectives():
    return [f for f in read(SIGNATURES) if f.is_collective]


def sections():
    every = collectives()
    return {title: [f for f in every if f.kind in kinds] for title, kinds in KINDS.items()}


# --- C ------------------------------------------------------------------------------------


def prototype(f, large=False):
    name = f"fanlight_{f.operation}{'_c' if large else ''}"
    # A parameter stays on one line.
    parameters = ", ".join(p.c(large).replace(" ", "\0") for p in f.parameters)
    text = f"FANLIGHT_API\0int\0{name}({parameters});"
    return textwrap.fill(text, 98, subsequent_indent=" " * 4, break_on_hyphens=False).replace("\0", " ")


def c_header():
    parts = [(HERE / "collectives.h.in").read_text().rstrip() + "\n"]
    for title, functions in sections().items():
        condition = PERSISTENT if title == "Persistent" else ""
        parts.append(f"// ---- {title.lower()} {'-' * (85 - len(title))}\n")
        parts += [f"#if {condition}\n"] if condition else []
        for f in functions:
            meaning = MEANING.get(f.operation, f"As MPI_{f.name}.")
            parts.append((f"// {meaning}\n" if title == "Blocking" else "") + prototype(f) + "\n")
        parts += ["#endif\n"] if condition else []
    parts.append(f"// ---- the same with large counts {'-' * 59}\n\n#if MPI_VERSION >= 4\n")
    parts += [prototype(f, True) + "\n" for f in collectives() if f.has_large]
    parts.append("#endif\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
    return "\n".join(parts)


# --- Fortran ------------------------------------------------------------------------------

FORTRAN_TYPES = {
    "COUNT": "integer(c_int), value",
    "int": "integer(c_int), value",
    "const COUNT": "integer(c_int), intent(in)",
    "const DISPL": "integer(c_int), intent(in)",
    "const MPI_Datatype": "integer(c_int), intent(in)",
    "MPI_Request *": "integer(c_int), intent(out)",
}


def is_buffer(p):
    return p.type in ("void *", "const void *")


def fortran_interface(f):
    names = [p.name for p in f.parameters] + ["ierror"]
    head = f"subroutine fanlight_{f.operation}({', '.join(names)}) bind(C,\0name='fanlight_{f.operation}_f')"
    lines = textwrap.wrap(head, 85, subsequent_indent="    ", break_on_hyphens=False)
    lines = [line.replace("\0", " ") + (" &" if i + 1 < len(lines) else "") for i, line in enumerate(lines)]
    lines.append("    import :: c_int")
    for p in f.parameters:
        if is_buffer(p):
            # A buffer may be of any type and rank.
            lines += [f"    !GCC$ attributes no_arg_check :: {p.name}", f"    !DIR$ ignore_tkr {p.name}"]
            intent = ", intent(in)" if p.type.startswith("const") else ""
            # target: gfortran then knows that the address is kept, also where it is no more asynchronous.
            kept = "" if f.kind == "served" else ", asynchronous, target"
            lines.append(f"    type(*), dimension(*){intent}{kept} :: {p.name}")
        else:
            kind = FORTRAN_TYPES.get(p.type, "integer(c_int), value")
            lines.append(f"    {kind} :: {p.name}{'(*)' if p.array else ''}")
    lines += ["    integer(c_int), optional, intent(out) :: ierror", f"end subroutine fanlight_{f.operation}"]
    return "\n".join("        " + line for line in lines)


def fortran_functions(title):
    # How many datatypes there are in neighborhood's alltoallw, the topology says.
    return [f for f in sections()[title] if not ("eighbor" in f.name and f.has("sendtypes"))]


def fortran_module():
    interfaces = "\n".join(fortran_interface(f) for title in KINDS for f in fortran_functions(title))
    return (HERE / "fanlight.f90.in").read_text().replace("@INTERFACES@\n", interfaces + "\n")


def fortran_entry(f):
    """A procedure of the module's in C: Fortran's arguments as C's, then the C function."""
    declaration, passed, before, after = [], [], [], []
    for p in f.parameters:
        if is_buffer(p):
            declaration.append(f"{p.type}{p.name}")
            passed.append(f"c_buffer({p.name})")
        elif p.type in ("const COUNT", "const DISPL"):
            declaration.append(f"const int *{p.name}")
            passed.append(p.name)
        elif p.type == "const MPI_Datatype":
            declaration.append(f"const MPI_Fint *{p.name}")
            all_of = f"fanlight::fortran::datatypes({p.name}, c_buffer({p.name.replace('types', 'buf')}), {to_c('MPI_Comm', 'comm')})"
            before.append(f"const std::vector<MPI_Datatype>& of_{p.name} = {all_of if f.kind == 'served' else f'kept({all_of})'};")
            passed.append(f"of_{p.name}.data()")
        elif p.type == "MPI_Request *":
            declaration.append("MPI_Fint *request")
            before.append("MPI_Request started = MPI_REQUEST_NULL;")
            passed.append("&started")
            after.append(f"*request = {from_c('MPI_Request', 'started')};")
        elif p.type in ("COUNT", "int"):
            declaration.append(f"int {p.name}")
            passed.append(p.name)
        else:
            declaration.append(f"MPI_Fint {p.name}")
            passed.append(to_c(p.type, p.name))
    call = f"const int error = fanlight_{f.operation}({', '.join(passed)});"
    body = "".join(f"    {line}\n" for line in (*before, call, *after, "if (ierror) *ierror = error;"))
    return f"void fanlight_{f.operation}_f({', '.join(declaration)}, MPI_Fint *ierror) {{\n{body}}}\n"


def entries():
    def of(title):
        return [fortran_entry(f) for f in fortran_functions(title)]

    return "\n".join(["// Made by src/api/generate.py.", '#include "api/fortran.h"', "#pragma GCC visibility push(default)",
                      'extern "C" {\n', *of("Blocking"), *of("Non-blocking"), "#if FANLIGHT_PERSISTENT\n", *of("Persistent"),
                      "#endif", '}  // extern "C"', "#pragma GCC visibility pop\n"])


def main():
    what, target = sys.argv[1], pathlib.Path(sys.argv[2])
    if what == "entries":
        target.write_text(entries())
    else:
        for name, text in (("collectives.h", c_header()), ("fanlight.f90", fortran_module())):
            (target / name).write_text(text)


if __name__ == "__main__":
    main()
