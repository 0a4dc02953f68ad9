"""Heat conduction in a box with one hot side: slabs of a 3-D field on all ranks, and a picture of the middle.

    mpiexec -n 4 python heat.py [heat.png]          (fanlight run -n 4 python heat.py)
"""
import sys

import numpy as np
from mpi4py import MPI

import fanlight

comm = MPI.COMM_WORLD
n, steps, rate = 48, 400, 0.15  # cells in each direction; rate = diffusivity * time step / cell size ** 2, below 1/6

with fanlight.global_array(comm, (n, n, n), halo=1) as field:
    first, last = field.rows(comm.rank)
    field.local[:, :, 0] = 1.0  # the hot side; the other sides stay at 0
    inside = slice(1 + (first == 0), last - first + (last < n))  # the first and the last plane of the box stay, too
    for step in range(steps):
        field.exchange()
        t = field.padded
        center, rows = t[inside, 1:-1, 1:-1], inside.stop - inside.start
        below, above = t[inside.start - 1:inside.stop - 1, 1:-1, 1:-1], t[inside.start + 1:inside.stop + 1, 1:-1, 1:-1]
        sides = t[inside, :-2, 1:-1] + t[inside, 2:, 1:-1] + t[inside, 1:-1, :-2] + t[inside, 1:-1, 2:]
        change = rate * (below + above + sides - 6 * center)
        largest = fanlight.allreduce(comm, np.abs(change).max(initial=0.0), MPI.MAX) if step % 100 == 99 else None
        center += change
        if largest is not None and comm.rank == 0:
            print(f"step {step + 1}: the largest change is {largest:.2e}")
    middle, counts = fanlight.allgatherv_any(comm, np.ascontiguousarray(field.local[:, n // 2]))
    del t, center, below, above  # views of the field, which is freed now

if comm.rank == 0:
    print(f"mean of the middle: {middle.mean():.6f}")
    if len(sys.argv) > 1:
        import matplotlib.pyplot as plot

        plot.imshow(middle, origin="lower", cmap="inferno")
        plot.colorbar(label="temperature")
        plot.savefig(sys.argv[1], dpi=120)
