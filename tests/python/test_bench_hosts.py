"""`fanlight bench --hosts`: the hosts are namespaces of this machine (tests/cluster)."""

import json
import subprocess

import pytest

from environments import ROOT, environment_of


@pytest.fixture
def prefix():
    found = environment_of("mpich")
    tried = subprocess.run([ROOT / "tests/cluster", "--root", "/nowhere", "-n", "1", "true"], capture_output=True, text=True)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())
    return found


def test_between_two_hosts(fanlight, prefix, tmp_path):
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


def test_the_link_between_two_hosts_comes_into_the_machine_at_hand(fanlight, prefix, clean, tmp_path):
    import fanlight as package

    clean.setenv("XDG_CACHE_HOME", str(tmp_path))
    said = fanlight("bench", "--hosts", "2", "-n", "2", "--limits", "--rate", "200mbit", "--mpi", f"mpich={prefix}").stdout
    assert "between two hosts" in said
    network = package.Machine("this", (tmp_path / "fanlight" / "this.txt").read_text()).network
    # 25 MB/s, less what TCP adds, and what other programs take here.
    assert 1e5 < network["link"] < 40e6 and network["overhead"] > 0


def test_the_links_delay_is_what_was_set(fanlight, prefix, clean, tmp_path):
    import fanlight as package

    tried = subprocess.run([ROOT / "tests/cluster", "--mpi", "none", "--delay", "1ms", "true"], capture_output=True, text=True)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())
    clean.setenv("XDG_CACHE_HOME", str(tmp_path))
    fanlight("bench", "--hosts", "2", "-n", "2", "--limits", "--delay", "2ms", "--mpi", f"mpich={prefix}")
    network = package.Machine("this", (tmp_path / "fanlight" / "this.txt").read_text()).network
    assert 1.9e-3 < network["latency"] + 2 * network["overhead"] < 20e-3


def test_hosts_go_with_the_operations_alone(fanlight):
    assert "--hosts" in fanlight("bench", "--hosts", "2", "--passthrough", code=2).stderr
