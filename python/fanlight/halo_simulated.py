"""The DART paper's halo exchange by the model of its machine: blocking gets from six neighbors, each direction with a barrier.

The text gives the gets (figure 5), 5000 iterations, 64 x 64 x 128 cells on 16 cores and as many on each of more, ranks that fill
a node before the next, and the times on one node: 0.76 s with DART, 1.85 s with MPI's RMA.  The shape of a core's part is
taken as a cube, and what MPI_Rget and MPI_Wait add to a load is what these two times leave for each get.
"""

from __future__ import annotations

import math

from rich.console import Console

from . import _core
from .simulation import machine_named
from .tables import table

NAME = "dart-halo"
MACHINE, CORES_USED, ITERATIONS, CELL = "hornet", 24, 5000, 8
RANKS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
EDGE = 32  # cells of a part, in each direction
ON_A_NODE = {"DART": 0.76, "MPI RMA": 1.85}
AVERAGE = 1.38
# Gets for one face, and cells in each, by direction: along x, y, z.
FACES = ((EDGE, EDGE), (EDGE, EDGE), (EDGE * EDGE, 1))


def grid(ranks: int) -> tuple[int, int, int]:
    """Powers of two, as near to each other as can be; the most along z, as the cells on 16 cores have it."""
    bits = ranks.bit_length() - 1
    return 1 << bits // 3, 1 << (bits + 1) // 3 if bits % 3 == 2 else 1 << bits // 3, 1 << -(-bits // 3)


def get_seconds(machine, nbytes: int, nodes: int) -> float:
    """One that the origin waits for: in a node a load, a read of the neighbor's memory without the flag before it; between
    nodes it asks first, and is answered."""
    problem = _core.Problem("bcast", 2, bytes=nbytes)
    read = lambda inlined: _core.simulate("one-to-all", problem, machine, nodes, inlined=inlined, copied_once=0)["seconds"]  # noqa: E731
    return read(0) + machine.network["latency"] if nodes > 1 else read(0) - read(nbytes)


def exchange(machine, ranks: int) -> dict[str, float]:
    """Seconds of an iteration: the gets of the rank that has the longest in each direction, by where the neighbor is, and the barriers."""
    shape = grid(ranks)
    assert math.prod(shape) == ranks
    place = lambda r: (r // (shape[1] * shape[2]), r // shape[2] % shape[1], r % shape[2])  # noqa: E731
    strides = shape[1] * shape[2], shape[2], 1
    near = far = 0.0
    gets_near = 0
    for axis, (number, cells) in enumerate(FACES):
        if shape[axis] == 1:
            continue
        crosses = any(r // CORES_USED != (r + strides[axis]) // CORES_USED for r in range(ranks) if place(r)[axis] + 1 < shape[axis])
        seconds = 2 * number * get_seconds(machine, cells * CELL, 2 if crosses else 1)
        if crosses:
            far += seconds
        else:
            near += seconds
            gets_near += 2 * number
    barrier = _core.simulate("dissemination", _core.Problem("barrier", ranks), machine, -(-ranks // CORES_USED))["seconds"]
    return {"near": near, "far": far, "gets_near": gets_near, "barriers": 6 * barrier}


def run(console: Console) -> dict:
    machine = machine_named(MACHINE)
    parts = {n: exchange(machine, n) for n in RANKS}
    one = parts[RANKS[0]]
    added = (ON_A_NODE["MPI RMA"] - ON_A_NODE["DART"]) / ITERATIONS / one["gets_near"]
    rows = []
    for n, p in parts.items():
        dart = ITERATIONS * (p["near"] + p["far"] + p["barriers"])
        rows.append({"ranks": n, "dart": dart, "mpi": dart + ITERATIONS * added * p["gets_near"],
                     "far": p["far"] / (p["near"] + p["far"] + p["barriers"])})
    ratios = [r["mpi"] / r["dart"] for r in rows]
    record = {"paper": NAME, "machine": MACHINE, "added": added, "times": rows, "mean": sum(ratios) / len(ratios)}
    console.print(f"Towards performance portability through locality-awareness\n[dim]Simulated, nothing is measured: machine {MACHINE}[/]", highlight=False)
    t = table("cores", "DART", "MPI RMA", "times faster", "between nodes", title=f"Halo exchange, {ITERATIONS} iterations, s",
              numbers=("cores", "DART", "MPI RMA", "times faster", "between nodes"))
    for r, ratio in zip(rows, ratios):
        t.add_row(str(r["ranks"]), f"{r['dart']:.2f}", f"{r['mpi']:.2f}", f"{ratio:.2f}", f"{r['far']:.0%}")
    console.print(t)
    console.print(f"On one node the paper has {ON_A_NODE['DART']} s and {ON_A_NODE['MPI RMA']} s; what MPI adds to each get, {added * 1e9:.0f} ns, is taken "
                  f"from these.\nOn average the paper has {AVERAGE} times, simulated {record['mean']:.2f}.", highlight=False)
    return record
