"""The trace of calls (FANLIGHT_TRACE), and the waits in the report."""

import collections
import json
import textwrap

import pytest

from running import MPICH, OPENMPI, can_unshare, libraries, run


def traced(tmp_path, mpi, ranks, command, fanlight=None, **options):
    file = tmp_path / "trace.json"
    result = run(mpi, ranks, command, {"TRACE": file, **(fanlight or {})}, **options)
    assert result.code == 0 and file.exists(), str(result)
    trace = json.loads(file.read_text())
    return result, trace["otherData"], [e for e in trace["traceEvents"] if e["ph"] == "X"]


def script(text):
    return ["-c", "import time\nfrom mpi4py import MPI\nworld = MPI.COMM_WORLD\n" + textwrap.dedent(text)]


def python(mpi):
    return mpi.root / "bin/python"


@libraries
def test_each_call_is_there(mpi, tmp_path, fanlight_only):
    """As often as the report counts it, by whom it says; one after the other on each thread."""
    ranks = 3
    result, about, events = traced(tmp_path, mpi, ranks, "collectives --quick --plain")
    assert about["ranks"] == ranks and about["left_out"] == 0
    calls = collections.Counter((e["name"], e["args"]["by"]) for e in events if e["cat"] == "collective")
    counted = collections.Counter()
    for row in result.report.rows():
        counted[row["operation"], row["by"]] += row["calls"]
    assert calls == counted, str(result)
    assert sum(e["args"]["bytes"] for e in events if e["cat"] == "collective") == sum(r["bytes"] for r in result.report.rows())
    assert {e["args"]["for"] for e in events if e["cat"] == "wait"} <= {-1, *range(ranks)}
    for rank in range(ranks):
        own = sorted((e["ts"], e["dur"]) for e in events if e["pid"] == rank and e["tid"] == 0 and e["cat"] == "collective")
        assert all(a + d <= b + 0.01 for (a, d), (b, _) in zip(own, own[1:]))


LATE = """
    backwards = world.Split(0, -world.rank)
    for i in range(60):
        if world.rank == 2:
            time.sleep(0.01)
        backwards.Barrier()
"""


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_who_is_waited_for(mpi, tmp_path, fanlight_only):
    """By ranks of MPI_COMM_WORLD, in a communicator that has them in another order."""
    result, _, events = traced(tmp_path, mpi, 3, [python(mpi), *script(LATE)], {"ALGORITHM": "barrier:one-to-all"})
    by_rank = result.report.json["by_rank"]
    # In one-to-all each waits for all, of whom one alone comes late.
    for rank in (0, 1):
        assert by_rank[rank]["for"][0]["rank"] == 2 and by_rank[rank]["for"][0]["seconds"] > 0.1, str(by_rank)
        waits = [e["dur"] for e in events if e["pid"] == rank and e["cat"] == "wait" and e["args"]["for"] == 2]
        assert sum(waits) == pytest.approx(by_rank[rank]["for"][0]["seconds"] * 1e6, rel=0.01)
    assert by_rank[2]["waited"] < by_rank[0]["for"][0]["seconds"] / 2, str(by_rank)
    assert by_rank[0]["seconds"] > by_rank[0]["waited"]


def test_only_so_many(tmp_path, fanlight_only):
    result, about, events = traced(tmp_path, MPICH, 2, "collectives --quick --plain", {"TRACE_EVENTS": 100})
    assert len(events) == 200 and about["left_out"] > 1000
    assert f"{about['left_out']} calls and waits more than it may keep" in result.err, str(result)


def test_set_on_one_rank(tmp_path, fanlight_only):
    """The last one here: it is for all of them."""
    script = '[ "$PMI_RANK" = 1 ] || unset FANLIGHT_TRACE FANLIGHT_REPORT; exec "$@"'
    result, _, events = traced(tmp_path, MPICH, 2, ["/bin/sh", "-c", script, "sh", MPICH.program("collectives"), "--quick", "--plain"])
    assert {e["pid"] for e in events if e["cat"] == "collective" and e["args"]["by"] == "fanlight"} == {0, 1}
    assert min(rank["seconds"] for rank in result.report.json["by_rank"]) > 0


def test_clocks_that_differ(tmp_path, fanlight_only):
    """Rank 1's clock is 1000 s ahead, as those of two nodes may be: calls of one barrier are at one time."""
    if not can_unshare("--time", "--fork"):
        pytest.skip("no time namespaces here")
    ahead = ["sh", "-c", '[ "$PMI_RANK" = 1 ] || exec "$@"; exec unshare --time --monotonic 1000 --fork "$@"', "sh"]
    _, _, events = traced(tmp_path, MPICH, 2, [python(MPICH), *script("for i in range(300): world.Barrier()")], wrapper=ahead)
    ends = [sorted(e["ts"] + e["dur"] for e in events if e["pid"] == rank and e["name"] == "barrier") for rank in (0, 1)]
    assert len(ends[0]) == len(ends[1]) == 300
    apart = sorted(abs(a - b) for a, b in zip(*ends))
    assert apart[150] < 1e5, apart[150]  # a loaded machine's turns, not 1000 s
