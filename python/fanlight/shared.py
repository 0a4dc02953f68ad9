"""One array for each node, that all its ranks see: fanlight.shared_array."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

import numpy
from mpi4py import MPI

from . import collectives
from .agreement import agree, description, shape_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

_PIECE = 1 << 24  # bytes of one broadcast between nodes


class SharedArray:
    """One array for each node; made by shared_array(). A context manager: what it gives is the array.

    array: a numpy.ndarray, read-only unless write=True was given.  Views of it stay valid when it has been closed: the
    memory goes when the last rank has let go of the last of them.
    """

    def __init__(self, array: numpy.ndarray, node: MPI.Comm):
        self._array: Optional[numpy.ndarray] = array
        self._node = node

    @property
    def array(self) -> numpy.ndarray:
        """What `with` gives.  ValueError when it has been closed."""
        if self._array is None:
            raise ValueError("shared_array: it has been closed")
        return self._array

    @property
    def node(self) -> MPI.Comm:
        """The communicator of the ranks that share it: node.Barrier() orders what one writes before what others read."""
        if self._array is None:
            raise ValueError("shared_array: it has been closed")
        return self._node

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return numpy.asarray(self.array, dtype=dtype) if not copy else numpy.array(self.array, dtype=dtype)

    def close(self) -> None:
        """Lets go of it.  Collective over the ranks of the node, once; later calls do nothing."""
        if self._array is not None:
            self._array = None
            if not MPI.Is_finalized():
                self._node.Free()

    def __enter__(self) -> numpy.ndarray:
        return self.array

    def __exit__(self, *_: Any) -> None:
        self.close()


def _checked(comm: MPI.Comm, shape: Any, dtype: Any, fill: Any, root: int) -> Tuple[Tuple[int, ...], numpy.dtype, Any]:
    shape, dtype = shape_of("shared_array", shape), numpy.dtype(dtype)
    if dtype.hasobject:
        raise ValueError(f"shared_array: dtype {dtype} has Python objects, which belong to one process")
    if not 0 <= root < comm.size:
        raise ValueError(f"shared_array: root {root} is none of {comm.size} ranks")
    if fill is not None and comm.rank == root:
        given, fill = fill, numpy.asarray(fill)
        if not numpy.can_cast(fill.dtype, dtype, "same_kind"):
            raise ValueError(f"shared_array: `fill` has dtype {fill.dtype}, which does not become {dtype}")
        if isinstance(given, int):
            fill = numpy.asarray(given, dtype)  # OverflowError
        try:
            numpy.broadcast_to(fill, shape)
        except ValueError:
            raise ValueError(f"shared_array: `fill` has shape {fill.shape}, which does not fit {shape}") from None
    return shape, dtype, fill


def _available() -> int:
    """Bytes that the system can give: it would give more, one page after the other, until it ends processes."""
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _map(node: MPI.Comm, length: int) -> mmap.mmap:
    """Memory of the node's first rank, mapped by all; nothing has a name that could stay behind."""
    file = -1

    def make() -> None:
        nonlocal file
        if length > _available():
            raise MemoryError(f"shared_array: no {length} bytes of shared memory are free")
        file = os.memfd_create("fanlight-shared-array", os.MFD_CLOEXEC)
        os.ftruncate(file, length)

    def map_it() -> None:
        nonlocal file, memory
        if node.rank != 0:
            file = os.open(place, os.O_RDWR | os.O_CLOEXEC)
        # New pages take the kernel longer than the copy into them: each rank reserves its share.
        share = -(-length // (node.size * mmap.PAGESIZE)) * mmap.PAGESIZE
        first = min(node.rank * share, length)
        if first < length:
            try:
                os.posix_fallocate(file, first, min(share, length - first))
            except OSError as e:
                raise MemoryError(f"shared_array: no {length} bytes of shared memory: {e.strerror}") from e
        memory = mmap.mmap(file, length)

    memory = None
    try:
        agree(node, "shared_array", make if node.rank == 0 else lambda: None)
        place = node.bcast(f"/proc/{os.getpid()}/fd/{file}")
        agree(node, "shared_array", map_it)
    finally:
        if file >= 0:
            os.close(file)
    return memory


def shared_array(comm: MPI.Comm, shape: Union[int, Tuple[int, ...]], dtype: DTypeLike = float, fill: Optional[ArrayLike] = None,
                 root: int = 0, write: bool = False) -> SharedArray:
    """Collective: one array of this shape and dtype for each node, in place of one for each rank.

    fill: what the root gives, of the shape or broadcast to it; it comes to each node once.  None: zeros.
    write: whether the ranks may write it; otherwise their arrays are read-only.
    ValueError: shapes, dtypes or write differ between the ranks, a fill that does not fit; MemoryError.

    >>> with fanlight.shared_array(comm, (1000, 3), "f4", fill=table if comm.rank == 0 else None) as table:
    ...     print(table.sum())
    """
    def check() -> Any:
        nonlocal shape, dtype, fill
        shape, dtype, fill = _checked(comm, shape, dtype, fill, root)
        return {"shape": shape, "dtype": description(dtype), "root": root, "write": bool(write)}

    agree(comm, "shared_array", check)
    filled = comm.bcast(fill is not None, root)
    node = comm.Split_type(MPI.COMM_TYPE_SHARED, 0 if comm.rank == root else comm.rank + 1)
    leaders = comm.Split(0 if node.rank == 0 else MPI.UNDEFINED, 0 if comm.rank == root else comm.rank + 1)
    try:
        count = 1
        for n in shape:
            count *= n
        memory = _map(node, max(count * dtype.itemsize, 1))
        array = numpy.frombuffer(memory, dtype, count).reshape(shape) if dtype.itemsize and count else numpy.empty(shape, dtype)
        if filled:
            agree(comm, "shared_array", lambda: numpy.copyto(array, fill, casting="same_kind") if comm.rank == root else None)
            if leaders != MPI.COMM_NULL and leaders.size > 1:
                flat = array.reshape(-1).view("u1")
                for first in range(0, flat.size, _PIECE):
                    collectives.bcast(leaders, flat[first:first + _PIECE], 0)
        node.Barrier()
        array.flags.writeable = write
        return SharedArray(array, node)
    except Exception:
        node.Free()
        raise
    finally:
        if leaders != MPI.COMM_NULL:
            leaders.Free()
