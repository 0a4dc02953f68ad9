"""The commands over the core that has no MPI in it."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree

import pytest

import fanlight as package
from fanlight import _core


def test_every_row_is_listed(fanlight):
    said = fanlight("list").stdout
    for a in package.algorithms():
        assert a.name in said
        assert a.operation in said


def test_list_of_one_operation(fanlight):
    said = fanlight("list", "bcast").stdout
    assert "pruned-ring" in said and "dissemination" not in said


def test_unknown_operation_names_those_that_exist(fanlight):
    said = fanlight("list", "broadcast", code=2).stderr
    assert "broadcast" in said and "bcast" in said


def test_unknown_algorithm_names_those_that_exist(fanlight):
    said = fanlight("draw", "bcast", "quickest", code=2).stderr
    assert "quickest" in said and "binomial" in said


def test_verify_everything_for_a_few_ranks(fanlight):
    said = fanlight("verify", "-n", "1..6").stdout
    assert "all right" in said and "wrong" not in said
    assert all(a.name in said for a in package.algorithms())


def test_verify_one(fanlight):
    said = fanlight("verify", "bcast", "pruned-ring", "-n", "7").stdout
    assert "1 algorithms" in said or "pruned-ring" in said
    assert "binomial" not in said


@pytest.mark.parametrize("ranks", ["0", "5..2", "many"])
def test_verify_refuses_a_wrong_range(fanlight, ranks):
    assert "number of ranks" in fanlight("verify", "-n", ranks, code=2).stderr


def test_verify_sees_a_fault(monkeypatch, capsys):
    from rich.console import Console

    from fanlight import proofs

    real = _core.verify
    monkeypatch.setattr(proofs._core, "verify",
                        lambda name, p, calls: ["rank 0: planted"] if p.size == 3 else real(name, p, calls))
    assert proofs.run(package.algorithms("barrier"), range(1, 5), 1, Console(width=200)) == len(package.algorithms("barrier"))
    assert "planted" in capsys.readouterr().out


@pytest.mark.parametrize("a", package.algorithms(), ids=lambda a: f"{a.operation}:{a.name}")
def test_drawing_is_svg(a):
    picture = ElementTree.fromstring(package.draw(a.name, _core.Problem(a.operation, 8, bytes=64, element=8)))
    assert picture.tag.endswith("svg")
    assert len(list(picture.iter())) > 20


def test_draw_writes_a_file(fanlight, tmp_path):
    fanlight("draw", "bcast", "pruned-ring", "-n", "10", "-o", tmp_path / "x.svg")
    ElementTree.parse(tmp_path / "x.svg")
    assert "svg" in fanlight("draw", "barrier", "dissemination").stdout
    assert "no/such" in fanlight("draw", "barrier", "dissemination", "-o", "no/such/x.svg", code=2).stderr


def test_algorithms_of_the_levels(fanlight, tmp_path):
    named = ("allreduce", "by-levels(all-read-all, recursive-doubling)", "-n", "16", "--topology", "2x2x4")
    said = fanlight("count", *named, "--bytes", "8").stdout
    assert re.search(r"by-levels +\d+ +\d+ +80 .* 16 .* 32 ", said), said
    fanlight("draw", *named, "-o", tmp_path / "x.svg")
    assert ">node 1<" in (tmp_path / "x.svg").read_text()
    wrong = fanlight("count", "allreduce", "by-levels(no-such, ring)", "-n", "4", code=2).stderr
    assert "'no-such' inside the domains of allreduce" in wrong


def test_count(fanlight):
    problem = _core.Problem("bcast", 10, bytes=1000)
    counts = package.count("binomial", problem)
    assert counts["messages"] == 9 and counts["bytes"] == 9000
    assert counts["between"] == []
    nodes = _core.Problem("bcast", 10, bytes=1000, topology="2x(3+2)")
    assert nodes.topology == "2x(3+2)"
    across_nodes, across_domains = package.count("binomial", nodes)["between"]
    assert 1 <= across_nodes["messages"] <= across_domains["messages"] < 9
    assert package.cost("binomial", problem) > 0
    said = fanlight("count", "bcast", "-n", "10", "--bytes", "1000").stdout
    assert "binomial" in said and "pruned-ring" in said
    said = fanlight("count", "bcast", "pruned-ring-on-nodes", "-n", "8", "--topology", "2x2x2").stdout
    assert {"between", "nodes", "level"} <= set(said.split())
    assert "6 places for 8 ranks" in fanlight("count", "bcast", "-n", "8", "--topology", "2x3", code=2).stderr


def test_parameters(fanlight):
    said = fanlight("list", "bcast").stdout
    assert "degree, piece" in said and "minimum" in said
    # Degree 1 is a chain: seven messages behind one another; degree 8: the root is read by all.
    for degree, depth in ((1, 7), (8, 1)):
        problem = _core.Problem("bcast", 8, bytes=64, degree=degree)
        assert package.count("tree", problem)["depth"] == depth
        cells = fanlight("count", "bcast", f"tree(degree={degree})").stdout.split("tree ")[1].split()
        assert cells[1] == str(depth)
    assert "svg" in fanlight("draw", "barrier", "tree(degree=4)").stdout
    refused = fanlight("draw", "bcast", "one-to-all(degree=4)", code=2).stderr
    assert "no parameter 'degree'" in refused and "shift" in refused
    chosen = fanlight("explain", "bcast", env={"FANLIGHT_ALGORITHM": "bcast:tree(degree=4,piece=8K)"}).stdout
    assert "degree=4" in chosen and "piece=8192" in chosen


def test_an_operation_of_several_words(fanlight):
    for name in ("reduce-scatter-block", "reduce_scatter_block"):
        assert "recursive-halving" in fanlight("list", name).stdout


def test_alltoallv_has_a_length_for_each_pair():
    lengths = [0, 8, 16, 24]
    problem = _core.Problem("alltoallv", 2, blocks=lengths)
    assert package.verify("all-write-all", problem) == []
    assert package.count("all-write-all", problem)["bytes"] == 8 + 16
    with pytest.raises(ValueError, match="each pair"):
        _core.Problem("alltoallv", 2, blocks=[1, 2])


def test_schedule_as_objects():
    s = package.schedule("binomial", _core.Problem("bcast", 2, rank=1, root=0, bytes=64))
    steps = [step for steps in s.rounds for step in steps]
    assert [step.kind for step in steps if step.peer == 0] == ["arrive"]
    assert steps[0].bytes == 64 and steps[0].target[0] == "output"
    assert len(package.schedules("binomial", _core.Problem("bcast", 5))) == 5


def test_restrictions_are_said():
    two = [a for a in package.algorithms("allgather") if a.power_of_two][0]
    assert two.restriction(_core.Problem("allgather", 6))
    with pytest.raises(ValueError, match=two.name):
        package.schedule(two.name, _core.Problem("allgather", 6))


def test_wrong_problems_are_refused():
    for wrong in (dict(size=0), dict(size=2, rank=2), dict(size=2, root=-1), dict(size=2, blocks=[1]),
                  dict(size=2, operation="allgatherv", blocks=[1]), dict(size=2, operation="scan", bytes=7, element=8)):
        with pytest.raises(ValueError):
            _core.Problem(**{"operation": "bcast", **wrong})


def test_explain(fanlight):
    said = fanlight("explain", "MPI_Allreduce", "64K", "-n", "4").stdout
    assert "64K" in said and "rule" in said
    assert "in lanes" in fanlight("explain", "allreduce", "1M", "-n", "4", "--nodes", "2").stdout
    assert "in lanes" not in fanlight("explain", "allreduce", "1M", "-n", "3", "--nodes", "2").stdout
    forced = fanlight("explain", "bcast", "8", "-n", "4", env={"FANLIGHT_ALGORITHM": "bcast:binomial", "FANLIGHT_GUARD": "on"}).stdout
    assert "guard" in fanlight("explain", "bcast", "8", "-n", "4", env={"FANLIGHT_GUARD": "record"}).stdout and "guard" not in forced
    assert "binomial" in forced and "FANLIGHT_ALGORITHM" in forced
    assert "bytes" in fanlight("explain", "bcast", "lots", code=2).stderr
    assert "cray" in fanlight("explain", "bcast", "--mpi", "foo", code=2).stderr
    assert "2 ranks" in fanlight("explain", "bcast", "-n", "2", "--nodes", "4", code=2).stderr
    assert "no-such" in fanlight("explain", "bcast", env={"FANLIGHT_ALGORITHM": "bcast:no-such"}, code=2).stderr


def test_info_names_everything(fanlight):
    said = fanlight("info").stdout
    for setting in package.settings():
        assert setting.variable in said
    for word in ("usable cores", "/dev/shm", "single copy", "waiting"):
        assert word in said


def test_single_copy_probe_agrees_with_the_kernel():
    from fanlight import machine

    assert isinstance(machine.single_copy(), str)
    # A process may always read its own memory.
    import ctypes
    import os

    number = ctypes.c_uint64(7)
    assert _core.probe_single_copy(os.getpid(), ctypes.addressof(number), 7) == ""
    assert _core.probe_single_copy(os.getpid(), ctypes.addressof(number), 8) != ""


def test_cores_obey_the_affinity_mask(fanlight):
    import os

    one = min(os.sched_getaffinity(0))
    said = fanlight("info", preexec_fn=lambda: os.sched_setaffinity(0, {one})).stdout
    assert "1 (affinity mask: 1" in said
    assert "FANLIGHT_CORES: 3" in fanlight("info", env={"FANLIGHT_CORES": "3"}).stdout


def test_version(fanlight):
    assert package.__version__ in fanlight("--version").stdout


def test_what_needs_mpi4py_says_so():
    if importlib.util.find_spec("mpi4py"):
        pytest.skip("there is an mpi4py here")
    with pytest.raises(ImportError, match="mpi4py"):
        _ = package.allreduce
    with pytest.raises(AttributeError, match="no_such"):
        _ = package.no_such
