"""What goes wrong in real life: each of the bad cases of a program in bad_cases/."""

import json
import os
import re
import subprocess

import pytest

import running
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, libraries, on_rank, repeated, run

parametrize = pytest.mark.parametrize


@parametrize("mpi,ranks,rounds", [(MPICH, 2, 200), (MPICH, 4, 60), (OPENMPI, 2, 60), (IMPI, 2, 60), (MPICH_ABI, 2, 60),
                                  *(repeated(mpi, 2, 200) for mpi in running.ALL if mpi is not MPICH),
                                  *(repeated(mpi, 4, 60) for mpi in running.ALL if mpi is not MPICH)], ids=str)
def test_thousands_of_communicators(mpi, ranks, rounds, plain):
    result = run(mpi, ranks, f"many_communicators {rounds}", preload=not plain).must_be_ok()
    if not plain:
        assert sum(c["count"] for c in result.report.json["communicators"] if c["served"]) > rounds, str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_calls_of_thousands_of_lengths(mpi, plain):
    result = run(mpi, 2, "many_communicators 0 lengths", preload=not plain).must_be_ok()
    if not plain:
        assert result.report.calls("bcast") > 2 * 8990, str(result)


# Of three ranks one node has no room for the longest elements, and the other one needs none.
@parametrize("mpi,ranks,settings", [(MPICH, 2, {}), (MPICH, 2, {"SINGLE_COPY": "on"}), (OPENMPI, 2, {"SINGLE_COPY": "off"}),
                                    (MPICH, 3, {"TOPOLOGY": "2x*", "SINGLE_COPY": "off"})], ids=str)
def test_layouts_of_datatypes(mpi, ranks, settings, plain):
    run(mpi, ranks, "datatypes", settings, preload=not plain, timeout=40).must_be_ok()


@parametrize("mpi", [MPICH, IMPI, repeated(MPICH_ABI)], ids=str)
def test_displacements_that_are_addresses(mpi, plain):
    result = run(mpi, 3, "addresses", preload=not plain).must_be_ok()
    if not plain:
        assert [result.report.calls(o) for o in ("allgatherv", "gatherv", "scatterv")] == [12, 12, 12], str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_communicators_that_are_left_to_finalize(mpi, plain):
    result = run(mpi, 2, "left_communicators", {"TRANSPORT": "rma-fence", "ALGORITHM": "allreduce:recursive-doubling"}, preload=not plain,
                 timeout=40).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 40, str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_no_thread_takes_the_programs_signals(mpi, plain):
    result = run(mpi, 2, "signals", preload=not plain).must_be_ok()
    if not plain:
        assert result.report.calls("iallreduce") == 2, str(result)  # the second ones


@parametrize("ranks,start_after", [(2, 0), (3, 16), repeated(3, 0), repeated(2, 16)])
def test_a_communicator_for_each_thread(mpi, ranks, start_after, plain):
    result = run(mpi, ranks, "threads", {"START_AFTER": start_after}, preload=not plain)
    result.skip_without_threads().must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 500, str(result)
        # Of all threads, which have ended.
        counted = {o: result.report.calls(o, by=None) for o in ("allreduce", "barrier", "bcast")}
        assert counted == {"allreduce": ranks * 450, "barrier": ranks * 301, "bcast": ranks * 300}, str(result)


@parametrize("ranks", [2, repeated(3)])
def test_threads_with_all_kinds_of_collectives(mpi, ranks, plain):
    result = run(mpi, ranks, "threads_of_all_kinds", preload=not plain)
    result.skip_without_threads().must_be_ok()
    if not plain:
        for operation, least in (("allreduce", 150), ("allreduce_init", 50), ("iallreduce", 100), ("ibcast", 50)):
            assert result.report.calls(operation) >= least * ranks, f"{operation}\n{result}"


@parametrize("mpi", [MPICH, OPENMPI, repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_threads_that_first_use_one_datatype(mpi, plain):
    """What is freed is filled with other bytes at once."""
    result = run(mpi, 2, "threads_one_datatype", preload=not plain, settings={"MALLOC_PERTURB_": 165})
    result.skip_without_threads().must_be_ok()
    if not plain:
        assert result.report.calls("bcast") > 4000, str(result)


@libraries
@parametrize("start_after", [0, repeated(2)])
def test_collectives_in_callbacks(mpi, start_after, plain):
    run(mpi, 2, "callbacks", {"START_AFTER": start_after}, preload=not plain, timeout=60).must_be_ok()


@libraries
def test_delete_functions_use_what_is_freed(mpi, plain):
    result = run(mpi, 3, "dying", preload=not plain, timeout=30).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 3 * 12 * 4, str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_report_says_what_the_first_calls_took(mpi, fanlight_only):
    said = run(mpi, 2, "plain_calls", {"START_AFTER": 5, "REPORT": "-"}).must_be_ok().err
    assert re.search(r"first calls of communicators \(FANLIGHT_START_AFTER=5\): 1\d, 0\.\d+ seconds in the MPI library", said), said
    assert "1 communicator(s) with 2 ranks served by Fanlight" in said, said
    said = run(mpi, 2, "plain_calls", {"START_AFTER": 500, "REPORT": "-"}).must_be_ok().err
    assert "1 communicator(s) with 2 ranks left to the MPI library: fewer calls than FANLIGHT_START_AFTER" in said, said


@libraries
@parametrize("how", ["return", "exit", "_exit"])
def test_no_finalize(mpi, how, plain):
    """The launchers object in ways of their own; no hang, and right until then."""
    result = run(mpi, 3, f"no_finalize {how}", {"VERBOSE": 1}, preload=not plain, timeout=30)
    assert not result.hung and result.seconds < 20, str(result)
    assert re.search(r"^ok\b", result.out, re.M), str(result)
    assert not re.search(r"WRONG|egmentation|Aborted|Bus error|terminate called|signal \d", result.err + result.out), str(result)
    assert plain or "serves a communicator of 3 ranks" in result.err, str(result)


@libraries
def test_collectives_at_exit(mpi, plain):
    """What is freed is filled with other bytes at once."""
    result = run(mpi, 3, "at_exit", preload=not plain, settings={"MALLOC_PERTURB_": 165}).must_be_ok()
    if not plain:
        assert result.report.calls("gatherv") >= 70 * 3, str(result)


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


@parametrize("mpi", [MPICH], ids=str)
def test_mpi_abort_hangs_where_a_rank_was_killed(mpi, tmp_path, fanlight_only):
    result = run(mpi, 2, "killed 4", preloads=(None, mpi.program("stuck.so")), wrapper=[*OUT_OF_REACH, tmp_path / "err"], timeout=60)
    assert not result.hung and result.code != 0 and result.seconds < 20, str(result)
    assert "MPI_Abort hangs" in (tmp_path / "err").read_text(), str(result)


@libraries
def test_a_rank_is_killed_and_the_launcher_ends_all(mpi, plain):
    result = run(mpi, 3, "killed", preload=not plain, timeout=40)
    assert not result.hung and result.code != 0 and result.seconds < 20, str(result)
    assert "rank 2 kills itself" in result.out + result.err, str(result)


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


@parametrize("mpi,how", [(MPICH, "last"), (MPICH, "last persistent"), repeated(OPENMPI, "last")], ids=str)
def test_a_rank_that_never_waits_owes_another_one_a_large_send(mpi, how, plain):
    """Which is inside the MPI library meanwhile."""
    result = run(mpi, 3, f"owed_send {how}", preload=not plain, settings=NO_CMA, timeout=60).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce_init" if "persistent" in how else "allreduce") > 0, str(result)


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


@parametrize("mpi,before,start_after", [(MPICH, 0, 0), (OPENMPI, 0, 4), repeated(IMPI, 0, 4), repeated(MPICH_ABI, 0, 4)], ids=str)
def test_an_error_of_the_root_alone_before_a_communicator_is_served(mpi, before, start_after, plain):
    result = run(mpi, 3, f"wrong_on_the_root {before}", {"START_AFTER": start_after}, preload=not plain, timeout=30).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") >= 3 * 35, str(result)


# On rank 1 alone, and what the message says.
DIFFERENT = [("FANLIGHT_START_AFTER=7", "FANLIGHT_START_AFTER differs between the ranks .\"0\" on rank 0, \"7\" on rank 1 of 3."),
             ("FANLIGHT=off", "FANLIGHT differs between the ranks .\"1\" on rank 0, \"0\" on rank 1 of 3."),
             ("FANLIGHT_ALGORITHM=bcast:native", "FANLIGHT_ALGORITHM differs between the ranks .\"\" on rank 0, \"bcast:native\" on rank 1")]


@parametrize("mpi,setting,said", [(mpi, *case) if mpi is MPICH or (mpi is OPENMPI and case is DIFFERENT[0]) else repeated(mpi, *case)
                                  for mpi in running.ALL for case in DIFFERENT], ids=str)
def test_settings_that_differ(mpi, setting, said, fanlight_only):
    """They are compared before anything follows from them; all ranks stay with the MPI library."""
    result = run(mpi, 3, [*on_rank(1, setting), mpi.program("plain_calls")], timeout=30).must_be_ok()
    assert len(re.findall(said, result.err)) == 1, str(result)
    assert result.report.calls() == 0 and "FANLIGHT_ settings differ between the ranks" in result.report.reasons(), str(result)


def test_a_graph_with_an_edge_that_one_end_names(mpi, fanlight_only):
    result = run(mpi, 3, "one_way_graph").must_be_ok()
    assert result.report.calls("allreduce") > 60, str(result)


def test_a_rank_without_neighbors(mpi, fanlight_only):
    result = run(mpi, 3, "no_neighbors", timeout=30).must_be_ok()
    assert result.report.calls("neighbor_alltoallw") >= 3 * 280, str(result)


def test_topologies_that_open_mpi_mistakes(mpi, fanlight_only):
    result = run(mpi, 3, "topologies").must_be_ok()
    assert result.report.calls("allreduce") > 190 * 3, str(result)


# What rank 0 and the others call, and what is said of it.
MISMATCHED = {
    "length": "allreduce of (8|16) bytes where rank . calls allreduce of (8|16) bytes",
    "long": "bcast of (64|320000) bytes, root 0 where rank . calls bcast of (64|320000) bytes, root 0",
    "root": "reduce of 8 bytes, root . where rank . calls reduce of 8 bytes, root",
    "operation": "(barrier|allgather of 8 bytes) where rank . calls (barrier|allgather of 8 bytes)",
    "scatterv": "rank 0 sends 32 bytes where rank . expects 24 from it in scatterv",
    "gather-own": "rank 0 sends 72 bytes to itself where it expects 32 in gather",
    "igather-own": "rank 0 sends 72 bytes to itself where it expects 32 in gather",
    "gather-less": "rank 0 sends 24 bytes to itself where it expects 32 in gather",
    "scatter-own": "rank 0 sends 32 bytes to itself where it expects 72 in scatter",
    "scatterv-own": "rank 0 sends 32 bytes to itself where it expects 72 in scatterv",
    **{f"{name}-own": f"rank 0 sends 72 bytes to itself where it expects 32 in {name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv")},
    "neighbor-own": "rank 0 sends 72 bytes to itself where it expects 32 in neighbor-alltoallv",
    "gatherv": "rank . (sends 72 bytes where rank 0 expects 32 from it|has 72 bytes where rank 0 expects at most 32) in gatherv",
    "gatherv-once": "rank . sends 72000 bytes where rank 0 expects 32 from it in gatherv",
    "gatherv-lent": "rank . sends 20000 bytes where rank 0 expects 80000 from it in gatherv",
    "neighbor": "rank . expects (32 and 24|24 and 32) bytes from rank ., which sends one block along all edges, in neighbor_allgather",
    "ilength": "allreduce of (8|16) bytes where rank . calls allreduce of (8|16) bytes",
    "igatherv": "rank . sends 72 bytes where rank 0 expects 32 from it in gatherv",
}


@parametrize("mpi,how", [(mpi, how) if mpi is MPICH or how in ("length", "gatherv") else repeated(mpi, how)
                         for mpi in running.ALL for how in MISMATCHED], ids=str)
def test_ranks_call_different_collectives(mpi, how, fanlight_only):
    if how == "igatherv" and mpi is not MPICH:
        pytest.skip("one MPI is enough")
    # A block that its writer alone would copy once.
    settings = {"igatherv": {"SINGLE_COPY": "off"}, "gatherv-once": {"ALGORITHM": "gatherv:all-write-root(once=32K)"},
                "gatherv-lent": {"ALGORITHM": "gatherv:all-write-root(once=64K)", "LENT_FROM": "4K"}}.get(how, {})
    result = run(mpi, 3, f"mismatched {how}", settings, timeout=30).must_be_ok()
    assert "3 ranks got an error" in result.out, str(result)
    assert re.search(MISMATCHED[how], result.err), str(result)


@parametrize("mpi", [MPICH, repeated(MPICH_ABI), repeated(OPENMPI)], ids=str)
def test_the_root_initializes_what_is_wrong(mpi, fanlight_only):
    result = run(mpi, 3, "mismatched init", timeout=30).must_be_ok()
    assert result.err.count("rank 0 sends 72 bytes to itself where it expects 32 in gather") == 2, str(result)
    assert result.report.calls("allreduce_init") == 12, str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_nothing_is_kept_of_requests_that_failed(mpi, fanlight_only):
    result = run(mpi, 2, "mismatched ilength many", timeout=60)
    result.err = result.err[:2000]
    assert "2 ranks got an error" in result.must_be_ok().out, str(result)


@libraries
def test_ranks_call_different_collectives_and_the_job_ends(mpi, fanlight_only):
    result = run(mpi, 3, "mismatched length fatal", timeout=30)
    assert not result.hung and result.code != 0 and result.seconds < 15, str(result)
    assert re.search(MISMATCHED["length"], result.err), str(result)


# As in containers that share a machine's memory and network: each rank has process ids of its own.
CONTAINER = ["unshare", "--pid", "--fork", "sh", "-c",
             'i=0; while [ $i -lt ${PMI_RANK:-$PMIX_RANK} ]; do sh -c :; i=$((i + 1)); done; "$@"; exit $?', "sh"]


@parametrize("mpi", [MPICH, OPENMPI, repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_pid_namespaces(mpi, plain):
    if not running.can_unshare("--pid", "--fork"):
        pytest.skip("a pid namespace of its own needs root")
    result = run(mpi, 3, "late 1", {"WAITING_REPORT": 0.3, "VERBOSE": 1}, preload=not plain, settings=NO_CMA, wrapper=CONTAINER, timeout=40)
    result.must_be_ok()
    if not plain:
        assert "single copy no" in result.err and result.report.calls("allreduce") and "waits for" in result.err, str(result)


@parametrize("mpi", [OPENMPI], ids=str)
def test_containers_that_share_no_memory(mpi, plain):
    """They are served as nodes of their own."""
    if not running.can_unshare("--pid", "--fork", "--mount"):
        pytest.skip("namespaces of its own need root")
    alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh"]
    result = run(mpi, 2, "plain_calls", {"VERBOSE": 1}, preload=not plain, wrapper=[*alone, *CONTAINER], timeout=40,
                 settings={"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_pml": "ob1"}).must_be_ok()
    if not plain:
        assert "serves a communicator of 2 ranks on 2 nodes" in result.err and result.report.calls("allreduce") > 50, str(result)


@libraries
@parametrize("ranks", [3, repeated(2)])
def test_small_shared_memory(mpi, ranks, plain):
    if not running.can_unshare():
        pytest.skip("mounting a small /dev/shm needs root")
    result = run(mpi, ranks, ["small_shared_memory", os.readlink("/proc/self/ns/mnt")], preload=not plain, before=("unshare", "-m"), timeout=60)
    result.must_be_ok()
    if not plain:
        # It needs none of it.
        assert result.report.calls("allreduce") > 100 * ranks and "no shared memory" not in result.report.reasons(), str(result)


# Process ids of their own, so that the ranks reach the memory by a name alone, in a /dev/shm that is too small.
@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI)], ids=str)
def test_small_shared_memory_of_containers(mpi, fanlight_only):
    if not running.can_unshare("--pid", "--fork", "--mount"):
        pytest.skip("namespaces of its own need root")
    result = run(mpi, 2, ["small_shared_memory", os.readlink("/proc/self/ns/mnt")], settings=NO_CMA, before=("unshare", "-m"),
                 wrapper=CONTAINER, timeout=60).must_be_ok()
    assert result.err.count("of shared memory (No space left on device)") == 1, f"to be said once\n{result}"
    assert result.report.calls() == 0 and "no shared memory" in result.report.reasons(), str(result)


# In a /dev/shm of its own, of which it says what is left.
EMPTY = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/shm && "$@"; for f in /dev/shm/fanlight-*; do [ -e $f ] && echo LEFT $f; done', "sh")


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI)], ids=str)
@parametrize("rank", [0, 1])
def test_nothing_is_left_of_a_rank_that_is_killed_as_it_begins(mpi, rank, fanlight_only):
    if not running.can_unshare():
        pytest.skip("a /dev/shm of its own needs root")

    def killed(step, wrapper=()):
        return run(mpi, 2, f"killed_as_it_begins {rank} {step}", preloads=(mpi.program("killer.so"), None), before=EMPTY, wrapper=wrapper, timeout=30)

    for step in range(40):
        result = killed(step)
        assert not result.hung and "LEFT" not in result.out, str(result)
        if re.search(r"^ok\b", result.out, re.M):
            break
    assert 2 < step < 39, f"killed at each of {step} steps\n{result}"
    assert "has memory in /dev/shm" not in result.out, str(result)
    # Where such files must have names these are gone as soon as all have opened them.
    result = killed(1000, [running.PROGRAMS / "forbid", "memfd"])
    assert not result.hung and re.search(r"^ok\b", result.out, re.M), str(result)
    assert result.out.count("has memory in /dev/shm") == 2 and "LEFT" not in result.out, str(result)


@libraries
@parametrize("ranks", [2, repeated(3)])
def test_no_shared_memory_left_of_the_budget(mpi, ranks, fanlight_only):
    result = run(mpi, ranks, "plain_calls", {"SHARED_MEMORY": "4K"}).must_be_ok()
    assert result.report.calls() == 0 and "FANLIGHT_SHARED_MEMORY is used up" in result.report.reasons(), str(result)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="ranks would share a core")
def test_memory_for_ranks_that_share_cores_does_not_count_for_others(fanlight_only):
    """6.2 MiB for each communicator, and 0.4 more while it is made."""
    result = run(MPICH, 2, "left_communicators", {"SHARED_MEMORY": "13M", "VERBOSE": 1}).must_be_ok()
    assert result.err.count("serves a communicator of 2 ranks") == 2, str(result)


@libraries
@parametrize("ranks", [3, repeated(2)])
def test_process_vm_readv_is_forbidden(mpi, ranks, plain):
    # MPICH does not look whether it is allowed, and aborts.
    settings = {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}
    result = run(mpi, ranks, "plain_calls", {"VERBOSE": 1, "SINGLE_COPY": "on"}, preload=not plain, settings=settings,
                 wrapper=[running.PROGRAMS / "forbid", "single-copy"]).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") > 90, str(result)
        assert "single copy no" in result.err, str(result)
        assert "single copy yes" in run(mpi, ranks, "plain_calls", {"VERBOSE": 1, "SINGLE_COPY": "on"}).must_be_ok().err


# What one rank alone cannot do the others leave as well.
@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI)], ids=str)
def test_process_vm_readv_is_forbidden_on_one_rank(mpi, fanlight_only):
    command = [*on_rank(1, running.PROGRAMS / "forbid", "single-copy"), mpi.program("plain_calls")]
    result = run(mpi, 3, command, {"VERBOSE": 1, "SINGLE_COPY": "on"}, settings=NO_CMA, timeout=30).must_be_ok()
    assert result.report.calls("allreduce") > 90 and "single copy no" in result.err, str(result)


@parametrize("mpi", [MPICH, OPENMPI, repeated(IMPI)], ids=str)
def test_a_tool_above_mpi_wait_on_one_rank(mpi, fanlight_only):
    tool = mpi.program("waits.so")
    result = run(mpi, 3, [*on_rank(1, f"LD_PRELOAD={tool}:$LD_PRELOAD"), mpi.program("plain_calls")], timeout=30).must_be_ok()
    assert len(re.findall("that is not Fanlight's differs between the ranks .\"none\" on rank 0, \"MPI_Wait\" on rank 1 of 3", result.err)) == 1, str(result)
    assert result.report.calls() == 0 and "FANLIGHT_ settings differ between the ranks" in result.report.reasons(), str(result)


@parametrize("mpi", [MPICH], ids=str)
def test_single_copy_that_is_slower_than_two_copies(mpi, fanlight_only):
    """Made so by tools/slow.c.  Rank 0 says it, and no other."""
    result = run(mpi, 3, "plain_calls", {"VERBOSE": 1}, preloads=(None, mpi.program("slow.so")), settings={"SLOW": "single-copy"}).must_be_ok()
    assert result.err.count("no single copy: it takes more than three times as long") == 1 and result.err.count("single copy no,") == 1, str(result)


@parametrize("mpi,nodes", [(MPICH, ""), repeated(IMPI, ""), repeated(MPICH, "2x1")], ids=str)
def test_more_than_two_gib(mpi, nodes, plain):
    with open("/proc/meminfo") as f:
        free = int(re.search(r"MemAvailable:\s+(\d+)", f.read())[1]) >> 20
    if free < 8:
        pytest.skip(f"needs 8 GiB, {free} are free")
    settings = {"TOPOLOGY": nodes, "ALGORITHM": "bcast:binomial,allgather:ring"} if nodes else {}
    result = run(mpi, 2, "two_gib", settings, preload=not plain, timeout=200).must_be_ok()
    if not plain:
        assert result.report.calls("bcast") and result.report.calls("allgather"), str(result)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_no_memory(mpi, fanlight_only):
    result = run(mpi, 2, "no_memory", timeout=40).must_be_ok()
    assert "an error" in result.out and "fanlight: " in result.err, str(result)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_no_memory_in_calls_without_a_communicator(mpi, fanlight_only):
    result = run(mpi, 2, "no_memory_later", {"ALGORITHM": "reduce:binomial"}, timeout=60).must_be_ok()
    assert "waitall: an error" in result.out and "fanlight: std::bad_alloc" in result.err, str(result)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI), repeated(MPICH_ABI)], ids=str)
@parametrize("who", ["", "1"], ids=["all ranks", "one rank"])
def test_no_threads(mpi, who, fanlight_only):
    result = run(mpi, 2, f"threadless {who}", preloads=(mpi.program("no_threads.so"), None), timeout=40).must_be_ok()
    assert "no thread could be started to advance non-blocking operations" in result.report.reasons(), str(result)
    assert result.report.calls("allreduce") > 30, str(result)
    assert result.report.calls("iallreduce") == result.report.calls("allreduce_init") == 0, str(result)


@parametrize("mpi,rank", [(MPICH, 0), (MPICH, 2), repeated(OPENMPI, 0), repeated(IMPI, 2), repeated(MPICH_ABI, 0)], ids=str)
def test_the_report_is_wanted_on_one_rank(mpi, rank, tmp_path, fanlight_only):
    """It is that of all ranks, and written there."""
    command = [*on_rank(rank, f"FANLIGHT_REPORT={tmp_path}/report"), mpi.program("plain_calls")]
    result = run(mpi, 3, command, {"REPORT": ""}, timeout=30).must_be_ok()
    report = running.Report((tmp_path / "report").read_text())
    assert report.json["ranks"] == 3 and report.calls("allreduce") >= 3 * 90, str(result)
    assert [c["count"] for c in report.json["communicators"] if c["served"]] == [1], str(report.json)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_the_ranks_never_agree_on_the_report(mpi, tmp_path, fanlight_only):
    """One collective call is too few for that: the others do not know of the file."""
    command = [*on_rank(1, f"FANLIGHT_REPORT={tmp_path}/report", f"FANLIGHT_TRACE={tmp_path}/trace"), mpi.program("one_call")]
    result = run(mpi, 3, command, {"REPORT": ""}, timeout=30).must_be_ok()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["report.rank-1", "trace.rank-1"], str(result)
    report = running.Report((tmp_path / "report.rank-1").read_text())
    assert (report.json["ranks"], report.json["rank"]) == (1, 1) and [c["calls"] for c in report.json["calls"]] == [1], str(report.json)
    trace = json.loads((tmp_path / "trace.rank-1").read_text())
    assert trace["otherData"]["ranks"] == 1 and {e["pid"] for e in trace["traceEvents"]} == {1}, str(trace)


@parametrize("mpi", [MPICH, repeated(MPICH_ABI)], ids=str)  # Intel MPI asks for the same
@parametrize("single_copy", ["off", "on"])
def test_others_may_read_this_process_while_they_need_to(mpi, single_copy, tmp_path, fanlight_only):
    """As under Yama; the MPI library's own single copy is off, which would ask for the same."""
    settings = {"MPIR_CVAR_CH4_CMA_ENABLE": "0", "YAMA": tmp_path}
    preloads = (mpi.program("yama.so"), None)
    result = run(mpi, 3, "plain_calls", {"SINGLE_COPY": single_copy, "VERBOSE": 1}, settings=settings, preloads=preloads).must_be_ok()
    said = 3 if single_copy == "on" else 0
    assert result.err.count("yama: allowed") == said and result.err.count("yama: forbidden") == said, str(result)
    assert f"single copy {'yes' if said else 'no'}" in result.err, str(result)
    # Where it helps nothing.
    result = run(mpi, 3, "plain_calls", {"SINGLE_COPY": "on", "VERBOSE": 1}, settings=settings, preloads=preloads,
                 wrapper=[running.PROGRAMS / "forbid", "single-copy"]).must_be_ok()
    assert result.err.count("yama: allowed") == 3 and result.err.count("yama: forbidden") == 3, str(result)
    assert "single copy no" in result.err, str(result)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI), repeated(MPICH_ABI)], ids=str)
def test_a_file_of_rules_that_cannot_be(mpi, fanlight_only):
    """Ends the program with a message, as any that cannot be read."""
    result = run(mpi, 2, "plain_calls", {"RULES": "/" + 5000 * "x"}, timeout=30)
    assert not result.hung and result.code != 0 and "FANLIGHT_RULES: cannot read" in result.err, str(result)[:2000]


@parametrize("mpi,ranks", [(MPICH, 2), (MPICH, 5), (OPENMPI, 5), (IMPI, 2), (MPICH_ABI, 2), repeated(OPENMPI, 2), repeated(IMPI, 5),
                           repeated(MPICH_ABI, 5)], ids=str)
def test_intercommunicator(mpi, ranks, plain):
    result = run(mpi, ranks, "intercommunicator", preload=not plain).must_be_ok()
    if not plain:
        assert "an intercommunicator" in result.report.reasons() and result.report.calls("allreduce"), str(result)


# Intel MPI has no MPI_Comm_spawn over shared memory alone.
@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_processes_of_another_job(mpi, plain):
    result = run(mpi, 2, "spawned", preload=not plain, timeout=30).must_be_ok()
    if not plain:
        assert result.report.reasons() == {"first calls on a communicator", "processes outside this rank's MPI_COMM_WORLD"}, str(result)
        assert result.report.calls("allreduce") == 2 * 29, f"on MPI_COMM_WORLD\n{result}"


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_processes_of_another_job_that_are_prepared(mpi, fanlight_only):
    result = run(mpi, 2, "spawned prepared", timeout=30).must_be_ok()
    assert result.report.calls("allreduce") == 2 * (30 + 29), str(result)


@parametrize("mpi", [MPICH, OPENMPI, repeated(MPICH_ABI)], ids=str)
def test_sessions_alone(mpi, tmp_path, plain):
    """With a report and a trace, which look at each call's datatype."""
    run(mpi, 2, "sessions", {"TRACE": tmp_path / "trace.json"}, preload=not plain, timeout=30).must_be_ok()


@parametrize("mpi,enabled", [(MPICH, 1), (OPENMPI, 1), (IMPI, 1), (MPICH, 0), repeated(OPENMPI, 0), repeated(MPICH_ABI, 1)], ids=str)
def test_sessions_beside_mpi_init(mpi, enabled, plain):
    """What may be a session's stays with the MPI library, on all ranks, while one of them has a session open."""
    result = run(mpi, 2, "sessions beside", settings={"FANLIGHT": enabled}, preload=not plain, timeout=30).must_be_ok()
    if enabled and not plain:
        assert any("may be a session's" in reason for reason in result.report.reasons()), str(result)
        assert result.report.calls("bcast") == 2 * 4, str(result)
        assert result.report.calls() == 2 * (29 + 1 + 4), f"on MPI_COMM_WORLD, and afterwards\n{result}"


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


def test_a_profiling_tool_above_and_below(mpi, tmp_path, fanlight_only):
    """Before Fanlight it sees all calls and its PMPI_ calls are the MPI library's; after it, what
    Fanlight leaves to the MPI library."""
    tool = mpi.program("profiler.so")
    above = run(mpi, 2, "plain_calls", {"REPORT": tmp_path / "report"}, preloads=(tool, None)).must_be_ok()
    assert "profiler: 100 allreduces, 50 bcasts" in above.out, str(above)
    for rank in range(2):  # each alone, since both are in one call of Fanlight's
        report = running.Report((tmp_path / f"report.rank-{rank}").read_text())
        assert report.calls("barrier", "mpi") == 1, f"written although the tool calls PMPI_Finalize\n{above}"
    below = run(mpi, 2, "plain_calls", preloads=(None, tool)).must_be_ok()
    assert re.search(r"profiler: \d+ allreduces, \d+ bcasts", below.out), str(below)
    assert below.report.calls("allreduce") > 90, str(below)
    passed_on = run(mpi, 2, "plain_calls", {"ALGORITHM": "allreduce:native"}, preloads=(None, tool)).must_be_ok()
    seen = int(re.search(r"profiler: (\d+) allreduces", passed_on.out)[1])
    assert seen >= 100 and passed_on.report.calls("allreduce") == 0, str(passed_on)


@parametrize("mpi,ranks", [(MPICH, 3), (OPENMPI, 2), (IMPI, 2), repeated(MPICH, 4)], ids=str)
def test_calls_that_differ_in_one_thing_from_the_last_one(mpi, ranks, plain):
    result = run(mpi, ranks, "same_calls", preload=not plain).must_be_ok()
    if not plain:
        assert all(result.report.calls(i + o) > 100 * ranks for i in ("", "i") for o in ("gatherv", "scatterv", "allgatherv", "alltoallv")), str(result)
        assert result.report.calls("neighbor_allgather") > 35 * ranks and result.report.calls("neighbor_allgatherv") > 15 * ranks, str(result)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) != 2, reason="binds ranks to two cores")
def test_ranks_that_are_bound_to_cores(tmp_path, fanlight_only):
    """They share their own cores: as one rank of each node, and several on one core."""
    rules = tmp_path / "rules"
    rules.write_text("allreduce oversubscribed=yes -> ring\nallreduce oversubscribed=no -> recursive-doubling\n")
    result = run(MPICH, 2, "plain_calls", {"TOPOLOGY": "2x1", "RULES": rules}, options=["-bind-to", "core"]).must_be_ok()
    assert result.report.algorithms("allreduce") == {"by-levels(recursive-doubling)"}, str(result)
    result = run(MPICH, 3, "different_first_ranks", {"VERBOSE": 1}, options=["-bind-to", "user:0,1,1"]).must_be_ok()
    assert re.findall(r"(\d) ranks on (\d) cores", result.err) == [("2", "1"), ("3", "2"), ("3", "2")], str(result)
    # Bound to no cores of their own, by a launcher that may use one core: all of the job share it.
    result = run(MPICH, 3, "different_first_ranks", {"VERBOSE": 1}, before=["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]).must_be_ok()
    assert re.findall(r"(\d) ranks on (\d) cores", result.err) == [("3", "1")] * 3, str(result)


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_switched_off(mpi, fanlight_only):
    result = run(mpi, 2, "plain_calls", settings={"FANLIGHT": "0"}).must_be_ok()
    assert result.report is None or result.report.calls() == 0, str(result)


@parametrize("mpi,ranks", [(MPICH, 33), (OPENMPI, 65), (MPICH, 129), repeated(OPENMPI, 129), repeated(IMPI, 65), repeated(MPICH, 257)], ids=str)
def test_many_ranks(mpi, ranks, plain):
    result = run(mpi, ranks, "many_ranks", {"VERBOSE": 1}, preload=not plain, timeout=300).must_be_ok()
    if not plain:
        # What a persistent operation takes does not grow with the square of the ranks; freed ones are used again.
        persistent = [int(kib) for kib in re.findall(r"serves a persistent \w+ of \d+ ranks, (\d+) KiB", result.err)]
        assert 9 <= len(persistent) <= 12 and max(persistent) <= ranks * 64, str(result)
        assert result.report.calls("allreduce") >= 3 * ranks and result.report.reasons() == {"first calls on a communicator"}, str(result)
        assert sum(c["count"] for c in result.report.json["communicators"] if c["served"]) == 3, str(result)


@pytest.mark.long
def test_many_threads():
    """The executor, up to 512 ranks."""
    line = [running.BUILD / "tests/execute/execute_threads_test", "--gtest_also_run_disabled_tests", "--gtest_filter=ManyRanks.DISABLED*"]
    done = subprocess.run(line, timeout=1200, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "[ RUN      ]" in done.stdout and "[  SKIPPED ]" not in done.stdout, done.stdout
