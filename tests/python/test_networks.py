"""`fanlight simulate --network`: the executor on networks that SimGrid simulates."""

import json
import os
import shutil
import subprocess

import pytest

from fanlight import errors, networks, simulation
from fanlight.tables import progress_bar


@pytest.fixture
def simulate(fanlight, clean):
    if not shutil.which("smpirun"):
        pytest.skip("no SimGrid (Debian: libsimgrid-dev)")

    def run(operation, ranks, nodes, network, sizes, *arguments, machine="hornet"):
        said = fanlight("simulate", operation, "-n", ranks, "--nodes", nodes, "--machine", machine, "--network", network, "--sizes", sizes,
                        "--json", *arguments).stdout
        return {(r["algorithm"], r["radices"], r["size"]): r["seconds"] for r in json.loads(said)["results"]}

    return run


@pytest.mark.parametrize("operation", ["barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "gather", "scatter", "alltoall",
                                       "reduce-scatter-block"])
def test_every_algorithm_gives_the_right_result(simulate, operation):
    found = simulate(operation, 6, 3, "torus", "8,40K")
    assert len(found) > 2 and all(0 < seconds < 1e-2 for seconds in found.values())


def test_the_pruned_ring_gains_what_its_paper_says(simulate):
    # 16 ranks, which are on one node there, at 512 KiB: 12 % more bandwidth.
    times = [simulate("bcast", 16, 0, "dragonfly", "512K", "--algorithm", a) for a in ("scatter-ring-allgather", "pruned-ring")]
    native, pruned = (next(iter(t.values())) for t in times)
    assert 1.07 < native / pruned < 1.17


def test_messages_meet_on_their_way(simulate):
    # In a torus of one dimension most blocks pass the same cables; a fat tree has a way for each.
    times = [simulate("alltoall", 16, 16, network, "64K", "--algorithm", "pairwise") for network in ("torus:16", "fat-tree")]
    line, tree = (next(iter(t.values())) for t in times)
    assert line > 1.5 * tree


@pytest.mark.parametrize("size", [4, 12])
def test_lengths_that_are_no_whole_numbers(simulate, fanlight, tmp_path, size):
    said = fanlight("simulate", "bcast", "-n", 2, "--machine", "hornet", "--network", "torus", "--sizes", size, code=2).stderr
    assert f"{size} bytes are no multiple of 8" in said
    (tmp_path / "hosts").write_text("0\n1\n")
    module = str(networks.program())
    done = subprocess.run([networks.smpirun(), "-np", "2", "-hostfile", tmp_path / "hosts", "-platform", module, "--cfg=smpi/privatization:no",
                           module, "bcast", "0", "-", str(size), "binomial"], capture_output=True, text=True,
                          env={**os.environ, "SIMULATED_NETWORK": "torus 2 bandwidth=1e9 latency=1e-6 memory=1e11"})
    assert f"{size} bytes are no multiple of 8" in done.stderr and "seconds" not in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("line, error", [('{"algorithm": "binomial", "size": 8, "seconds": 1, "wrong": true}', errors.FanlightError), ("{", ValueError)],
                         ids=["wrong", "no JSON"])
def test_nothing_is_left_running(clean, tmp_path, line, error):
    (tmp_path / networks.PROGRAM).write_text("")
    (tmp_path / "smpirun").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\necho '{line}'\nexec sleep 60\n")
    (tmp_path / "smpirun").chmod(0o755)
    clean.setenv("FANLIGHT_LIB_DIR", str(tmp_path))
    clean.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    question = simulation.Question("bcast", 2, simulation.machine_named("hornet"), 2)
    with progress_bar() as progress, pytest.raises(error):
        networks.run("torus", question, [8], "binomial", progress)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_4096_ranks(simulate):
    assert simulate("bcast", 4096, 4096, "dragonfly", "64K", "--algorithm", "binomial")


def test_shapes():
    assert [networks.torus(n) for n in (1, 7, 16, 4096)] == ["1", "7", "4,4", "16,16,16"]
    assert [networks.fat_tree(n) for n in (5, 100, 4096)] == ["5;1", "16,7;1,16", "16,16,16;1,16,16"]
    assert [networks.dragonfly(n) for n in (3, 64, 4096)] == ["1,4;1,3;1,1;4", "1,4;1,3;16,1;4", "11,4;6,3;16,1;4"]
    assert networks.shape("dragonfly:2,4;6,3;16,1;4", 768) == "dragonfly 2,4;6,3;16,1;4"
    for wrong in ("hypercube", "torus:0", "torus:7", "fat-tree:8", "fat-tree:2,2;1,2", "dragonfly:1,4;1,3;1,1;4"):
        with pytest.raises(errors.FanlightError, match=wrong):
            networks.shape(wrong, 8)
