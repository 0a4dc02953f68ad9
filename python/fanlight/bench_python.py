"""What the Python interface costs and gives, under an MPI's own launcher:

    mpiexec -n 2 python -m fanlight.bench_python [--quick]

All ways take turns in short blocks; what is printed are medians over the blocks, of times and of their ratios.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Callable, Dict, List

import numpy
from mpi4py import MPI

from . import _mpi, collectives, shared
from .builder import Problem, Schedule
from .own_algorithms import algorithm

comm = MPI.COMM_WORLD


def blocks_of(ways: Dict[str, Callable[[int], float]], blocks: int, calls: int) -> Dict[str, List[float]]:
    """Microseconds of a call, by way and block: of the slowest rank."""
    times: Dict[str, List[float]] = {name: [] for name in ways}
    for block in range(blocks + 1):
        for name, way in list(ways.items())[::-1 if block % 2 else 1]:
            comm.Barrier()
            took = comm.allreduce(way(calls), MPI.MAX) / calls * 1e6
            if block:  # the first one warms up
                times[name].append(took)
    return times


def loop(call: Callable[[], object]) -> Callable[[int], float]:
    def run(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start
    return run


def say(text: str) -> None:
    if comm.rank == 0:
        print(text, flush=True)


def ragged(blocks: int, calls: int) -> None:
    record = numpy.dtype([("gid", "i4"), ("time", "f8")])
    mine = numpy.zeros(3, record)
    element = MPI.BYTE.Create_contiguous(record.itemsize).Commit()

    def two_calls() -> None:
        counts = comm.allgather(len(mine))
        data = numpy.empty(sum(counts), record)
        comm.Allgatherv([mine, len(mine), element], [data, counts, element])

    times = blocks_of({"one": loop(lambda: collectives.allgatherv_any(comm, mine)), "two": loop(two_calls)}, blocks, calls)
    element.Free()
    ratio = median(b / a for a, b in zip(times["one"], times["two"]))
    say(f"ragged allgather, {comm.size} ranks, 3 structured elements each: allgatherv_any {median(times['one']):.2f} us, "
        f"mpi4py's allgather + Allgatherv {median(times['two']):.2f} us, ratio {ratio:.1f}")


def overhead(blocks: int, calls: int) -> None:
    x, out = numpy.ones(1), numpy.empty(1)
    index = collectives._ALLREDUCE

    def unchecked(run: Callable[[int], float]) -> Callable[[int], float]:
        def without(calls: int) -> float:
            collectives.check_arguments(False)
            try:
                return run(calls)
            finally:
                collectives.check_arguments(True)
        return without

    ways = {"C": lambda calls: _mpi.seconds_in_c(index, comm, x, out, MPI.SUM, calls),
            "mpi4py's Allreduce": loop(lambda: comm.Allreduce(x, out)),
            "into an array": loop(lambda: collectives.allreduce(comm, x, MPI.SUM, out)),
            "a new array": loop(lambda: collectives.allreduce(comm, x)),
            "into an array, unchecked": unchecked(loop(lambda: collectives.allreduce(comm, x, MPI.SUM, out)))}
    times = blocks_of(ways, blocks, calls)
    say(f"allreduce of 8 bytes, {comm.size} ranks: fanlight_allreduce in C {median(times['C']):.2f} us")
    for name in list(ways)[1:]:
        more = median(t - c for t, c in zip(times[name], times["C"]))
        say(f"  {name}: {median(times[name]):.2f} us, {more:.2f} us more")


@algorithm("bcast")
def binomial(p: Problem) -> Schedule:
    """Puts down the tree of fanlight's own bcast:binomial, from root 0."""
    s, me, bit = Schedule(p), p.relative(p.rank), 1
    while bit < p.size and not me & bit:
        bit *= 2
    if me:
        s.arrive(p.absolute(me - bit), s.output, p.bytes)
        s.next_round()
    while bit > 1:
        bit //= 2
        if me + bit < p.size:
            s.put(p.absolute(me + bit), s.output if me else s.input, s.output, p.bytes)
    if not me:
        s.copy(s.input, s.output, p.bytes)
    return s


def plans(blocks: int, most_calls: int) -> None:
    def bcast(name: str) -> Callable[[int], float]:
        def run(calls: int) -> float:
            collectives.set_algorithm(comm, name)
            _mpi.seconds_in_c(collectives._BCAST, comm, x, x, MPI.SUM, 4)  # the first one looks for its plan
            comm.Barrier()
            return _mpi.seconds_in_c(collectives._BCAST, comm, x, x, MPI.SUM, calls)
        return run

    with tempfile.TemporaryDirectory() as folder:
        file = comm.bcast(str(Path(folder, "binomial.plan")))
        if comm.rank == 0:
            binomial.save(file, ranks=[comm.size])
        comm.Barrier()
        for size in (8, 1 << 10, 64 << 10, 512 << 10, 4 << 20):
            x = numpy.zeros(size, "u1")
            times = blocks_of({"built in": bcast("bcast:binomial"), "file": bcast(f"bcast:file({file})")}, blocks,
                              max(4, min(most_calls, (32 << 20) // size)))
            ratio = median(b / a for a, b in zip(times["built in"], times["file"]))
            say(f"bcast of {size} bytes, {comm.size} ranks: binomial from a file {median(times['file']):.2f} us, "
                f"built in {median(times['built in']):.2f} us, ratio {ratio:.3f}")
        comm.Barrier()
    collectives.set_algorithm(comm, "")


def resident() -> int:
    """This process's share of the bytes that it has in memory of shared arrays."""
    total, inside = 0, False
    with open("/proc/self/smaps") as maps:
        for line in maps:
            if "-" in line.split()[0]:
                inside = "fanlight-shared-array" in line
            elif inside and line.startswith("Pss:"):
                total += int(line.split()[1]) << 10
    return total


def fill(blocks: int, size: int) -> None:
    source = numpy.ones(size, "u1") if comm.rank == 0 else None
    target = numpy.zeros(size, "u1") if comm.rank == 0 else None
    fills, copies, fresh = [], [], []
    for _ in range(blocks):
        comm.Barrier()
        start = time.perf_counter()
        made = shared.shared_array(comm, size, "u1", fill=source)
        fills.append(time.perf_counter() - start)
        made.array[::4096].sum()
        comm.Barrier()
        together = comm.allreduce(resident())
        if comm.rank == 0:
            start = time.perf_counter()
            numpy.copyto(target, source)
            copies.append(time.perf_counter() - start)
        made.close()
        del made
        start = time.perf_counter()
        alone = shared._map(MPI.COMM_SELF, size) if comm.rank == 0 else None
        if alone is not None:
            array = numpy.frombuffer(alone, "u1")
            numpy.copyto(array, source)
            fresh.append(time.perf_counter() - start)
            del array, alone
    if comm.rank == 0:
        say(f"shared_array of {size >> 20} MiB, {comm.size} ranks: made and filled at {size / median(fills) / 1e9:.2f} GB/s, "
            f"{median(c / f for f, c in zip(fills, copies)):.0%} of memcpy into memory in use, "
            f"{median(c / f for f, c in zip(fills, fresh)):.0%} of memcpy into new shared memory; "
            f"{together / size:.2f} copies in memory")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    collectives.prepare(comm)
    say(f"{MPI.Get_library_version().splitlines()[0].strip()}, Fanlight {'preloaded' if _mpi.preloaded() else 'loaded by the program'}")
    blocks = 5 if quick else 31
    ragged(blocks, 50 if quick else 2000)
    overhead(blocks, 50 if quick else 2000)
    plans(blocks, 50 if quick else 4000)
    fill(3 if quick else 5, 16 << 20 if quick else 1 << 30)


if __name__ == "__main__":
    main()
