"""Whole programs with and without the shared heap, in turn: the same results, and what it costs.

Under Fanlight both times: NEURON's networks (apps/spikes), heat3d, and a Python program of which each rank forks.  What
their ranks print of their results must be the same.  Of each pair of runs, which take turns in being the first, the ratio
with / without: of the whole run's time, of its processor time, page faults and the largest process's resident memory; the
median over the pairs.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from fanlight import launch, libraries, mpis
from fanlight.bench import provenance
from fanlight.cli import machine_cores
from fanlight.tables import table

ROOT = Path(__file__).resolve().parent.parent
# Arrays that are exchanged, worked on by children, and made anew all the time.
FORKS = """
import multiprocessing
import numpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
shared = numpy.full(500_000, comm.rank + 1.0)
def work(i):
    shared[:] *= i
    return float(shared.sum())
total, all = 0.0, numpy.empty_like(shared)
for step in range(20):
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        total += sum(pool.map(work, range(4), chunksize=1))
    for _ in range(20):
        comm.Allreduce(shared + step, all)
        total += float(all[step])
print(f"result of rank {comm.rank}: {total:.17g}", flush=True)
"""


@dataclass
class Program:
    command: list[str | Path]
    result: str  # what in its output is its result


@dataclass
class Run:
    seconds: float
    processor: float
    faults: int
    resident: int  # KiB

    def over(self, other: Run) -> Run:
        return Run(*(mine / its for mine, its in zip(vars(self).values(), vars(other).values())))


def programs(folder: Path, python: Path, scale: float) -> dict[str, Program]:
    (folder / "forks.py").write_text(FORKS)
    spikes, digest = ROOT / "apps/spikes/network.py", r"rank \d+ of \d+: \d+ spikes \(\w+\)"
    return {
        "integrate-and-fire": Program([python, spikes, "integrate-and-fire", "--duration", f"{5000 * scale}"], digest),
        "hodgkin-huxley": Program([python, spikes, "hodgkin-huxley", "--duration", f"{1000 * scale}"], digest),
        "heat3d": Program([ROOT / "build/release/apps/heat3d-mpich", "--exchange", "sendrecv", "--grid", "128", "128", "128",
                           "--steps", f"{int(200 * scale) or 1}"], r"\b[0-9a-f]{16}$"),  # a field's checksum
        "a program that forks": Program([python, folder / "forks.py"], r"result of rank \d+: [\d.e+]+"),
    }


def run_once(program: Program, mpi: mpis.Mpi, ranks: int, heap: bool) -> tuple[Run, list[str]]:
    preloads = [*([libraries.shared_heap()] if heap else []), libraries.preload_for(mpi.abi)]
    settings = {"FANLIGHT_HEAP": "shared" if heap else "off"}
    command = launch.command_line(mpi, ranks, machine_cores(), program.command[0], [str(w) for w in program.command[1:]], preloads, settings, [])
    with tempfile.TemporaryFile("w+") as output:
        start = time.monotonic()
        process = subprocess.Popen(command, env={**os.environ, **mpi.environment}, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)  # of all processes of the job
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    results = sorted(re.findall(program.result, text, re.M))
    if process.returncode != 0 or not results or "no shared heap" in text:
        sys.exit(f"FAILED ({process.returncode}): {' '.join(command)}\n{text}")
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_minflt, used.ru_maxrss), results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", "-n", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="a part of the work of NEURON's networks and heat3d")
    parser.add_argument("--only", nargs="*", help="some of the programs, by their names")
    args = parser.parse_args()

    python = ROOT / ".venv/mpich/bin/python"
    mpi = mpis.find_mpi(python)
    where = provenance([], machine_cores())
    console = Console(width=130)
    console.print(f"{where['processor']}, {where['cores']} cores, {where['system']}, commit {where['commit'][:7]}; {mpi.name} {mpi.version()}, "
                  f"{args.ranks} ranks, load {os.getloadavg()[0]:.1f}", highlight=False)
    numbers = ("time", "of each pair", "processor time", "page faults", "resident", "MiB without")
    t = table("program", *numbers, numbers=numbers, title=f"With the shared heap / without, medians of {args.pairs} pairs")
    with tempfile.TemporaryDirectory(prefix="fanlight-programs-") as folder:
        for name, program in programs(Path(folder), python, args.scale).items():
            if args.only and name not in args.only:
                continue
            ratios, without, expected = [], [], None
            for i in range(args.pairs):
                pair = {}
                for heap in (False, True) if i % 2 == 0 else (True, False):
                    pair[heap], results = run_once(program, mpi, args.ranks, heap)
                    if expected not in (None, results):
                        sys.exit(f"FAILED: {name}: the results differ: {expected}, {results}")
                    expected = results
                ratios.append(pair[True].over(pair[False]))
                without.append(pair[False].resident)
            times = [r.seconds for r in ratios]
            t.add_row(name, f"{statistics.median(times):.3f}", f"{min(times):.2f} to {max(times):.2f}",
                      *(f"{statistics.median(getattr(r, what) for r in ratios):.3f}" for what in ("processor", "faults", "resident")),
                      f"{statistics.median(without) / 1024:.0f}")
    console.print(t)
    console.print("The results are the same.")


if __name__ == "__main__":
    main()
