"""The bits of sums that round: the same however data is moved, with FANLIGHT_ROUNDING=nodes wherever ranks are bound, and with
FANLIGHT_ROUNDING=mpi the MPI library's."""

import os

import pytest

from running import IMPI, MPICH, MPICH_ABI, OPENMPI, repeated, run

parametrize = pytest.mark.parametrize

# How data is moved and which rules hold: what is measured, or found, at the start of a program.
WAYS = [*({"SINGLE_COPY": copy, "CORES": cores, "WAIT": "yield"} for copy, cores in (("on", 64), ("off", 1), ("on", 1), ("off", 64))),
        {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": "8K", "CORES": 64, "WAIT": "yield"}]  # as measured between far cores
# MPICH counts what it serves on a communicator, and after five calls takes another order.
MPICH_FROM_THE_START = {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "0"}


def bits(result):
    lines = result.must_be_ok().out.splitlines()
    return {line.rsplit(None, 1)[0]: line.rsplit(None, 1)[1] for line in lines if line.count(" ") == 3}


def differences(one, other):
    assert one.keys() == other.keys() and len(one) > 60
    return {name for name in one if one[name] != other[name]}


@parametrize("mpi,ranks,longest,nodes", [
    (MPICH, 3, "", ""), (MPICH, 5, "20000", "2x*"), (MPICH, 6, "", "3x*"), (MPICH, 18, "200", ""), (OPENMPI, 5, "20000", ""),
    repeated(MPICH, 5, "", ""), repeated(MPICH, 32, "2100", ""), repeated(IMPI, 3, "", ""), repeated(MPICH_ABI, 3, "", "")], ids=str)
def test_however_data_is_moved(mpi, ranks, longest, nodes, fanlight_only):
    ways = WAYS if ranks < 16 else WAYS[:2]
    runs = [run(mpi, ranks, f"same_bits {longest}", way | {"TOPOLOGY": nodes}) for way in ways]
    first, *others = map(bits, runs)
    for way, other in zip(ways[1:], others):
        assert not differences(first, other), f"{ways[0]} and {way}: {sorted(differences(first, other))}"
    assert runs[0].report.calls("reduce_scatter_block") > 0 and runs[0].report.calls("exscan") > 0, str(runs[0])


@pytest.mark.skipif(len(os.sched_getaffinity(0)) != 2, reason="binds ranks to two cores")
def test_wherever_ranks_are_bound(fanlight_only):
    halves = ["-bind-to", "user:" + ",".join(["0"] * 17 + ["1"] * 17)]
    for rounding in ("own", "nodes"):
        free, bound = (bits(run(MPICH, 34, "same_bits 500", {"ROUNDING": rounding}, options=options)) for options in ([], halves))
        assert bool(differences(free, bound)) == (rounding == "own"), differences(free, bound)


@parametrize("mpi,ranks", [(MPICH, 3), (OPENMPI, 5), repeated(MPICH, 4), repeated(IMPI, 3), repeated(OPENMPI, 4)], ids=str)
def test_in_the_order_of_the_mpi_library(mpi, ranks, fanlight_only):
    settings = MPICH_FROM_THE_START if mpi.name.startswith("mpich") else {}
    own = run(mpi, ranks, "same_bits 20000", settings=settings)
    theirs = run(mpi, ranks, "same_bits 20000", {"ROUNDING": "mpi"}, settings=settings)
    without = bits(run(mpi, ranks, "same_bits 20000", preload=False, settings=settings))
    assert not differences(bits(theirs), without)
    # Integers are served as before; and without the setting there is something to see.
    assert theirs.report.calls("allreduce") > 0, str(theirs)
    assert "FANLIGHT_ROUNDING=mpi, and the result may depend on the order" in theirs.report.reasons(), str(theirs)
    assert differences(bits(own), without)
