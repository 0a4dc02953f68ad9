"""MPI_Xxx and MPI_Xxx_c, and fanlight_xxx, which do the same."""

from signatures import HANDLES
from wrapper_parts import AFTER, DURING, FIRST, NULLS, after, in_library, bytes_expression, call_object, caught, is_served, stands_in, waits_by_test


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
    own = in_library(f)
    if f.name == "Waitall":
        own += ["    if (fanlight::requests::any() && count >= 0) [[unlikely]] {",
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
    if f.kind in DURING:
        lines.append("    " + DURING[f.kind].replace("HANDLE", "{0} ? *{0} : {1}".format(arguments[0], NULLS[f.kind])))
    if f.kind in AFTER:
        lines += [f"    const int error = next.get()({', '.join(arguments)});",
                  *caught([f"    if (error == MPI_SUCCESS) {after(f)}"], ["return fanlight::raised(e);"]), "    return error;", "}",
                  *entry(f, name, serve, large)]
        return "\n".join(lines)
    if not f.is_collective:
        lines += [f"    return next.get()({', '.join(arguments)});", "}", *entry(f, name, serve, large)]
        return "\n".join(lines)
    lines.append(call_object(f, "request"))
    if f.kind in ("served", "started", "initialized"):
        lines += is_served(f, ["return call.served(*d);"])
    passed = ", ".join(arguments)
    lines += [f"    const int error = next.get()({passed});",
              *caught([f"    return call.passed(error, [&] {{ return {bytes_expression(f)}; }});"], ["return call.raised(e);"]), "}"]
    # The API's, and MPI's: where the library is linked alone, these stay the MPI library's.
    lines += [f"int fanlight_{f.operation}{suffix}({declaration}) {{ return {serve}({passed}); }}",
              *entry(f, name, serve, large)]
    return "\n".join(lines)
