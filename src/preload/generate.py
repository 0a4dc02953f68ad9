"""Makes the preload's wrappers from signatures.txt.

    generate.py signatures.txt WRAPPERS.cpp SYMBOLS.map

WRAPPERS.cpp: MPI_Xxx and MPI_Xxx_c, and for Open MPI their Fortran entry points.
SYMBOLS.map: the linker's version script, which exports nothing else.
"""

import re
import sys
from dataclasses import dataclass


# What comes before the MPI library's function.
FIRST = {"finalize": "fanlight::finalize();", "tested": "fanlight::progress_before_test();"}


@dataclass
class Parameter:
    type: str  # "const void *", "COUNT", ...
    name: str
    array: bool

    def c(self, large):
        text = self.type.replace("COUNT", "MPI_Count" if large else "int")
        text = text.replace("DISPL", "MPI_Aint" if large else "int")
        space = "" if text.endswith("*") else " "
        return f"{text}{space}{self.name}{'[]' if self.array else ''}"


@dataclass
class Function:
    kind: str
    name: str
    parameters: list

    @property
    def operation(self):
        return self.name.lower()

    @property
    def has_large(self):
        return any("COUNT" in p.type for p in self.parameters)

    def has(self, name):
        return any(p.name == name for p in self.parameters)


def read(path):
    functions = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            match = re.fullmatch(r"(served|counted|tested|finalize)\s+(\w+)\((.*)\)", line)
            if not match:
                sys.exit(f"{path}:{number}: not of the form 'kind Name(parameters)'")
            parameters = []
            for text in filter(None, match[3].split(", ")):
                one = re.fullmatch(r"(.*?)(\w+)(\[\])?", text)
                parameters.append(Parameter(one[1].strip(), one[2], bool(one[3])))
            functions.append(Function(match[1], match[2], parameters))
    return functions


def bytes_expression(f):
    """What the MPI library has moved on this rank, for the report."""

    def side(buffer, count, datatype):
        if not f.has(buffer) or not f.has(datatype):
            return None
        if f.has(count):
            return buffer, f"fanlight::bytes_of({buffer}, {count}, {datatype})"
        if f.has(count + "s"):
            # Arrays are significant where the buffer is: not on every rank of scatterv, gatherv.
            return None if f.has("root") else (buffer, f"fanlight::bytes_of_all(comm, {buffer}, {count}s, {datatype})")
        return None

    if f.has("buffer"):
        return "fanlight::bytes_of(buffer, count, datatype)"
    if f.has("op"):
        if f.has("recvcounts"):
            return "fanlight::bytes_of_all(comm, recvbuf, recvcounts, datatype)"
        count = "recvcount" if f.has("recvcount") else "count"
        return f"fanlight::bytes_of(nullptr, {count}, datatype)"
    sides = [side("sendbuf", "sendcount", "sendtype"), side("recvbuf", "recvcount", "recvtype")]
    if "catter" in f.name and "Reduce" not in f.name:
        sides.reverse()
    sides = [s for s in sides if s]
    if not sides:
        return "std::size_t{0}"
    if len(sides) == 1:
        return sides[0][1]
    return f"{sides[0][0]} == MPI_IN_PLACE ? {sides[1][1]} : {sides[0][1]}"


def served_call(f, arguments):
    arguments = [a for a in arguments if a != "comm"]
    return f"fanlight::{f.operation}({', '.join(['call'] + arguments)})"


def c_wrapper(f, large):
    name = f"MPI_{f.name}{'_c' if large else ''}"
    declaration = ", ".join(p.c(large) for p in f.parameters) or "void"
    arguments = [p.name for p in f.parameters]
    lines = [f"int {name}({declaration}) {{",
             f'    static constinit fanlight::Next<decltype(&::{name})> next("{name}");']
    if f.kind in FIRST:
        lines += [f"    {FIRST[f.kind]}", f"    return next.get()({', '.join(arguments)});", "}"]
        return "\n".join(lines)
    lines.append(f'    fanlight::Call call("{f.operation}", comm);')
    if f.kind == "served":
        lines.append(f"    if (const fanlight::Decision* d = {served_call(f, arguments)}) return call.served(*d);")
    lines += [f"    return call.passed(next.get()({', '.join(arguments)}), [&] {{ return {bytes_expression(f)}; }});", "}"]
    return "\n".join(lines)


def fortran_names(f):
    low = f"mpi_{f.name.lower()}"
    return [low + "_", low, low + "__", low.upper(), low + "_f08_"]


def fortran_wrapper(f):
    """The arguments as C's under their own names, then as in C."""
    names = fortran_names(f)
    declaration, conversions, passed = [], [], []
    for p in f.parameters:
        passed.append(f"f_{p.name}")
        is_buffer = p.type in ("void *", "const void *")
        declaration.append(f"{'void' if is_buffer else 'MPI_Fint'} *f_{p.name}")
        if is_buffer:
            conversions.append(f"{p.type}{p.name} = fanlight::fortran::buffer(f_{p.name});")
        elif p.type in ("MPI_Comm", "MPI_Datatype", "MPI_Op"):
            kind = {"MPI_Comm": "communicator", "MPI_Datatype": "datatype", "MPI_Op": "op"}[p.type]
            conversions.append(f"{p.type} {p.name} = fanlight::fortran::{kind}(f_{p.name});")
        elif p.type in ("const COUNT", "const DISPL"):
            conversions.append(f"const int *{p.name} = f_{p.name};")
        elif p.type in ("COUNT", "int"):
            conversions.append(f"int {p.name} = *f_{p.name};")
    declaration.append("MPI_Fint *ierror")
    declaration = ", ".join(declaration)
    types = re.sub(r"\*\w+", "*", declaration)
    next_names = ", ".join(f'"{n}"' for n in names[:4])
    lines = [f"void {names[0]}({declaration}) {{",
             "    MPI_Fint ignored;",
             "    if (!ierror) ierror = &ignored;  // optional in mpi_f08",
             f"    static constinit fanlight::Next<void (*)({types})> next({next_names});"]
    if f.kind in FIRST:
        lines += [f"    {FIRST[f.kind]}", f"    next.get()({', '.join(passed + ['ierror'])});"]
    else:
        if f.kind == "counted":  # only what the report needs
            used = bytes_expression(f)
            words = set(re.findall(r"\w+", used)) | {"comm"}
            conversions = [c for c in conversions if re.search(r"(\w+) =", c)[1] in words]
        lines += ["    " + c for c in conversions]
        lines.append(f'    fanlight::Call call("{f.operation}", comm);')
        if f.kind == "served":
            lines += [f"    if (const fanlight::Decision* d = {served_call(f, [p.name for p in f.parameters])}) {{",
                      "        *ierror = call.served(*d);", "        return;", "    }"]
        lines += [f"    next.get()({', '.join(passed + ['ierror'])});",
                  f"    call.passed(*ierror, [&] {{ return {bytes_expression(f)}; }});"]
    lines.append("}")
    for alias in names[1:]:
        lines.append(f'void {alias}({types}) __attribute__((alias("{names[0]}")));')
    return "\n".join(lines)


def wrappers(functions):
    parts = ["// Made by generate.py from signatures.txt.",
             '#include "preload/wrappers.h"',
             '#pragma GCC visibility push(default)',
             'extern "C" {']
    parts += [c_wrapper(f, False) for f in functions]
    parts.append("#if MPI_VERSION >= 4")
    parts += [c_wrapper(f, True) for f in functions if f.has_large]
    parts += ["#endif", "#if defined(OPEN_MPI)"]
    parts += [fortran_wrapper(f) for f in functions]
    parts += ["#endif", '}  // extern "C"', "#pragma GCC visibility pop", ""]
    return "\n\n".join(parts)


def symbols(functions):
    names = []
    for f in functions:
        names += [f"MPI_{f.name}", *([f"MPI_{f.name}_c"] if f.has_large else []), *fortran_names(f)]
    return "{\n  global:\n" + "".join(f"    {n};\n" for n in names) + "  local: *;\n};\n"


def main():
    signatures, wrappers_file, symbols_file = sys.argv[1:]
    functions = read(signatures)
    for path, text in ((wrappers_file, wrappers(functions)), (symbols_file, symbols(functions))):
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
