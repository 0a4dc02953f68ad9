"""MPI's collectives by Fanlight, for mpi4py's communicators and NumPy arrays.

What is sent is anything with the buffer protocol, C-contiguous; what `numpy.asarray` takes otherwise is made an
array first.  Errors are exceptions on all ranks, raised before anything is sent: TypeError for what is no array, no
communicator or no operator, ValueError for arrays that are not contiguous, not writable, of a wrong dtype or shape,
or not the same on all ranks, RuntimeError before MPI_Init and after MPI_Finalize.  The MPI library's own errors are
mpi4py.MPI.Exception.

To compare the ranks' arguments takes a reduction of 16 bytes in each blocking call; check_arguments(False) leaves it
out.  Non-blocking calls cannot wait for others: they check this rank's arguments alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from mpi4py import MPI

from . import _mpi, libraries

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike

    from .reports import Report

__all__ = ["allgather", "allgatherv_any", "allreduce", "alltoall", "barrier", "bcast", "check_arguments", "explain",
           "exscan", "gather", "iallgather", "iallreduce", "ialltoall", "ibarrier", "ibcast", "iexscan",
           "igather", "ireduce", "ireduce_scatter_block", "iscan", "iscatter", "prepare", "reduce",
           "reduce_scatter_block", "report", "scan", "scatter", "set_algorithm", "Request"]


def abi() -> str:
    """Of the MPI library that mpi4py has loaded: "mpich", "openmpi" or "abi" (the standard of MPI-5)."""
    if MPI._sizeof(MPI.Comm) == 4:
        return "mpich"
    with open("/proc/self/maps") as maps:
        return "abi" if "/libmpi_abi.so" in maps.read() else "openmpi"


# Preloaded (`fanlight run`) it is there; else it is loaded now, and MPI's own functions stay the MPI library's.
_mpi.use("" if _mpi.preloaded() else str(libraries.library_for(abi())), MPI)

Request = _mpi.Request
_SUM = MPI.SUM
_run = _mpi.run
(_BARRIER, _BCAST, _REDUCE, _ALLREDUCE, _SCAN, _EXSCAN, _REDUCE_SCATTER_BLOCK, _ALLGATHER, _ALLTOALL, _GATHER,
 _SCATTER) = range(len(_mpi.operations()))


def check_arguments(on: bool) -> None:
    """Whether blocking calls compare the ranks' arguments before they send anything (they do, unless this says
    otherwise).  The same on all ranks."""
    _mpi.check_arguments(on)


def prepare(comm: MPI.Comm) -> None:
    """Collective: sets up what serves this communicator at once, and not after FANLIGHT_START_AFTER calls."""
    _mpi.prepare(comm)


def set_algorithm(comm: MPI.Comm, algorithms: str) -> None:
    """Collective, the same text on all ranks: these algorithms serve this communicator's calls from now on; "" goes
    back to the rules.  `fanlight list` has the names; `native` is the MPI library's own.

    >>> fanlight.set_algorithm(comm, "allreduce:ring,bcast:tree(degree=4)")
    """
    _mpi.set_algorithm(comm, algorithms)


def explain(comm: MPI.Comm, operation: str, bytes: int) -> str:
    """Local: which algorithm would serve a call with so many bytes, of the vector or of one block, and why.

    >>> fanlight.explain(comm, "allreduce", x.nbytes)
    """
    return _mpi.explain(comm, operation, bytes)


def report() -> Optional[Report]:
    """Collective over MPI.COMM_WORLD: the calls of all ranks so far, on rank 0; None on the others.

    Counting begins with the first call of this, unless `fanlight run --report` or FANLIGHT_REPORT has begun it at
    MPI_Init.  The dict is what `fanlight run --report-file` writes, without the communicators, which count at
    their ends; its text, and what rich prints of it, is the table of `fanlight report`.  No other thread may be in a
    collective.

    >>> counted = fanlight.report()
    >>> sum(row["seconds"] for row in counted["calls"] if row["operation"] == "allreduce")
    >>> print(counted)
    """
    from . import reports  # tables are for this alone: every rank imports the rest

    _mpi.must_be_up("report")  # mpi4py's own rank ends the program where MPI is not
    file = None
    try:
        if MPI.COMM_WORLD.rank == 0:
            file = tempfile.NamedTemporaryFile(suffix=".json")
    finally:
        _mpi.write_report(file.name if file else "")
    if not file:
        return None
    with file:
        counted = reports.load(Path(file.name))
    del counted["communicators"]
    return counted


def allgatherv_any(comm: MPI.Comm, x: ArrayLike) -> Tuple[numpy.ndarray, List[int]]:
    """What all ranks have, as many rows of each as it gives: one call for an allgather of the counts and an allgatherv.

    x: shape (n, ...), n any number from 0 on and different on each rank; the other axes and the dtype, a structured
    one too, are the same on all ranks.
    Returns the rows of all ranks in rank order, shape (n_0 + n_1 + ..., ...), and how many each rank gave.

    >>> data, counts = fanlight.allgatherv_any(comm, spikes)
    """
    return _mpi.allgatherv_any(comm, x)


def barrier(comm: MPI.Comm) -> None:
    """Returns when all ranks have come."""
    _run(_BARRIER, comm, None, None, None, 0, True)


def bcast(comm: MPI.Comm, x: ArrayLike, root: int = 0) -> Any:
    """The root's `x` comes into the `x` of all ranks, which have the same shape and dtype.  Returns `x`."""
    return _run(_BCAST, comm, x, None, None, root, True)


def reduce(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, root: int = 0,
           out: Optional[numpy.ndarray] = None) -> Optional[numpy.ndarray]:
    """The ranks' `x`, combined element by element, at the root: into `out`, or a new array of the same shape and
    dtype; None elsewhere.  `out` may be `x`."""
    return _run(_REDUCE, comm, x, out, op, root, True)


def allreduce(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """The ranks' `x`, combined element by element, on all ranks with the same bits: into `out`, or a new array of the
    same shape and dtype.  `out` may be `x`.

    dtypes: integers of 1 to 8 bytes, bool, float32, float64, longdouble, complex64, complex128.

    >>> total = fanlight.allreduce(comm, numpy.array([1.0, 2.0]))
    """
    return _run(_ALLREDUCE, comm, x, out, op, 0, True)


def scan(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """On rank r the combination of what ranks 0 to r give; otherwise as allreduce."""
    return _run(_SCAN, comm, x, out, op, 0, True)


def exscan(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """On rank r the combination of what ranks 0 to r - 1 give; on rank 0 `out` is as it was, a new array undefined."""
    return _run(_EXSCAN, comm, x, out, op, 0, True)


def reduce_scatter_block(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM,
                         out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """x: shape (ranks, ...).  Rank r gets x[r], combined over all ranks: shape (...)."""
    return _run(_REDUCE_SCATTER_BLOCK, comm, x, out, op, 0, True)


def allgather(comm: MPI.Comm, x: ArrayLike, out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """x: the same shape (...) and dtype on all ranks.  Returns shape (ranks, ...), [r] is what rank r gives."""
    return _run(_ALLGATHER, comm, x, out, None, 0, True)


def alltoall(comm: MPI.Comm, x: ArrayLike, out: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """x: shape (ranks, ...); x[r] goes to rank r, and [r] of what is returned, of the same shape, comes from it."""
    return _run(_ALLTOALL, comm, x, out, None, 0, True)


def gather(comm: MPI.Comm, x: ArrayLike, root: int = 0, out: Optional[numpy.ndarray] = None) -> Optional[numpy.ndarray]:
    """As allgather, at the root alone; None elsewhere."""
    return _run(_GATHER, comm, x, out, None, root, True)


def scatter(comm: MPI.Comm, x: Optional[ArrayLike], out: numpy.ndarray, root: int = 0) -> numpy.ndarray:
    """The root's x[r], of shape (ranks, ...), comes into rank r's `out`, of shape (...).  Elsewhere `x` is None."""
    return _run(_SCATTER, comm, x, out, None, root, True)


# --- non-blocking: a Request, whose wait() returns what the blocking call does ----------------


def ibarrier(comm: MPI.Comm) -> Request:
    """barrier, begun."""
    return _run(_BARRIER, comm, None, None, None, 0, False)


def ibcast(comm: MPI.Comm, x: ArrayLike, root: int = 0) -> Request:
    """bcast, begun; x belongs to it until wait() returns or test() says True.

    >>> request = fanlight.ibcast(comm, x)
    >>> x = request.wait()
    """
    return _run(_BCAST, comm, x, None, None, root, False)


def ireduce(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, root: int = 0, out: Optional[numpy.ndarray] = None) -> Request:
    """reduce, begun."""
    return _run(_REDUCE, comm, x, out, op, root, False)


def iallreduce(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> Request:
    """allreduce, begun."""
    return _run(_ALLREDUCE, comm, x, out, op, 0, False)


def iscan(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> Request:
    """scan, begun."""
    return _run(_SCAN, comm, x, out, op, 0, False)


def iexscan(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> Request:
    """exscan, begun."""
    return _run(_EXSCAN, comm, x, out, op, 0, False)


def ireduce_scatter_block(comm: MPI.Comm, x: ArrayLike, op: MPI.Op = _SUM, out: Optional[numpy.ndarray] = None) -> Request:
    """reduce_scatter_block, begun."""
    return _run(_REDUCE_SCATTER_BLOCK, comm, x, out, op, 0, False)


def iallgather(comm: MPI.Comm, x: ArrayLike, out: Optional[numpy.ndarray] = None) -> Request:
    """allgather, begun."""
    return _run(_ALLGATHER, comm, x, out, None, 0, False)


def ialltoall(comm: MPI.Comm, x: ArrayLike, out: Optional[numpy.ndarray] = None) -> Request:
    """alltoall, begun."""
    return _run(_ALLTOALL, comm, x, out, None, 0, False)


def igather(comm: MPI.Comm, x: ArrayLike, root: int = 0, out: Optional[numpy.ndarray] = None) -> Request:
    """gather, begun."""
    return _run(_GATHER, comm, x, out, None, root, False)


def iscatter(comm: MPI.Comm, x: Optional[ArrayLike], out: numpy.ndarray, root: int = 0) -> Request:
    """scatter, begun."""
    return _run(_SCATTER, comm, x, out, None, root, False)
