"""`fanlight bench --hosts`: the hosts are namespaces of this machine (tests/cluster)."""

import json
import subprocess

import pytest

from environments import ROOT, environment_of


def test_between_two_hosts(fanlight, tmp_path):
    prefix = environment_of("mpich")
    tried = subprocess.run([ROOT / "tests/cluster", "--root", "/nowhere", "-n", "1", "true"], capture_output=True, text=True)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())
    output = tmp_path / "times.json"
    said = fanlight("bench", "--hosts", "2", "--mpi", f"mpich={prefix}", "--operation", "bcast", "--sizes", "8", "--quick",
                    "--output", output).stdout
    record = json.loads(output.read_text())
    assert record["problems"] == [] and "bcast" in said
    run, = record["runs"]
    assert run["nodes"] == 2 and run["ranks"] == 4 and run["preloaded"]
    assert run["settings"]["FANLIGHT_CORES"]
    row, = record["results"]
    assert row["native"]["median"] > 0 and row["fanlight"]["median"] > 0


def test_hosts_go_with_the_operations_alone(fanlight):
    assert "--hosts" in fanlight("bench", "--hosts", "2", "--limits", code=2).stderr
