"""fanlight.shared_array: one array for each node, its errors, and that nothing of it stays behind."""

import os
import sys

import numpy as np
from mpi4py import MPI

import fanlight
from fanlight.bench_python import resident
from refusals import refused

comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size


record = np.dtype([("id", "i4"), ("x", "f8")])
wanted = np.zeros((50, 3), record)
wanted["id"] = np.arange(150).reshape(50, 3)
root = ranks - 1
with fanlight.shared_array(comm, (50, 3), record, fill=wanted if me == root else None, root=root) as a:
    assert a.dtype == record and np.array_equal(a, wanted) and not a.flags.writeable
    refused(ValueError, ["read-only"], lambda: a.__setitem__(0, a[1]))
# What fails while the memory is filled: all hear of it.
with np.errstate(all="raise"):
    refused(FloatingPointError if me == 0 else ValueError, ["overflow"],
            lambda: fanlight.shared_array(comm, 2, "f4", fill=np.array([1e300, 1]) if me == 0 else None))
for shape in (0, (4, 0), (), 7):
    with fanlight.shared_array(comm, shape) as a:
        assert a.shape == (shape if isinstance(shape, tuple) else (shape,)) and not a.any() and a.dtype == float

# What one writes all see; it is kept as long as somebody has a view of it.
shared = fanlight.shared_array(comm, ranks, "i8", fill=-1, write=True)
assert list(shared.array) == [-1] * ranks
shared.node.Barrier()
shared.array[me] = me
shared.node.Barrier()
assert list(shared.array) == list(range(ranks)) and np.asarray(shared).sum() == sum(range(ranks))
view = shared.array[me:]
shared.close()
shared.close()
assert view[0] == me
for name in ("array", "node"):
    refused(ValueError, ["has been closed"], lambda: getattr(shared, name))
del view

# One copy in memory, whatever the number of ranks; none afterwards.
size = 32 << 20
with fanlight.shared_array(comm, size, "u1", fill=np.ones(size, "u1") if me == 0 else None) as a:
    assert a[::4096].sum() == size // 4096
    comm.Barrier()
    together = comm.allreduce(resident())
    assert 0.99 * size < together < 1.1 * size, (together, size)
    comm.Barrier()
del a
assert resident() == 0 and not any("fanlight-shared" in os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd")
                                   if os.path.exists(f"/proc/self/fd/{f}"))

first = me == 0
refused(ValueError, ["differ", "(3,)", "(4,)"], lambda: fanlight.shared_array(comm, 3 if first else 4))
refused(ValueError, ["differ"], lambda: fanlight.shared_array(comm, 3, "f4" if first else "f8"))
refused(ValueError, ["differ"], lambda: fanlight.shared_array(comm, 3, write=first))
refused(ValueError, ["negative"], lambda: fanlight.shared_array(comm, (3, -1)))
refused(ValueError, ["Python objects"], lambda: fanlight.shared_array(comm, 3, object if first else float))
refused(ValueError, ["(2,)", "(3,)"], lambda: fanlight.shared_array(comm, 3, fill=[1, 2]))
refused(ValueError, ["complex128", "float64"], lambda: fanlight.shared_array(comm, 3, fill=1j))
refused(OverflowError if first else ValueError, ["300"], lambda: fanlight.shared_array(comm, 3, "i1", fill=300))
refused(ValueError, ["root 9"], lambda: fanlight.shared_array(comm, 3, root=9))
refused(MemoryError if first else ValueError, ["bytes of shared memory"], lambda: fanlight.shared_array(comm, 1 << 55, "u1"))


class Watched(MPI.Intracomm):
    def Split_type(self, *arguments):
        made.append(super().Split_type(*arguments))
        return made[-1]


made = []
refused((MemoryError, ValueError), ["bytes of shared memory"], lambda: fanlight.shared_array(Watched(comm), 1 << 55, "u1"))
assert made == [MPI.COMM_NULL]
freed = comm.Dup()
freed.Free()
refused(ValueError, ["freed"], lambda: fanlight.shared_array(freed, 3))

kept = fanlight.shared_array(comm, 3, fill=2)
if me == 0:
    print("ok", ranks)
    sys.stdout.flush()
MPI.Finalize()
assert kept.array.sum() == 6
try:
    fanlight.shared_array(comm, 3)
except RuntimeError as e:
    assert "MPI has been finalized" in str(e)
else:
    raise AssertionError("not refused after MPI_Finalize")
