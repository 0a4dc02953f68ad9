"""What goes wrong in real life: each of the bad cases of a program in bad_cases/."""

import os
import re

import pytest

import running
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, libraries, repeated, run

parametrize = pytest.mark.parametrize


@parametrize("mpi,ranks,rounds", [(MPICH, 2, 200), (MPICH, 4, 60), (OPENMPI, 2, 60), (IMPI, 2, 60), (MPICH_ABI, 2, 60),
                                  *(repeated(mpi, 2, 200) for mpi in running.ALL if mpi is not MPICH),
                                  *(repeated(mpi, 4, 60) for mpi in running.ALL if mpi is not MPICH)], ids=str)
def test_thousands_of_communicators(mpi, ranks, rounds, plain):
    result = run(mpi, ranks, f"many_communicators {rounds}", preload=not plain).must_be_ok()
    if not plain:
        assert sum(c["count"] for c in result.report.json["communicators"] if c["served"]) > rounds, str(result)


@parametrize("ranks,start_after", [(2, 0), (3, 16), repeated(3, 0), repeated(2, 16)])
def test_a_communicator_for_each_thread(mpi, ranks, start_after, plain):
    result = run(mpi, ranks, "threads", {"START_AFTER": start_after}, preload=not plain)
    if "skipped" in result.out:
        pytest.skip(f"{mpi} has no MPI_THREAD_MULTIPLE")
    result.must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 500, str(result)


@libraries
@parametrize("how", ["return", "exit", "_exit"])
def test_no_finalize(mpi, how, plain):
    """The launchers object in ways of their own; no hang, and right until then."""
    result = run(mpi, 3, f"no_finalize {how}", preload=not plain, timeout=30)
    assert not result.hung and result.seconds < 20, str(result)
    assert "WRONG" not in result.err and "egmentation" not in result.err + result.out, str(result)


# The launchers kill all ranks as soon as one has ended badly.  In a session of its own a rank
# outlives that; it must end by Fanlight's doing, and before `timeout` ends it.  What it says
# goes to a file, since a launcher that is ending passes on no more.
OUT_OF_REACH = ["setsid", "--wait", "timeout", "--signal=KILL", "40", "sh", "-c", 'exec "$@" 2>>"$0"']


@libraries
@parametrize("ranks,count", [(2, 4), (4, 100000), repeated(4, 4), repeated(2, 100000)])
def test_a_rank_is_killed(mpi, ranks, count, tmp_path, fanlight_only):
    result = run(mpi, ranks, f"killed {count}", wrapper=[*OUT_OF_REACH, tmp_path / "err"], timeout=60)
    result.err += (tmp_path / "err").read_text()
    assert not result.hung and result.code != 0 and result.seconds < 20, str(result)
    said = re.findall(rf"rank {ranks - 1} \(process \d+\) has ended while rank (\d) waits .* in allreduce", result.err)
    assert said, str(result)


@libraries
def test_a_rank_is_killed_and_the_launcher_ends_all(mpi, plain):
    result = run(mpi, 3, "killed", preload=not plain, timeout=40)
    assert not result.hung and result.code != 0 and result.seconds < 20, str(result)


NO_CMA = {"MPIR_CVAR_CH4_CMA_ENABLE": 0, "OMPI_MCA_smsc": "^cma"}


def late(mpi, seconds, report_after):
    result = run(mpi, 3, f"late {seconds}", {"WAITING_REPORT": report_after}, timeout=seconds + 60).must_be_ok()
    waits = set(re.findall(r"fanlight: rank (\d) waits for rank (\d) in (allreduce|barrier)", result.err))
    assert ("0", "1", "allreduce") in waits, str(result)
    assert result.err.count("waits for") < 20, str(result)
    return result


@libraries
def test_a_rank_enters_late(mpi, fanlight_only):
    late(mpi, 2, 0.5)


@pytest.mark.long
@parametrize("mpi", [MPICH], ids=str)
def test_a_rank_enters_a_minute_late(mpi, fanlight_only):
    late(mpi, 60, 30)


@libraries
@parametrize("ranks,settings", [(2, {}), (2, NO_CMA), (3, NO_CMA), repeated(3, {})], ids=lambda v: "no-cma" if v is NO_CMA else str(v or ""))
def test_a_rank_owes_its_peer_a_large_send(mpi, ranks, settings, plain):
    """Where the receiver cannot fetch the data by itself the sender must help."""
    run(mpi, ranks, "owed_send", preload=not plain, settings=settings, timeout=40).must_be_ok()


@libraries
@parametrize("ranks", [2, 3])
def test_a_rank_is_reached_into_while_it_waits(mpi, ranks, plain):
    run(mpi, ranks, "owed_access", preload=not plain, timeout=40).must_be_ok()


def test_invalid_arguments(mpi, plain, fanlight_only):
    """The same error classes as without Fanlight."""
    without = run(mpi, 2, "invalid", preload=False).must_be_ok()
    result = run(mpi, 2, "invalid").must_be_ok()
    assert result.out == without.out, f"{result}\n--- without Fanlight\n{without.out}"
    assert result.report.calls("allreduce") > 100, str(result)


def test_a_graph_with_an_edge_that_one_end_names(mpi, fanlight_only):
    result = run(mpi, 3, "one_way_graph").must_be_ok()
    assert result.report.calls("allreduce") > 60, str(result)


# What rank 0 and the others call, and what is said of it.
OUT_OF_STEP = {
    "length": "allreduce of (8|16) bytes where rank . calls allreduce of (8|16) bytes",
    "long": "bcast of (64|320000) bytes, root 0 where rank . calls bcast of (64|320000) bytes, root 0",
    "root": "reduce of 8 bytes, root . where rank . calls reduce of 8 bytes, root",
    "operation": "(barrier|allgather of 8 bytes) where rank . calls (barrier|allgather of 8 bytes)",
    "scatterv": "rank 0 sends 32 bytes where rank . expects 24 from it in scatterv",
    "gatherv": "rank . (sends 72 bytes where rank 0 expects 32 from it|has 72 bytes where rank 0 expects at most 32) in gatherv",
    "ilength": "allreduce of (8|16) bytes where rank . calls allreduce of (8|16) bytes",
    "igatherv": "rank . sends 72 bytes where rank 0 expects 32 from it in gatherv",
}


@parametrize("mpi,how", [(mpi, how) if mpi is MPICH or how in ("length", "gatherv") else repeated(mpi, how)
                         for mpi in running.ALL for how in OUT_OF_STEP], ids=str)
def test_ranks_call_different_collectives(mpi, how, fanlight_only):
    if how == "igatherv" and mpi is not MPICH:
        pytest.skip("one MPI is enough")
    settings = {"SINGLE_COPY": "off"} if how == "igatherv" else {}
    result = run(mpi, 3, f"out_of_step {how}", settings, timeout=30).must_be_ok()
    assert "3 ranks got an error" in result.out, str(result)
    assert re.search(OUT_OF_STEP[how], result.err), str(result)


@libraries
def test_ranks_call_different_collectives_and_the_job_ends(mpi, fanlight_only):
    result = run(mpi, 3, "out_of_step length fatal", timeout=30)
    assert not result.hung and result.code != 0 and result.seconds < 15, str(result)
    assert re.search(OUT_OF_STEP["length"], result.err), str(result)


@libraries
@parametrize("ranks", [3, repeated(2)])
def test_small_shared_memory(mpi, ranks, plain):
    if not running.can_unshare():
        pytest.skip("mounting a small /dev/shm needs root")
    result = run(mpi, ranks, ["small_shared_memory", os.readlink("/proc/self/ns/mnt")], preload=not plain, before=("unshare", "-m"), timeout=60)
    result.must_be_ok()
    if not plain:
        assert result.err.count("shared memory in /dev/shm") == 1, f"to be said once\n{result}"
        assert result.report.calls() == 0 and "no shared memory" in result.report.reasons(), str(result)


@libraries
@parametrize("ranks", [2, repeated(3)])
def test_no_shared_memory_left_of_the_budget(mpi, ranks, fanlight_only):
    result = run(mpi, ranks, "plain_calls", {"SHARED_MEMORY": "4K"}).must_be_ok()
    assert result.report.calls() == 0 and "FANLIGHT_SHARED_MEMORY is used up" in result.report.reasons(), str(result)


@libraries
@parametrize("ranks", [3, repeated(2)])
def test_process_vm_readv_is_forbidden(mpi, ranks, plain):
    # MPICH does not look whether it is allowed, and aborts.
    settings = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    result = run(mpi, ranks, "plain_calls", {"VERBOSE": 1, "SINGLE_COPY": "on"}, preload=not plain, settings=settings,
                 wrapper=[running.PROGRAMS / "no_single_copy"]).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 90, str(result)
        assert "single copy no" in result.err, str(result)
        assert "single copy yes" in run(mpi, ranks, "plain_calls", {"VERBOSE": 1, "SINGLE_COPY": "on"}).must_be_ok().err


@parametrize("mpi", [MPICH, repeated(IMPI)], ids=str)
def test_more_than_two_gib(mpi, plain):
    with open("/proc/meminfo") as f:
        free = int(re.search(r"MemAvailable:\s+(\d+)", f.read())[1]) >> 20
    if free < 8:
        pytest.skip(f"needs 8 GiB, {free} are free")
    result = run(mpi, 2, "two_gib", preload=not plain, timeout=200).must_be_ok()
    if not plain:
        assert result.report.calls("bcast") and result.report.calls("allgather"), str(result)


@parametrize("mpi,ranks", [(MPICH, 2), (MPICH, 5), (OPENMPI, 5), (IMPI, 2), (MPICH_ABI, 2), repeated(OPENMPI, 2), repeated(IMPI, 5),
                           repeated(MPICH_ABI, 5)], ids=str)
def test_intercommunicator(mpi, ranks, plain):
    result = run(mpi, ranks, "intercommunicator", preload=not plain).must_be_ok()
    if not plain:
        assert "an intercommunicator" in result.report.reasons() and result.report.calls("allreduce"), str(result)


@parametrize("ranks", [1, 2, 3])
def test_fortran(mpi, ranks, plain):
    if not mpi.program("fortran").exists():
        pytest.skip(f"{mpi} without a Fortran library, or no Fortran compiler")
    result = run(mpi, ranks, "fortran", running.ALL_SERVED, preload=not plain).must_be_ok()
    if not plain and ranks > 1:
        for operation in ("ialltoallv", "neighbor_alltoallw"):
            assert result.report.calls(operation) >= 9 * ranks, str(result)
        for operation in ("allreduce", "allgather", "bcast", "barrier"):
            assert result.report.calls(operation) >= 50 * ranks, str(result)


def test_a_profiling_tool_above_and_below(mpi, fanlight_only):
    """Before Fanlight it sees all calls and its PMPI_ calls are the MPI library's; after it, what
    Fanlight leaves to the MPI library."""
    tool = mpi.program("profiler.so")
    above = run(mpi, 2, "plain_calls", preloads=(tool, None)).must_be_ok()
    assert "profiler: 100 allreduces, 50 bcasts" in above.out, str(above)
    below = run(mpi, 2, "plain_calls", preloads=(None, tool)).must_be_ok()
    assert re.search(r"profiler: \d+ allreduces, \d+ bcasts", below.out), str(below)
    assert below.report.calls("allreduce") > 90, str(below)
    passed_on = run(mpi, 2, "plain_calls", {"ALGORITHM": "allreduce:native"}, preloads=(None, tool)).must_be_ok()
    seen = int(re.search(r"profiler: (\d+) allreduces", passed_on.out)[1])
    assert seen >= 100 and passed_on.report.calls("allreduce") == 0, str(passed_on)


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_switched_off(mpi, fanlight_only):
    result = run(mpi, 2, "plain_calls", settings={"FANLIGHT": "0"}).must_be_ok()
    assert result.report is None or result.report.calls() == 0, str(result)
