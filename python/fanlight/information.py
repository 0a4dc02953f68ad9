"""`fanlight info`."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from . import _core, bench_run, libraries, machine, mpis
from .errors import FanlightError
from .tables import table
from .units import format_bytes


def found_mpis() -> list[mpis.Mpi]:
    found = []
    for variable in ("MPI_LIB_NRN_PATH", "MPI4PY_LIBMPI"):
        if (path := os.environ.get(variable)) and Path(path).is_file():
            with contextlib.suppress(mpis.UnknownAbi):
                found.append(mpis.from_library(Path(path), f"{variable} names it"))
    found += [mpis.from_library(library, f"in the environment of {sys.executable}")
              for library in mpis.libraries_in(Path(sys.prefix)) if Path(sys.prefix) != Path("/usr")]
    found += mpis.on_path()
    found += [mpis.find_mpi(program) for program in bench_run.built_programs().values()]
    distinct = {}
    for mpi in found:
        if mpi is not None:
            distinct.setdefault(mpi.library.resolve(), mpi)
    return list(distinct.values())


def _mpis(console: Console):
    t = table("MPI", "", "", title="MPI libraries", show_header=False)
    found = found_mpis()
    for mpi in found:
        try:
            preload = str(libraries.preload_for(mpi.abi))
        except FanlightError:
            preload = f"missing: {libraries.FILES[mpi.abi]}"
        name = " ".join(mpi.product()).strip() + (" (standard ABI)" if mpi.abi == "abi" else "")
        for what, value in (("library", mpi.library), ("launcher", mpi.launcher or "none"), ("preload", preload),
                            ("found by", mpi.found_by)):
            t.add_row(name, what, escape(str(value)))
            name = ""
        t.add_section()
    try:
        heap = str(libraries.shared_heap())
    except FanlightError:
        heap = f"missing: {libraries.HEAP}"
    t.add_row("for all", "shared heap", escape(heap))
    if found:
        console.print(t)
    else:
        console.print("[bold]MPI libraries[/]\n  none on the PATH or in this Python's environment "
                      "(`fanlight run` also looks where the program itself looks)\n")


def waiting_policy() -> list[str]:
    """For a few numbers of ranks on this node, how they would wait."""
    cores = _core.cores_report()["usable"]
    lines = []
    for ranks in dict.fromkeys((max(2, cores), 2 * cores)):
        if ranks > 1:
            lines.append(f"{ranks} ranks: {_core.waiting_policy(ranks)}")
    return lines


def _node(console: Console):
    cores = _core.cores_report()
    t = table("", "", title="This node", show_header=False)
    t.add_row("node", f"{platform.node()}, {machine.processor()}, {os.cpu_count()} cores")
    t.add_row("usable cores", f"{cores['usable']} (affinity mask: {cores['affinity'] or 'not readable'}; "
              + (f"cgroup: {cores['quota']:g} by {cores['quota_file']}" if cores["quota"] else "no limit by a cgroup")
              + (f"; FANLIGHT_CORES: {cores['forced']}" if cores["forced"] else "") + ")")
    t.add_row("waiting", "\n".join(waiting_policy()))
    memory = machine.shared_memory()
    t.add_row("shared memory", memory.problem or
              f"/dev/shm: {format_bytes(memory.free)} free of {format_bytes(memory.total)}")
    why_not = machine.single_copy()
    t.add_row("single copy", f"not allowed: {escape(why_not)}" if why_not else
              "allowed: a process may read the memory of another one of the same user")
    console.print(t)


def _settings(console: Console):
    t = table("variable", "type", "default", "now", "meaning", title="Settings (environment variables)")
    for s in _core.settings():
        t.add_row(s.variable, s.type, escape(s.default), escape(os.environ.get(s.variable, "")), escape(s.help))
    console.print(t)


def show(console: Console):
    _mpis(console)
    _node(console)
    _settings(console)
