"""Under a real Slurm, Debian's, on two nodes made of namespaces (tests/slurm): sbatch, srun, and what `fanlight run` makes of them."""

import json
import shlex
import subprocess
import sys

import pytest

from running import IMPI, MPICH, OPENMPI, ROOT, can_unshare, repeated

PACKAGES = ROOT / ".venv/slurm"  # by make setup

PROGRAM = """
import socket
import numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
total = numpy.empty(100)
for i in range(50):
    world.Allreduce(numpy.full(100, world.rank + i, float), total)
    assert (total == sum(range(world.size)) + world.size * i).all()
hosts = world.gather(socket.gethostname())
if world.rank == 0:
    print("ok", *hosts)
"""


def under_slurm(tmp_path, script):
    """The script's output; srun and sbatch work in it."""
    if not (PACKAGES / "usr/sbin/slurmctld-wlm").exists():
        pytest.skip(f"no Slurm in {PACKAGES} (make setup)")
    if not can_unshare("--net", "--uts", "--ipc", "--mount", "--pid", "--fork"):
        pytest.skip("no namespaces here")
    (tmp_path / "script").write_text("set -e\n" + script)
    done = subprocess.run([ROOT / "tests/cluster", "--mpi", "none", "--hosts", "2", ROOT / "tests/slurm", PACKAGES, "bash", tmp_path / "script"],
                          capture_output=True, text=True, timeout=100, cwd=tmp_path)
    if done.returncode == 77:
        pytest.skip(f"Slurm does not come up here: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def fanlight(mpi, file, *before):
    """The command, for this MPI's Python."""
    return shlex.join(map(str, (*before, sys.executable, "-m", "fanlight", "run", "--report-file", file, mpi.root / "bin/python", "-c", PROGRAM)))


def served(file, hosts):
    report = json.loads(file.read_text())
    assert report["ranks"] == 4
    rows = [r for r in report["calls"] if r["operation"] == "allreduce"]
    assert sum(r["calls"] for r in rows if r["by"] == "fanlight") == 4 * (50 - 16), rows
    assert {r["transport"] for r in rows if r["by"] == "fanlight"} == {"message" if hosts > 1 else "shared"}


@pytest.mark.parametrize("mpi,nodes", [(MPICH, 2), (OPENMPI, 2), repeated(IMPI, 2), repeated(MPICH, 1)], ids=str)
def test_a_batch_job(mpi, nodes, tmp_path, fanlight_only):
    """The script says `fanlight run` and no more: it takes srun, the interface that the MPI speaks, and all tasks of the job."""
    report = tmp_path / "report.json"
    job = tmp_path / "job"
    job.write_text(f"#!/bin/bash\n#SBATCH -N{nodes} -n4 -o {tmp_path}/out\n{fanlight(mpi, report)}\necho $? >{tmp_path}/code\n")
    # sbatch --wait looks every 30 s.
    under_slurm(tmp_path, f"sbatch {job}\nfor i in $(seq 400); do [ ! -s {tmp_path}/code ] || exit 0; sleep 0.2; done; squeue; exit 1")
    assert (tmp_path / "code").read_text() == "0\n", (tmp_path / "out").read_text()
    said = (tmp_path / "out").read_text()
    hosts = said.split()
    assert hosts.pop(0) == "ok" and len(hosts) == 4 and len(set(hosts)) == nodes, said
    served(report, nodes)


def test_each_rank_by_srun(tmp_path, fanlight_only):
    """srun fanlight run ./app, which no rank takes for an order to start ranks; and srun with LD_PRELOAD alone."""
    program = shlex.join([str(MPICH.root / "bin/python"), "-c", PROGRAM])
    preload = f"env LD_PRELOAD={MPICH.preload} FANLIGHT_REPORT={tmp_path}/second {program}"
    said = under_slurm(tmp_path, f"srun --mpi=pmi2 -N2 -n4 {fanlight(MPICH, tmp_path / 'first')}\nsrun --mpi=pmi2 -N2 -n4 {preload}\n")
    assert said.count("ok host") == 2, said
    for name in ("first", "second"):
        served(tmp_path / name, 2)
