"""`fanlight simulate --against-measured`: what the model says beside what takes how long here, in one run.

The program of `fanlight tune` forces the algorithms in turn, lets all ranks begin a call together, and waits for the last
one, as the model does.  It measures the machine's limits before, from which the model's machine is made, and
again after each cell how long a cache line takes: the cores of a virtual machine may be near each other in one moment and
far in the next.  A run in which they moved is repeated.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, field

from rich.console import Console

from . import bench_run, this_machine, tune_plan, tune_run
from .bench_limits import SYNCHRONIZING
from .errors import FanlightError
from .machine import machine_cores
from .simulation import Question, machine_named
from .tables import progress_bar, table
from .units import format_bytes

SECONDS = 0.4   # for a cell
TOGETHER = 4    # algorithms in a cell: of so few the program leaves none out
TRIES = 12      # until the machine stays as it is during a run
STEADY = 2      # a cache line may take so many times as long as at another time
NEVER = 1 << 62
UNMEASURED = 32 << 10  # from so many bytes on messages are copied once where no run has measured it
BARRIERS = "one-to-all", "tree"  # of one round and of two, with two ranks


@dataclass
class Run:
    """What one launch has measured: the limits and round trips in µs, as the program writes them."""
    limits: list[dict] = field(default_factory=list)
    round_trips: list[float] = field(default_factory=list)  # before the cells, and after each
    times: dict[tuple[str, int], float] = field(default_factory=dict)  # seconds, by algorithm and size
    copied_once: int = NEVER  # from so many bytes on

    def take(self, lines: list[dict]):
        """Of the windows' medians, and of a limit's blocks, the least: what other programs take is no algorithm's."""
        begun = False
        for line in lines:
            begun |= line["type"] == "cell"
            if line["type"] == "limit" and not begun:
                self.limits.append({**line, "time": {**line["time"], "median": line["time"]["min"]}} if "time" in line else line)
            if line.get("limit") == "round_trip":
                self.round_trips.append(line["time"]["min"])
        clock = next((line["time"]["min"] for line in lines if line.get("limit") == "empty_sample"), 0)
        for line in lines:
            # Operations that synchronize are timed some calls at a time.
            alone = line["type"] == "cell" and line["operation"] not in SYNCHRONIZING
            for name, medians in line["medians"].items() if line["type"] == "cell" else ():
                if medians:  # none where it was wrong
                    self.times[f"{line['operation']}:{name}", line["size"]] = (min(medians) - (clock if alone else 0)) * 1e-6

    def is_steady(self) -> bool:
        """Whether the cores were as far from each other all the time."""
        return not self.round_trips or max(self.round_trips) < STEADY * min(self.round_trips)


def launch(contender, ranks: int, cells: list[tune_plan.Cell], hosts: str, links: list[str], on_cell=lambda: None) -> Run:
    def on_line(line: dict):
        if line["type"] == "cell":
            on_cell()

    from . import _core

    run = Run()
    ready = bench_run.between_hosts([contender], machine_cores(), hosts, ranks)[0] if hosts else contender
    outcome, said = tune_run.launched(_core, ready, ranks, cells, ["--same-buffers", "--with-limits", "--bind", f"--seconds={SECONDS}"], on_line,
                                      launcher_arguments=links, hosts=hosts)
    if outcome.problem:
        raise FanlightError(f"{contender.label} with {ranks} ranks: {outcome.problem}", "Does `fanlight run` start a program of this MPI?")
    run.copied_once = copied_once(said)
    run.take(outcome.lines)
    return run


def copied_once(said: dict | None) -> int:
    """From how many bytes on a run that said this copied messages once."""
    if not said or not said["single_copy"] or said["oversubscribed"] or said["from"] is None:
        return NEVER
    return said["from"] or UNMEASURED


def cells_of(operation: str, names: list[str], sizes: list[int]) -> list[tune_plan.Cell]:
    of = operation.replace("-", "_")
    return [tune_plan.Cell(of, size, names[i:i + TOGETHER]) for size in sizes for i in range(0, len(names), TOGETHER)]


def ranks_of(values: list[float]) -> list[float]:
    order = sorted(values)
    return [(order.index(v) + len(order) - 1 - order[::-1].index(v)) / 2 for v in values]


def rank_correlation(a: list[float], b: list[float]) -> float:
    """Spearman's; 1 where there is nothing to order."""
    x, y = ranks_of(a), ranks_of(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    spread = (sum((i - mx) ** 2 for i in x) * sum((j - my) ** 2 for j in y)) ** 0.5
    return sum((i - mx) * (j - my) for i, j in zip(x, y)) / spread if spread else 1.0


def made(measured: Run, inside: Run | None, ranks: int):
    """The machine at hand as this run found it.  What a step takes, and a call before its first one, is what two barriers
    take that the model does not explain."""
    from . import _core

    lines, cpus = [*(inside.limits if inside else []), *measured.limits], sorted(os.sched_getaffinity(0))

    def machine(step: float = this_machine.STEP, begin: float = 0):
        return _core.Machine("this", this_machine.text(lines, cpus, step, begin))

    def modelled(step: float) -> list[float]:
        barrier = Question("barrier", ranks, machine(step))
        return [barrier.ask(next(barrier.ways(name)), 0)["seconds"] for name in BARRIERS]

    try:
        if inside is not None:
            return machine()
        one, two = (measured.times["barrier:" + name, 8] for name in BARRIERS)
        shortest, with_steps = modelled(0), modelled(this_machine.STEP)
        steps = [(b - a) / this_machine.STEP for a, b in zip(shortest, with_steps)]
        step = max(two - one - (shortest[1] - shortest[0]), 0) / (steps[1] - steps[0]) if steps[1] > steps[0] else this_machine.STEP
        return machine(step, max(one - shortest[0] - step * steps[0], 0))
    except (ValueError, KeyError) as e:
        raise FanlightError(f"the machine's limits could not be measured ({e})", "They need two ranks with a core each.") from e


def show(question: Question, flat: list, names: list[str], measured: Run, sizes: list[int], console: Console):
    operation = question.operation.replace("-", "_")
    title = f"{question.operation}, {question.ranks} ranks" + (f" on {question.nodes} nodes" if question.nodes > 1 else "") + ", µs"
    t = table("algorithm", "bytes", "model", "measured", "error", title=title, numbers=("bytes", "model", "measured", "error"))
    pairs = [(way, name, size, question.ask(way, size)["seconds"], seconds) for size in sizes for way, name in zip(flat, names)
             if (seconds := measured.times.get((f"{operation}:{name}", size)))]
    if not pairs:
        raise FanlightError("nothing was measured", "Is Fanlight built for this MPI?")
    for _, name, size, model, seconds in pairs:
        t.add_row(name, format_bytes(size), f"{model * 1e6:.3g}", f"{seconds * 1e6:.3g}", f"{model / seconds - 1:+.0%}")
    console.print(t)
    errors = [abs(model / seconds - 1) for *_, model, seconds in pairs]
    console.print(f"rank correlation {rank_correlation([p[3] for p in pairs], [p[4] for p in pairs]):.2f}, "
                  f"median error {statistics.median(errors):.0%}", highlight=False)


def run(operation: str, ranks: int, nodes: int, machine: str, sizes: list[int], algorithm: str, mpi: str, links: list[str], console: Console):
    contender = bench_run.find_contenders([mpi], None, bench_run.TUNE)[0]
    hosts = str(nodes) if nodes > 1 else ""
    flat = [way for way in Question(operation, ranks, machine_named("generic"), nodes).ways(algorithm) if not way[0].levels]
    names = [algorithm or way[0].name for way in flat]
    cells = cells_of("barrier", list(BARRIERS), [8]) + cells_of(operation, names, sizes)
    with progress_bar() as progress:
        task = progress.add_task(f"measures under {contender.label}", total=len(cells))
        inside = launch(contender, 2, [], "", []) if hosts else None  # the cores' own limits
        for _ in range(TRIES):
            progress.reset(task)
            measured = launch(contender, ranks, cells, hosts, links, lambda: progress.advance(task))
            if measured.is_steady():
                break
        else:
            console.print(f"[bold]The machine changed during each of {TRIES} runs:[/] the errors below are also its own.", highlight=False)
    chosen = made(measured, inside, ranks) if machine == "this" else machine_named(machine)
    show(Question(operation, ranks, chosen, nodes, copied_once=measured.copied_once), flat, names, measured, sizes, console)
