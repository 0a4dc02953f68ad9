"""Fortran's entry points of an MPI function, under the names that compilers and mpi_f08 give it."""

import re

from wrapper_parts import (AFTER, DURING, FIRST, HANDLES, after, in_library, bytes_expression, call_object, caught, from_c, is_served, stands_in,
                           to_c, waits_by_test)


def fortran_names(name):
    """Not mpi_bcast and MPI_BCAST, though MPI libraries have them: libraries have C functions of such names (R's Rmpi), which
    ours would take the place of."""
    low = f"mpi_{name.lower()}"
    return [low + "_", low + "__", low + "_f08_"]


def f08_names(name):
    return [f"mpi_{name.lower()}_f08_"]


def as_fortran(line):
    """A line of C's wrapper with Fortran's arguments."""
    for c, fortran in (("*request", to_c("MPI_Request", "*f_request")), ("return MPI_SUCCESS", "return void(*ierror = MPI_SUCCESS)"),
                       ("*win", to_c("MPI_Win", "*f_win")),
                       ("size, info, baseptr", f"*f_size, {to_c('MPI_Info', '*f_info')}, f_baseptr"), ("(base)", "(f_base)")):
        line = line.replace(c, fortran)
    return line


def fortran_wrapper(f, names_of):
    """The arguments as C's under their own names, then as in C."""
    names = names_of(f.name)
    declaration, conversions, passed = [], [], []
    for p in f.parameters:
        passed.append(f"f_{p.name}")
        is_buffer = p.type in ("void *", "const void *")
        declaration.append(f"{'void' if is_buffer else 'MPI_Aint' if p.type in ('MPI_Aint', 'const MPI_Aint') else 'MPI_Fint'} *f_{p.name}")
        if is_buffer:
            conversions.append(f"{p.type}{p.name} = fanlight::fortran::buffer(f_{p.name});")
        elif p.type == "const MPI_Datatype":
            buffer = p.name.replace("types", "buf")
            of = f"datatypes(f_{p.name}, {buffer}, {to_c('MPI_Comm', '*f_comm')})"
            if f.neighbors:
                of = f"datatypes_of_neighbors(f_{p.name}, {str(p.name == 'sendtypes').lower()}, {to_c('MPI_Comm', '*f_comm')})"
            conversions.append(f"const std::vector<MPI_Datatype> of_{p.name} = fanlight::fortran::{of};")
            conversions.append(f"const MPI_Datatype *{p.name} = of_{p.name}.data();")
        elif p.type in ("const COUNT", "const DISPL"):
            conversions.append(f"const int *{p.name} = f_{p.name};")
        elif p.type == "const MPI_Aint":
            conversions.append(f"const MPI_Aint *{p.name} = f_{p.name};")
        elif p.type == "MPI_Info":
            conversions.append(f"MPI_Info {p.name} = MPI_INFO_NULL;  // none says anything to us")
        elif p.type in HANDLES:
            conversions.append(f"{p.type} {p.name} = {to_c(p.type, f'*f_{p.name}')};")
        elif p.type in ("COUNT", "int"):
            conversions.append(f"int {p.name} = *f_{p.name};")
        elif p.type == "MPI_Request *" and f.kind in ("started", "initialized"):
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
    own = in_library(f, c=False)
    if f.name == "Waitall" and names_of is f08_names:  # see requests::wait_all
        own += ["    if (fanlight::requests::any() && *f_count >= 0) [[unlikely]]",
                f"        return void(*ierror = fanlight::fortran::wait_all({', '.join(passed)}));"]
    elif f.kind == "waited":
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
        own.append("    " + as_fortran(FIRST[f.kind]))
    lines += caught(own, ["return void(*ierror = fanlight::raised(e));"])
    if f.kind in DURING:
        handle = f.parameters[0]
        kind = handle.type.removesuffix(" *")
        name = kind.removeprefix("MPI_").replace("Datatype", "Type")
        lines.append("    " + DURING[f.kind].replace("HANDLE", f'fanlight::fortran::to_c<{kind}>("{name}", *f_{handle.name})'))
    if not f.is_collective:
        lines.append(f"    next.get()({', '.join(passed + ['ierror'])});")
        # MPICH's mpi_f08 makes windows past this library, which so has not counted them.
        if f.kind in AFTER and names_of is fortran_names:
            lines += caught([f"    if (*ierror == MPI_SUCCESS) {after(f, fortran=True)}"], ["*ierror = fanlight::raised(e);"])
    else:
        if f.kind == "counted":  # only what the report needs
            used = bytes_expression(f)
            words = set(re.findall(r"\w+", used)) | {"comm"}
            conversions = [c for c in conversions if re.search(r"(\w+) =", c)[1] in words]
        lines += ["    " + c for c in conversions]
        lines.append(call_object(f, "&request"))
        if f.kind in ("served", "started", "initialized"):
            lines += is_served(f, [*([] if f.kind == "served" else [f"*f_request = {from_c('MPI_Request', 'request')};"]),
                                   "*ierror = call.served(*d);", "return;"])
        lines += [f"    next.get()({', '.join(passed + ['ierror'])});",
                  *caught([f"    call.passed(*ierror, [&] {{ return {bytes_expression(f)}; }});"], ["*ierror = call.raised(e);"])]
    lines.append("}")
    for alias in names[1:4]:
        lines.append(f'void {alias}({types}) __attribute__((alias("{names[0]}")));')
    for f08 in names[4:]:
        lines += [f"void {f08}({declaration}) {{",
                  f"    if ({stands_in(f)}) [[likely]] return {names[0]}({', '.join(passed + ['ierror'])});",
                  f'    static constinit fanlight::Next<void (*)({types})> next("{f08}");',
                  f"    next.get()({', '.join(passed + ['ierror'])});", "}"]
    return "\n".join(lines)
