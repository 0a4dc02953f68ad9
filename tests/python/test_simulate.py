"""`fanlight simulate`."""

import json
import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

import fanlight as package
from fanlight import errors, simulation


def test_sizes():
    assert simulation.parse_sizes("8..1K") == [8, 32, 128, 512]
    assert simulation.parse_sizes("8,64K") == [8, 65536]
    assert len(simulation.parse_sizes("8..8M")) == 11


def test_every_algorithm_is_compared(fanlight, tmp_path):
    said = fanlight("simulate", "allreduce", "-n", 16, "--machine", "rome2x64", "--sizes", "8,64K", "--plot", tmp_path / "x.png").stdout
    assert all(a.name in said for a in package.algorithms("allreduce"))
    assert "*" in said and "4·4" in said and "64K" in said
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_a_picture_needs_matplotlib(clean, tmp_path):
    clean.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(errors.FanlightError, match="needs matplotlib"):
        simulation.plot([], "", tmp_path / "x.png")


def test_json_has_all_radices(fanlight):
    found = json.loads(fanlight("simulate", "bcast", "-n", 6, "--machine", "icx2x32", "--nodes", 2, "--sizes", "4K", "--json").stdout)
    assert found["machine"] == "icx2x32"
    assert {r["algorithm"] for r in found["results"]} >= {"binomial", "by-levels"}
    assert all(0 < r["seconds"] < 1e-3 for r in found["results"])
    assert any(r["radices"] == "3·2" for r in found["results"])


def test_timeline(fanlight, tmp_path):
    words = ("simulate", "allreduce", "-n", 8, "--machine", "rome2x64", "--sizes", "4K", "--algorithm", "binomial", "--timeline")
    fanlight(*words, tmp_path / "x.svg")
    picture = ElementTree.parse(tmp_path / "x.svg").getroot()
    titles = [t.text for t in picture.iter() if t.tag.endswith("title")]
    assert any(t.startswith("rank 7: get") or t.startswith("rank 7: arrive") for t in titles), titles[:5]
    assert any(t.startswith("waits: rank 0") for t in titles)
    fanlight(*words, tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert {e["tid"] for e in events} == set(range(8)) and all(e["dur"] >= 0 for e in events)


def test_a_machine_of_ones_own(fanlight, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("node *\ncore 4 hop=100ns bandwidth=10G\n")
    assert "mine" in fanlight("simulate", "barrier", "-n", 4, "--machine", mine).stdout
    assert "more ranks" in fanlight("simulate", "barrier", "-n", 5, "--nodes", 1, "--machine", mine, code=2).stderr
    mine.write_text("node *\ncore 4 hop=soon bandwidth=10G\n")
    assert "hop=soon" in fanlight("simulate", "barrier", "-n", 4, "--machine", mine, code=2).stderr


@pytest.mark.parametrize("arguments, said", [(("--machine", "vax"), "rome2x64"), (("--machine", "rome2x64", "--root", "4"), "--root"),
                                             (("--machine", "rome2x64", "--sizes", "8..4"), "range"),
                                             (("--machine", "rome2x64", "--sizes", "8.."), "range"),
                                             (("--machine", "rome2x64", "--rate", "1gbit"), "--against-measured"),
                                             (("-n", "1", "--against-measured", "mpich"), "2 ranks"),
                                             (("--machine", "rome2x64", "--algorithm", "quickest"), "quickest")])
def test_refusals(fanlight, arguments, said):
    assert said in fanlight("simulate", "bcast", "-n", 4, *arguments, code=2).stderr


def limits():
    moves = [(1024, 0.1), (65536, 4.0), (1 << 20, 80.0)]
    return ([{"type": "limit", "limit": "round_trip", "time": {"median": 0.2}}]
            + [{"type": "limit", "limit": name, "size": size, "time": {"median": factor * time + call}}
               for name, factor, call in (("copy_both", 1, 0), ("shared_copy", 2, 0), ("single_copy_both", 2, 0.5)) for size, time in moves])


def test_this_machine_is_written_from_the_limits(clean):
    from fanlight import this_machine

    written = this_machine.text(limits(), [0, 1])
    machine = package.Machine("this", written)
    assert "hop=100ns" in written and "bandwidth=32.8G" in written and "link=8.19G" in written and "call=" in written
    assert machine.cores >= 1
    with pytest.raises(ValueError):
        this_machine.text(limits()[:1], [0, 1])


def links(rendezvous):
    """One way 30 us, of which each end works 5; 1 GB/s; from 64K on the sender asks first."""
    at = lambda size: 30 + size * 1e-3 + (30 if rendezvous and size >= 65536 else 0)  # noqa: E731
    return [{"type": "limit", "limit": name, "size": size, "time": {"median": time(size)}} for size in (8, 1024, 65536, 1 << 20)
            for name, time in (("link_one_way", at), ("link_busy", lambda s: 5 + s * 1e-3), ("link_stream", lambda s: 5 + s * 1e-3))]


@pytest.mark.parametrize("said,copied_once", [
    ("single copy no, 2 ranks on 2 cores", 1 << 62), ("single copy yes, 2 ranks on 2 cores", 32768),
    ("single copy yes from 50000 bytes on, 2 ranks on 2 cores", 50000), ("single copy yes from 50000 bytes on, 4 ranks on 2 cores", 1 << 62),
    ("single copy yes, only where a rule says so, 2 ranks on 2 cores", 1 << 62), ("nothing", 1 << 62)])
def test_the_model_copies_once_where_the_run_did(said, copied_once):
    from fanlight import measured, tune_run

    state = tune_run.state(f"fanlight: serves a communicator of 2 ranks, 2.2 MiB of shared memory (up to 6.2 MiB), {said}\n")
    assert measured.copied_once(state) == copied_once


@pytest.mark.parametrize("one,two,step,begin", [(0.16, 0.30, 20, 20), (0.16, 0.24, 0, 60), (0.10, 0.30, 50, 0)])
def test_a_step_and_a_call_take_what_two_barriers_do(one, two, step, begin):
    """Hops of 100 ns; a round of a barrier is a hop and two steps.  Neither is negative."""
    from fanlight import measured
    from fanlight.simulation import Question

    run = measured.Run(limits=limits(), times={("barrier:one-to-all", 8): one * 1e-6, ("barrier:tree", 8): two * 1e-6})
    barrier = Question("barrier", 2, measured.made(run, None, 2))
    modelled = [barrier.ask(next(barrier.ways(name)), 0)["seconds"] * 1e9 for name in ("one-to-all", "tree")]
    assert modelled == pytest.approx([begin + 100 + 2 * step, begin + 200 + 4 * step])


@pytest.mark.parametrize("after,steady", [(0.12, True), (0.42, False)])
def test_a_run_is_steady_where_a_cache_line_takes_as_long_all_the_time(after, steady):
    from fanlight.measured import Run

    def round_trip(time):
        return {"type": "limit", "limit": "round_trip", "time": {"median": 2 * time, "min": time}}

    run = Run()
    cell = {"type": "cell", "operation": "bcast", "size": 8, "medians": {"binomial": [3.0, 2.0]}}
    run.take([round_trip(0.1), cell, round_trip(after), cell, round_trip(0.11)])
    assert run.is_steady() == steady
    assert run.times == {("bcast:binomial", 8): 2e-6} and run.limits == [{"type": "limit", "limit": "round_trip", "time": {"median": 0.1, "min": 0.1}}]


def test_the_link_between_two_nodes_is_written_from_its_limits(clean):
    from fanlight import this_machine

    written = this_machine.text(limits() + links(rendezvous=True), [0, 1])
    network = package.Machine("this", written).network
    assert network["latency"] == pytest.approx(20e-6, rel=0.01) and network["overhead"] == pytest.approx(5e-6, rel=0.01)
    assert network["link"] == pytest.approx(1e9, rel=0.01) and network["eager"] == 32768
    assert package.Machine("this", this_machine.text(limits() + links(rendezvous=False), [0, 1])).network["eager"] == 1 << 20
    assert this_machine.NETWORK in this_machine.text(limits(), [0, 1])


def test_long_messages_go_in_the_pieces_of_the_planner():
    machine = package.Machine("rome2x64")
    chain = lambda **parameters: package.simulate("tree", package.Problem("bcast", 16, bytes=1 << 20, degree=1, once=1 << 15, **parameters), machine)  # noqa: E731
    assert chain()["pieces"] == pytest.approx(16)
    # A chain of whole messages takes as long as all its links.
    assert chain()["seconds"] < 0.25 * chain(piece=1 << 20)["seconds"]
    # What is staged goes in pieces as well, as long as the staging bears.
    two = package.Problem("bcast", 2, bytes=4 << 20)
    assert package.simulate("one-to-all", two, machine)["pieces"] == 1
    staged = package.simulate("one-to-all", two, machine, copied_once=1 << 60)
    assert staged["pieces"] == pytest.approx(64)


def test_this_machine_is_found(fanlight, clean, tmp_path):
    clean.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "bench --limits" in fanlight("simulate", "barrier", "-n", 2, code=2).stderr
    (tmp_path / "fanlight").mkdir()
    (tmp_path / "fanlight" / "this.txt").write_text("node *\ncore 4 hop=100ns bandwidth=10G\n")
    assert "this" in fanlight("simulate", "barrier", "-n", 2).stdout


def test_rank_correlation():
    from fanlight.measured import rank_correlation

    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.948683)


def test_explain_says_what_the_model_says(fanlight):
    said = fanlight("explain", "allreduce", "64K", "-n", 128, "--machine", "rome2x64").stdout
    assert "by the model" in said and "multi-lane 16·4·2" in said and "the chosen one: radices 16·4·2" in said
    assert "by the model" not in fanlight("explain", "allreduce", "64K", "-n", 128).stdout
    assert "nothing" in fanlight("explain", "allreduce", "64K", "-n", 129, "--machine", "rome2x64").stdout


def test_a_paper_at_its_own_scale(fanlight):
    said = fanlight("simulate", "--paper", "pruned-ring", "-n", 9, "--sizes", "512K").stdout
    assert "MPI_Bcast_opt" in said and "1.02 to 1.54" in said and "hornet" in said and "the MPI's own" not in said
    said = fanlight("simulate", "--paper", "intra-cell", "-n", 16, "--sizes", "1K").stdout
    assert "TREEMM(3)" in said and "simulated" in said
    said = fanlight("simulate", "--paper", "rma-trees", "-n", 8, "--sizes", "16").stdout
    assert "binomial tree" in said and "cloud4" in said and "the MPI's own" not in said
    said = fanlight("simulate", "--paper", "spike-exchange", "-n", 32).stdout
    assert "RMA_Allgather (fence)" in said and "bl460c" in said and "shared memory" not in said
    assert "pruned-ring" in fanlight("simulate", "--paper", "heat", code=2).stderr
    assert "which operation" in fanlight("simulate", code=2).stderr


def test_bench_simulates_a_paper_by_the_same_code(fanlight, tmp_path):
    words, output = ("--paper", "intra-cell", "-n", 4, "--sizes", "1K"), tmp_path / "times.json"
    assert fanlight("bench", *words, "--simulated", "--output", output).stdout == fanlight("simulate", *words).stdout
    assert {t["ranks"] for t in json.loads(output.read_text())["times"]} == {4}
    assert "--paper" in fanlight("bench", "--simulated", code=2).stderr


def test_the_halo_exchange_of_dart():
    from rich.console import Console

    from fanlight import halo_simulated

    assert [halo_simulated.grid(n) for n in (16, 32, 64, 4096)] == [(2, 2, 4), (2, 4, 4), (4, 4, 4), (16, 16, 16)]
    found = halo_simulated.run(Console(quiet=True))
    node, *more = found["times"]
    # The paper: 0.76 s on one node, a sudden rise beyond it, and less to gain the more goes between nodes.
    assert 0.76 / 2 < node["dart"] < 0.76 * 2
    ratios = [r["mpi"] / r["dart"] for r in found["times"]]
    assert more[0]["dart"] > 2 * node["dart"] and ratios[0] == max(ratios) and min(ratios) >= 1


def test_the_rules_for_many_ranks_can_be_planned():
    """Whatever the model chose for its machines, all numbers of ranks and all machines find room for it."""
    from fanlight import _core, modelled_rules

    machines = [_core.Machine(name) for name, _ in _core.machines()]
    checked, failed = set(), []
    for operation in ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "gather", "scatter", "alltoall", "reduce-scatter-block"):
        for ranks in (9, 12, 16, 17, 24, 31, 32, 33, 47, 48, 64, 65, 96, 97, 127, 128, 129, 192, 255, 257, 288, 384, 511, 512):
            topologies = {"", *(["8x8x8"] if ranks == 512 else []), *(m.topology(ranks, 1) for m in machines if m.cores == 0 or ranks <= m.cores)}
            for size in (8, 16, 64, 160, 512, 1448, 4096, 8191, 16384, 65536, 262144, 1 << 20, 3 << 20, 32 << 20):
                for single_copy in (True, False):
                    found = _core.choose(operation, 0 if operation == "barrier" else size, ranks, single_copy=single_copy)
                    if "times as fast" not in found["rule"]:
                        continue
                    checked.add(found["rule"].split()[2])
                    parameters = {k: v for k, v in found["parameters"].items() if v}
                    for topology in topologies:
                        p = modelled_rules.problem(operation, size, ranks, topology, parameters, rank=ranks // 2)
                        try:
                            _core.plan(found["algorithm"], p, single_copy)
                        except ValueError as e:
                            failed.append((found["rule"], ranks, size, topology, str(e)))
    assert not failed, failed
    assert len(checked) >= 5


def test_a_rule_is_the_models_where_it_gains_on_all_machines():
    from fanlight.modelled_rules import PRESENT, chosen, ratios, rules_of, sizes_in

    # Of two machines: what one of them lacks, or loses by, is left out.
    cells = [ratios([{PRESENT: [2.0], "a": [1.0], "b": [1.0], "c": [1.0]}, {PRESENT: [2.0], "a": [1.5], "b": [2.3]}])]
    assert cells == [{PRESENT: [1.0, 1.0], "a": [0.5, 0.75]}] and chosen(cells) == ["a"]
    # What is hardly better is no rule.
    assert chosen([{PRESENT: [1.0], "a": [0.85]}]) == [PRESENT]
    # One size in between does not change the algorithm for a twentieth.
    assert chosen([{PRESENT: [1.0], "a": [0.5], "b": [0.6]}, {PRESENT: [1.0], "a": [0.5], "b": [0.49]}]) == ["a", "a"]
    band = (33, 64)
    results = {("gather", size, machine, ranks): {single: {PRESENT: [2.0], "binomial": [1.0 if size >= 4096 and single else 2.0]} for single in (True, False)}
               for size in sizes_in("gather", band) for machine, ranks in (("icx2x32", 64), ("milan2x48", 48), ("genoa", 48), ("rome2x64", 64))}
    rules = [conditions for name, conditions in rules_of("gather", band, results) if name != PRESENT]
    assert rules == ["ranks=33..64 nodes=..1 oversubscribed=no bytes=1448..256K single_copy=yes"]


def test_128_ranks_and_all_algorithms_at_12_sizes_take_less_than_a_minute(fanlight):
    begin = time.monotonic()
    said = fanlight("simulate", "allreduce", "-n", 128, "--machine", "rome2x64", "--sizes", "8..8M,16M", "--json").stdout
    assert time.monotonic() - begin < 60
    assert len({r["size"] for r in json.loads(said)["results"]}) == 12
