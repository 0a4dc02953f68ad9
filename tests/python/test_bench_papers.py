"""The papers' comparisons: their data fit the catalogue, and what is printed is what was run."""

import json

import pytest

from environments import environment_of
from fanlight import bench_papers
from fanlight.bench_run import Contender, Outcome
from fanlight.papers import LIBRARY, OTHERS, PAPERS, Claim, Comparison, Paper, Way


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_the_data_fit_the_catalogue(paper):
    ways = {c.operation: [w.name for w in c.ways] for c in paper.comparisons}
    for c in paper.comparisons:
        assert all(size % 8 == 0 for size in c.sizes)
        assert [w.name for w in c.ways for n in c.ranks if bench_papers.restriction(c.operation, w, n)] == []
    for claim in paper.claims:
        assert claim.way in ways[claim.operation]
        assert claim.than in (*ways[claim.operation], OTHERS, LIBRARY)
        assert any(claim.ranks(n) for c in paper.comparisons for n in c.ranks if c.operation == claim.operation)


def test_counted_transfers_are_the_papers():
    counted = bench_papers.transfers_of(PAPERS["pruned-ring"])
    assert [(t["ranks"], t["counted"]) for t in counted] == [(8, 56), (8, 44), (10, 90), (10, 75)]
    assert all(t["counted"] == t["paper"] for t in counted)


def test_claims_take_the_medians_of_what_they_speak_of():
    def line(way, size, fanlight):
        return {"mpi": "mpich", "operation": "bcast", "ranks": 4, "size": size, "way": way,
                "native": {"median": 12.0}, "fanlight": {"median": fanlight}}

    results = [line("a", 8, t) for t in (1, 2, 30)] + [line("b", 8, 8), line("c", 8, 6)]
    results += [line("a", 64, 4), line("b", 64, 2)]
    rows = bench_papers.times_of(results)
    assert rows[0]["times"] == {"a": 2, LIBRARY: 12, "b": 8, "c": 6}
    paper = Paper("", "", (), tuple(Claim("", "", "bcast", "a", than, (1, None), sizes=sizes) for than, sizes in
                                    (("b", (0, 64)), (OTHERS, (0, 8)), (LIBRARY, (64, 64)), ("b", (65, 100)))))
    here = [c["here"] for c in bench_papers.claims_of(paper, rows, ["mpich"])]
    assert [(h["mpich"]["least"], h["mpich"]["greatest"]) for h in here[:3]] == [(0.5, 4), (3, 3), (3, 3)]
    assert here[0]["mpich"]["mean"] == pytest.approx(2 ** 0.5)
    assert here[3] == {}


def test_what_was_served_otherwise_is_a_problem():
    comparison = Comparison("bcast", (Way("tree", "tree(degree=1)", "rma-lock"),), (2,), (8,))
    plan = bench_papers.PaperPlan(comparison, [Contender("mpich", "MPICH", None, None)], [], [], quick=True,
                                  settings="auto", cores=2, bind=False, launcher_arguments=[])
    contender, = plan.contenders_for(2)
    measured = {"type": "result", "operation": "bcast", "size": 8}
    plan.note(contender, 2, Outcome([measured], said="bcast of 8 bytes: tree over rma-lock by a rule"), "bcast")
    assert plan.problems == []
    plan.note(contender, 2, Outcome([measured], said="bcast of 8 bytes: tree over message by a rule"), "bcast")
    assert "not served as bcast of 8 bytes: tree over rma-lock" in plan.problems[0]


@pytest.mark.parametrize("paper, kind, arguments", [
    ("rma-trees", "mpich", ["--sizes", "16"]), ("spike-exchange", "openmpi", ["--sizes", "16"]),
    ("intra-cell", "mpich", ["--operation", "barrier"])])
def test_a_short_run(fanlight, paper, kind, arguments, tmp_path):
    output, plot = tmp_path / "times.json", tmp_path / "times.png"
    said = fanlight("bench", "--paper", paper, "--quick", "--mpi", f"{kind}={environment_of(kind)}", "-n", "2",
                    *arguments, "--output", output, "--plot", plot).stdout
    record = json.loads(output.read_text())
    comparison = PAPERS[paper].comparisons[0]
    ways = [w.name for w in comparison.ways]
    assert record["problems"] == [] and record["paper"] == paper
    row, = record["times"]
    assert set(row["times"]) == {LIBRARY, *ways} and all(t > 0 for t in row["times"].values())
    assert any(claim["here"].get(kind) for claim in record["claims"])
    assert PAPERS[paper].title.split()[0] in said and all(way in said for way in ways)
    exchanged = [(e["silent"], e["spikes"]) for e in record["exchanges"]]
    assert exchanged == ([(0, 3), (0, 30), (1, 3), (1, 30), (2, 3)] if paper == "spike-exchange" else [])
    assert all(t > 0 for e in record["exchanges"] for t in e["times"].values())
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_sizes_that_differ_look_different():
    for paper in PAPERS.values():
        for c in paper.comparisons:
            assert len(set(map(bench_papers.size_text, c.sizes))) == len(c.sizes)


def test_an_algorithm_that_does_not_take_so_many_ranks_is_a_problem(fanlight, tmp_path):
    said = fanlight("bench", "--paper", "spike-exchange", "-n", "3", "--operation", "allgather", "--plot",
                    tmp_path / "none.png", code=1, env={"PATH": f"{environment_of('mpich')}/bin:/usr/bin:/bin"}).stderr
    assert "two-sided is left out" in said and "power of two" in said


def test_an_unknown_paper_names_those_that_exist(fanlight):
    said = fanlight("bench", "--paper", "best-ring", code=2).stderr
    assert "best-ring" in said and all(name in said for name in PAPERS)
