"""`fanlight count`."""

from __future__ import annotations

from rich.console import Console

from . import _core
from .tables import table
from .units import format_bytes, format_seconds


def show(algorithms, problem_of, console: Console):
    problems = [problem_of(a) for a in algorithms]
    numbers = ["rounds", "depth", "messages", "signals", "bytes", "combined"]
    between = [f"{what} between {where}" for where in domains(problems[0].levels) for what in ("messages", "bytes")]
    numbers += [*between, "model's time"]
    t = table("algorithm", *numbers, numbers=tuple(numbers))
    for a, problem in zip(algorithms, problems):
        if why := a.restriction(problem):
            t.add_row(a.name, f"({why})")
            continue
        c = _core.count(a.name, problem)
        cells = [c[k] for k in ("rounds", "depth", "messages", "signals")]
        cells += [format_bytes(c[k]) for k in ("bytes", "combined")]
        for level in c["between"]:
            cells += [level["messages"] + level["signals"], format_bytes(level["bytes"])]
        t.add_row(a.name, *map(str, cells), format_seconds(_core.cost(a.name, problem)))
    console.print(t)


def domains(levels: int) -> list[str]:
    return ["nodes", *(f"domains of level {i}" for i in range(1, levels))][:levels]
