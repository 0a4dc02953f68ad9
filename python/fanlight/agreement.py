"""What all ranks must give alike, or all raise."""

from __future__ import annotations

from typing import Any, Callable

from mpi4py import MPI

from . import collectives


def agree(comm: MPI.Comm, name: str, check: Callable[[], Any]) -> Any:
    """What check() returns, the same on all ranks.  Where it raises on one rank, or returns something else there, all
    ranks raise: that one its own error, the others a ValueError that names it."""
    collectives.barrier(comm)  # a communicator that is none, or has been freed, is found here
    error, value = None, None
    try:
        value = check()
    except Exception as e:
        error = e
    everybodys = comm.allgather((None if error is None else f"{type(error).__name__}: {error}", value))
    if error is not None:
        try:
            raise error
        finally:
            error = None  # whose traceback keeps this frame, and so what the caller has allocated
    for rank, (text, other) in enumerate(everybodys):
        if text is not None:
            raise ValueError(f"{name}: rank {rank} has an error: {text}")
        if other != everybodys[0][1]:
            raise ValueError(f"{name}: the ranks' arguments differ: {everybodys[0][1]} on rank 0, {other} on rank {rank}")
    return value


def shape_of(name: str, shape: Any) -> tuple:
    shape = tuple(int(n) for n in (shape if hasattr(shape, "__iter__") else (shape,)))
    if any(n < 0 for n in shape):
        raise ValueError(f"{name}: the shape {shape} has a negative length")
    return shape


def description(dtype: Any) -> Any:
    """Of a dtype, comparable between processes."""
    return dtype.descr if dtype.names else dtype.str
