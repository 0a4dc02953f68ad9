"""What the papers compare, and what they report: the data of `fanlight bench --paper`.

Only what a paper's text states stands here; its figures are curves that cannot be read to a digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

KIB, MIB = 1 << 10, 1 << 20
LONGEST = 1 << 62


def any_number(ranks: int) -> bool:
    return True


def two(ranks: int) -> bool:
    return ranks == 2


def up_to_four(ranks: int) -> bool:
    return ranks <= 4


def four(ranks: int) -> bool:
    return ranks == 4


def more_than_two(ranks: int) -> bool:
    return ranks > 2


def more_than_four(ranks: int) -> bool:
    return ranks > 4


def power_of_two(ranks: int) -> bool:
    return ranks & (ranks - 1) == 0


def no_power_of_two(ranks: int) -> bool:
    return not power_of_two(ranks)


@dataclass(frozen=True)
class Way:
    """One curve: an algorithm of Fanlight's over a transport, under the name that the paper has for it."""

    name: str
    algorithm: str
    transport: str = "shared"


# The other side of a claim: the best of all other ways, and the MPI library's own.
OTHERS, LIBRARY = "the others", "the MPI's own"


@dataclass(frozen=True)
class Comparison:
    operation: str
    ways: tuple[Way, ...]
    ranks: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    mode: str = "sync"  # as `fanlight bench --mode`


@dataclass(frozen=True)
class Claim:
    """The paper says that `way` is faster than `than`; here its ratio is what was measured for so
    many ranks and bytes."""

    where: str
    says: str
    operation: str
    way: str
    than: str
    factor: tuple[float | None, float | None]  # how many times faster at the least and at the most
    ranks: Callable[[int], bool] = any_number
    sizes: tuple[int, int] = (0, LONGEST)


@dataclass(frozen=True)
class Transfers:
    """Messages that can be counted: those of the schedule, less `without` for each rank but the root."""

    ranks: int
    way: str
    paper: int
    without: int


@dataclass(frozen=True)
class Paper:
    title: str
    machine: str
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    transfers: tuple[Transfers, ...] = ()
    # Numbers of ranks for which the whole exchange of spikes is measured: counts and spikes in two
    # calls, and in one of fanlight_allgatherv_any (the paper's future work).
    exchange: tuple[int, ...] = ()


# The paper's is written with MPI_Sendrecv; over shared memory there is no message to match.
_RING = tuple(Way(f"{name}, {transport}", algorithm, transport) for transport in ("message", "shared")
              for name, algorithm in (("MPI_Bcast_native", "scatter-ring-allgather"), ("MPI_Bcast_opt", "pruned-ring")))


def _ring(where: str, says: str, factor: tuple[float | None, float | None], ranks=any_number,
          sizes=(0, LONGEST)) -> tuple[Claim, ...]:
    return tuple(Claim(where, says, "bcast", f"MPI_Bcast_opt, {t}", f"MPI_Bcast_native, {t}", factor, ranks, sizes)
                 for t in ("message", "shared"))


PRUNED_RING = Paper(
    "A Bandwidth-saving Optimization for MPI Broadcast Collective Operation",
    "Cray XC40: nodes with two Intel Haswell E5-2680v3 of 2.5 GHz, 24 cores, Aries network; 9 to 256 processes",
    # On either side of MPICH's thresholds for medium (12288) and long (524288) messages.
    (Comparison("bcast", _RING, (4, 5, 8),
                (8 * KIB, 12288, 64 * KIB, 256 * KIB, 524280, 524288, MIB, 2560000)),),
    (*_ring("V-A, VI", "16, 64 and 256 processes, from 512 KiB on: at most 12, 41 and 20 % more bandwidth; at the "
            "peak 2748 MB/s instead of 2623 with 16", (1.02, 1.41), ranks=power_of_two, sizes=(524288, LONGEST)),
     *_ring("V-B", "9, 17 and 33 processes, 12288 bytes: more than two times the throughput", (2, None),
            ranks=no_power_of_two, sizes=(12288, 12288)),
     *_ring("V-B", "129 processes, 12288 to 2560000 bytes: up to 30 % more bandwidth", (1, 1.3),
            ranks=no_power_of_two, sizes=(12288, 2560000)),
     *_ring("I", "long messages, and medium ones with a process count that is no power of two: 2 to 54 %",
            (1.02, 1.54), sizes=(524288, LONGEST))),
    # Figures 3, 4 and 5 show the allgather alone; the scatter before it sends to each rank once.
    (Transfers(8, "scatter-ring-allgather", 56, 1), Transfers(8, "pruned-ring", 44, 1),
     Transfers(10, "scatter-ring-allgather", 90, 1), Transfers(10, "pruned-ring", 75, 1)))

RMA_TREES = Paper(
    "Improving the remote memory access model of MPI for distributed memory by a one-sided broadcast (in Russian)",
    "virtual machines of Yandex Cloud: Intel Xeon Gold 6338 of 2.0 GHz, 4 virtual cores each; 2 to 64 processes, "
    "16 B to 32 MB, 1000 messages",
    (Comparison("bcast", (Way("linear", "linear", "rma-lock"), Way("binary tree", "binary-tree", "rma-lock"),
                          Way("binomial tree", "binomial", "rma-lock")), (2, 4, 8),
                (16, 256, 4 * KIB, 64 * KIB, 512 * KIB, 4 * MIB)),),
    (Claim("III, figure 5", "16 B to 2 processes: about 0.01 ms by the binary tree, about 0.1 ms linear", "bcast",
           "binary tree", "linear", (10, 10), ranks=two, sizes=(16, 16)),
     Claim("III, figure 6", "512 KB to 32 processes: about 1 ms and about 10 ms", "bcast",
           "binary tree", "linear", (10, 10), ranks=more_than_two, sizes=(512 * KIB, 512 * KIB)),
     Claim("III, figure 7", "4 MB to 16 processes: about 10 ms and about 100 ms", "bcast",
           "binary tree", "linear", (10, 10), ranks=more_than_two, sizes=(4 * MIB, 4 * MIB)),
     Claim("III, figure 8", "32 MB to 64 processes: about 100 ms and about 1000 ms", "bcast",
           "binary tree", "linear", (10, 10), ranks=more_than_four, sizes=(32 * MIB, 32 * MIB)),
     Claim("III", "at every size the binary tree is the fastest, then the binomial tree", "bcast",
           "binary tree", "binomial tree", (1, None), ranks=more_than_two),
     Claim("III", "and the linear algorithm is the slowest", "bcast", "binomial tree", "linear", (1, None),
           ranks=more_than_two)))

_CELL = (4, 8)
_CELL_SIZES = (128, KIB, 4 * KIB, 8 * KIB, 64 * KIB, MIB)
INTRA_CELL = Paper(
    "Optimization of Collective Communication in Intra-Cell MPI",
    "IBM QS20 blade: two Cell processors of 3.2 GHz, 16 SPEs, 25.6 GB/s of main memory; 4 to 16 processes",
    # Its OTA collects at a root: a tree so wide that the root has all others as children.
    (Comparison("barrier", (Way("OTA", "tree(degree=64)"), Way("SIG", "signal-register"),
                            *(Way(f"TREE({k})", f"tree(degree={k})") for k in (2, 3, 4)),
                            Way("PE", "pairwise-exchange"), Way("DIS", "dissemination")), _CELL, mode="loop"),
     Comparison("bcast", (Way("TREEMM(3)", "binomial(degree=3)"), Way("OTA", "one-to-all"), Way("G", "root-writes-all"),
                          Way("AG", "scatter-allgather(minimum=4K)"), Way("TREE(3)", "tree(degree=3)"),
                          Way("TREE(1)", "tree(degree=1)")), _CELL, _CELL_SIZES),
     Comparison("reduce", (Way("TREEMM(3)", "binomial(degree=3)"), Way("AG", "reduce-scatter-gather"),
                           Way("TREE(3)", "tree(degree=3)"), Way("TREE(4)", "tree(degree=4)"),
                           Way("TREE(1)", "tree(degree=1)")), _CELL, _CELL_SIZES)),
    (Claim("3.2", "PE is substantially faster than what gathers and broadcasts", "barrier", "PE", "OTA", (1, None)),
     Claim("3.2", "and so is DIS", "barrier", "DIS", "OTA", (1, None)),
     Claim("3.2", "the signal register does not improve on OTA", "barrier", "SIG", "OTA", (None, 1)),
     Claim("3.3", "8192 B and more: AG is the best, or close to it", "bcast", "AG", OTHERS, (1, None),
           sizes=(8192, LONGEST)),
     Claim("3.3", "short, more than four processes: TREE of degree 3 is the best", "bcast", "TREE(3)", OTHERS,
           (1, None), ranks=more_than_four, sizes=(0, 4096)),
     Claim("3.3", "short, up to four processes: G is the best", "bcast", "G", OTHERS, (1, None),
           ranks=up_to_four, sizes=(0, 4096)),
     Claim("3.4", "short, more than four processes: TREE of degree 3 is the best, or close to it", "reduce", "TREE(3)",
           OTHERS, (1, None), ranks=more_than_four, sizes=(0, 1024)),
     Claim("3.4", "short, four processes: TREE of degree 4 is the best", "reduce", "TREE(4)", OTHERS, (1, None),
           ranks=four, sizes=(0, 1024)),
     Claim("3.4", "long, four processes: AG is the best", "reduce", "AG", OTHERS, (1, None),
           ranks=four, sizes=(64 * KIB, LONGEST)),
     Claim("3.4", "very long, more than four processes: TREE of degree 1 is the best", "reduce", "TREE(1)", OTHERS,
           (1, None), ranks=more_than_four, sizes=(MIB, LONGEST)),
     Claim("3.4", "TREEMM: from 5 µs for 128 B to 2000 µs for 1 MB on eight; never the best", "reduce", "TREEMM(3)",
           OTHERS, (None, 1))))

SPIKE_EXCHANGE = Paper(
    "Optimizing NEURON Simulation Environment Using Remote Memory Access with Recursive Doubling on Distributed "
    "Memory Systems",
    "four nodes HP BL460c: two quad-core Intel Xeon of 2.66 GHz each, InfiniBand of 20 Gbps",
    # 8 bytes is what NEURON's own exchange takes at the least: a count and nothing else.
    (Comparison("allgather", (Way("RMA_Allgather (fence)", "recursive-doubling", "rma-fence"),
                              Way("two-sided", "recursive-doubling", "message"),
                              Way("shared memory", "recursive-doubling", "shared")), (2, 4, 8),
                (8, 64, 512, 4 * KIB, 32 * KIB), mode="loop"),),
    (Claim("6, 7", "RMA_Allgather in place of MPI_Allgather in NEURON: almost 10 % less time", "allgather",
           "RMA_Allgather (fence)", LIBRARY, (1.1, 1.1)),
     Claim("5", "one-sided communication saves the buffering and the double synchronisation of two-sided", "allgather",
           "RMA_Allgather (fence)", "two-sided", (1, None))),
    exchange=(2, 4, 8))

PAPERS = {"pruned-ring": PRUNED_RING, "rma-trees": RMA_TREES, "intra-cell": INTRA_CELL,
          "spike-exchange": SPIKE_EXCHANGE}
