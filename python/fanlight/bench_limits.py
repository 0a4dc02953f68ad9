"""The least time that an operation can take inside a node, from the measured limits.

It is a lower bound on purpose, not a model of any algorithm:

* an operation in which nobody leaves before all have entered costs at least one exchange of a
  cache line; with more ranks than cores each core must also switch from rank to rank;
* every rank has to write its own output once, at the rate of memcpy from and to its own caches
  while both cores are at it; ranks that share a core do so one after the other.

An operation that does not synchronize runs ahead in a loop: for less than a few KiB nothing
physical bounds the rate of its calls, and no limit is given.
"""

from __future__ import annotations

import math

SYNCHRONIZING = {"barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter_block",
                 "reduce_scatter"}
BOUND_BY_BYTES = 4096


# How many blocks, one for each rank, an operation takes as input and gives as output; of all others one, or two of neighborhoods.
ALL_IN = ("scatter", "scatterv", "alltoall", "alltoallv", "reduce_scatter_block", "reduce_scatter")
ALL_OUT = ("allgather", "allgatherv", "gather", "gatherv", "alltoall", "alltoallv")


def outputs(operation: str, size: int, ranks: int) -> tuple[int, int]:
    """How many ranks get an output, and the bytes of one."""
    receivers = {"barrier": 0, "bcast": ranks - 1, "exscan": ranks - 1, "reduce": 1, "gather": 1, "gatherv": 1}.get(operation, ranks)
    blocks = 0 if operation == "barrier" else ranks if operation in ALL_OUT else 2 if operation.startswith("neighbor") else 1
    return receivers, blocks * size


class Limits:
    """The limits of one number of ranks.  The machine is the same for all MPIs: the least of their
    medians counts, the others were disturbed.  All times in microseconds."""

    def __init__(self, lines: list[dict]):
        by_name: dict[tuple, list[float]] = {}
        self.refused = ""
        for line in lines:
            if line.get("type") != "limit":
                continue
            if "refused" in line:
                self.refused = line["refused"]
                continue
            by_name.setdefault((line["limit"], line.get("size")), []).append(line["time"]["median"])
        self.times = {key: min(times) for key, times in by_name.items()}

    def latency(self, name: str) -> float | None:
        """The quicker of the two ways to spin, with and without a pause."""
        found = [t for key, t in self.times.items() if key in ((name, None), (name + "_pause", None))]
        return min(found) if found else None

    def sizes(self, name: str) -> list[int]:
        return sorted(size for n, size in self.times if n == name and size is not None)

    def moving(self, nbytes: float, name: str = "copy_both") -> float | None:
        sizes = self.sizes(name)
        if not sizes:
            return None
        at = [self.times[name, s] for s in sizes]
        if nbytes == 0:
            return 0.0
        if nbytes <= sizes[0]:
            return at[0] * nbytes / sizes[0]
        if nbytes >= sizes[-1]:
            return at[-1] * nbytes / sizes[-1]
        i = next(i for i, s in enumerate(sizes) if s >= nbytes)
        share = math.log(nbytes / sizes[i - 1]) / math.log(sizes[i] / sizes[i - 1])
        return at[i - 1] ** (1 - share) * at[i] ** share

    def least(self, operation: str, size: int, ranks: int, cores: int, mode: str = "loop") -> float | None:
        if ranks < 2 or cores < 1 or mode == "fill":
            return None
        synchronizes = operation in SYNCHRONIZING or mode == "sync"
        if not synchronizes and size < BOUND_BY_BYTES:
            return None
        time = 0.0
        if synchronizes:
            exchange = self.latency("exchange")
            if exchange is None:
                return None
            time += exchange
            switches = math.ceil(ranks / cores) - 1
            if switches:
                time += switches * (self.latency("context_switch") or 0.0)
        receivers, nbytes = outputs(operation, size, ranks)
        moving = self.moving(nbytes)
        return None if moving is None else time + math.ceil(receivers / cores) * moving
