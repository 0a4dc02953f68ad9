"""What is wrong is an exception that names it, on all ranks that it concerns, and the next call is right again."""

import sys

import numpy as np
from mpi4py import MPI

import fanlight
import refusals

comm = MPI.COMM_WORLD
me, ranks = comm.rank, comm.size
fanlight.prepare(comm)
double = np.ones(4)


def refused(error, words, call, *arguments, **options):
    refusals.refused(error, words, lambda: call(comm, *arguments, **options))
    # Nobody is left behind in a call that failed.
    assert fanlight.allreduce(comm, np.array([1]))[0] == ranks


def refused_on_all(error, words, elsewhere, call, mine, others):
    """Rank 0's argument alone is wrong; the others hear that there is something."""
    refused(error if me == 0 else ValueError, words if me == 0 else elsewhere, call, mine if me == 0 else others)


# dtypes
refused(ValueError, ["allreduce", "MPI has no reduction", "'e'"], fanlight.allreduce, np.ones(3, "f2"))
refused(ValueError, ["allreduce", "MPI has no reduction"], fanlight.allreduce, np.ones(3, ">f8"))
refused(ValueError, ["allreduce", "MPI has no reduction"], fanlight.allreduce, np.zeros(3, [("a", "i4")]))
refused(ValueError, ["allgather", "Python objects"], fanlight.allgather, np.array([None, {}]))
refused(ValueError, ["allgatherv_any", "Python objects"], fanlight.allgatherv_any, np.zeros(2, [("O", "i4"), ("a", "O")]))
refused(TypeError, ["bcast", "`x`", "buffer protocol"], fanlight.bcast, np.zeros(3, "M8[s]"))
refused(ValueError, ["allreduce", "`out` has elements f4", "f8"], fanlight.allreduce, double, out=np.ones(4, "f4"))

# layout and shape
refused(ValueError, ["allreduce", "`x`", "(2,)", "not C-contiguous"], fanlight.allreduce, double[::2])
refused(ValueError, ["allgatherv_any", "not C-contiguous"], fanlight.allgatherv_any, np.ones((3, 4)).T)
refused(ValueError, ["`out` has shape (3,)", "(4,)"], fanlight.allreduce, double, out=np.ones(3))
refused(ValueError, ["alltoall", f"({ranks + 1}, 2)", f"each of the {ranks} ranks"], fanlight.alltoall, np.ones((ranks + 1, 2)))
refused(ValueError, ["allgatherv_any", "axis"], fanlight.allgatherv_any, np.float64(1))
refused(ValueError, ["allgatherv_any", "rows are empty"], fanlight.allgatherv_any, np.ones((2, 0)))
constant = np.ones(4)
constant.flags.writeable = False
refused(ValueError, ["`out` is read-only"], fanlight.allreduce, double, out=constant)
both = np.ones(6)
refused(ValueError, ["`x` and `out` overlap"], fanlight.allreduce, both[:4], out=both[2:])

# arguments
refused(TypeError, ["`x` is missing"], fanlight.allreduce, None)
refused(TypeError, ["`op`", "str"], fanlight.allreduce, double, "SUM")
refused(ValueError, ["root 99", str(ranks)], fanlight.bcast, double, 99)
for root, error, words in (("a", TypeError, "no rank: 'a'"), (None, TypeError, "no rank: None"), (2**40, ValueError, f"root {2**40}")):
    refused_on_all(error, ["bcast", words], ["do not match", "root 0"], lambda c, r: fanlight.bcast(c, double, root=r), root, 0)
refused(MPI.Exception, ["quickest"], fanlight.set_algorithm, "allreduce:quickest")

# what nobody checks must not be written behind an array's end
fanlight.check_arguments(False)
for rows in (1, 1000):  # in records, and in an allgatherv of its own
    refused(ValueError, ["allgatherv_any", "another length"], fanlight.allgatherv_any, np.ones(rows) if me == 0 else np.ones((1, 3), "f4"))
fanlight.check_arguments(True)

# wrong on one rank alone
others = ["do not match, or another rank's are wrong"]
refused_on_all(ValueError, ["not C-contiguous"], others, fanlight.allreduce, np.ones(8)[::2], double)
refused_on_all(ValueError, ["MPI has no reduction"], others, fanlight.allreduce, np.ones(4, "f2"), double)
refused_on_all(ValueError, others, others, fanlight.allreduce, np.ones(5), double)
refused_on_all(ValueError, others, others, fanlight.allreduce, np.ones(4, "f4"), double)
refused_on_all(ValueError, others, others, fanlight.allgather, np.ones((2, 2)), double)
refused_on_all(ValueError, others, others, fanlight.bcast, np.ones(3), double)
refused_on_all(ValueError, others, others, fanlight.allgatherv_any, np.ones((2, 3)), np.ones((2, 2)))
refused_on_all(ValueError, others, others, fanlight.allgatherv_any, np.ones(2, [("a", "i4"), ("b", "f4")]), np.ones(1))
for dtype in ("f8", "i8", "f8"):
    fanlight.allgatherv_any(comm, np.ones(2, dtype))
    refused_on_all(ValueError, others, others, fanlight.allgatherv_any, np.ones(2, "u8"), np.ones(2, dtype))
refused(ValueError, others, fanlight.reduce, double, root=me)
refused(ValueError, others, fanlight.allreduce, double, MPI.SUM if me else MPI.MAX)
refused(ValueError, others, [fanlight.allreduce, fanlight.scan][me % 2], double)
# non-blocking: this rank's own
refused(ValueError, ["not C-contiguous"], fanlight.iallreduce, double[::2])

# communicators
for call in (lambda c: fanlight.allreduce(c, double), fanlight.barrier, lambda c: fanlight.allgatherv_any(c, double),
             lambda c: fanlight.explain(c, "bcast", 8), fanlight.prepare):
    freed = comm.Dup()
    freed.Free()
    refused(ValueError, ["freed"], lambda _: call(freed))
    refused(TypeError, ["no communicator", "int"], lambda _: call(3))
halves = comm.Split(me % 2)
between = halves.Create_intercomm(0, comm, (me + 1) % 2, 1)
refused(TypeError, ["intercommunicator"], lambda _: fanlight.allreduce(between, double))
between.Free()
halves.Free()

# after the end
kept = fanlight.iallreduce(comm, double)
kept.wait()
print("ok" if me == 0 else "", flush=True)
MPI.Finalize()
for call in (lambda: fanlight.allreduce(comm, double), lambda: fanlight.iallreduce(comm, double), lambda: fanlight.barrier(comm),
             lambda: fanlight.allgatherv_any(comm, double), lambda: fanlight.explain(comm, "bcast", 8), lambda: fanlight.prepare(comm),
             lambda: fanlight.set_algorithm(comm, ""), fanlight.report, lambda: fanlight.shared_array(comm, 3),
             lambda: fanlight.global_array(comm, 3)):
    try:
        call()
    except RuntimeError as e:
        assert "MPI has been finalized" in str(e)
    else:
        raise AssertionError("not refused after MPI_Finalize")
assert kept.test()
sys.exit(0)
