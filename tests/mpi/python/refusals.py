"""What is refused, and how."""

from mpi4py import MPI


def refused(error, words, call):
    """The call raises this error, whose text has these words; by all ranks."""
    try:
        call()
    except error as e:
        assert all(w in str(e) for w in words), (words, str(e))
    else:
        raise AssertionError(f"not refused: {words}")
    MPI.COMM_WORLD.Barrier()
