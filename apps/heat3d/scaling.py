"""heat3d on 1, 2, 4 and 8 ranks with the same cells for each: what a step takes, and of what.

An exchange of the halos is begun by all ranks together (--aligned), so that nobody's computation
is in it; its own barriers are.  The median over the steps, of the slowest rank; of several runs,
which take turns with those of other numbers of ranks, the median again.
"""

from __future__ import annotations

import argparse
import difflib
import os
import statistics
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from fanlight import launch, mpis, records
from fanlight.bench import provenance
from fanlight.cli import machine_cores
from fanlight.errors import FanlightError
from fanlight.tables import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXCHANGES = ("sendrecv", "rma", "dart", "fanlight")
PARTS = ("computation", "exchange", "synchronization", "fill")
OVER = {"dart": "rma", "fanlight": "sendrecv"}  # what each is compared with
console = Console() if sys.stdout.isatty() else Console(width=120)


def run(program: Path, ranks: int, arguments: list[str]) -> str:
    mpi = mpis.find_mpi(program)
    command = launch.command_line(mpi, ranks, machine_cores(), program, arguments, [], {}, [])
    done = subprocess.run(command, env={**os.environ, **mpi.environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600)
    if done.returncode != 0 or not done.stdout.rstrip().endswith("ok"):
        sys.exit(f"FAILED ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def results(output: str) -> dict[str, dict[str, float]]:
    """By exchange: microseconds of a step's parts, the kernel's and a copy's GB/s."""
    rows = [line.split() for line in output.splitlines() if line.startswith(EXCHANGES)]
    return {row[0]: dict(zip((*PARTS, "kernel", "copy"), map(float, row[3:9]))) for row in rows}


def medians(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {e: {part: statistics.median(run[e][part] for run in runs) for part in runs[0][e]} for e in EXCHANGES}


def code(file: str) -> list[str]:
    return [line for line in (HERE / file).read_text().splitlines() if line.strip() and not line.startswith("//")]


def lines_changed(old: str, new: str) -> int:
    matcher = difflib.SequenceMatcher(None, code(old), code(new), autojunk=False)
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in matcher.get_opcodes() if kind != "equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/apps/heat3d-mpich")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cells", nargs=3, default=["64", "64", "128"], help="of each rank")
    parser.add_argument("--steps", default="200")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one run, of 50 steps")
    parser.add_argument("--output", metavar="JSON", type=Path, help="every run's figures, and where they are from")
    parser.add_argument("--show", metavar="PNG", help="and a slice of a warm block, here and in this file")
    args = parser.parse_args()
    if args.quick:
        args.runs, args.steps = 1, "50"

    runs = {ranks: [] for ranks in args.ranks}
    for _ in range(args.runs):
        for ranks in args.ranks:
            runs[ranks].append(results(run(args.program, ranks, ["--aligned", "--per-rank", *args.cells, "--steps", args.steps])))

    numbers = ("ranks", *(f"{part} (µs)" for part in PARTS), "times as fast")
    t = table("ranks", "exchange of halos", *numbers[1:], numbers=numbers,
              title=f"A step of heat3d, {' x '.join(args.cells)} cells for each rank")
    summary = {ranks: medians(runs[ranks]) for ranks in args.ranks}
    for ranks, found in summary.items():
        for e in EXCHANGES:
            # One rank has no neighbor, and nothing to compare.
            faster = f"{found[OVER[e]]['fill'] / found[e]['fill']:.2f} ({OVER[e]})" if e in OVER and ranks > 1 else ""
            t.add_row(str(ranks) if e == EXCHANGES[0] else "", e, *(f"{found[e][part]:.1f}" for part in PARTS), faster,
                      end_section=e == EXCHANGES[-1])
    console.print(t)
    console.print("A fill is the exchange with its synchronization; the last column compares it with that of the exchange in parentheses.")
    if max(args.ranks) > machine_cores():
        console.print(f"More ranks than the {machine_cores()} cores here share them: then it is their turns that are timed.")
    lines = lines_changed("exchange_rma.c", "exchange_dart.c")
    console.print(f"From MPI RMA to DART: {lines} lines of code differ.")
    if args.output:
        mpi = mpis.find_mpi(args.program)
        contender = SimpleNamespace(key=mpi.kind, label=mpi.name, mpi=mpi)
        record = {"format": 1, "provenance": provenance([contender], machine_cores()),
                  "options": {"cells": args.cells, "steps": args.steps, "ranks": args.ranks}, "unit": "us",
                  "lines_changed": lines, "summary": summary, "runs": runs}
        records.write(record, args.output)
    if args.show:
        output = run(args.program, min(2, max(args.ranks)), ["--exchange", "fanlight", "--grid", "32", "64", "24", "--steps", "600",
                                                 "--show", "--png", args.show])
        console.print(f"\nOne edge of a block is hot, the others are cold (a slice; {args.show}):")
        print("\n".join(output.splitlines()[3:-1]))


if __name__ == "__main__":
    try:
        main()
    except FanlightError as e:
        sys.exit(f"{e.problem}\n{e.advice}")
