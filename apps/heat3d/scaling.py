"""heat3d on 1, 2, 4 and 8 ranks with the same cells for each: what an exchange of the halos takes.

An exchange is begun by all ranks together (--aligned), so that nobody's computation is in it; its
own barriers are.  The median over the steps, of the slowest rank.
"""

from __future__ import annotations

import argparse
import difflib
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from fanlight import launch, mpis
from fanlight.cli import machine_cores
from fanlight.errors import FanlightError
from fanlight.tables import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXCHANGES = ("sendrecv", "rma", "dart", "fanlight")
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
    """By exchange: microseconds of a fill, the kernel's share of the bandwidth of a copy."""
    rows = [line.split() for line in output.splitlines() if line.startswith(EXCHANGES)]
    return {row[0]: {"fill": float(row[-2]), "share": float(row[-4])} for row in rows}


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
    parser.add_argument("--show", metavar="PNG", help="and a slice of a warm block, here and in this file")
    args = parser.parse_args()

    numbers = ("ranks", *(f"{e} (µs)" for e in EXCHANGES), "rma / dart", "sendrecv / fanlight")
    t = table(*numbers, numbers=numbers, title=f"An exchange of the halos, {' x '.join(args.cells)} cells for each rank")
    for ranks in args.ranks:
        found = results(run(args.program, ranks, ["--aligned", "--per-rank", *args.cells, "--steps", args.steps]))
        us = {e: found[e]["fill"] for e in EXCHANGES}
        # One rank has no neighbour, and nothing to compare.
        ratios = [f"{us[a] / us[b]:.2f}" if ranks > 1 else "" for a, b in (("rma", "dart"), ("sendrecv", "fanlight"))]
        t.add_row(str(ranks), *(f"{us[e]:.1f}" for e in EXCHANGES), *ratios)
    console.print(t)
    if max(args.ranks) > machine_cores():
        console.print(f"More ranks than the {machine_cores()} cores here share them: then it is their turns that are timed.")
    console.print(f"From MPI RMA to DART: {lines_changed('exchange_rma.c', 'exchange_dart.c')} lines of code differ.")
    if args.show:
        output = run(args.program, min(2, max(args.ranks)), ["--exchange", "fanlight", "--grid", "32", "64", "24", "--steps", "600",
                                                 "--show", "--png", args.show])
        console.print(f"\nOne edge of a block is hot, the others are cold (a slice; {args.show}):")
        print("\n".join(output.splitlines()[2:-1]))


if __name__ == "__main__":
    try:
        main()
    except FanlightError as e:
        sys.exit(f"{e.problem}\n{e.advice}")
