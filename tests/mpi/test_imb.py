"""Intel MPI Benchmarks (from the wheel of Intel MPI) under Fanlight.

Their own data check must be compiled in, which it is not in the wheel.  tools/witness.c checks
in its place: it fills what is sent and compares every result with the MPI library's own.
"""

import re

import pytest

import running
from running import IMPI, MPICH, repeated, run

BENCHMARKS = ["Allreduce", "Reduce", "Reduce_scatter_block", "Allgather", "Allgatherv", "Gather", "Gatherv", "Scatter",
              "Scatterv", "Alltoall", "Bcast", "Barrier"]
NON_BLOCKING = ["Ibcast", "Iallgather", "Iallgatherv", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Ialltoall",
                "Ialltoallv", "Ireduce", "Ireduce_scatter", "Iallreduce", "Ibarrier"]
# Left to the MPI library where nothing is copied once: not all ranks know the lengths.
BY_SINGLE_COPY = {"Igatherv", "Iscatterv", "Ialltoallv"}
ONE_SIDED = ["Unidir_put", "Unidir_get", "Bidir_put", "Bidir_get", "One_put_all", "One_get_all", "All_put_all",
             "All_get_all", "Put_local", "Put_all_local", "Exchange_put", "Exchange_get", "Accumulate", "Get_accumulate",
             "Fetch_and_op", "Compare_and_swap"]
OF_PAIRS = {"Fetch_and_op", "Compare_and_swap"}  # IMB leaves them out for odd numbers of ranks


def imb(part, ranks, sizes, benchmarks, preloads, fanlight=None, sabotage="", mpi=IMPI, **options):
    program = IMPI.root / f"bin/IMB-{part}"
    if not program.exists():
        pytest.skip(f"no {program}")
    return run(mpi, ranks, [program, "-npmin", ranks, "-iter", 8, "-iter_policy", "off", "-time", 100, "-msglog", sizes,
                             *benchmarks],
               fanlight, preloads=preloads, settings={"WITNESS_FILL": "1", "SABOTAGE": sabotage, "LD_LIBRARY_PATH": f"{mpi.root}/lib"}, timeout=200, **options)


def must_be_right(result, benchmarks, calls):
    """Every benchmark ran, and so many calls were compared with the MPI library's."""
    assert not result.hung and result.code == 0 and "WRONG" not in result.err, str(result)
    assert int(re.search(r"^witness: ok, (\d+) calls compared", result.out, re.M)[1]) > calls, str(result)
    for name in benchmarks:
        assert f"# Benchmarking {name}" in result.out, str(result)


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
@pytest.mark.parametrize("ranks", [2, 4])
def test_imb(mpi, ranks, plain):
    result = imb("MPI1", ranks, f"0:{18 if ranks == 2 else 16}", BENCHMARKS, (mpi.program("witness.so"), None),
                 preload=not plain)
    must_be_right(result, BENCHMARKS, 2000)
    for name in BENCHMARKS:
        if not plain:
            assert result.report.calls(name.lower()) >= 100 * ranks, f"{name}\n{result}"


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
@pytest.mark.parametrize("ranks, settings", [(2, {"SINGLE_COPY": "on"}), (3, {"SINGLE_COPY": "off"})])
def test_non_blocking(mpi, ranks, settings, plain):
    result = imb("NBC", ranks, "3:9", NON_BLOCKING, (mpi.program("witness.so"), None), settings, preload=not plain)
    must_be_right(result, NON_BLOCKING, 1000)
    for name in NON_BLOCKING:
        if not plain and (settings["SINGLE_COPY"] == "on" or name not in BY_SINGLE_COPY):
            assert result.report.calls(name.lower()) >= 8 * ranks, f"{name}\n{result}"


# Through the levels of nodes that are this one.  Intel MPI has no hook for non-blocking ones there: those under MPICH,
# whose library takes the place of Intel's.
TOPOLOGIES = pytest.mark.parametrize("topology", ["2x2", repeated("2x1x2"), repeated("2x2:cyclic")])
BY_LEVELS = {"ALGORITHM": ",".join(f"{a.operation}:by-levels" for a in running.algorithms() if a.name == "by-levels")}


@TOPOLOGIES
def test_imb_between_nodes(topology, fanlight_only):
    result = imb("MPI1", 4, "0:12", BENCHMARKS, (IMPI.program("witness.so"), None), BY_LEVELS | {"TOPOLOGY": topology})
    must_be_right(result, BENCHMARKS, 1000)
    for name in BENCHMARKS:
        assert result.report.calls(name.lower()) >= 100 * 4, f"{name}\n{result}"


@TOPOLOGIES
def test_non_blocking_between_nodes(topology, fanlight_only):
    result = imb("NBC", 4, "3:9", NON_BLOCKING, (MPICH.program("witness.so"), None), BY_LEVELS | {"TOPOLOGY": topology}, mpi=MPICH)
    must_be_right(result, NON_BLOCKING, 1000)
    for name in NON_BLOCKING:
        assert result.report.calls(name.lower()) >= 8 * 4, f"{name}\n{result}"


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
@pytest.mark.parametrize("ranks", [2, 3])
def test_one_sided(mpi, ranks, plain):
    """What Fanlight leaves alone, between collectives that it serves."""
    result = imb("RMA", ranks, "3:9", ONE_SIDED, (mpi.program("witness.so"), None), preload=not plain)
    must_be_right(result, [name for name in ONE_SIDED if ranks == 2 or name not in OF_PAIRS], 10)
    if not plain:
        assert result.report.calls("barrier") >= 10 * ranks, str(result)


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
@pytest.mark.parametrize("part, benchmarks", [("NBC", NON_BLOCKING), ("RMA", ONE_SIDED)], ids=["NBC", "RMA"])
@pytest.mark.parametrize("transport", ["message", "rma-fence", "rma-lock", "rma-flush"])
def test_transports(mpi, part, benchmarks, transport, fanlight_only):
    """Fanlight's own messages and windows beside the program's."""
    result = imb(part, 2, "3:5", benchmarks, (mpi.program("witness.so"), None), {"TRANSPORT": transport, "VERBOSE": 1})
    must_be_right(result, benchmarks, 10)
    assert result.report.calls("barrier") >= 10 * 2 and f"over {transport} " in result.out + result.err, str(result)


@pytest.mark.parametrize("mpi", [IMPI], ids=str)
def test_the_witness_sees_what_is_wrong(mpi):
    """A red test: one collective made wrong below the witness."""
    below = (mpi.program("witness.so"), mpi.program("saboteur.so"))
    for part, name in (("MPI1", "Allgather"), ("MPI1", "Alltoall"), ("MPI1", "Bcast"), ("NBC", "Iallgather")):
        result = imb(part, 2, "0:8", [name], below, sabotage=name.lower(), preload=False)
        assert not result.hung and result.code != 0 and f"WRONG MPI_{name}" in result.err, str(result)
