"""Runs the programs of programs.toml without Fanlight and with it, compares their results, and prints a table.

tests/programs/run starts it in a Debian 12 of its own, where it also installs the programs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = HERE.parent / "runs"
PRELOAD = HERE.parent / "libfanlight-openmpi.so"
COLUMNS = "{:<17} {:<12} {:>5} {:>8} {:>7}  {}"
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?")
# Nothing that a run leaves behind, a process or shared memory, is there for the next one.
APART = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-euo", "pipefail", "-c",
         'mount -t proc proc /proc; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /tmp; eval "$1"; ls /dev/shm >left', "bash"]


@dataclass
class Program:
    packages: str  # Debian's; the first is the one whose version is shown
    run: str  # a script: $mpirun starts $ranks ranks, $inputs is the folder of inputs
    result: str = ""  # which lines of its output are its result; without it, all
    tolerance: float = 1e-6  # of the numbers in them: relative, of numbers below 1 absolute


@dataclass
class Run:
    status: int | str
    result: list[str]
    left: str  # in /dev/shm
    calls: int = 0
    served: int = 0


def installed(program: Program) -> bool:
    with (HERE.parent / "apt.log").open("a") as log:
        return subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *program.packages.split()],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode == 0


def version(package: str) -> str:
    """That of its authors, without Debian's additions."""
    said = subprocess.run(["dpkg-query", "--show", "--showformat", "${Version}", package], capture_output=True, text=True, check=True).stdout
    return re.sub(r"^\d+:|(\+|\.git).*|-[^-]*$", "", said)


def run(program: Program, folder: Path, ranks: int, settings: list[str], limit: int) -> Run:
    """With `settings` with Fanlight, without any without it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report = folder / "report.json"
    fanlight = ["env", f"LD_PRELOAD={PRELOAD}", f"FANLIGHT_REPORT={report}", *settings] if settings else []
    environment = {**os.environ, "mpirun": " ".join(["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), *fanlight]),
                   "ranks": str(ranks), "inputs": str(HERE / "inputs"), "OMP_NUM_THREADS": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with (folder / "output").open("w") as output, (folder / "errors").open("w") as errors:
        try:
            status = subprocess.run([*APART, program.run], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=errors, timeout=limit).returncode
        except subprocess.TimeoutExpired:
            status = f"not ready after {limit} s"
    lines = (folder / "output").read_text(errors="replace").splitlines()
    done = Run(status, [line for line in lines if re.search(program.result, line)],
               (folder / "left").read_text() if (folder / "left").exists() else "")
    if report.exists():
        calls = json.loads(report.read_text())["calls"]
        done.calls = sum(c["calls"] for c in calls)
        done.served = sum(c["calls"] for c in calls if c["by"] == "fanlight")
    return done


def differ(line: str, other: str, tolerance: float) -> bool:
    if NUMBER.sub(" # ", line).split() != NUMBER.sub(" # ", other).split():
        return True
    numbers, others = ([float(re.sub("[dD]", "e", n)) for n in NUMBER.findall(text)] for text in (line, other))
    return any(abs(a - b) > tolerance * max(1, abs(a), abs(b)) for a, b in zip(numbers, others, strict=True))


def verdict(alone: Run, with_it: Run, tolerance: float) -> str:
    if alone.status != 0:
        return f"does not run alone ({alone.status})"
    if with_it.status != 0:
        return f"FAILS ({with_it.status})"
    if not alone.result:
        return "NO RESULT: see programs.toml"
    if "fanlight" in with_it.left:
        return "LEAVES SHARED MEMORY"
    if with_it.calls == 0:
        return "NO REPORT"
    if len(alone.result) != len(with_it.result):
        return f"DIFFERENT: {len(alone.result)} and {len(with_it.result)} lines"
    pairs = [pair for pair in zip(alone.result, with_it.result) if differ(*pair, tolerance)]
    return "same" if not pairs else "\n".join([f"DIFFERENT: {len(pairs)} of {len(alone.result)} lines"]
                                              + [f"  alone {a.strip()[:150]}\n  with  {b.strip()[:150]}" for a, b in pairs[:3]])


def main():
    listed = {name: Program(**entry) for name, entry in tomllib.loads((HERE / "programs.toml").read_text()).items()}
    parser = argparse.ArgumentParser(prog="tests/programs/run FOLDER", description="Real programs without Fanlight and with it.")
    parser.add_argument("--ranks", "-n", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--limit", type=int, default=120, metavar="SECONDS", help="for one run")
    parser.add_argument("--settings", nargs="+", default=["FANLIGHT_START_AFTER=1"],
                        help="Fanlight's; by default it serves each communicator from the second call on")
    parser.add_argument("--only", nargs="+", choices=listed, default=list(listed), metavar="PROGRAM", help=f"some of: {', '.join(listed)}")
    args = parser.parse_args()

    print(f"Debian {Path('/etc/debian_version').read_text().strip()}, Open MPI {version('openmpi-bin')}, {' '.join(args.settings)}\n")
    print(COLUMNS.format("program", "version", "ranks", "calls", "served", "results"), flush=True)
    failed = False
    for name in args.only:
        program = listed[name]
        if not installed(program):
            print(f"{name:<17} cannot be installed: see apt.log", flush=True)
            failed = True
            continue
        for ranks in args.ranks:
            folder = RUNS / name.replace(" ", "-") / str(ranks)
            alone, with_it = (run(program, folder / kind, ranks, settings, args.limit) for kind, settings in (("alone", []), ("with", args.settings)))
            said = verdict(alone, with_it, program.tolerance)
            served = f"{100 * with_it.served / with_it.calls:.1f}%" if with_it.calls else ""
            print(COLUMNS.format(name, version(program.packages.split()[0]), ranks, f"{with_it.calls:,}", served, said), flush=True)
            failed |= not said.startswith(("same", "does not run alone"))
    sys.exit(failed)


if __name__ == "__main__":
    main()
