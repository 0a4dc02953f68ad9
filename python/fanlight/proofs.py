"""`fanlight verify`: the cases that an algorithm is proved for."""

from __future__ import annotations

from rich.console import Console

from . import _core
from .tables import progress_bar, table


# Values of the parameters that change schedules, besides the defaults.
UNUSUAL = {"degree": 1, "minimum": 2, "shift": 3}
# Nodes, and domains in them, of algorithms that depend on the topology.
TOPOLOGIES = ["2x*", "2x2x*:cyclic"]


def cases(algorithm, size: int, topology: str = ""):
    """The problems of one number of ranks: every root, an operator that commutes and one that
    does not, one element and several, for v forms blocks of different lengths with empty ones, and the
    parameters that the algorithm takes."""
    operation = algorithm.operation
    roots = range(size) if _core.is_rooted(operation) else [0]
    commutes = [True, False] if _core.is_reduction(operation) else [True]
    for root in roots:
        for commutative in commutes:
            common = dict(root=root, commutative=commutative)
            if operation == "barrier":
                lengths = [dict(bytes=0)]
            elif operation == "alltoallv":
                lengths = [dict(blocks=[(r * 5 + s * 3) % 7 for r in range(size) for s in range(size)]), dict(bytes=4)]
            elif _core.has_blocks_v(operation):
                element = 4 if _core.is_reduction(operation) else 1
                lengths = [dict(blocks=[(r * 5 + 3) % 7 * element for r in range(size)], element=element), dict(bytes=4)]
            elif _core.is_reduction(operation):
                lengths = [dict(bytes=4, element=4), dict(bytes=(2 * size + 1) * 4, element=4)]
            else:
                lengths = [dict(bytes=1), dict(bytes=2 * size + 1)]
            for length in lengths:
                for parameters in [dict(topology=topology), *(dict([p]) for p in UNUSUAL.items() if p[0] in algorithm.parameters),
                                   *(dict(topology=t) for t in TOPOLOGIES if algorithm.levels)]:
                    problem = _core.Problem(operation, size, **common, **length, **parameters)
                    if not algorithm.restriction(problem):
                        yield problem


def run(algorithms, sizes: range, calls: int, console: Console) -> int:
    """Prints a table; the number of algorithms with a fault, or 1 where nothing was to be proved."""
    t = table("operation", "algorithm", "cases", "result", numbers=("cases",))
    faulty = proved = 0
    with progress_bar(console) as progress:
        # The work grows with the square of the ranks, and for every root again.
        task = progress.add_task("", total=len(algorithms) * sum(sizes))
        for a in algorithms:
            progress.update(task, description=f"{a.operation} {a.name}")
            done = 0
            fault = ""
            for size in sizes:
                for problem in cases(a, size):
                    done += 1
                    if found := _core.verify(a.name, problem, calls=calls):
                        fault = (f"{size} ranks" + (f", root {problem.root}" if _core.is_rooted(a.operation) else "")
                                 + f", {problem.bytes} bytes: " + "; ".join(found[:3]))
                        break
                if fault:
                    break
                progress.advance(task, size)
            faulty += bool(fault)
            proved += done
            why = "" if done else a.restriction(_core.Problem(a.operation, sizes.start, bytes=1))
            t.add_row(a.operation, a.name, str(done), f"wrong: {fault}" if fault else "right" if done else f"none: {why}")
    console.print(t)
    console.print(f"{len(algorithms)} algorithm{'s' * (len(algorithms) != 1)}, {sizes.start}{f' to {sizes.stop - 1}' * (len(sizes) > 1)} ranks: "
                  + (f"{faulty} wrong" if faulty else "all right" if proved else "nothing was to be proved"), highlight=False)
    return faulty or not proved
