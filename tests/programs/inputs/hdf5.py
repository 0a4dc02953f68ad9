"""Data sets that all ranks write together into one HDF5 file and read again."""

import h5py
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
LENGTH = 3000
with h5py.File("data.h5", "w", driver="mpio", comm=comm) as file:
    for step in range(20):
        rows = file.create_dataset(f"{step}/rows", (comm.size, LENGTH), dtype="f8")
        with rows.collective:
            rows[comm.rank] = numpy.arange(LENGTH) * (comm.rank + 1) + step
        columns = file.create_dataset(f"{step}/columns", (LENGTH, comm.size), dtype="i4", chunks=(500, 1))
        with columns.collective:
            columns[:, comm.rank] = numpy.arange(LENGTH) + comm.rank
        rows.attrs["step"] = step
comm.Barrier()
total = 0.0
with h5py.File("data.h5", "r", driver="mpio", comm=comm) as file:
    for step in range(20):
        rows = file[f"{step}/rows"]
        with rows.collective:
            total += rows[(comm.rank + 1) % comm.size].sum() * (step + 1)
        total += file[f"{step}/columns"][:, comm.rank].sum()
totals = comm.allgather(total)
if comm.rank == 0:
    print(*totals)
