"""An array that is distributed over the ranks, each of which reads and writes all parts: fanlight.global_array.

Over libdart-fanlight-<abi>.so (docs/global-memory.md): inside a node loads and stores, between nodes MPI RMA.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import weakref
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

import numpy
from mpi4py import MPI

from . import collectives, libraries
from .agreement import agree, description, shape_of

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

# fanlight/global.h: the numbers of its enumerations.
_STATE, _MEMORY, _MPI = 1, 8, 9
_TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "f16"]
_OPERATORS = ["min", "max", "sum", "prod", "band", "land", "bor", "lor", "bxor", "lxor", "replace", "no_op"]
NOTIFICATIONS = 12  # for the program; exchange() has those above
_FREE_BELOW, _FREE_ABOVE, _FROM_BELOW, _FROM_ABOVE = 12, 13, 14, 15


class _Pointer(ctypes.Structure):
    _fields_ = [("unit", ctypes.c_int32), ("segment", ctypes.c_int32), ("offset", ctypes.c_uint64)]


_I, _L, _P, _V = ctypes.c_int, ctypes.c_size_t, _Pointer, ctypes.c_void_p
_FUNCTIONS = {
    "init": [], "exit": [], "allocate": [_I, _L, _L, _V], "free": [_P], "ptr": [_P], "put": [_P, _V, _L], "get": [_V, _P, _L],
    "put_notify": [_P, _V, _L, _I], "notify": [_I, _I, _I], "wait_notify": [_I, _I, _I], "test_notify": [_I, _I, _I, _V],
    "flush": [_P], "flush_all": [_P], "team_barrier": [_I], "accumulate": [_P, _V, _L, _I, _I],
    "fetch_and_op": [_P, _V, _V, _I, _I], "compare_and_swap": [_P, _V, _V, _V, _I], "global_broadcast": [_P, _L, _I],
    "global_allreduce": [_P, _P, _L, _I, _I],
}
_functions: dict = {}
_started = False
_ALL = 0  # FANLIGHT_TEAM_ALL


def _call(name: str, *arguments: Any) -> None:
    if MPI.Is_finalized():
        raise RuntimeError("global_array: MPI has been finalized (MPI_Finalize)")
    code = _functions[name](*arguments)
    if code:
        text = f"global_array: {_functions['message']().decode()}"
        raise (MemoryError if code == _MEMORY else RuntimeError if code in (_STATE, _MPI) else ValueError)(text)


def _start() -> None:
    """Once, by all ranks."""
    global _started
    if _started:
        return
    # What mpi4py has loaded is its own; the library finds the MPI library's names among those of all.
    ctypes.CDLL(MPI.__file__, ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
    library = ctypes.CDLL(str(libraries.dart_for(collectives.abi())))
    for name, types in _FUNCTIONS.items():
        function = _functions[name] = getattr(library, f"fanlight_{name}")
        function.argtypes = types
    _functions["ptr"].restype = ctypes.c_void_p
    _functions["message"] = library.fanlight_message
    _functions["message"].restype = ctypes.c_char_p
    _call("init")
    _started = True
    atexit.register(_end)


_parts: list = []  # weak references to all that were given out


def _end() -> None:
    """By all ranks; where one still has a view of a part nothing is unmapped, since handlers that run later may use it."""
    if not MPI.Is_finalized() and not MPI.COMM_WORLD.allreduce(any(part() is not None for part in _parts), MPI.LOR):
        _functions["exit"]()


class GlobalArray:
    """A distributed array; made by global_array(), freed by free() or at the end of `with`.

    shape, dtype: of the whole.  unit, units: this rank and how many there are.  Unit u has the rows
    rows(u) of the first axis; where halo is not 0 its part has so many rows more on either side (`padded`).
    Places in a part are rows, counted from its first row without the halo: -halo is the first row of the halo.
    """

    def __init__(self, comm: MPI.Comm, shape: Tuple[int, ...], dtype: numpy.dtype, halo: int):
        self.comm, self.shape, self.dtype, self.halo = comm, shape, dtype, halo
        self.unit, self.units = comm.rank, comm.size
        self._block = -(-shape[0] // comm.size)  # rows of a unit, the last ones' may be fewer
        self._row = int(numpy.prod(shape[1:], dtype=numpy.int64)) * dtype.itemsize
        self._rows = self._block + 2 * halo
        self._pointer: Optional[_Pointer] = _Pointer()
        self._given: dict = {}
        _call("allocate", _ALL, max(self._rows * self._row, 1), 0, ctypes.addressof(self._pointer))
        own = self._part(self.unit)
        if own is not None:
            own.view("u1")[...] = 0
        _call("team_barrier", _ALL)

    # --- where things are -----------------------------------------------------------------

    def rows(self, unit: int) -> Tuple[int, int]:
        """The first row of the whole that the unit has, and the one behind its last."""
        self._check_unit(unit)
        return min(unit * self._block, self.shape[0]), min((unit + 1) * self._block, self.shape[0])

    def _check_unit(self, unit: int) -> None:
        if not 0 <= unit < self.units:
            raise ValueError(f"global_array: unit {unit} is none of {self.units}")

    def _alive(self) -> _Pointer:
        if self._pointer is None:
            raise ValueError("global_array: it has been freed")
        return self._pointer

    def _part(self, unit: int) -> Optional[numpy.ndarray]:
        """All rows of a unit's part, with the halo; None where loads and stores do not reach it."""
        pointer = self._alive()
        found = self._given.get(unit, lambda: None)()
        if found is not None:
            return found
        if MPI.Is_finalized():
            raise RuntimeError("global_array: MPI has been finalized (MPI_Finalize)")
        address = _functions["ptr"](_Pointer(unit, pointer.segment, 0))
        if not address:
            return None
        memory = (ctypes.c_char * max(self._rows * self._row, 1)).from_address(address)
        # Views of it keep it, so that free() knows of them.
        part = numpy.ndarray((self._rows, *self.shape[1:]), self.dtype, memory)
        self._given[unit] = weakref.ref(part)
        _parts[:] = [given for given in _parts if given() is not None] + [self._given[unit]]
        return part

    @property
    def padded(self) -> numpy.ndarray:
        """This unit's part with its halos: shape (rows + 2 halo, ...)."""
        first, last = self.rows(self.unit)
        return self._part(self.unit)[:last - first + 2 * self.halo]

    @property
    def local(self) -> numpy.ndarray:
        """This unit's rows: shape (rows, ...)."""
        padded = self.padded
        return padded[self.halo:len(padded) - self.halo]

    def __getitem__(self, unit: int) -> numpy.ndarray:
        """The unit's rows: a view where loads and stores reach them, else a read-only copy."""
        first, last = self.rows(unit)
        part = self._part(unit)
        if part is not None:
            return part[self.halo:self.halo + last - first]
        copy = self.get(unit)
        copy.flags.writeable = False
        return copy

    def _place(self, unit: int, row: int, count: int) -> _Pointer:
        pointer = self._alive()
        first, last = self.rows(unit)
        if row < -self.halo or count < 0 or row + count > last - first + self.halo:
            raise ValueError(f"global_array: rows {row} to {row + count} are not in unit {unit}'s part, which has {last - first} rows "
                             f"and a halo of {self.halo}")
        return _Pointer(unit, pointer.segment, (row + self.halo) * self._row)

    def _given_rows(self, name: str, data: Any) -> numpy.ndarray:
        data = numpy.asarray(data)
        if data.dtype != self.dtype:
            raise ValueError(f"{name}: the data have dtype {data.dtype}, the array has {self.dtype}")
        if data.ndim != len(self.shape) or data.shape[1:] != self.shape[1:]:
            raise ValueError(f"{name}: the data have shape {data.shape}, needed are rows: (n, {', '.join(map(str, self.shape[1:]))})")
        if not data.flags.c_contiguous:
            raise ValueError(f"{name}: the data of shape {data.shape} are not C-contiguous: numpy.ascontiguousarray makes a copy that is")
        return data

    # --- put, get, notifications ----------------------------------------------------------

    def put(self, unit: int, data: numpy.ndarray, row: int = 0) -> None:
        """Writes rows of shape (n, ...) into the unit's part, from `row` on; seen by whoever learns of it afterwards."""
        data = self._given_rows("put", data)
        _call("put", self._place(unit, row, len(data)), data.ctypes.data, data.nbytes)

    def get(self, unit: int, row: int = 0, count: Optional[int] = None) -> numpy.ndarray:
        """A copy of `count` rows of the unit's part (all that follow) from `row` on."""
        first, last = self.rows(unit)
        count = max(last - first - row, 0) if count is None else count
        place = self._place(unit, row, count)
        data = numpy.empty((count, *self.shape[1:]), self.dtype)
        _call("get", data.ctypes.data, place, data.nbytes)
        return data

    def put_notify(self, unit: int, data: numpy.ndarray, row: int = 0, index: int = 0) -> None:
        """put, then tells the unit, whose next wait_notify for this unit and index returns when the rows are there."""
        data = self._given_rows("put_notify", data)
        _call("put_notify", self._place(unit, row, len(data)), data.ctypes.data, data.nbytes, self._index(index))

    def wait_notify(self, unit: int, index: int = 0) -> None:
        """Waits for one notification of the unit's with this index: each lets one wait return."""
        self._alive()
        self._check_unit(unit)
        _call("wait_notify", _ALL, unit, self._index(index))

    @staticmethod
    def _index(index: int) -> int:
        if not 0 <= index < NOTIFICATIONS:
            raise ValueError(f"global_array: the notification's index {index} is not from 0 to {NOTIFICATIONS - 1}")
        return index

    def flush(self) -> None:
        """All that this unit has put is complete at its targets."""
        _call("flush_all", self._alive())

    def barrier(self) -> None:
        """All units have come, and all that they have put before is there."""
        self.flush()
        _call("team_barrier", _ALL)

    # --- atomic operations ----------------------------------------------------------------

    def _element(self, unit: int, at: Union[int, Tuple[int, ...]]) -> _Pointer:
        at = at if isinstance(at, tuple) else (at,)
        first, last = self.rows(unit)
        lengths = (last - first, *self.shape[1:])
        if len(at) != len(lengths) or not all(0 <= i < n for i, n in zip(at, lengths)):
            raise ValueError(f"global_array: {at} is no element of unit {unit}'s part, whose shape is {lengths}")
        place = self._place(unit, at[0], 1)
        place.offset += int(numpy.ravel_multi_index(at[1:], lengths[1:])) * self.dtype.itemsize if at[1:] else 0
        return place

    def _type(self) -> int:
        name = f"{self.dtype.kind}{self.dtype.itemsize}"
        if name not in _TYPES or not self.dtype.isnative:
            raise ValueError(f"global_array: no atomic operation or reduction of dtype {self.dtype}")
        return _TYPES.index(name)

    @staticmethod
    def _operator(op: str, last: str) -> int:
        allowed = _OPERATORS[:_OPERATORS.index(last) + 1]
        if op not in allowed:
            raise ValueError(f"global_array: the operator {op!r} is none of {', '.join(allowed)}")
        return _OPERATORS.index(op)

    def fetch_and_op(self, unit: int, at: Union[int, Tuple[int, ...]], value: Any, op: str = "sum") -> Any:
        """Combines the element, an index into the unit's rows, with the value, and returns what it was; atomic."""
        kind, operator, place = self._type(), self._operator(op, "no_op"), self._element(unit, at)
        given, before = numpy.array([value], self.dtype), numpy.empty(1, self.dtype)
        _call("fetch_and_op", place, given.ctypes.data, before.ctypes.data, kind, operator)
        return before[0]

    def compare_and_swap(self, unit: int, at: Union[int, Tuple[int, ...]], value: Any, compare: Any) -> Any:
        """Sets the element to the value where it is `compare`, and returns what it was; atomic; integers alone."""
        kind, place = self._type(), self._element(unit, at)
        given, wanted, before = numpy.array([value], self.dtype), numpy.array([compare], self.dtype), numpy.empty(1, self.dtype)
        _call("compare_and_swap", place, given.ctypes.data, wanted.ctypes.data, before.ctypes.data, kind)
        return before[0]

    # --- collectives ----------------------------------------------------------------------

    def exchange(self, periodic: bool = False) -> None:
        """Collective: the halos get the neighbors' rows, those below from unit - 1, those above from unit + 1.

        What lies beyond the first and the last unit stays as it is, unless periodic.  A unit that calls it has done with
        its halos.  ValueError without a halo, or where a unit has fewer rows than the halo.
        """
        self._alive()
        if not self.halo:
            raise ValueError("global_array: there is no halo to exchange: it was made with halo=0")
        fewest = self.shape[0] - (self.units - 1) * self._block
        if fewest < self.halo:
            raise ValueError(f"global_array: the last unit has {max(fewest, 0)} rows, fewer than the halo of {self.halo}")
        below, above = self.unit - 1, self.unit + 1
        if periodic:
            below, above = below % self.units, above % self.units
        below, above = (n if 0 <= n < self.units else None for n in (below, above))
        for neighbor, index in ((below, _FREE_ABOVE), (above, _FREE_BELOW)):
            if neighbor is not None:
                _call("notify", _ALL, neighbor, index)
        local, count = self.local, self.halo * self._row
        if below is not None:
            first, last = self.rows(below)
            _call("wait_notify", _ALL, below, _FREE_BELOW)
            _call("put_notify", self._place(below, last - first, self.halo), local.ctypes.data, count, _FROM_ABOVE)
        if above is not None:
            _call("wait_notify", _ALL, above, _FREE_ABOVE)
            _call("put_notify", self._place(above, -self.halo, self.halo), local[len(local) - self.halo:].ctypes.data, count, _FROM_BELOW)
        for neighbor, index in ((below, _FROM_BELOW), (above, _FROM_ABOVE)):
            if neighbor is not None:
                _call("wait_notify", _ALL, neighbor, index)

    def broadcast(self, root: int = 0) -> None:
        """Collective: the root's part comes to all parts, without staging.  ValueError where the units' rows differ."""
        agree(self.comm, "broadcast", lambda: (self._even(), self._check_unit(root), root))
        _call("global_broadcast", _Pointer(0, self._alive().segment, 0), self._rows * self._row, root)

    def allreduce(self, op: str = "sum") -> None:
        """Collective: the parts, combined element by element, in all parts.  op: min, max, sum, prod, band, land, bor, lor,
        bxor or lxor.  ValueError where the units' rows differ, or the dtype has no reduction."""
        agree(self.comm, "allreduce", lambda: (self._even(), self._type(), self._operator(op, "lxor")))
        part = _Pointer(0, self._alive().segment, self.halo * self._row)
        _call("global_allreduce", part, part, self._block * self._row // self.dtype.itemsize, self._type(), self._operator(op, "lxor"))

    def _even(self) -> None:
        self._alive()
        if self.shape[0] % self.units:
            raise ValueError(f"global_array: {self.shape[0]} rows on {self.units} units: the parts have different lengths")

    def free(self) -> None:
        """Collective: gives the memory back; a second call does nothing.  ValueError on all ranks where one of them
        still has views of a part: local, padded, a[unit] and what was cut out of them."""
        if self._pointer is None or MPI.Is_finalized():
            return
        used = [u for u, part in self._given.items() if part() is not None]

        def check() -> None:
            if used:
                raise ValueError(f"global_array: there are still views of the parts of units {used}")

        agree(self.comm, "free", check)
        pointer, self._pointer = self._pointer, None
        _call("free", pointer)

    def __enter__(self) -> GlobalArray:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        # After an error the others may not come.
        if kind is None:
            self.free()


def global_array(comm: MPI.Comm, shape: Union[int, Tuple[int, ...]], dtype: DTypeLike = float, halo: int = 0) -> GlobalArray:
    """Collective: a distributed array of zeros, blocks of the first axis's rows by unit, each with `halo` rows more on
    either side for its neighbors' (slabs of a 3-D field, for instance).

    comm: MPI.COMM_WORLD or a duplicate of it.
    ValueError: shapes, dtypes or halos differ between the ranks; Python objects; another communicator.

    >>> with fanlight.global_array(comm, (64, 32, 32), halo=1) as field:
    ...     field.local[...] = comm.rank
    ...     field.exchange()
    """
    def check() -> Any:
        nonlocal shape, dtype
        if MPI.Comm.Compare(comm, MPI.COMM_WORLD) not in (MPI.IDENT, MPI.CONGRUENT):
            raise ValueError("global_array: the communicator does not have the ranks of MPI.COMM_WORLD in their order")
        shape, dtype = shape_of("global_array", shape), numpy.dtype(dtype)
        if not shape:
            raise ValueError("global_array: a shape of no axes cannot be distributed")
        if dtype.hasobject:
            raise ValueError(f"global_array: dtype {dtype} has Python objects, which belong to one process")
        if halo < 0:
            raise ValueError(f"global_array: the halo is {halo}, less than 0")
        return {"shape": shape, "dtype": description(dtype), "halo": halo}

    agree(comm, "global_array", check)
    _start()
    return GlobalArray(comm, shape, dtype, halo)
