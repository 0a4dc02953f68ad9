"""The demo: the same NEURON networks under an MPI alone and under Fanlight, in turn.

Checks that the spikes are identical to the last bit, and prints how long an exchange of
spikes (an MPI_Allgather and the MPI_Allgatherv that may follow) takes in both: the median over
all exchanges of all runs, as the program sees it, with the same clock around the same calls.
NEURON has a barrier before each exchange, so that waiting for a slower rank is not in it.

With --trace: the same networks under Fanlight without a trace and with one (FANLIGHT_TRACE).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from fanlight import launch, libraries, mpis
from fanlight.cli import machine_cores
from fanlight.errors import FanlightError
from fanlight.tables import table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NETWORKS = {"integrate-and-fire": "100 integrate-and-fire cells", "hodgkin-huxley": "200 Hodgkin-Huxley cells"}
console = Console() if sys.stdout.isatty() else Console(width=120)


@dataclass
class Runs:
    exchanges: list[np.ndarray] = field(default_factory=list)  # seconds, of every rank and run
    seconds: list[float] = field(default_factory=list)  # of each run
    shares: list[float] = field(default_factory=list)  # of each run: time in exchanges / time
    spikes: bytes | None = None
    count: int = 0

    def add(self, folder: Path, ranks: int):
        data = [np.load(folder / f"rank{r}.npz") for r in range(ranks)]
        if any(int(d["ranks"]) != ranks for d in data):
            sys.exit("The ranks did not find each other: was another MPI loaded than the launcher's?")
        exchanges = [d["exchanges"] for d in data]
        self.exchanges += exchanges
        self.seconds.append(max(float(d["seconds"]) for d in data))
        self.shares.append(float(np.mean([e.sum() / float(d["seconds"]) for e, d in zip(exchanges, data)])))
        # In an order that does not depend on the ranks: by time, then by cell.
        spikes = np.concatenate([d["spikes"] for d in data])
        spikes = spikes[np.lexsort((spikes[:, 1], spikes[:, 0]))]
        if self.spikes not in (None, spikes.tobytes()):
            sys.exit("FAILED: two runs of the same kind differ in their spikes")
        self.spikes, self.count = spikes.tobytes(), len(spikes)

    def median(self) -> float:
        return float(np.median(np.concatenate(self.exchanges)))

    def per_run(self) -> list[float]:
        """The smallest and the largest median of a run."""
        ranks = len(self.exchanges) // len(self.seconds)
        medians = [float(np.median(np.concatenate(self.exchanges[i:i + ranks])))
                   for i in range(0, len(self.exchanges), ranks)]
        return [min(medians), max(medians)]


def run_once(mpi: mpis.Mpi, python: Path, network: str, args, preloads: list[Path], into: Runs, settings):
    with tempfile.TemporaryDirectory(prefix="fanlight-spikes-") as folder:
        command = launch.command_line(
            mpi, args.ranks, machine_cores(), python,
            [str(HERE / "network.py"), network, "--output", folder]
            + (["--duration", str(args.duration)] if args.duration else []), preloads, settings, [])
        done = subprocess.run(command, env={**os.environ, **mpi.environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(f"FAILED ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}")
        into.add(Path(folder), args.ranks)


def compare(mpi: mpis.Mpi, python: Path, args, progress, task, trace: str) -> list[tuple[str, Runs, Runs]]:
    timer = ROOT / "build" / "exchange_timer.so"
    with_fanlight = [timer, libraries.preload_for(mpi.abi)]
    results = []
    for network in args.networks:
        first, second = Runs(), Runs()
        pair = [(first, [timer], {}), (second, with_fanlight, {})]
        if args.trace:
            pair = [(first, with_fanlight, {}), (second, with_fanlight, {"FANLIGHT_TRACE": trace})]
        for i in range(args.repeats):
            progress.update(task, description=f"{mpi.name}, {network}")
            # In turn, and each first every other time: what changes on the machine meanwhile
            # meets both.
            for into, preloads, settings in pair if i % 2 == 0 else reversed(pair):
                run_once(mpi, python, network, args, preloads, into, settings)
                progress.advance(task)
        results.append((network, first, second))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mpi", nargs="*", choices=("mpich", "openmpi"), default=["mpich", "openmpi"])
    parser.add_argument("--ranks", "-n", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--duration", type=float, help="ms of the cells' time")
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--trace", action="store_true", help="what a trace costs under Fanlight")
    args = parser.parse_args()
    names = ("Fanlight", "traced") if args.trace else ("alone", "Fanlight")

    pythons = {kind: ROOT / ".venv" / kind / "bin" / "python" for kind in args.mpi}
    found = {kind: mpis.find_mpi(python) for kind, python in pythons.items()}
    console.print(f"{len(args.networks)} networks on {args.ranks} ranks: {args.repeats} runs of each under "
                  + ("Fanlight, without a trace and with one" if args.trace else "its MPI alone and under Fanlight")
                  + ", in turn; thousands of spike exchanges in each.", highlight=False)
    for kind, mpi in found.items():
        console.print(f"  {mpi.name} {mpi.version()}: {mpi.library}\n"
                      f"  the same by hand: .venv/fanlight/bin/fanlight run -n {args.ranks} "
                      f".venv/{kind}/bin/python apps/spikes/network.py {args.networks[0]}", highlight=False,
                      soft_wrap=True)
    busy = os.getloadavg()[0]
    if busy > 0.5 * machine_cores():
        console.print(f"[bold]Other programs are at work on this machine (load {busy:.1f}): the times below will be "
                      "theirs as well.[/]", highlight=False)
    results = []
    with tempfile.NamedTemporaryFile(suffix=".json") as trace, \
            Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"),
                     console=console, transient=True) as progress:
        task = progress.add_task("", total=len(found) * len(args.networks) * args.repeats * 2)
        for kind, mpi in found.items():
            results += [(mpi, *r) for r in compare(mpi, pythons[kind], args, progress, task, trace.name)]
        if args.trace and not os.path.getsize(trace.name):
            sys.exit("FAILED: no trace was written")

    numbers = ("exchange (µs)", "of each run", "share of the run", "whole run (s)")
    t = table("network", "MPI", "", *numbers, numbers=numbers,
              title="A spike exchange: median over all, smallest and largest median of a run")
    failed = False
    for mpi, network, *both in results:
        same = both[0].spikes == both[1].spikes and both[0].count > 0
        failed |= not same
        for runs, who in zip(both, names):
            first = runs is both[0]
            t.add_row(NETWORKS[network] if first else "", mpi.name if first else "", who,
                      f"{runs.median() * 1e6:.2f}", "{:.2f} to {:.2f}".format(*(m * 1e6 for m in runs.per_run())),
                      f"{statistics.median(runs.shares):.1%}", f"{statistics.median(runs.seconds):.2f}")
        whole = statistics.median(a / b for a, b in zip(both[0].seconds, both[1].seconds))
        t.add_row(f"  {both[0].count:,} spikes", "",
                  "ratio", f"[bold]{both[0].median() / both[1].median():.2f}[/]", "", "",
                  f"{whole:.2f}" if same else "[bold]SPIKES DIFFER[/]")
        t.add_section()
    console.print(t)
    if failed:
        sys.exit("FAILED: the spikes differ")
    first, second = (sum(statistics.median(r[k].seconds) for r in results) for k in (2, 3))
    console.print(f"One run of each network and MPI: {first:.3f} s {names[0]}, {second:.3f} s {names[1]}: {first / second:.3f} times as fast.", highlight=False)
    console.print(f"The spikes are identical to the last bit, {'with and without a trace' if args.trace else 'with and without Fanlight'}.")


if __name__ == "__main__":
    try:
        main()
    except FanlightError as e:
        sys.exit(f"{e.problem}\n{e.advice}")
