"""`fanlight tune`: measures this machine and writes the rules of the selection that follow."""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from . import tune_plan, tune_rules
from . import tune_statistics as stats
from .errors import FanlightError
from .tune_plan import SIZES
from .tune_rules import Measured
from .units import format_bytes, parse_bytes

LAUNCHES = 3
FINALISTS = 4
BUSY = 0.1             # of the cores' time that others take
# Of the windows' ratios in half of the cells: their spread in one launch, their drift between launches.  A quiet virtual
# machine whose clocks change shows 0.25 and 0.6; one where another program is at work 0.5 and more, and no bound.
MOST_SPREAD, MOST_DRIFT = 0.4, 1.0
CROWDED = 4            # times as much where there are more ranks than cores: they wait for the scheduler
MOST_FAILURES = 3

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
    check: bool = typer.Option(False, "--check", help="Measure a tenth again and report what no longer holds."),
    resume: bool = typer.Option(False, "--resume", help="Continue a run that was interrupted, with its options."),
    file: Optional[Path] = typer.Option(None, "--file", help="With --show and --check: this file of rules; default: this machine's."),
    programs: Optional[Path] = typer.Option(None, "--programs", metavar="FOLDER", help="Where the fanlight-tune-<mpi> are; a missing one is compiled."),
    launcher_arg: List[str] = typer.Option([], "--launcher-arg", metavar="ARG", help="One argument for mpiexec; may be repeated."),
):
    """Measure which algorithms are fastest on this machine, and write rules that programs use."""
    from . import bench_run
    from .cli import core

    if sum((show, check, resume)) > 1:
        raise FanlightError("--show, --check and --resume exclude each other", "Leave all but one out.")
    if show:
        from . import tune_map

        for path in _files(core(), file, mpi):
            measured = Measured.load(path.with_suffix(".json"))
            tune_map.show(core(), measured, path, console)
            if output:
                tune_map.write(core(), measured, output)
                messages.print(f"written: {output}", markup=False, highlight=False)
        return
    if check:
        aged = 0
        for path in _files(core(), file, mpi):
            aged += _check(core(), path, programs, launcher_arg)
        raise typer.Exit(1 if aged else 0)
    if resume:
        plan, done = _interrupted()
    else:
        plan = {"format": 1, "mpi": mpi, "ranks": _numbers(ranks), "operations": _operations(operation), "minutes": minutes,
                "sizes": sorted({_size(s) for s in (sizes or SIZES).split(",")}), "output": str(output.absolute()) if output else "",
                "seed": random.randrange(1 << 30), "launcher_arg": launcher_arg}
        done = []
    contenders = bench_run.find_contenders([w for w in plan["mpi"].split(",") if w], programs, bench_run.TUNE)
    _refuse_if_busy()
    run = Run(core(), plan, done, contenders)
    run.measure()
    run.write()


# --- options ------------------------------------------------------------------------------


def _size(text: str) -> int:
    size = parse_bytes(text)
    if size == 0 or size % 8:
        raise FanlightError(f"--sizes {text}: no multiple of 8 bytes", "Reductions are of doubles: take 8, 64, 1K ...")
    return size


def _operations(given: list[str]) -> list[str]:
    known = list(tune_plan.ALL)
    names = [w.replace("-", "_") for words in given for w in words.split(",") if w]
    for name in names:
        if name not in known:
            raise FanlightError(f"--operation {name}: unknown", "There are: " + ", ".join(known) + ".")
    return names or known


def _numbers(given: str) -> list[int]:
    if not given:
        return tune_plan.numbers_of_ranks(_cores(), sorted(os.sched_getaffinity(0)))
    try:
        numbers = [int(n) for n in given.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 2:
        raise FanlightError(f"-n {given}: no numbers of ranks", "Write for instance -n 2,8.")
    return sorted(set(numbers))


def _cores() -> int:
    from .cli import machine_cores

    return machine_cores()


def _files(core, file: Path | None, mpi: str) -> list[Path]:
    if file:
        return [file]
    found = [p for p in tune_rules.files_here(core) if not mpi or p.name.split("-")[0] in mpi.split(",")]
    if not found:
        raise FanlightError("nothing was measured here", "`fanlight tune` measures; it takes minutes.")
    return found


# --- is the machine free? -----------------------------------------------------------------


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


def _refuse_if_busy():
    part = busy()
    if part > BUSY:
        raise FanlightError(f"the machine is busy: other programs use {part:.0%} of its cores' time",
                            "Times would mean nothing. Wait until it is idle, or take a node of your own. Nothing was written.")


def restless(measured: Measured) -> str:
    """Why the measurement is useless; empty if it is not."""
    for ranks, run in measured.runs.items():
        crowded = CROWDED if run["oversubscribed"] else 1
        cells = [launches for (n, _, _), launches in measured.cells.items() if n == ranks and launches]
        for what, of, bound in (("within a run", stats.spread, MOST_SPREAD), ("from run to run", stats.drift, MOST_DRIFT)):
            if cells and (typical := statistics.median(of(launches) for launches in cells)) > bound * crowded:
                return f"on {ranks} ranks the ratios to the MPI library's own times differ by {typical:.0%} {what}"
    return ""


# --- a run --------------------------------------------------------------------------------


def _all_alike(values: list):
    """None where they are not: single copy may be found the faster one in one launch and not in the next."""
    return values[0] if len(set(values)) == 1 else None


def _work_file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "fanlight" / "tune.jsonl"


def _interrupted() -> tuple[dict, list[dict]]:
    try:
        lines = [json.loads(line) for line in _work_file().read_text().splitlines()]
        if lines[0]["format"] != 1:
            raise ValueError
    except (OSError, ValueError, LookupError) as e:
        raise FanlightError("there is no interrupted run to resume", "Start one: fanlight tune.") from e
    return lines[0], lines[1:]


class Run:
    """Lines of the programs, each with its MPI, number of ranks and launch; also in a file, from which --resume goes on."""

    def __init__(self, core, plan: dict, done: list[dict], contenders: list, launches: int = LAUNCHES, cells: list | None = None):
        self.core, self.plan, self.lines, self.contenders, self.launches = core, plan, list(done), contenders, launches
        self.given_cells = cells  # --check: these alone
        self.file = None
        self.failures: list[str] = []
        self.levels = tune_plan.has_levels(sorted(os.sched_getaffinity(0)))

    def measure(self):
        if self.given_cells is None:
            path = _work_file()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in (self.plan, *self.lines)))
            self.file = path.open("a")
        each = 60 * self.plan["minutes"]
        with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False),
                      console=messages, transient=True) as progress:
            task = progress.add_task("", total=each * len(self.contenders) * len(self.plan["ranks"]))
            for contender in self.contenders:
                for n in self.plan["ranks"]:
                    self._measure_number(contender, n, each, progress, task)
        if self.file:
            self.file.close()

    def _cells(self, ranks: int) -> list:
        if self.given_cells is not None:
            return self.given_cells
        return tune_plan.cells(self.core, self.plan["operations"], self.plan["sizes"], ranks, self.levels)

    def _measure_number(self, contender, ranks: int, seconds: float, progress, task):
        cells = self._cells(ranks)
        each = max(seconds / (len(cells) * self.launches), 0.02)
        for launch in range(self.launches):
            done = {(r["operation"], r["size"]): r for r in self._of(contender, ranks, launch) if r["type"] == "cell"}
            first = {(r["operation"], r["size"]): r for r in self._of(contender, ranks, 0) if r["type"] == "cell"}
            left = []
            for cell in cells:
                if cell.key in done:
                    progress.advance(task, each)
                    continue
                # The first launch thins out.
                names = cell.candidates if launch == 0 else self._finalists(ranks, cell, first.get(cell.key))
                if names:
                    left.append(tune_plan.Cell(cell.operation, cell.size, names))
            random.Random(self.plan["seed"] + launch).shuffle(left)
            while left:
                left = self._launch(contender, ranks, launch, left, each, progress, task)

    def _finalists(self, ranks: int, cell, first: dict | None) -> list[str]:
        """The fastest of the first launch, and what the built-in rules say, to compare with."""
        if first is None:
            return []
        medians = {c: statistics.median(of) for c, of in first["medians"].items() if c != stats.NATIVE}
        names = sorted(medians, key=medians.get)[:FINALISTS]
        facts = [r for r in self.lines if r["type"] in ("run", "facts") and (r["mpi"], r["ranks_"]) == (first["mpi"], ranks)]
        state = {k: v for r in facts for k, v in r.items() if k in ("nodes", "oversubscribed", "single_copy")}
        by_rule = tune_rules.built_in(self.core, cell.operation, cell.size, ranks, state, first["mpi"].partition("-")[0]) if len(state) == 3 else ""
        return names + [by_rule] * (by_rule in cell.candidates and by_rule not in names)

    def _of(self, contender, ranks: int, launch: int) -> list[dict]:
        return [r for r in self.lines if (r["mpi"], r["ranks_"], r["launch"]) == (contender.key, ranks, launch)]

    def _launch(self, contender, ranks: int, launch: int, cells: list, each: float, progress, task) -> list:
        """Returns the cells to go on with, where the program ended before its end."""
        from . import bench_run

        reached = []

        def on_line(line: dict):
            line |= {"mpi": contender.key, "ranks_": ranks, "launch": launch}
            self.lines.append(line)
            if self.file:
                self.file.write(json.dumps(line) + "\n")
                self.file.flush()
            if line["type"] == "cell":
                reached.append((line["operation"], line["size"]))
                progress.update(task, advance=each, description=f"{contender.label}, {ranks} ranks, run {launch + 1} of {self.launches}: "
                                f"{line['operation']} {format_bytes(line['size'])}")

        alone = {"FANLIGHT_ALGORITHM": "", "FANLIGHT_RULES": "", "FANLIGHT_TUNED": "off", "FANLIGHT_VERBOSE": "1", "FANLIGHT_REPORT": "",
                 "FANLIGHT_TRACE": "", "FANLIGHT": "1"}
        ready = bench_run.with_settings([contender], ranks, _cores(), "auto")[0]
        ready.settings.update(alone)
        with tempfile.TemporaryDirectory(prefix="fanlight-tune-") as folder:
            plan = Path(folder) / "plan"
            plan.write_text(tune_plan.text_of(cells))
            outcome = bench_run.run_once(ready, ranks, _cores(), [f"--seconds={each:.4f}", f"--seed={self.plan['seed'] + launch}", str(plan)], True,
                                         on_line, timeout=120 + 5 * each * len(cells), launcher_arguments=self.plan["launcher_arg"])
        if said := re.search(r"single copy (yes|no)[^,]*, (\d+) ranks on (\d+) cores", outcome.said):
            on_line({"type": "facts", "single_copy": said[1] == "yes", "oversubscribed": int(said[2]) > int(said[3])})
        if not outcome.problem:
            return []
        if not any(line["type"] == "run" for line in outcome.lines):
            raise FanlightError(f"{contender.label} with {ranks} ranks: {outcome.problem}", "Does `fanlight run` start a program of this MPI?")
        missing = [c for c in cells if c.key not in set(reached)]
        if not missing:
            return []
        at = missing[0]
        self.failures.append(f"{contender.label}, {ranks} ranks, {at.operation} {format_bytes(at.size)}: {outcome.problem}")
        messages.print(f"left out: {self.failures[-1]}", markup=False, highlight=False)
        if len(self.failures) > MOST_FAILURES:
            raise FanlightError("too many runs ended early", "Nothing was written; `fanlight tune --resume` continues.")
        return missing[1:]

    def measured(self) -> list[Measured]:
        """By fingerprint: launchers bind different numbers of ranks in different ways."""
        by_name: dict[str, Measured] = {}
        for contender in self.contenders:
            for n in self.plan["ranks"]:
                lines = [r for r in self.lines if (r["mpi"], r["ranks_"]) == (contender.key, n)]
                run = next((r for r in lines if r["type"] == "run"), None)
                facts = [r for r in lines if r["type"] == "facts"]
                cpus = next((r for r in lines if r["type"] == "cpus"), None)
                if not run or not facts or not cpus:
                    continue
                f = self.core.fingerprint(run["library"], cpus["cpus"])
                m = by_name.setdefault(f["name"], Measured(f, tune_rules.now(), self.plan["minutes"], run["library"]))
                m.runs[n] = {"nodes": run["nodes"], "oversubscribed": facts[0]["oversubscribed"], "single_copy": _all_alike([r["single_copy"] for r in facts])}
                for r in lines:
                    key = (n, r.get("operation"), r.get("size"))
                    if r["type"] == "excluded":
                        m.excluded.setdefault(key, {})[r["algorithm"]] = r["why"]
                    elif r["type"] == "cell" and r["medians"].get(stats.NATIVE):
                        m.cells.setdefault(key, []).append(r["medians"])
        for m in by_name.values():
            # Wrong once is wrong.
            for key, whys in m.excluded.items():
                if key in m.cells:
                    m.cells[key] = [{a: w for a, w in one.items() if a not in whys} for one in m.cells[key]]
            # A launch too few proves nothing; where none but the MPI library's own is left the first one says all.
            m.cells = {key: launches for key, launches in m.cells.items() if len(launches) == self.launches or len(launches[0]) == 1}
        return list(by_name.values())

    def write(self):
        all_measured = self.measured()
        for m in all_measured:
            if why := restless(m):
                raise FanlightError(f"the machine was busy: {why}", "Such times mean nothing, and nothing was written. Try again when it is idle.")
        if not any(m.cells for m in all_measured):
            raise FanlightError("nothing was measured", "`fanlight doctor` may find out why.")
        for m in all_measured:
            wrong = sorted({f"{a} ({o})" for (_, o, _), whys in m.excluded.items() for a, why in whys.items() if why.startswith("wrong")})
            if wrong:
                messages.print("[red]wrong results, excluded:[/] " + ", ".join(wrong), highlight=False)
            path = tune_rules.own_folder(self.core) / f"{m.fingerprint['name']}.rules"
            if self.plan["output"]:
                path = Path(self.plan["output"])
                if len(all_measured) > 1:
                    path = path.with_name(f"{path.stem}-{m.fingerprint['mpi'].replace(' ', '-')}-{m.fingerprint['binding']}{path.suffix}")
            if path.with_suffix(".json").exists():
                m.keep_others_of(Measured.load(path.with_suffix(".json")))
            ranges = tune_rules.write(self.core, m, path)
            won = sum(len(r.sizes) for r in ranges if r.choice not in (stats.NATIVE, stats.UNDECIDED))
            rules = sum(r.choice != stats.UNDECIDED for r in ranges)
            messages.print(f"written: {path}: {rules} rules; an algorithm of Fanlight's replaces {m.fingerprint['mpi']}'s own in "
                           f"{won} of {len(m.cells)} cells", markup=False, highlight=False, soft_wrap=True)
        _work_file().unlink(missing_ok=True)


# --- check --------------------------------------------------------------------------------


def aged(before: stats.Ratio | None, choice: str, now_: dict[str, stats.Ratio]) -> str:
    """Why a decision would not be made again; empty: it would, as far as this tells."""
    if choice == stats.UNDECIDED:
        return ""
    if choice != stats.NATIVE:
        fresh = now_.get(choice)
        if fresh is None:
            return "was not served, or wrong"
        if fresh.low <= stats.WINS_BELOW:
            return ""
        return f"took {before.ratio:.2f} of the MPI library's time, takes {fresh.ratio:.2f} [{fresh.low:.2f}, {fresh.high:.2f}]"
    better = {n: r for n, r in now_.items() if r.high < stats.WINS_BELOW ** 2}
    name = min(better, key=lambda n: better[n].ratio, default="")
    return f"the MPI library's own was kept, {name} takes {better[name].ratio:.2f} of its time" if name else ""


def _check(core, path: Path, programs: Path | None, launcher_arg: list[str]) -> int:
    from . import bench_run

    before = Measured.load(path.with_suffix(".json"))
    contenders = bench_run.find_contenders([before.fingerprint["mpi"].split()[0]], programs, bench_run.TUNE)
    _refuse_if_busy()
    found = 0
    for n in sorted(before.runs):
        ranges = {(r.operation, size): r for r in tune_rules.decide(core, before) if r.ranks == n for size in r.sizes}
        keys = random.sample(sorted(ranges), max(1, round(len(ranges) / 10)))
        cells = [tune_plan.Cell(o, s, [c for c in before.cells[n, o, s][-1] if c != stats.NATIVE]) for o, s in keys]
        cells = [c for c in cells if c.candidates]
        plan = {"ranks": [n], "minutes": before.minutes / 10, "seed": random.randrange(1 << 30), "launcher_arg": launcher_arg, "output": ""}
        run = Run(core, plan, [], contenders, launches=1, cells=cells)
        run.measure()
        for m in run.measured():
            if why := restless(m):
                raise FanlightError(f"the machine was busy: {why}", "Such times mean nothing. Try again when it is idle.")
            said = []
            for (_, o, s), launches in sorted(m.cells.items()):
                r = ranges[o, s]
                if why := aged(tune_rules.shown(before, r, s), r.choice, stats.ratios(launches)):
                    said.append(f"{n} ranks, {o} {format_bytes(s)}: {r.choice}: {why}")
            found += len(said)
            console.print(f"{path.name}, {n} ranks: {len(m.cells)} of {len(ranges)} cells measured again, {len(said)} aged", markup=False, highlight=False)
            for one in said:
                console.print("  " + one, markup=False, highlight=False)
    if found:
        messages.print("`fanlight tune` measures anew.", markup=False)
    return found
