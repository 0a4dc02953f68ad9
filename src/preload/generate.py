"""Makes the preload's wrappers from signatures.txt.

    generate.py signatures.txt WRAPPERS.cpp SYMBOLS.map

WRAPPERS.cpp: MPI_Xxx and MPI_Xxx_c, and for Open MPI their Fortran entry points.
SYMBOLS.map: the linker's version script.
"""

import re
import sys
from dataclasses import dataclass


# What comes before the MPI library's function.
FIRST = {"finalize": "fanlight::finalize();", "tested": "fanlight::progress_before_test();",
         "polled": "fanlight::requests::poll();", "freed": "fanlight::requests::freed(*request);"}

# What comes after it, where it has succeeded.
AFTER = {"window_made": "fanlight::window_created();", "window_gone": "fanlight::window_freed();",
         **{f"{what}_made": f"fanlight::made_with_topology(*COMM, MPI_{topology});"
            for what, topology in (("group", "UNDEFINED"), ("cart", "CART"), ("graph", "GRAPH"), ("dist_graph", "DIST_GRAPH"))}}

# What runs apart from the MPI library is asked for before that; COUNT and REQUESTS are the function's own.
HAND_OVER = "fanlight::requests::hand_over(COUNT, REQUESTS);"
APART = {"Wait": "if (fanlight::requests::wait_apart(*request, status)) return MPI_SUCCESS;",
         "Test": "if (fanlight::requests::test_apart(*request, flag, status)) return MPI_SUCCESS;",
         "Request_get_status": "if (fanlight::requests::get_status(request, flag, status)) return MPI_SUCCESS;",
         "Request_get_status_all": "if (!fanlight::requests::finished_apart(COUNT, REQUESTS)) return *flag = 0, MPI_SUCCESS;",
         "Waitall": "fanlight::requests::finish_apart(COUNT, REQUESTS);",
         "Testall": """if (!fanlight::requests::finished_apart(COUNT, REQUESTS)) return *flag = 0, MPI_SUCCESS;
        fanlight::requests::progress();
        const int error = next.get()(COUNT, REQUESTS, flag, array_of_statuses);
        if (error == MPI_SUCCESS && *flag) fanlight::requests::end_apart(COUNT, REQUESTS);
        return error;"""}


KINDS = ("served", "started", "initialised", "starts", "counted", "tested", "polled", "waited", "freed", "kept", "window_made",
         "window_gone", "group_made", "cart_made", "graph_made", "dist_graph_made", "finalize")
HANDLES = ("MPI_Comm", "MPI_Group", "MPI_Datatype", "MPI_Op", "MPI_Info", "MPI_Request", "MPI_Win")


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
    since: tuple = ()  # (4, 1): of MPI-4.1

    @property
    def operation(self):
        return self.name.lower()

    @property
    def blocking(self):
        """The operation that a non-blocking or persistent one starts: of Ibcast and Bcast_init, bcast."""
        if self.kind == "initialised":
            return self.operation.removesuffix("_init")
        return self.operation[1:] if self.kind == "started" else self.operation

    @property
    def is_collective(self):
        return self.kind in ("served", "started", "initialised", "counted")

    @property
    def neighbors(self):
        return self.blocking.startswith("neighbor_")

    @property
    def has_large(self):
        return any("COUNT" in p.type or "DISPL" in p.type for p in self.parameters)

    def has(self, name):
        return any(p.name == name for p in self.parameters)


def read(path):
    functions = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            match = re.fullmatch(rf"({'|'.join(KINDS)})\s+(\w+)\((.*)\)(?: since (\d)\.(\d))?", line)
            if not match:
                sys.exit(f"{path}:{number}: not of the form 'kind Name(parameters)'")
            parameters = []
            for text in filter(None, match[3].split(", ")):
                one = re.fullmatch(r"(.*?)(\w+)(\[\])?", text)
                parameters.append(Parameter(one[1].strip(), one[2], bool(one[3])))
            functions.append(Function(match[1], match[2], parameters, (match[4], match[5]) if match[4] else ()))
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
            if f.neighbors:
                places = f"fanlight::places_of_neighbors(comm).{'targets' if count == 'sendcount' else 'sources'}"
                return buffer, f"fanlight::bytes_of_list({places}, {buffer}, {count}s, {datatype})"
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
    arguments = [a for a in arguments if a not in ("comm", "info", "request")]
    return f"fanlight::{f.blocking}({', '.join(['call'] + arguments)})"


def call_object(f, request):
    more = {"started": f", {request}", "initialised": f", info, {request}"}.get(f.kind, "")
    return f'    fanlight::Call call("{f.operation}", comm{more});'


def significant(f, name):
    """Whether MPI looks at this argument, as an expression."""
    if name == "datatype":
        return "true"
    if (f.name.startswith("Gather") and name in ("recvtype", "recvcounts", "displs")) or \
       (f.name.startswith("Scatter") and name in ("sendtype", "sendcounts", "displs")):
        return "persistent.is_rank(root)"
    if name in ("recvcounts", "rdispls", "displs", "recvtypes"):
        return "true"
    return ("sendbuf" if name.startswith("s") else "recvbuf") + " != MPI_IN_PLACE"


def caught(lines, leave):
    """What is Fanlight's own in a wrapper: the caller may be C, or Fortran, which no exception may reach."""
    return ["    try {", *("    " + line for line in lines), "    } catch (const std::exception& e) {",
            *("        " + line for line in leave), "    }"] if lines else []


def is_served(f, leave):
    """Tries Fanlight, and leaves the wrapper where it has served the call."""
    lines = [f"    if (const fanlight::Decision* d = {served_call(f, [p.name for p in f.parameters])}) {{"]
    if f.kind == "initialised":
        kept = "".join(f", {p.name} = persistent.copy({p.name}, {significant(f, p.name)})" for p in f.parameters
                       if p.type == "MPI_Datatype")
        # Programs give back arrays after the initialisation.
        arrays = [p.name for p in f.parameters if p.array]
        for p in (p for p in f.parameters if p.array):
            which = str(p.name[0] == "s").lower() if f.neighbors else significant(f, p.name)
            of = "of_neighbors" if f.neighbors else "of_each"
            if p.type == "const MPI_Datatype":
                kept += f", {p.name} = persistent.copy_{of}({p.name}, {p.name.replace('types', 'counts')}, {which})"
            else:
                kept += f", {p.name} = persistent.copy_{of}({p.name}, {which})"
        again = served_call(f, [p.name + (".data()" if p.name in arrays else "") for p in f.parameters])
        lines += ["        fanlight::Persistent& persistent = call.persistent();",
                  f"        persistent.again = [={kept}](fanlight::Call& call) {{ {again}; }};"]
    lines = [*lines, *("        " + line for line in leave), "    }"]
    return caught(lines, [line.replace("call.served(*d)", "call.raised(e)") for line in leave])


def waits_by_test(f, function, names, arguments, call, leave):
    """MPI_Waitxxx while something of ours is under way: MPI_Testxxx again and again.

    `function` is its type; `call` and `leave` are how it is called with arguments, and how the
    wrapper ends after that.  MPI_Test has one argument more than MPI_Wait, the flag before the
    statuses; MPI_Testsome has not.
    """
    if f.name == "Waitsome":
        done = f"*{arguments[2]} != 0"
    else:
        place = next(i for i, p in enumerate(f.parameters) if "status" in p.name)
        arguments = arguments[:place] + ["&flag"] + arguments[place:]
        done = "flag != 0"
    return ["    if (fanlight::requests::any()) [[unlikely]] {",
            f"        static constinit fanlight::Next<{function}> test({names});",
            "        [[maybe_unused]] int flag = 0;",
            "        int error = MPI_SUCCESS;",
            f"        if (fanlight::requests::wait([&] {{ {call(arguments)} return error != MPI_SUCCESS || {done}; }})) {leave}",
            "    }"]


def apart(f, c=True):
    """What the wrapper does first while a persistent operation runs apart."""
    if f.kind not in ("waited", "polled", "freed") or not any("Request" in p.type for p in f.parameters):
        return []
    where = next(p for p in f.parameters if "Request" in p.type)
    if where.array:
        count, requests = f.parameters[0].name, where.name
    else:
        count, requests = "1", "&request" if where.type == "MPI_Request" else "request"
    if c:
        text = APART.get(f.name, HAND_OVER).replace("COUNT", count).replace("REQUESTS", requests)
    else:
        what = "finish_apart" if f.name in ("Wait", "Waitall") else "hand_over"
        text = f"fanlight::fortran::each(fanlight::requests::{what}, {'*f_' + count if where.array else '1'}, f_{where.name});"
    any_one = "any_persistent" if "get_status(" in text else "any_apart"
    return [f"    if (fanlight::requests::{any_one}()) [[unlikely]] {{", f"        {text}", "    }"]


def after(f, fortran=False):
    made = f.parameters[-1].name  # a communicator, where one is
    return AFTER[f.kind].replace("*COMM", f"fanlight::fortran::communicator(f_{made})" if fortran else f"*{made}")


def stands_in(f):
    """Whether the library stands in for the function in this program."""
    return f"fanlight::takes_{'collectives' if f.is_collective else 'waits'}()"


def entry(f, name, serve, large):
    """The function that the program calls.  Of another ABI than ours the handles have another size: they are
    passed on as they came."""
    declaration, arguments = [], []
    for p in f.parameters:
        by_value = p.type in HANDLES and not p.array
        declaration.append(f"std::intptr_t {p.name}" if by_value else p.c(large))
        arguments.append(f"fanlight::handle<{p.type}>({p.name})" if by_value else p.name)
    declaration = ", ".join(declaration) or "void"
    return [f'int enter_{name}({declaration}) __asm__("{name}");',
            f"int enter_{name}({declaration}) {{",
            f"    if ({stands_in(f)}) [[likely]] return {serve}({', '.join(arguments)});",
            f'    static constinit fanlight::Next<decltype(&enter_{name})> next("{name}");',
            f"    return next.get()({', '.join(p.name for p in f.parameters)});", "}"]


def c_wrapper(f, large):
    suffix = "_c" if large else ""
    name = f"MPI_{f.name}{suffix}"
    declaration = ", ".join(p.c(large) for p in f.parameters) or "void"
    arguments = [p.name for p in f.parameters]
    serve = f"serve_{f.operation}{suffix}"
    lines = [f"static int {serve}({declaration}) {{",
             f'    static constinit fanlight::Next<decltype(&::{name})> next("{name}");']
    own = apart(f)
    if f.name == "Waitall":
        own += ["    if (fanlight::requests::any()) [[unlikely]] {",
                '        static constinit fanlight::Next<decltype(&::MPI_Test)> test("PMPI_Test");',
                f"        return fanlight::requests::wait_all({', '.join(arguments)}, test.get());",
                "    }"]
    elif f.kind == "waited":
        test = f.name.replace("Wait", "Test")
        own += waits_by_test(f, f"decltype(&::MPI_{test})", f'"PMPI_{test}"', arguments,
                             lambda a: f"error = test.get()({', '.join(a)});", "return error;")
    if f.name == "Start":
        own.append("    if (fanlight::requests::start(*request)) return MPI_SUCCESS;")
    elif f.kind == "starts":
        own.append(f"    if (int error; fanlight::requests::start({', '.join(arguments)}, error)) return error;")
    if f.kind == "kept":
        own.append("    if (fanlight::requests::kept(op)) return MPI_SUCCESS;")
    if f.kind in FIRST:
        own.append(f"    {FIRST[f.kind]}")
    lines += caught(own, ["return fanlight::raised(e);"])
    if f.kind in AFTER:
        lines += [f"    const int error = next.get()({', '.join(arguments)});",
                  f"    if (error == MPI_SUCCESS) {after(f)}", "    return error;", "}",
                  *entry(f, name, serve, large)]
        return "\n".join(lines)
    if not f.is_collective:
        lines += [f"    return next.get()({', '.join(arguments)});", "}", *entry(f, name, serve, large)]
        return "\n".join(lines)
    lines.append(call_object(f, "request"))
    if f.kind in ("served", "started", "initialised"):
        lines += is_served(f, ["return call.served(*d);"])
    passed = ", ".join(arguments)
    lines += [f"    return call.passed(next.get()({passed}), [&] {{ return {bytes_expression(f)}; }});", "}"]
    # The API's, and MPI's: where the library is linked alone, these stay the MPI library's.
    lines += [f"int fanlight_{f.operation}{suffix}({declaration}) {{ return {serve}({passed}); }}",
              *entry(f, name, serve, large)]
    return "\n".join(lines)


def guarded(f, text):
    if not f.since:
        return text
    major, minor = f.since
    return f"#if MPI_VERSION > {major} || (MPI_VERSION == {major} && MPI_SUBVERSION >= {minor})\n{text}\n#endif"


def fortran_names(name):
    low = f"mpi_{name.lower()}"
    return [low + "_", low, low + "__", low.upper(), low + "_f08_"]


def f08_names(name):
    return [f"mpi_{name.lower()}_f08_"]


def fortran_wrapper(f, names_of):
    """The arguments as C's under their own names, then as in C."""
    names = names_of(f.name)
    declaration, conversions, passed = [], [], []
    for p in f.parameters:
        passed.append(f"f_{p.name}")
        is_buffer = p.type in ("void *", "const void *")
        declaration.append(f"{'void' if is_buffer else 'MPI_Aint' if p.type == 'const MPI_Aint' else 'MPI_Fint'} *f_{p.name}")
        if is_buffer:
            conversions.append(f"{p.type}{p.name} = fanlight::fortran::buffer(f_{p.name});")
        elif p.type in ("MPI_Comm", "MPI_Datatype", "MPI_Op"):
            kind = {"MPI_Comm": "communicator", "MPI_Datatype": "datatype", "MPI_Op": "op"}[p.type]
            conversions.append(f"{p.type} {p.name} = fanlight::fortran::{kind}(f_{p.name});")
        elif p.type == "const MPI_Datatype":
            buffer = p.name.replace("types", "buf")
            of = f"datatypes(f_{p.name}, {buffer}, f_comm)"
            if f.neighbors:
                of = f"datatypes_of_neighbors(f_{p.name}, {str(p.name == 'sendtypes').lower()}, f_comm)"
            conversions.append(f"const std::vector<MPI_Datatype> of_{p.name} = fanlight::fortran::{of};")
            conversions.append(f"const MPI_Datatype *{p.name} = of_{p.name}.data();")
        elif p.type in ("const COUNT", "const DISPL"):
            conversions.append(f"const int *{p.name} = f_{p.name};")
        elif p.type == "const MPI_Aint":
            conversions.append(f"const MPI_Aint *{p.name} = f_{p.name};")
        elif p.type == "MPI_Info":
            conversions.append(f"MPI_Info {p.name} = MPI_INFO_NULL;  // none says anything to us")
        elif p.type in ("COUNT", "int"):
            conversions.append(f"int {p.name} = *f_{p.name};")
        elif p.type == "MPI_Request *" and f.kind in ("started", "initialised"):
            conversions.append(f"MPI_Request {p.name} = MPI_REQUEST_NULL;")
    declaration.append("MPI_Fint *ierror")
    declaration = ", ".join(declaration)
    types = re.sub(r"\*\w+", "*", declaration)
    next_names = ", ".join(f'"{n}"' for n in names[:4])
    lines = [f"void {names[0]}({declaration}) {{",
             f"    static constinit fanlight::Next<void (*)({types})> next({next_names});",
             f"    if (!{stands_in(f)}) [[unlikely]] return next.get()({', '.join(passed + ['ierror'])});",
             "    MPI_Fint ignored;",
             "    if (!ierror) ierror = &ignored;  // optional in mpi_f08"]
    own = apart(f, c=False)
    if f.kind == "waited":
        test = ", ".join(f'"{n}"' for n in names_of(f.name.replace("Wait", "Test"))[:4])
        more = types if f.name == "Waitsome" else types + ", MPI_Fint *"
        own += waits_by_test(f, f"void (*)({more})", test, passed,
                             lambda a: f"test.get()({', '.join(a)}, ierror); error = *ierror;", "return;")
    if f.kind == "starts":
        count = "*f_count" if f.has("count") else "1"
        own.append(f"    if (fanlight::fortran::start({count}, {passed[-1]}, ierror)) return;")
    if f.kind == "kept":
        own.append("    if (fanlight::fortran::kept(f_op)) return void(*ierror = MPI_SUCCESS);")
    if f.kind in FIRST:
        own.append("    " + FIRST[f.kind].replace("*request", "fanlight::fortran::request(f_request)"))
    lines += caught(own, ["return void(*ierror = fanlight::raised(e));"])
    if not f.is_collective:
        lines.append(f"    next.get()({', '.join(passed + ['ierror'])});")
        if f.kind in AFTER:
            lines.append(f"    if (*ierror == MPI_SUCCESS) {after(f, fortran=True)}")
    else:
        if f.kind == "counted":  # only what the report needs
            used = bytes_expression(f)
            words = set(re.findall(r"\w+", used)) | {"comm"}
            conversions = [c for c in conversions if re.search(r"(\w+) =", c)[1] in words]
        lines += ["    " + c for c in conversions]
        lines.append(call_object(f, "&request"))
        if f.kind in ("served", "started", "initialised"):
            lines += is_served(f, [*([] if f.kind == "served" else ["*f_request = fanlight::fortran::request(request);"]),
                                   "*ierror = call.served(*d);", "return;"])
        lines += [f"    next.get()({', '.join(passed + ['ierror'])});",
                  f"    call.passed(*ierror, [&] {{ return {bytes_expression(f)}; }});"]
    lines.append("}")
    for alias in names[1:4]:
        lines.append(f'void {alias}({types}) __attribute__((alias("{names[0]}")));')
    for f08 in names[4:]:
        lines += [f"void {f08}({declaration}) {{",
                  f"    if ({stands_in(f)}) [[likely]] return {names[0]}({', '.join(passed + ['ierror'])});",
                  f'    static constinit fanlight::Next<void (*)({types})> next("{f08}");',
                  f"    next.get()({', '.join(passed + ['ierror'])});", "}"]
    return "\n".join(lines)


def wrappers(functions):
    parts = ["// Made by generate.py from signatures.txt.",
             '#include "preload/wrappers.h"',
             '#pragma GCC visibility push(default)',
             'extern "C" {']
    parts += [guarded(f, c_wrapper(f, False)) for f in functions if f.kind != "initialised"]
    parts.append("#if FANLIGHT_PERSISTENT")
    parts += [c_wrapper(f, False) for f in functions if f.kind == "initialised"]
    parts += ["#endif", "#if MPI_VERSION >= 4"]
    parts += [c_wrapper(f, True) for f in functions if f.has_large]
    parts += ["#endif", "#if defined(OPEN_MPI)"]
    parts += [guarded(f, fortran_wrapper(f, fortran_names)) for f in functions]
    # MPICH's mpi_f08 calls PMPI_Xxx where there is no buffer (f08_mpich.cpp has the others).
    parts.append("#else")
    parts += [guarded(f, fortran_wrapper(f, f08_names)) for f in functions if f.kind in ("waited", "polled", "starts", "freed", "kept")]
    parts += ["#endif", '}  // extern "C"', "#pragma GCC visibility pop", ""]
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
