"""Intel MPI Benchmarks (IMB-MPI1, from the wheel of Intel MPI) under Fanlight.

Their own data check must be compiled in, which it is not in the wheel.  tools/witness.c checks
in its place: it fills what is sent and compares every result with the MPI library's own.
"""

import re

import pytest

from running import IMPI, run

BENCHMARKS = ["Allreduce", "Reduce", "Reduce_scatter_block", "Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter",
              "Scatterv", "Alltoall", "Bcast", "Barrier"]


def imb(ranks, last_log, benchmarks, preloads, sabotage="", **options):
    program = IMPI.root / "bin/IMB-MPI1"
    if not program.exists():
        pytest.skip(f"no {program}")
    return run(IMPI, ranks, [program, "-npmin", ranks, "-iter", 8, "-iter_policy", "off", "-time", 100, "-msglog",
                             f"0:{last_log}", *benchmarks],
               preloads=preloads, settings={"WITNESS_FILL": "1", "SABOTAGE": sabotage}, timeout=200, **options)


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
@pytest.mark.parametrize("ranks", [2, 4])
def test_imb(mpi, ranks, plain):
    witness = mpi.program("witness.so")
    result = imb(ranks, 18 if ranks == 2 else 16, BENCHMARKS, (witness, None), preload=not plain)
    assert not result.hung and result.code == 0 and "WRONG" not in result.err, str(result)
    compared = int(re.search(r"^witness: ok, (\d+) calls compared", result.out, re.M)[1])
    assert compared > 2000, str(result)
    for name in BENCHMARKS:
        assert f"# Benchmarking {name}" in result.out, str(result)
        if not plain:
            assert result.report.calls(name.lower()) >= 100 * ranks, f"{name}\n{result}"


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
def test_the_witness_sees_what_is_wrong(mpi):
    """A red test: one collective made wrong below the witness."""
    below = (mpi.program("witness.so"), mpi.program("saboteur.so"))
    for name in ("Allgather", "Alltoall", "Bcast"):
        result = imb(2, 8, [name], below, name.lower(), preload=False)
        assert not result.hung and result.code != 0 and f"WRONG MPI_{name}" in result.err, str(result)
