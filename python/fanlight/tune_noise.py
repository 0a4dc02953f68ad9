"""Is the machine quiet enough for what `fanlight tune` measures?"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable
from pathlib import Path

from . import tune_statistics as stats
from .errors import FanlightError
from .tune_rules import Measured

BUSY = 0.1             # of the cores' time that others take
# Of the windows' ratios in half of the cells: their spread in one launch, their drift between launches.  A quiet virtual
# machine whose clocks change shows 0.25 and 0.6; one where another program is at work 0.5 and more, and no bound.
MOST_SPREAD, MOST_DRIFT = 0.4, 1.0
CROWDED = 4            # times as much where there are more ranks than cores: they wait for the scheduler


def _times(cpus: set[int]) -> tuple[int, int]:
    """Of these CPUs, in ticks: at work (also for others: stolen), and all."""
    work = everything = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
            ticks = [int(n) for n in numbers[:8]]  # guests' are in the first two
            everything += sum(ticks)
            work += sum(ticks) - ticks[3] - ticks[4]  # idle, waiting for a disk
    return work, everything


def busy(seconds: float = 1.0) -> float:
    """The part of the time of the cores that this process may use which they work now."""
    cpus = os.sched_getaffinity(0)
    try:
        work, everything = _times(cpus)
        time.sleep(seconds)
        work_then, everything_then = _times(cpus)
    except OSError:
        return 0.0
    return (work_then - work) / max(everything_then - everything, 1)


def refuse_if_busy():
    part = busy()
    if part > BUSY:
        raise FanlightError(f"the machine is busy: other programs use {part:.0%} of its cores' time",
                            "Times would mean nothing. Wait until it is idle, or take a node of your own. Nothing was written.")


def restless(measured: Measured, numbers: Iterable[int] | None = None) -> str:
    """Why the measurement, or that of these numbers of ranks, is useless; empty if it is not."""
    for ranks in numbers or measured.runs:
        run = measured.runs[ranks]
        crowded = CROWDED if run["oversubscribed"] else 1
        cells = [launches for (n, _, _), launches in measured.cells.items() if n == ranks and launches]
        for what, of, bound in (("within a run", stats.spread, MOST_SPREAD), ("from run to run", stats.drift, MOST_DRIFT)):
            if cells and (typical := statistics.median(of(launches) for launches in cells)) > bound * crowded:
                return f"on {ranks} ranks the ratios to the MPI library's own times differ by {typical:.0%} {what}"
    return ""
