"""`fanlight tune`: measures this machine and writes the rules of the selection that follow."""

from __future__ import annotations

import os
import random
import statistics
import sys
from pathlib import Path
from typing import List, Optional

import typer
from rich.console import Console

from . import mpis, pictures, tune_noise, tune_plan, tune_rules
from . import tune_statistics as stats
from .errors import FanlightError
from .machine import machine_cores
from .tune_plan import SIZES
from .tune_rules import Measured
from .units import format_bytes, parse_bytes, parse_operations, parse_ranks

console = Console() if sys.stdout.isatty() else Console(width=150)
messages = Console(stderr=True)


def tune(
    mpi: str = typer.Option("", "--mpi", metavar="MPI[=PREFIX],...", help="Which MPIs: mpich, openmpi, impi; default: all that are found."),
    ranks: str = typer.Option("", "-n", "--ranks", metavar="N,...", help="Numbers of ranks; default: all cores, half of them, those of a socket, "
                              "of a NUMA domain, of an L3, and an odd number."),
    operation: List[str] = typer.Option([], "--operation", metavar="OPERATION,...", help="Which operations; default: all."),
    sizes: str = typer.Option("", "--sizes", metavar="BYTES,...", help=f"Sizes; default: {SIZES}."),
    minutes: float = typer.Option(8, "--minutes", min=0.01, help="Minutes to spend on each MPI and number of ranks, about."),
    output: Optional[Path] = typer.Option(None, "-o", "--output", metavar="FILE", help="The file of rules; default: where programs find it. "
                                          "With --show: draw the map there, .svg or .png."),
    show: bool = typer.Option(False, "--show", help="Show what was measured: who wins, and by how much."),
    check: bool = typer.Option(False, "--check", help="Measure a part again and report what no longer holds."),
    part: float = typer.Option(0.1, "--part", min=0.01, max=1, help="With --check: which part."),
    resume: bool = typer.Option(False, "--resume",
                                help="Continue a run that was interrupted, with its options; of those given now only -o and --programs count."),
    file: Optional[Path] = typer.Option(None, "--file", help="With --show and --check: this file of rules; default: this machine's."),
    merge: Optional[Path] = typer.Option(None, "--merge", metavar="FOLDER", help="Print one text of rules for all that was measured: the .json files in "
                                         "this folder, of several MPI libraries or machines (src/select/measured.txt is made so)."),
    programs: Optional[Path] = typer.Option(None, "--programs", metavar="FOLDER", help="Where the fanlight-tune-<mpi> are; a missing one is compiled."),
    launcher_arg: List[str] = typer.Option([], "--launcher-arg", metavar="ARG", help="One argument for mpiexec; may be repeated."),
):
    """Measure which algorithms are fastest on this machine, and write rules that programs use."""
    from . import bench_run, tune_run
    from .cli import core

    if output and not show and output.suffix in (".json", ".svg", ".png"):
        raise FanlightError(f"{output}: " + ("what is measured goes there, beside the rules" if output.suffix == ".json" else "a map is drawn with --show"),
                            "Name the rules' file, for instance mine.rules.")
    if output and show:
        pictures.check_ending(output, (".svg", ".png"))
        pictures.check(output)
    if sum((show, check, resume, merge is not None)) > 1:
        raise FanlightError("--show, --check, --resume and --merge exclude each other", "Leave all but one out.")
    if merge:
        from . import tune_merge

        print(tune_merge.text(core(), tune_merge.load(merge)), end="")
        return
    if show:
        from . import tune_map

        files = _files(core(), file, mpi)
        for path in files:
            measured = Measured.load(path.with_suffix(".json"))
            tune_map.show(core(), measured, path, console)
            if output:
                picture = output if len(files) == 1 else output.with_name(f"{output.stem}-{path.stem}{output.suffix}")
                tune_map.write(core(), measured, picture)
                messages.print(f"written: {picture}", markup=False, highlight=False)
        return
    if check:
        aged = 0
        for path in _files(core(), file, mpi):
            aged += _check(core(), path, part, programs, launcher_arg)
        raise typer.Exit(1 if aged else 0)
    if resume:
        plan, done = tune_run.interrupted(core())
        plan["output"] = str(output.absolute()) if output else plan["output"]
    else:
        plan = {"format": 1, "mpi": mpi, "ranks": sorted(parse_ranks(ranks, 2)) if ranks else
                tune_plan.numbers_of_ranks(machine_cores(), sorted(os.sched_getaffinity(0))),
                "operations": parse_operations(operation, tune_plan.ALL) or list(tune_plan.ALL), "minutes": minutes,
                "sizes": sorted({_size(s) for s in (sizes or SIZES).split(",")}), "output": str(output.absolute()) if output else "",
                "seed": random.randrange(1 << 30), "launcher_arg": launcher_arg}
        done = []
    contenders = bench_run.find_contenders([w for w in plan["mpi"].split(",") if w], programs, bench_run.TUNE)
    tune_rules.check_writable(Path(plan["output"]) if plan["output"] else tune_rules.own_folder(core()) / "rules")
    tune_noise.refuse_if_busy()
    if not resume:
        tune_run.keep_interrupted(core())
    run = tune_run.Run(core(), plan, done, contenders)
    try:
        run.measure()
    except KeyboardInterrupt:
        messages.print("interrupted; `fanlight tune --resume` continues", markup=False, highlight=False)
        raise
    run.write()


# --- options ------------------------------------------------------------------------------


def _size(text: str) -> int:
    size = parse_bytes(text)
    if size == 0 or size % 8:
        raise FanlightError(f"--sizes {text}: no multiple of 8 bytes", "Reductions are of doubles: take 8, 64, 1K ...")
    return size


def _files(core, file: Path | None, mpi: str) -> list[Path]:
    if file:
        return [file]
    found = [p for p in tune_rules.files_here(core) if not mpi or p.name.split("-")[0] in mpi.split(",")]
    if not found:
        raise FanlightError("nothing was measured here", "`fanlight tune` measures; it takes minutes.")
    return found


# --- check --------------------------------------------------------------------------------


def aged(before: stats.Ratio | None, choice: str, now_: dict[str, stats.Ratio]) -> str:
    """Why a decision would not be made again; empty: it would, as far as this tells."""
    if choice == stats.UNDECIDED:
        return ""
    if choice != stats.NATIVE:
        fresh = now_.get(choice)
        if fresh is None:
            return "was not served, or wrong"
        if fresh.low <= stats.bound(choice, choice):
            return ""
        return f"took {before.ratio:.2f} of the MPI library's time, takes {fresh.ratio:.2f} [{fresh.low:.2f}, {fresh.high:.2f}]"
    better = {n: r for n, r in now_.items() if r.high < stats.RETURNS_BELOW}
    name = min(better, key=lambda n: better[n].ratio, default="")
    return f"the MPI library's own was kept, {name} takes {better[name].ratio:.2f} of its time" if name else ""


def summary(core, before: Measured, fresh: Measured, ranges: dict) -> str:
    """What the choices gain now, beside those of the built-in rules."""
    chosen: dict[str, float] = {}
    by_rules: list[float] = []
    for (n, operation, size), launches in fresh.cells.items():
        now_ = stats.ratios(launches)
        by_rule = tune_rules.by_rule(core, before, n, operation, size)
        choice = ranges[operation, size].choice
        if choice == stats.UNDECIDED:
            choice = by_rule
        if all(name == stats.NATIVE or name in now_ for name in (choice, by_rule)):
            ratios = [1.0 if name == stats.NATIVE else now_[name].ratio for name in (choice, by_rule)]
            chosen[f"{operation} {format_bytes(size)}"] = ratios[0]
            by_rules.append(ratios[1])
    if not chosen:
        return "no choice could be compared with the built-in rules'"
    slowest = max(chosen, key=chosen.get)
    return (f"of the MPI library's time, geometric means: {statistics.geometric_mean(chosen.values()):.3f} as chosen, "
            f"{statistics.geometric_mean(by_rules):.3f} by the built-in rules; at most {chosen[slowest]:.2f} ({slowest})")


def _to_compare(core, before: Measured, ranks: int, operation: str, size: int, choice: str) -> list[str]:
    """So few that all are measured to the end: the choice, the built-in rules', and the fastest of the others."""
    last = before.cells[ranks, operation, size][-1]
    first = [choice, tune_rules.by_rule(core, before, ranks, operation, size)]
    others = sorted(last.keys() - {stats.NATIVE}, key=lambda name: statistics.median(last[name]))
    return list(dict.fromkeys([name for name in first if name in others] + others))[:tune_plan.FINALISTS]


MOVED = 2  # times as far, or as near


def ranks_moved(then: list[float] | None, now_: list[float] | None) -> str:
    """On a virtual machine cores may come nearer to each other or go apart, and each place has its own fastest algorithms."""
    if not then or not now_ or max(then[1] / now_[1], now_[1] / then[1]) < MOVED:
        return ""
    return (f"the cores have moved: a round trip between the first two ranks takes {tune_rules.round_trip_text(now_)}, "
            f"took {tune_rules.round_trip_text(then)}")


def _where(measured: Measured) -> str:
    return ", ".join(measured.fingerprint[key] for key in ("processor", "domains", "kernel", "mpi", "binding"))


def _seconds(before: Measured, ranks: int, cell: tune_plan.Cell) -> float:
    """As long as it was measured then, in one launch."""
    of_its_number = sum(n == ranks for n, _, _ in before.cells)
    return before.seconds.get((ranks, *cell.key)) or 60 * before.minutes / of_its_number


def _check(core, path: Path, part: float, programs: Path | None, launcher_arg: list[str]) -> int:
    from . import bench_run, tune_run

    before = Measured.load(path.with_suffix(".json"))
    contenders = bench_run.find_contenders([mpis.kind_of(before.fingerprint["mpi"])], programs, bench_run.TUNE)
    tune_noise.refuse_if_busy()
    found = compared = 0
    for n in sorted(before.runs):
        ranges = {(r.operation, size): r for r in tune_rules.decide(core, before) if r.ranks == n for size in r.sizes}
        if not ranges:
            continue
        keys = random.sample(sorted(ranges), max(1, round(len(ranges) * part)))
        cells = [tune_plan.Cell(o, s, _to_compare(core, before, n, o, s, ranges[o, s].choice)) for o, s in keys]
        cells = [c for c in cells if c.candidates]
        plan = {"ranks": [n], "minutes": sum(_seconds(before, n, c) for c in cells) / 60, "seed": random.randrange(1 << 30),
                "launcher_arg": launcher_arg or before.launcher_arg, "output": ""}
        run = tune_run.Run(core, plan, [], contenders, launches=1, cells=cells)
        run.measure()
        for m in run.measured():
            if m.fingerprint != before.fingerprint:
                console.print(f"{path.name}, {n} ranks: not compared: measured on {_where(before)}, now on {_where(m)}", markup=False, highlight=False)
                continue
            if why := tune_noise.restless(m):
                raise FanlightError(f"the machine was busy: {why}", "Such times mean nothing. Try again when it is idle.")
            said = []
            for (_, o, s), launches in sorted(m.cells.items()):
                r = ranges[o, s]
                if why := aged(tune_rules.shown(before, r, s), r.choice, stats.ratios(launches)):
                    said.append(f"{n} ranks, {o} {format_bytes(s)}: {r.choice}: {why}")
            found += len(said)
            compared += len(m.cells)
            console.print(f"{path.name}, {n} ranks: {len(m.cells)} of {len(ranges)} cells measured again, {len(said)} aged", markup=False, highlight=False)
            console.print("  " + summary(core, before, m, ranges), markup=False, highlight=False)
            if moved := ranks_moved(before.round_trips.get(n), m.round_trips.get(n)):
                console.print("  " + moved, markup=False, highlight=False)
            for one in said:
                console.print("  " + one, markup=False, highlight=False)
    if not compared:
        raise FanlightError(f"{path.name}: nothing was compared", "`fanlight tune` measures anew.")
    if found:
        messages.print("`fanlight tune` measures anew.", markup=False)
    return found
