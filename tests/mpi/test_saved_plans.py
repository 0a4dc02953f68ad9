"""Algorithms in Python, saved in files that programs load: in unmodified programs on the real MPIs."""

import sys

import pytest

import running
from running import MPICH, OPENMPI, ROOT, repeated, run

sys.path.insert(0, str(ROOT / "tests/python"))
own = pytest.importorskip("own_algorithms")

OPERATIONS = ["bcast", "allgather", "reduce", "allreduce"]


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    for algorithm, name in ((own.binomial, "bcast"), (own.ring, "allgather"), (own.in_order, "reduce"), (own.reduce_and_bcast, "allreduce")):
        algorithm.save(folder / f"{name}.plan", ranks=[3, 4])
    return folder


def forced(folder, operations=OPERATIONS):
    return ",".join(f"{o}:file({folder / o}.plan)" for o in operations)


@pytest.mark.parametrize("mpi,ranks,settings", [(MPICH, 4, {}), (OPENMPI, 3, {}), (MPICH, 3, {"SINGLE_COPY": "off", "PIECE": "4K"}),
                                                (OPENMPI, 4, {"TOPOLOGY": "2x*"}), repeated(running.IMPI, 4, {})], ids=str)
def test_results(mpi, ranks, settings, plans, fanlight_only):
    """Staged, in pieces, and over messages: whatever the schedule is bound to."""
    result = run(mpi, ranks, "collectives --quick --only=" + ",".join(OPERATIONS), {"ALGORITHM": forced(plans), **settings}, timeout=100).must_be_ok()
    for operation in OPERATIONS:
        assert f"file({plans / operation}.plan)" in result.report.algorithms(operation), str(result)


def test_levels(plans, tmp_path, fanlight_only):
    own.two_levels.save(tmp_path / "levels.plan", ranks=[4], topology="2x2")
    for topology in ("2x*", "2x*:cyclic"):
        result = run(MPICH, 4, "collectives --quick --only=bcast", {"ALGORITHM": f"bcast:file({tmp_path}/levels.plan)", "TOPOLOGY": topology}).must_be_ok()
        assert any("file" in a for a in result.report.algorithms("bcast")) == (topology == "2x*"), str(result)


def test_the_next_rule_where_it_does_not_fit(plans, fanlight_only):
    result = run(MPICH, 2, "collectives --quick --only=bcast", {"ALGORITHM": forced(plans, ["bcast"])}, timeout=100).must_be_ok()
    assert result.report.calls("bcast") and not any("file" in a for a in result.report.algorithms("bcast"))


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
@pytest.mark.parametrize("other", ["changed", "missing"])
def test_a_file_that_differs_between_ranks(mpi, other, plans, tmp_path, fanlight_only):
    """The ranks run in folders of their own, in which the same name means different files."""
    for rank in range(3):
        (tmp_path / str(rank)).mkdir()
        if rank != 2 or other == "changed":
            (own.binomial if rank != 2 else own.read_from_root).save(tmp_path / str(rank) / "mine.plan", ranks=[3])
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    result = run(mpi, 3, ["/bin/sh", "-c", f'cd "{tmp_path}/{rank}" && exec "$0" "$@"', mpi.program("collectives"), "--quick", "--only=bcast"],
                 {"ALGORITHM": "bcast:file(mine.plan)"}, timeout=60).must_be_ok()
    assert "FANLIGHT_RULES say differs between the ranks" in result.err and result.report.reasons() >= {"FANLIGHT_ settings differ between the ranks"}


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_a_file_that_none_can_read(mpi, tmp_path, fanlight_only):
    result = run(mpi, 2, "collectives --quick --only=bcast", {"ALGORITHM": f"bcast:file({tmp_path}/no.plan)"}, timeout=60)
    assert not result.hung and result.code != 0 and f"the plan {tmp_path}/no.plan: No such file" in result.err, str(result)


def test_a_wrong_plan_is_never_run(tmp_path, fanlight_only):
    """With a hash of its own it is read, and verified before the first call that it would serve."""
    from fanlight import _core

    text = own.binomial.plan([3])[1].split("\n", 2)[2].replace("arrive 0 out n", "arrive 0 out+0 8", 1)
    (tmp_path / "wrong.plan").write_text(_core.SavedPlan.with_hash(text))
    result = run(MPICH, 3, "collectives --quick --only=bcast", {"ALGORITHM": f"bcast:file({tmp_path}/wrong.plan)"}, timeout=60).must_be_ok()
    assert "a saved plan that does not fit the problem, or the shared memory" in result.report.reasons()
    assert "left to the MPI library: the plan binomial is wrong for" in result.err and ": rank 1, round 0: arrive" in result.err, str(result)
