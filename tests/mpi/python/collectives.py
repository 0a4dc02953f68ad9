"""Every collective of fanlight.collectives on arrays whose results are known; says "ok" on rank 0."""

import sys

import numpy as np
from mpi4py import MPI

import fanlight

comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size
fanlight.prepare(comm)


def given(rank, shape, dtype):
    """What a rank gives: no two elements of no two ranks are the same, as far as the dtype can tell."""
    numbers = (np.arange(int(np.prod(shape)), dtype=np.int64) * 3 + rank + 1) % 50
    return numbers.astype(dtype).reshape(shape)


def same(found, expected, what):
    assert found.dtype == expected.dtype and found.shape == expected.shape, (what, found.dtype, found.shape)
    assert np.array_equal(found, expected), (what, me, found, expected)


def both(name, *arguments, **options):
    """The blocking call's result, after the non-blocking one's was found to be the same."""
    blocking = getattr(fanlight, name)(comm, *arguments, **options)
    request = getattr(fanlight, "i" + name)(comm, *arguments, **options)
    later = request.wait()
    assert request.test() and (request.wait() is later)
    if blocking is None:
        assert later is None
    elif not (name == "exscan" and me == 0):
        same(later, blocking, "i" + name)
    return blocking


for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", np.longdouble, "c8", "c16"):
    same(fanlight.allreduce(comm, given(me, 3, dtype)), sum(given(r, 3, dtype) for r in range(ranks)), dtype)
same(fanlight.allreduce(comm, np.array([me == 0, True]), MPI.LAND), np.array([ranks == 1, True]), "bool")

for shape in ((), (5,), (3, 4), (700, 3), (0, 2)):
    x = given(me, shape, "f8")
    everybodys = [given(r, shape, "f8") for r in range(ranks)]
    same(both("allreduce", x), sum(everybodys), "allreduce")
    same(both("allreduce", x, MPI.MAX), np.maximum.reduce(everybodys), "max")
    same(both("scan", x), sum(everybodys[:me + 1]), "scan")
    before = both("exscan", x)
    if me:
        same(before, sum(everybodys[:me]), "exscan")
    same(both("allgather", x), np.stack(everybodys), "allgather")
    blocks = given(me, (ranks, *shape), "f8")
    same(both("alltoall", blocks), np.stack([given(r, (ranks, *shape), "f8")[me] for r in range(ranks)]), "alltoall")
    same(both("reduce_scatter_block", blocks), sum(given(r, (ranks, *shape), "f8")[me] for r in range(ranks)),
         "reduce_scatter_block")
    for root in range(ranks):
        reduced, gathered = both("reduce", x, root=root), both("gather", x, root=root)
        assert (reduced is None) == (gathered is None) == (me != root)
        if me == root:
            same(reduced, sum(everybodys), "reduce")
            same(gathered, np.stack(everybodys), "gather")
        for bcast in (fanlight.bcast, lambda *a: fanlight.ibcast(*a).wait()):
            y = given(me, shape, "f8")
            assert bcast(comm, y, root) is y
            same(y, everybodys[root], "bcast")
        for scatter in (fanlight.scatter, lambda *a: fanlight.iscatter(*a).wait()):
            y = np.full(shape, -1.0)
            scatter(comm, blocks if me == root else None, y, root)
            same(y, given(root, (ranks, *shape), "f8")[me], "scatter")
both("barrier")

# In place; into an array of the caller's; a list; another object with the buffer protocol.
x = given(me, 9, "i4")
total = sum(given(r, 9, "i4") for r in range(ranks))
out = np.zeros(9, "i4")
assert fanlight.allreduce(comm, x, out=out) is out
same(out, total, "out")
assert fanlight.allreduce(comm, x, out=x) is x
same(x, total, "in place")
same(fanlight.allreduce(comm, [1, 2]), np.array([ranks, 2 * ranks]), "list")
buffer = bytearray([me] * 4)
fanlight.bcast(comm, buffer, ranks - 1)
assert buffer == bytes([ranks - 1] * 4)

# Any number of rows, any dtype, more than fits into the records.
record = np.dtype([("gid", "i4"), ("time", "f8")])
for rows in ([r + 1 for r in range(ranks)], [0] * ranks, [3 * (r == ranks - 1) for r in range(ranks)], [20000 + r for r in range(ranks)]):
    for shape, dtype in (((), record), ((2,), "f4"), ((2, 3), "u1")):
        pieces = [np.zeros((n, *shape), dtype) for n in rows]
        for r, piece in enumerate(pieces):
            for name in piece.dtype.names or [...]:
                piece[name] = given(r, piece.shape, "i8")
        data, counts = fanlight.allgatherv_any(comm, pieces[me])
        assert counts == rows
        same(data, np.concatenate(pieces), "allgatherv_any")

fanlight.set_algorithm(comm, "allreduce:ring")
explained = fanlight.explain(comm, "allreduce", 4096)
assert ("ring by fanlight_set_algorithm" if ranks > 1 else "a communicator of one rank") in explained, explained
same(fanlight.allreduce(comm, given(me, 600, "f8")), sum(given(r, 600, "f8") for r in range(ranks)), "ring")
fanlight.set_algorithm(comm, "")
assert "ring by" not in fanlight.explain(comm, "allreduce", 8)

# Several at once, on a communicator of their own, ended in another order; one that nobody waits for.
other = comm.Dup()
fanlight.prepare(other)
requests = [fanlight.iallreduce(other, np.full(4, float(i + me))) for i in range(8)]
for i in reversed(range(8)):
    same(requests[i].wait(), np.full(4, float(ranks * i + sum(range(ranks)))), "in flight")
fanlight.iallreduce(other, np.ones(1000))
other.Free()

# What was counted so far: nothing before the first report, unless the preload counts.
def barriers(counted):
    return sum(row["calls"] for row in counted["calls"] if row["operation"] == "barrier")


first = fanlight.report()
for _ in range(5):
    fanlight.barrier(comm)
second = fanlight.report()
assert (first is None) == (second is None) == (me != 0)
if me == 0:
    assert barriers(second) - barriers(first) == 5 * ranks and second["ranks"] == ranks, (first, second)
    assert "barrier" in str(second) and "served by" in str(second)

comm.Barrier()
if me == 0:
    print("ok", ranks)
    sys.stdout.flush()
