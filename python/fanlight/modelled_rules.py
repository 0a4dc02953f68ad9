"""`fanlight simulate --rules`: the selection's rules for numbers of ranks on a node that nobody has measured.

A program cannot ask the model itself: one answer takes milliseconds to seconds, and a decision is due in the middle of a call.
So the rules are computed here, from the machines whose numbers have sources, and are text like all others.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

from .simulation import Question, machine_named
from .tune_statistics import CHANGE_COSTS, ranges
from .units import format_bytes

OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "allgatherv", "gather", "scatter", "alltoall",
              "reduce-scatter-block", "reduce-scatter")
CASES = (("icx2x32", 64), ("milan2x48", 48), ("genoa", 48), ("rome2x64", 64), ("milan2x48", 96), ("rome2x64", 128), ("grace4x72", 72),
         ("grace4x72", 144), ("grace4x72", 288))
FIRST = 33  # up to 32 ranks the rules were measured
RANKS = ((FIRST, 64), (65, 128), (129, None))
SIZES = (8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20)
MOST_BYTES = 32 << 20  # of all blocks together
ALL_BLOCKS = ("allgather", "allgatherv", "gather", "scatter", "alltoall", "reduce-scatter-block", "reduce-scatter")
NEVER = 1 << 62
# What is long is read where it is, or else staged in pieces: which of both a program finds at its start.
TRANSFERS = ({}, {"copied_once": NEVER})


def within(ranks: tuple[int, int | None], n: int) -> bool:
    return ranks[0] <= n <= (ranks[1] or n)


def sizes_of(operation: str, most: int) -> list[int]:
    if operation == "barrier":
        return [8]
    return [s for s in SIZES if operation not in ALL_BLOCKS or s * most <= MOST_BYTES]


def ways(question: Question):
    """What applies to any number of ranks; by levels with those that a program finds on such a machine."""
    topology = question.machine.topology(question.ranks, 1)
    for a in question.core.algorithms(question.operation):
        if not (a.power_of_two or a.even or a.commutative):
            yield a, {}, topology if a.levels else "", ""


def losses(operation: str, size: int, cases: list[tuple[str, int]]) -> dict[str, float]:
    """How many times as long as the best one each algorithm takes: the geometric mean over machines, and both ways of moving data."""
    logs: dict[str, list[float]] = {}
    for machine, ranks in cases:
        for transfer in TRANSFERS if size >= 32768 else TRANSFERS[:1]:
            question = Question(operation, ranks, machine_named(machine), 1, **transfer)
            times = {way[0].name: question.ask(way, size)["seconds"] for way in ways(question)}
            best = min(times.values())
            for name, seconds in times.items():
                logs.setdefault(name, []).append(math.log(seconds / best))
    return {name: math.exp(sum(of) / len(of)) for name, of in logs.items()}


def choose(cells: list[dict[str, float]]) -> list[str]:
    """One algorithm for each size, together the least loss, where a change from size to size costs."""
    paths = {name: (math.log(loss), [name]) for name, loss in cells[0].items()}
    for cell in cells[1:]:
        paths = {name: min(((cost + math.log(loss) + (math.log(CHANGE_COSTS) if path[-1] != name else 0), [*path, name])
                            for cost, path in paths.values()), key=lambda x: x[0]) for name, loss in cell.items()}
    return min(paths.values(), key=lambda x: x[0])[1]


def rules_of(operation: str, ranks: tuple[int, int | None], cells: dict[int, dict[str, float]], cases: list[tuple[str, int]]) -> list[str]:
    sizes, lines = list(cells), []
    found = ranges(sizes, choose(list(cells.values())))
    for first, last, name, inside in found:
        of = [cells[s][name] for s in inside]
        conditions = [f"ranks={ranks[0]}..{ranks[1] or ''}", "nodes=..1"]
        if operation != "barrier" and len(found) > 1:
            bound = lambda n: format_bytes(n) if n % 1024 == 0 else str(n)  # noqa: E731
            conditions.append(f"bytes={bound(first) if first > sizes[0] else ''}..{bound(last) if last < sizes[-1] else ''}")
        # A sum's last bits must not depend on how many cores there are.
        if operation not in REDUCTIONS:
            conditions.append("oversubscribed=no")
        lines.append(f"{operation:<21} {' '.join(conditions):<52} -> {name:<26} # by the model, at most {max(of):.2f} times as long as the best: "
                     + ", ".join(f"{m} {n}" for m, n in cases))
    return lines


REDUCTIONS = ("reduce", "allreduce", "scan", "exscan", "reduce-scatter-block", "reduce-scatter")

HEAD = """\
# Rules for more ranks on a node than anybody has measured.  Written by `fanlight simulate --rules`; do not change by hand.
# In each range of sizes the algorithm with the least loss over these machines, with data read where it is and with data staged.
"""


def text(operations, progress=None) -> str:
    jobs = []
    for operation in operations:
        for ranks in RANKS:
            cases = [c for c in CASES if within(ranks, c[1])]
            jobs += [(operation, ranks, cases, size) for size in sizes_of(operation, max(n for _, n in cases))]
    task = progress.add_task("", total=len(jobs)) if progress else None

    def job(of):
        operation, _, cases, size = of
        found = losses(operation, size, cases)
        if progress:
            progress.update(task, advance=1, description=f"{operation} {format_bytes(size)}")
        return found

    # The longest first, so that no one is left alone with them.
    order = sorted(range(len(jobs)), key=lambda i: -(jobs[i][3] * jobs[i][1][0]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        by_job = dict(zip(order, pool.map(lambda i: job(jobs[i]), order)))
    lines: list[str] = []
    for operation in operations:
        for ranks in RANKS:
            mine = [i for i, j in enumerate(jobs) if j[:2] == (operation, ranks)]
            lines += rules_of(operation, ranks, {jobs[i][3]: by_job[i] for i in mine}, jobs[mine[0]][2])
    return HEAD + "\n".join(lines) + "\n"
