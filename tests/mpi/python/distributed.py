"""fanlight.global_array: parts, put and get, notifications, atomics, halos, collectives, and its errors."""

import atexit
import sys

import numpy as np
from mpi4py import MPI

import fanlight
from fanlight import distributed
from refusals import refused

comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size
left, right = (me - 1) % ranks, (me + 1) % ranks
# Called when what was registered later has been, by the first global_array.
used_at_exit = []
atexit.register(lambda: [part.sum() for part in used_at_exit])


# A start that fails is tried again.
call, distributed._call = distributed._call, lambda name: call("free", distributed._Pointer())
refused(RuntimeError, ["not initialized"], lambda: fanlight.global_array(comm, 3))
distributed._call = call

# Parts: the last is shorter.
with fanlight.global_array(comm, (4 * ranks - 1, 3), "i8") as a:
    assert [a.rows(u) for u in range(ranks)] == [(4 * u, min(4 * u + 4, 4 * ranks - 1)) for u in range(ranks)]
    assert a.local.shape == (4 - (me == ranks - 1), 3) and not a.local.any()
    a.local[...] = 100 * me + np.arange(3)
    a.barrier()
    for u in range(ranks):
        assert np.array_equal(a[u], a.get(u)) and (a.get(u) == 100 * u + np.arange(3)).all() and len(a[u]) == 4 - (u == ranks - 1)
    a.barrier()
    a.put_notify(right, np.full((2, 3), me), 1, index=3)
    a.wait_notify(left, 3)
    assert (a.local[1:3] == left).all() and a.local[0, 0] == 100 * me
    a.barrier()
    a.put(right, np.full((1, 3), 7 + me))
    a.barrier()
    assert (a.local[0] == 7 + left).all()
    a.barrier()

    # atomics
    for _ in range(100):
        a.fetch_and_op(0, (0, 2), 2)
    a.barrier()
    assert a.get(0)[0, 2] == 7 + (ranks - 1) + 200 * ranks
    won = a.compare_and_swap(ranks - 1, (1, 1), -5 - me, (ranks - 2) % ranks)
    assert comm.allreduce(int(won == (ranks - 2) % ranks)) == 1

    words = [(ValueError, ["dtype float64", "int64"], lambda: a.put(right, np.ones((1, 3)))),
             (ValueError, ["(1, 2)", "(n, 3)"], lambda: a.put(right, np.ones((1, 2), "i8"))),
             (ValueError, ["not C-contiguous"], lambda: a.put_notify(right, np.ones((4, 3), "i8")[::2])),
             (ValueError, ["rows 3 to 5", "unit 0"], lambda: a.put(0, np.ones((2, 3), "i8"), 3)),
             (ValueError, ["rows -1"], lambda: a.get(0, -1, 1)),
             (ValueError, ["unit 77", str(ranks)], lambda: a.get(77)),
             (ValueError, ["unit -1"], lambda: a[-1]),
             (ValueError, ["index 12"], lambda: a.wait_notify(left, 12)),
             (ValueError, ["(9, 0)", "no element"], lambda: a.fetch_and_op(0, (9, 0), 1)),
             (ValueError, ["'minus'"], lambda: a.fetch_and_op(0, (0, 0), 1, "minus")),
             (ValueError, ["no halo"], a.exchange),
             (ValueError, ["different lengths"], a.allreduce),
             (ValueError, [f"unit {ranks}"], lambda: a.broadcast(ranks)) if ranks == 1 else (ValueError, [], a.broadcast)]
    for error, said, call in words:
        refused(error, said, call)

# Halos of a 3-D field: after the exchange each cell of the halo is what its owner has.
for periodic in (False, True):
    with fanlight.global_array(comm, (3 * ranks, 4, 5), halo=2) as field:
        for step in range(3):
            first, last = field.rows(me)
            field.local[...] = 1000 * step + np.arange(first, last)[:, None, None] + np.arange(20).reshape(4, 5) / 100
            field.exchange(periodic)
            for i, row in enumerate(range(first - 2, last + 2)):
                inside = 0 <= row < 3 * ranks
                if inside or periodic:
                    expected = 1000 * step + row % (3 * ranks) + np.arange(20).reshape(4, 5) / 100
                    assert np.array_equal(field.padded[i], expected), (step, row)
                else:
                    assert not field.padded[i].any()

# Collectives on it.
with fanlight.global_array(comm, (5 * ranks, 2), "f8", halo=1) as b:
    b.local[...] = me + 1
    b.allreduce("max")
    assert (b.local == ranks).all() and not b.padded[0].any()
    b.local[...] = np.arange(10).reshape(5, 2) * (me == ranks - 1)
    b.broadcast(ranks - 1)
    assert np.array_equal(b.local, np.arange(10).reshape(5, 2))
    refused(ValueError, ["operator 'replace'"], lambda: b.allreduce("replace"))
    refused(ValueError, ["rank 0" if me else "'nonsense'"], lambda: b.allreduce("sum" if me else "nonsense"))

# Freed: refused while there are views, on whatever rank, and afterwards nothing reaches it.
c = fanlight.global_array(comm, 4 * ranks, "f8")
view = c.local[1:2] if me == 0 else None
refused(ValueError, ["views"], c.free)
view = None
c.free()
c.free()
for call in (lambda: c.local, lambda: c[0], lambda: c.get(0), lambda: c.put(0, np.ones(1)), lambda: c.flush(), lambda: c.exchange(),
             lambda: c.fetch_and_op(0, 0, 1), lambda: c.wait_notify(0), lambda: c.barrier()):
    refused(ValueError, ["has been freed"], call)

refused(ValueError, ["differ"], lambda: fanlight.global_array(comm, 3 + me))
refused(ValueError, ["differ"], lambda: fanlight.global_array(comm, 3, "f4" if me else "f8"))
refused(ValueError, ["Python objects"], lambda: fanlight.global_array(comm, 3, object))
refused(ValueError, ["no axes"], lambda: fanlight.global_array(comm, ()))
refused(ValueError, ["halo is -1"], lambda: fanlight.global_array(comm, 3, halo=-1))
refused(ValueError, ["rows, fewer than the halo"], lambda: fanlight.global_array(comm, ranks, halo=2).exchange())
refused(ValueError, ["MPI.COMM_WORLD"], lambda: fanlight.global_array(MPI.COMM_SELF, 3))
freed = comm.Dup()
freed.Free()
refused(ValueError, ["freed"], lambda: fanlight.global_array(freed, 3))

kept = fanlight.global_array(comm, 4)
if "finalize" not in sys.argv and me == ranks - 1:
    used_at_exit.append(kept.local)
if "finalize" in sys.argv:
    MPI.Finalize()
    for call in (lambda: kept.get(0), lambda: kept.local, lambda: kept.barrier(), lambda: fanlight.global_array(comm, 3)):
        try:
            call()
        except RuntimeError as e:
            assert "MPI has been finalized" in str(e), e
        else:
            raise AssertionError("not refused after MPI_Finalize")
if me == 0:
    print("ok", ranks)
