"""`fanlight simulate --rules`: the selection's rules for more ranks on a node than anybody has measured, by the model.

A program cannot ask the model itself: one answer takes up to seconds.  So the rules are computed here, from the machines
whose numbers have sources, and are text like all others, which all ranks have alike.
"""

from __future__ import annotations

import functools
import math
import os
import re
import tempfile
import textwrap
import timeit
from concurrent.futures import ProcessPoolExecutor

from . import _core
from .bench_limits import ALL_IN, ALL_OUT
from .tune_statistics import cheapest, ranges
from .units import exact_bytes

# No reductions: their last bits must not depend on whether ranks have cores of their own, and with fewer these were measured.
OPERATIONS = ("barrier", "bcast", "allgather", "gather", "scatter", "alltoall")
BANDS = ((17, 32), (33, 64), (65, None))
LARGEST = ((512, "8x8x8"), (512, ""))  # nodes for which rules without an end are planned, too
CASES = (("icx2x32", 32), ("milan2x48", 24), ("genoa", 24), ("rome2x64", 32),
         ("icx2x32", 64), ("milan2x48", 48), ("genoa", 48), ("rome2x64", 64), ("milan2x48", 96), ("rome2x64", 128), ("grace4x72", 72),
         ("grace4x72", 144), ("grace4x72", 288))
SIZES = (8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 8 << 20)
DIRECT = 32768  # from here on it matters how a peer's memory is read: in place, by a system call, or by way of staging
MOST_BYTES = 32 << 20   # of a rank's blocks together
MOST_PLANNING = 1e-3    # seconds to plan one call
MARGIN = 1.25           # so much faster a rule must be than what it replaces: the model's own error
LOSS = 1.1              # and so much slower at most on any of the machines
# The kernel serves one caller at a time where many copy to or from one rank's memory, which the model does not know.
MOST_THAT_STAGE = 32  # so many read nothing from one rank by the kernel (execute/planner.cpp)
AT_ONE_RANK = ("one-to-all", "read-and-write", "all-read-root", "all-write-root")
PRESENT = ""
HEAD = """\
# Rules for more ranks on a node than were measured.  Written by `fanlight simulate --rules`, with what each gains over the
# rules below by the model: the geometric mean, and the least of all machines and sizes.
"""


@functools.cache
def machine(name: str, called: bool = False):
    text = dict(_core.machines())[name]
    return _core.Machine(name, re.sub("^ranks ", "ranks call=0.5us copied=10G ", text, flags=re.MULTILINE) if called else text)


def problem(operation: str, size: int, ranks: int, topology: str, parameters: dict, rank: int = 0):
    return _core.Problem(operation, ranks, rank=rank, bytes=0 if operation == "barrier" else size, topology=topology, **parameters)


def ways(operation: str):
    """What serves any number of ranks, with parameters."""
    for a in _core.algorithms(operation):
        if not (a.power_of_two or a.even):
            yield from ((a, {"degree": degree} if degree else {}) for degree in ((0, 4, 8) if "degree" in a.parameters else (0,)))


def text_of(name: str, parameters: dict) -> str:
    return " ".join([name, *(f"{k}={v}" for k, v in parameters.items() if v)])


@functools.cache
def written_rules() -> tempfile._TemporaryFileWrapper:
    """Those that are not the model's."""
    text = _core.built_in_rules()
    file = tempfile.NamedTemporaryFile("w", suffix=".rules")
    file.write(text[text.index("# The built-in selection rules"):])
    file.flush()
    return file


def can_be_planned(a, p, single_copy: bool) -> bool:
    try:
        return min(timeit.repeat(lambda: _core.plan(a.name, p, single_copy), number=1, repeat=3)) <= MOST_PLANNING
    except ValueError:
        return False


def times(operation: str, size: int, name: str, ranks: int) -> dict[bool, dict[str, list[float]]]:
    """By whether data is copied once: seconds of all that can be chosen, and of what is, for each way to copy, where a program
    finds the machine's levels and where it finds none (in a virtual machine)."""
    topology, together = machine(name).topology(ranks, 1), size * (ranks if operation in ALL_IN + ALL_OUT else 1)
    how = {"short": (False, {}), "staged": (False, {"copied_once": 1 << 62}), "mapped": (False, {}), "called": (True, {})}

    @functools.cache
    def seconds(algorithm: str, parameters: tuple, move: str, topology: str) -> float:
        called, transfer = how[move]
        return _core.simulate(algorithm, problem(operation, size, ranks, topology, dict(parameters)), machine(name, called), 1, **transfer)["seconds"]

    def of(algorithm: str, parameters: dict, single_copy: bool) -> list[float]:
        moves = ("short",) if together < DIRECT else ("mapped", "called") if single_copy else ("staged",)
        seen = (topology, "") if levels[algorithm] else (topology,) * 2
        return [seconds(algorithm, tuple(parameters.items()), move, t) for move in moves for t in seen]

    levels = {a.name: a.levels for a in _core.algorithms(operation)}
    found: dict[bool, dict[str, list[float]]] = {True: {}, False: {}}
    for single_copy, into in found.items():
        for a, parameters in ways(operation):
            many_callers = a.name in AT_ONE_RANK and single_copy and together >= DIRECT and not (operation == "bcast" and ranks <= MOST_THAT_STAGE)
            nodes = [(ranks, topology), (ranks, ""), *(LARGEST if ranks >= BANDS[-1][0] else ())]
            planned = {"element": 8, **parameters}  # of long elements, between which messages are cut
            if not many_callers and all(can_be_planned(a, problem(operation, size, *node, planned), single_copy) for node in nodes):
                into[text_of(a.name, parameters)] = of(a.name, parameters, single_copy)
        now = _core.choose(operation, 0 if operation == "barrier" else size, ranks, single_copy=single_copy, rules=written_rules().name)
        into[PRESENT] = of(now["algorithm"], {k: v for k, v in now["parameters"].items() if v}, single_copy)
    return found


def ratios(cases: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Of what can be chosen on all machines and loses much on none: its times over those of what is chosen now."""
    found = {name: [a / b for case in cases for a, b in zip(case[name], case[PRESENT])] for name in set.intersection(*map(set, cases))}
    return {name: of for name, of in found.items() if max(of) <= LOSS}


def mean(of: list[float]) -> float:
    return math.exp(sum(map(math.log, of)) / len(of))


def chosen(cells: list[dict[str, list[float]]]) -> list[str]:
    """One for each size, PRESENT where no other is better by the margin."""
    return cheapest([{name: math.log(mean(of) * (1 if name == PRESENT else MARGIN)) for name, of in sorted(cell.items())} for cell in cells])


def cases_in(band: tuple[int, int | None]) -> list[tuple[str, int]]:
    return [c for c in CASES if band[0] <= c[1] <= (band[1] or c[1])]


def sizes_in(operation: str, band: tuple[int, int | None]) -> list[int]:
    most = max(ranks for _, ranks in cases_in(band)) if operation in ALL_IN + ALL_OUT else 1
    return [8] if operation == "barrier" else [s for s in SIZES if s * most <= MOST_BYTES]


def rules_of(operation: str, band: tuple[int, int | None], results: dict) -> dict:
    """By algorithm and condition its gains over what is chosen now."""
    sizes = sizes_in(operation, band)
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for single in (True, False):
        cells = [ratios([results[(operation, size, *case)][single] for case in cases_in(band)]) for size in sizes]
        for first, last, name, inside in ranges(sizes, chosen(cells)):
            # Beyond what was asked the rules below stay.
            length = (exact_bytes(first) if first > sizes[0] else "") + ".." + (exact_bytes(last) if last < SIZES[-1] and operation != "barrier" else "")
            conditions = f"ranks={band[0]}..{band[1] or ''} nodes=..1 oversubscribed=no" + (f" bytes={length}" if length != ".." else "")
            found.setdefault((name, conditions), {})[single] = [1 / r for size in inside for r in cells[sizes.index(size)][name]]
    only = lambda by_single: f" single_copy={'yes' if True in by_single else 'no'}" if len(by_single) == 1 else ""  # noqa: E731
    return {(name, conditions + only(by_single)): sum(by_single.values(), []) for (name, conditions), by_single in found.items()}


def everything(operations, progress) -> dict:
    """The times of all, by operation, size, machine and ranks."""
    jobs = [(operation, size, *case) for operation in operations for band in BANDS for case in cases_in(band) for size in sizes_in(operation, band)]
    jobs.sort(key=lambda job: -job[3])  # the longest first, so that none is left alone with them
    task, found = progress.add_task("", total=len(jobs)), {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for job, result in zip(jobs, pool.map(times, *zip(*jobs))):
            found[job] = result
            progress.update(task, advance=1, description=f"{job[0]} {exact_bytes(job[1])}")
    return found


def text(operations, progress) -> str:
    results, lines, gains = everything(operations, progress), [], {}
    for operation in operations:
        for band in BANDS:
            for (name, conditions), of in rules_of(operation, band, results).items():
                gains.setdefault(operation, []).extend(of)
                if name != PRESENT:
                    lines.append(f"{operation:<21} {conditions:<75} -> {name:<28} # {mean(of):.2f} times as fast, {min(of):.2f} at least")
    over_all = ", ".join([*(f"{operation} {mean(of):.2f}" for operation, of in gains.items()), f"together {mean(sum(gains.values(), [])):.2f}"])
    return HEAD + "\n".join(textwrap.wrap(f"Over all that was asked, also where the rules below stay: {over_all}.", 118, initial_indent="# ",
                                          subsequent_indent="# ")) + "\n" + "\n".join(lines) + "\n"
