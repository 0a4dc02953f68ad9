"""`fanlight bench --hosts`: the hosts are namespaces of this machine (tests/cluster)."""

import json
import subprocess
import sys

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
    assert run["oversubscribed"] == (4 > run["cores"])  # the hosts have the same cores
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


# On host1 an echo, on host0 the shortest of a few round trips to it.
ROUND_TRIPS = """
import os, socket, subprocess, sys, time
if len(sys.argv) > 1:
    there = socket.create_server(("10.99.0.2", 5555)).accept()[0]
    while word := there.recv(8):
        there.sendall(word)
    sys.exit()
echo = subprocess.Popen([os.environ["CLUSTER_SHELL"], "host1", sys.executable, __file__, "echo"])
while True:
    try:
        here = socket.create_connection(("10.99.0.2", 5555))
        break
    except ConnectionRefusedError:
        time.sleep(0.05)
times = []
for _ in range(20):
    begin = time.monotonic()
    here.sendall(b"a word..")
    here.recv(8)
    times.append(time.monotonic() - begin)
print(min(times))
here.close()
echo.wait()
"""


def test_the_links_delay_is_what_was_set(tmp_path):
    (tmp_path / "round_trips.py").write_text(ROUND_TRIPS)
    ran = subprocess.run([ROOT / "tests/cluster", "--mpi", "none", "--delay", "3ms", "--rate", "100mbit", sys.executable, tmp_path / "round_trips.py"],
                         capture_output=True, text=True, timeout=60)
    if ran.returncode == 77:
        pytest.skip(ran.stderr.strip())
    assert 6e-3 <= float(ran.stdout) < 12e-3, ran.stderr


def test_hosts_go_with_the_operations_alone(fanlight):
    assert "--hosts" in fanlight("bench", "--hosts", "2", "--passthrough", code=2).stderr
