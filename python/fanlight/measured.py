"""`fanlight simulate --against-measured`: what the model says beside what `fanlight bench` measures here."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from . import records
from .errors import FanlightError
from .tables import table
from .units import format_bytes


def measure(operation: str, algorithm: str, ranks: int, sizes: list[int], mpi: str) -> dict[int, float]:
    """Seconds by size, with the algorithm forced; a barrier after each call, since the model waits for the last rank."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "measured.json"
        done = subprocess.run(
            [sys.executable, "-m", "fanlight", "bench", "--mpi", mpi, "-n", str(ranks), "--operation", operation.replace("-", "_"),
             "--sizes", ",".join(map(str, sizes)), "--mode", "sync", "--output", str(output)],
            env={**os.environ, "FANLIGHT_ALGORITHM": f"{operation}:{algorithm}"}, capture_output=True, text=True)
        if done.returncode != 0:
            raise FanlightError(f"{operation} {algorithm} could not be measured", (done.stderr or done.stdout).strip()[-400:])
        lines = records.read(output)["results"]
    return {r["size"]: r["fanlight"]["median"] * 1e-6 for r in lines if "fanlight" in r}


def ranks_of(values: list[float]) -> list[float]:
    order = sorted(values)
    return [(order.index(v) + len(order) - 1 - order[::-1].index(v)) / 2 for v in values]


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's; 1 where there is nothing to order."""
    x, y = ranks_of(a), ranks_of(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    spread = (sum((i - mx) ** 2 for i in x) * sum((j - my) ** 2 for j in y)) ** 0.5
    return sum((i - mx) * (j - my) for i, j in zip(x, y)) / spread if spread else 1.0


def compare(results: list[dict], operation: str, ranks: int, mpi: str, console: Console):
    flat = [r for r in results if not r["radices"]]
    names = list(dict.fromkeys(r["algorithm"] for r in flat))
    sizes = list(dict.fromkeys(r["size"] for r in flat))
    measured: dict[tuple[str, int], float] = {}
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=f"measures {name}")
            for size, seconds in measure(operation, name, ranks, sizes, mpi).items():
                measured[name, size] = seconds
            progress.advance(task)
    t = table("algorithm", "bytes", "model", "measured", "error", title=f"{operation}, {ranks} ranks, µs", numbers=("bytes", "model", "measured", "error"))
    pairs = [(r, measured[r["algorithm"], r["size"]]) for r in flat if (r["algorithm"], r["size"]) in measured]
    for r, seconds in pairs:
        t.add_row(r["algorithm"], format_bytes(r["size"]), f"{r['seconds'] * 1e6:.3g}", f"{seconds * 1e6:.3g}", f"{r['seconds'] / seconds - 1:+.0%}")
    console.print(t)
    if not pairs:
        raise FanlightError("nothing was measured", "Is Fanlight built for this MPI?")
    errors = [abs(r["seconds"] / seconds - 1) for r, seconds in pairs]
    console.print(f"rank correlation {rank_correlation([r['seconds'] for r, _ in pairs], [s for _, s in pairs]):.2f}, "
                  f"median error {statistics.median(errors):.0%}", highlight=False)
