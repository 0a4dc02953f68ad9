"""`fanlight count`."""

from __future__ import annotations

from rich.console import Console

from . import _core
from .tables import table
from .units import format_bytes, format_seconds


def show(algorithms, problem_of, ranks_per_node: int, console: Console):
    numbers = ["rounds", "depth", "messages", "signals", "bytes", "combined"]
    if ranks_per_node:
        numbers += ["messages between nodes", "bytes between nodes"]
    t = table("algorithm", *numbers, "model's time", numbers=(*numbers, "model's time"))
    for a in algorithms:
        problem = problem_of(a)
        if why := a.restriction(problem):
            t.add_row(a.name, f"({why})")
            continue
        c = _core.count(a.name, problem, ranks_per_node)
        cells = [format_bytes(c[k]) if "bytes" in k or k == "combined" else str(c[k])
                 for k in (n.replace(" ", "_") for n in numbers)]
        t.add_row(a.name, *cells, format_seconds(_core.cost(a.name, problem, ranks_per_node)))
    console.print(t)
