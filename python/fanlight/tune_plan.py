"""What `fanlight tune` measures: numbers of ranks, operations, sizes, and the algorithms that may win."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from . import this_machine
from .bench_limits import ALL_IN, ALL_OUT

# Its sizes a rule can ask for.
OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "allgatherv", "gather", "scatter",
              "alltoall", "reduce_scatter_block", "reduce_scatter")
# No rank knows the lengths of all others here: one rule for all sizes, unless there are two ranks, which know what goes between them.
OF_ANY_SIZE = ("gatherv", "scatterv", "alltoallv", "neighbor_allgather", "neighbor_alltoall")
# From the call to the end of MPI_Wait; at every other size.  Not of neighborhoods: on two ranks, where both neighbors are
# one rank, Open MPI's take their blocks in another order than the blocking ones, so that no result can be checked.
NON_BLOCKING = tuple(f"i{name}" for name in (*OPERATIONS, *OF_ANY_SIZE) if not name.startswith("neighbor"))
ALL = (*OPERATIONS, *OF_ANY_SIZE, *NON_BLOCKING)
SIZES = "8,64,512,4K,16K,64K,256K,1M,4M"
FINALISTS = 4      # with the built-in rules' choice no more than bench/tune.c measures to the end
MEMORY = 64 << 20  # of a rank's buffers


@dataclass
class Cell:
    operation: str
    size: int
    candidates: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return self.operation, self.size


def is_blocking(operation: str) -> bool:
    return operation not in NON_BLOCKING


def collective(operation: str) -> str:
    """allreduce, of iallreduce as well."""
    return operation if is_blocking(operation) else operation[1:]


def rule_name(operation: str) -> str:
    return collective(operation).replace("_", "-")


def has_sizes(operation: str, ranks: int) -> bool:
    """Whether its rules can ask for the size."""
    return collective(operation) != "barrier" and (ranks == 2 or collective(operation) not in OF_ANY_SIZE)


def numbers_of_ranks(cores: int, cpus: list[int]) -> list[int]:
    """All cores, half, one socket, one NUMA domain, one L3, as they exist; and an odd number."""
    sockets, l3s, _, _, _ = this_machine.structure(cpus)
    numas = {tuple(sorted(set(cpus) & group)) for group in this_machine.numa_domains()} - {()}
    numbers = {cores, cores // 2, cores // max(sockets, 1), cores // max(len(numas), 1), cores // max(sockets * l3s, 1)}
    odd = cores * 3 // 4
    numbers.add(odd - (odd % 2 == 0))
    return sorted(n for n in numbers if n >= 2) or [2]


def fits(operation: str, size: int, ranks: int) -> bool:
    blocks = ((collective(operation) in ALL_IN) + (collective(operation) in ALL_OUT)) * ranks + 3  # of neighborhoods: two to each side
    return size * blocks + (1 << 16) <= MEMORY and size * ranks < 1 << 31


def _variants(a, size: int, ranks: int) -> list[str]:
    """Its parameters' values that may make a difference; the default first."""
    texts = [a.name]
    if "degree" in a.parameters:
        texts += [f"{a.name}(degree={d})" for d in (1, 3, 4, 8) if d < ranks]
    if "shift" in a.parameters and ranks > 2:
        texts.append(f"{a.name}(shift=1)")
    if a.pipelined:
        texts += [f"{a.name}(piece={p}K)" for p in (16, 64) if size > p << 10]
    return texts


def _schedules(core, operation: str, text: str, size: int, ranks: int) -> str | None:
    """What all ranks do, as text: two algorithms that do the same are one.  None: it does not serve so many."""
    a, parameters = core.parse_choice(operation, text)
    lengths_first = ("degree",) if operation in OF_ANY_SIZE else ()  # of what lengths may do
    own = [parameters.get(p, 0) for p in ("piece", "minimum", "once", *lengths_first)]
    try:
        problem = core.Problem(operation, ranks, bytes=size, element=8 if size % 8 == 0 else 1, **parameters)
        all_of = core.schedules(a.name, problem)
    except ValueError:
        return None
    return repr((a.pipelined, own, [(s.scratch_bytes, s.rounds) for s in all_of]))


def built_in(core, operation: str, size: int, ranks: int, mpi: str, run: dict) -> str:
    """What the built-in rules say, with what a run has said of itself."""
    chosen = core.choose(rule_name(operation), size, ranks, nodes=run["nodes"], oversubscribed=run["oversubscribed"],
                         single_copy=run["single_copy"] is not False, mpi=mpi, blocking=is_blocking(operation))
    return chosen_text(chosen)


def chosen_text(chosen: dict) -> str:
    given = [f"{p}={v}" for p, v in chosen["parameters"].items() if p in ("degree", "piece", "shift", "minimum", "once") and v]
    return chosen["algorithm"] + (f"({','.join(given)})" if given else "")


def candidates(core, operation: str, size: int, ranks: int, levels: bool, by_rule: str = "") -> list[str]:
    """What the built-in rules say is the first of those that do the same, and of all: it is measured to the end."""
    name, found, seen = rule_name(operation), [], set()
    texts = [by_rule] if by_rule not in ("", "native") else []
    for a in core.algorithms(name):
        if not ((a.power_of_two and ranks & (ranks - 1)) or (a.even and ranks % 2) or (a.levels and not levels)):
            texts += _variants(a, size, ranks)
    for text in texts:
        # Large machines: the text of all schedules is long, and few of them are the same.
        does = text if ranks > 32 else _schedules(core, name, text, size, ranks)
        if does is not None and does not in seen:
            seen.add(does)
            found.append(text)
    return found[:60]


def cells(core, operations: list[str], sizes: list[int], ranks: int, levels: bool, by_rule=lambda operation, size: "") -> list[Cell]:
    made = []
    for operation in operations:
        for size in [8] if collective(operation) == "barrier" else sizes if is_blocking(operation) else sizes[::2]:
            if fits(operation, size, ranks):
                made.append(Cell(operation, size, candidates(core, operation, size, ranks, levels, by_rule(operation, size))))
    return made


def has_levels(cpus: list[int]) -> bool:
    sockets, l3s, _, _, _ = this_machine.structure(cpus)
    return sockets * l3s > 1 or len(this_machine.numa_domains()) > 1 or int(os.environ.get("SLURM_NNODES", 1)) > 1


def text_of(cells_: list[Cell]) -> str:
    """As bench/tune.c reads it."""
    return "".join(f"cell {c.operation} {c.size}\n" + "".join(f"{name}\n" for name in c.candidates) for c in cells_)
