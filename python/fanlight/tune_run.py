"""A run of `fanlight tune`: starts the programs that measure, collects their lines, writes the rules that follow."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import random
import re
import statistics
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from . import bench_run, tune_map, tune_noise, tune_plan, tune_rules
from . import tune_statistics as stats
from .errors import FanlightError
from .machine import cache_folder, machine_cores, temporary_folder
from .pictures import written
from .tune_rules import Measured
from .units import format_bytes

LAUNCHES = 3
MOST_FAILURES = 3

messages = Console(stderr=True)


def _all_alike(values: list):
    """None where they are not: single copy may be found the faster one in one launch and not in the next."""
    return values[0] if len(set(values)) == 1 else None


def _work_file(core) -> Path:
    """Of this kind of machine: others may share the folder."""
    return cache_folder() / f"tune-{core.fingerprint('')['machine']}.jsonl"


def interrupted(core) -> tuple[dict, list[dict]]:
    try:
        text = _work_file(core).read_text()
        # Without a last line that was not written to its end.
        lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        if lines[0]["format"] != 1:
            raise ValueError
    except (OSError, ValueError, LookupError) as e:
        raise FanlightError("there is no interrupted run to resume", "Start one: fanlight tune.") from e
    return lines[0], lines[1:]


def keep_interrupted(core):
    """Out of the way of a new run."""
    path = _work_file(core)
    with written(path):
        if path.exists() and '"type": "cell"' in path.read_text():
            number = next(n for n in itertools.count(1) if not path.with_suffix(f".old-{n}").exists())
            old = path.replace(path.with_suffix(f".old-{number}"))
            messages.print(f"an earlier run is incomplete: what it measured is in {old} (to continue it: mv {old} {path}; fanlight tune --resume)",
                           markup=False, highlight=False, soft_wrap=True)


def launched(core, contender, ranks: int, cells: list, arguments: list[str], on_line, **options) -> tuple[bench_run.Outcome, dict | None]:
    """One run of the program that measures, whatever the user has set but for
    FANLIGHT_GPU; and what Fanlight said of the communicator: whether
    single copy is used (from so many bytes on; None: only where a rule says so), and whether ranks share cores."""
    alone = {s.variable: s.default for s in core.settings() if s.same and s.variable != "FANLIGHT_GPU"}
    alone |= {"FANLIGHT_TUNED": "off", "FANLIGHT_VERBOSE": "1", "FANLIGHT_REPORT": "", "FANLIGHT_TRACE": ""}
    with temporary_folder() as folder:
        plan = Path(folder) / "plan"
        plan.write_text(tune_plan.text_of(cells))
        outcome = bench_run.run_once(dataclasses.replace(contender, settings={**alone, **contender.settings}), ranks, machine_cores(),
                                     [*arguments, str(plan)], True, on_line, **options)
    return outcome, state(outcome.said)


def state(said: str) -> dict | None:
    found = re.search(r"single copy (yes|no)\b(?: from (\d+) bytes on|(, only where a rule says so))?, (\d+) ranks on (\d+) cores", said)
    return found and {"single_copy": found[1] == "yes", "from": None if found[3] else int(found[2] or 0), "oversubscribed": int(found[4]) > int(found[5])}


class Run:
    """Lines of the programs, each with its MPI, number of ranks and launch; also in a file, from which --resume goes on."""

    def __init__(self, core, plan: dict, done: list[dict], contenders: list, launches: int = LAUNCHES, cells: list | None = None):
        self.core, self.plan, self.lines, self.contenders, self.launches = core, plan, list(done), contenders, launches
        self.given_cells = cells  # --check: these alone
        self.file = None
        self.failures: list[str] = []
        self.sources: dict[tuple[str, int], str] = {}  # (fingerprint's name, ranks): contender's key
        self.left_out: dict[tuple[str, int], FanlightError] = {}  # (contender's key, ranks): why nothing is written of them
        self.levels = tune_plan.has_levels(sorted(os.sched_getaffinity(0)))

    def measure(self):
        if self.given_cells is None:
            path = _work_file(self.core)
            with written(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(line) + "\n" for line in (self.plan, *self.lines)))
                self.file = path.open("a")
        each = 60 * self.plan["minutes"]
        with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(elapsed_when_finished=False),
                      console=messages, transient=True) as progress:
            task = progress.add_task("", total=each * len(self.contenders) * len(self.plan["ranks"]))
            for contender in self.contenders:
                for n in self.plan["ranks"]:
                    try:
                        self._measure_number(contender, n, each, progress, task)
                    except FanlightError as e:
                        if self.given_cells is not None:
                            raise
                        self._leave_out(contender.key, n, e)
        if self.file:
            self.file.close()

    def _leave_out(self, key: str, ranks: int, why: FanlightError):
        self.left_out[key, ranks] = why
        messages.print(f"left out: {why.problem}", markup=False, highlight=False)

    def _by_rule(self, contender, ranks: int):
        """What the built-in rules say, where they leave the call to this MPI library what they say for others: once Fanlight may
        have become the faster one.  Before the first run has said how things are, with one node and single copy."""
        state = {"nodes": 1, "oversubscribed": ranks > machine_cores(), "single_copy": True}
        for line in self.lines:
            if line["type"] in ("run", "facts") and (line["mpi"], line["ranks_"]) == (contender.key, ranks):
                state |= {k: v for k, v in line.items() if k in state}

        def by_rule(operation: str, size: int) -> str:
            of = [tune_plan.built_in(self.core, operation, size, ranks, mpi, state) for mpi in (contender.key.partition("-")[0], "")]
            return of[of[0] == stats.NATIVE]

        return by_rule

    def _cells(self, contender, ranks: int) -> list:
        if self.given_cells is not None:
            return self.given_cells
        return tune_plan.cells(self.core, self.plan["operations"], self.plan["sizes"], ranks, self.levels, self._by_rule(contender, ranks))

    def _measure_number(self, contender, ranks: int, seconds: float, progress, task):
        cells = self._cells(contender, ranks)
        if not cells:  # none of the sizes fits
            return
        each = max(seconds / (len(cells) * self.launches), 0.02)
        self.failures = []
        for launch in range(self.launches):
            done = {(r["operation"], r["size"]): r for r in self._of(contender, ranks, launch) if r["type"] == "cell"}
            first = {(r["operation"], r["size"]): r for r in self._of(contender, ranks, 0) if r["type"] == "cell"}
            left = []
            for cell in cells:
                if cell.key in done:
                    progress.advance(task, each)
                    continue
                # The first launch thins out.
                names = cell.candidates if launch == 0 else self._finalists(contender, ranks, cell, first.get(cell.key))
                if names:
                    left.append(tune_plan.Cell(cell.operation, cell.size, names))
            random.Random(self.plan["seed"] + launch).shuffle(left)
            while left:
                left = self._launch(contender, ranks, launch, left, each, progress, task)

    def _finalists(self, contender, ranks: int, cell, first: dict | None) -> list[str]:
        """What the built-in rules say, to compare with, and the fastest of the first launch."""
        if first is None:
            return []
        medians = {c: statistics.median(of) for c, of in first["medians"].items() if c != stats.NATIVE}
        by_rule = self._by_rule(contender, ranks)(cell.operation, cell.size)
        fastest = sorted(medians, key=medians.get)[:tune_plan.FINALISTS]
        return [by_rule] * (by_rule in cell.candidates) + [name for name in fastest if name != by_rule]

    def _of(self, contender, ranks: int, launch: int) -> list[dict]:
        return [r for r in self.lines if (r["mpi"], r["ranks_"], r["launch"]) == (contender.key, ranks, launch)]

    def _launch(self, contender, ranks: int, launch: int, cells: list, each: float, progress, task) -> list:
        """Returns the cells to go on with, where the program ended before its end."""
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

        ready = bench_run.with_settings([contender], ranks, machine_cores(), "auto")[0]
        outcome, facts = launched(self.core, ready, ranks, cells, [f"--seconds={each:.4f}", f"--seed={self.plan['seed'] + launch}"], on_line,
                                  timeout=120 + 5 * each * len(cells), launcher_arguments=self.plan["launcher_arg"])
        if facts:
            on_line({"type": "facts", "single_copy": facts["single_copy"], "oversubscribed": facts["oversubscribed"]})
        if not outcome.problem:
            return []
        if not any(line["type"] == "run" for line in outcome.lines):
            raise FanlightError(f"{contender.label} with {ranks} ranks: {outcome.problem}", "Does `fanlight run` start a program of this MPI?")
        missing = [c for c in cells if c.key not in set(reached)]
        if not missing:
            return []
        at = missing[0]
        on_line({"type": "unmeasured", "operation": at.operation, "size": at.size})
        self.failures.append(f"{contender.label}, {ranks} ranks, {at.operation} {format_bytes(at.size)}: {outcome.problem}")
        messages.print(f"left out: {self.failures[-1]}", markup=False, highlight=False)
        if len(self.failures) > MOST_FAILURES:
            raise FanlightError(f"{contender.label} with {ranks} ranks: too many runs ended early", "`fanlight tune --resume` continues.")
        return missing[1:]

    def measured(self) -> list[Measured]:
        """By fingerprint: launchers bind different numbers of ranks in different ways."""
        by_name: dict[str, Measured] = {}
        for contender in self.contenders:
            for n in (n for n in self.plan["ranks"] if (contender.key, n) not in self.left_out):
                lines = [r for r in self.lines if (r["mpi"], r["ranks_"]) == (contender.key, n)]
                run = next((r for r in lines if r["type"] == "run"), None)
                facts = [r for r in lines if r["type"] == "facts"]
                cpus = next((r for r in lines if r["type"] == "cpus"), None)
                if not run or not facts or not cpus:
                    continue
                f = self.core.fingerprint(run["library"], cpus["cpus"])
                m = by_name.setdefault(f["name"], Measured(f, tune_rules.now(), self.plan["minutes"], run["library"], launcher_arg=self.plan["launcher_arg"]))
                self.sources[f["name"], n] = contender.key
                m.runs[n] = {"nodes": run["nodes"], "oversubscribed": facts[0]["oversubscribed"], "single_copy": _all_alike([r["single_copy"] for r in facts])}
                if trips := sorted(1e3 * r["time"]["min"] for r in lines if r.get("limit") == "round_trip"):
                    m.round_trips[n] = [trips[round(part * (len(trips) - 1))] for part in (0.1, 0.5, 0.9)]
                measured = {(r["operation"], r["size"], r["launch"]) for r in lines if r["type"] == "cell"}
                each = 60 * self.plan["minutes"] / max(len({key[:2] for key in measured}), 1)
                for r in lines:
                    key = (n, r.get("operation"), r.get("size"))
                    if r["type"] == "excluded":
                        m.excluded.setdefault(key, {})[r["algorithm"]] = r["why"]
                    elif r["type"] == "unmeasured" and (r["operation"], r["size"], r["launch"]) not in measured:  # when the run was resumed
                        m.unmeasured.add(key)
                    elif r["type"] == "cell" and r["medians"].get(stats.NATIVE):
                        m.seconds[key] = each
                        m.cells.setdefault(key, []).append(r["medians"])
        for m in by_name.values():
            # Wrong once is wrong.
            for key, whys in m.excluded.items():
                if key in m.cells:
                    m.cells[key] = [{a: w for a, w in one.items() if a not in whys} for one in m.cells[key]]
            # A launch too few proves nothing; where none but the MPI library's own is left the first one says all.
            m.cells = {key: launches for key, launches in m.cells.items()
                       if key not in m.unmeasured and (len(launches) == self.launches or len(launches[0]) == 1)}
            measured = {n for n, _, _ in m.cells}
            m.runs = {n: run for n, run in m.runs.items() if n in measured}
        return list(by_name.values())

    def _leave_out_restless(self):
        """What was measured on a busy machine; --resume measures it again."""
        for m in self.measured():
            for n in m.runs:
                if why := tune_noise.restless(m, [n]):
                    key = self.sources[m.fingerprint["name"], n]
                    self._leave_out(key, n, FanlightError(f"the machine was busy: {why}", "Such times mean nothing. Try again when it is idle."))
                    self.lines = [r for r in self.lines if (r["mpi"], r["ranks_"]) != (key, n)]

    def write(self):
        self._leave_out_restless()
        if self.left_out:
            _work_file(self.core).write_text("".join(json.dumps(line) + "\n" for line in (self.plan, *self.lines)))
        all_measured = [m for m in self.measured() if m.cells]
        if not all_measured:
            raise next(iter(self.left_out.values()), FanlightError("nothing was measured", "`fanlight doctor` may find out why."))
        for m in all_measured:
            wrong = sorted({f"{a} ({o})" for (_, o, _), whys in m.excluded.items() for a, why in whys.items() if why.startswith("wrong")})
            if wrong:
                messages.print("wrong results, excluded: " + ", ".join(wrong), style="red", markup=False, highlight=False)
            path = tune_rules.own_folder(self.core) / f"{m.fingerprint['name']}.rules"
            if self.plan["output"]:
                path = Path(self.plan["output"])
                if max(len(all_measured), len(self.contenders)) > 1:
                    path = path.with_name(f"{path.stem}-{m.fingerprint['mpi'].replace(' ', '-')}-{m.fingerprint['binding']}{path.suffix}")
            as_before = ""
            if path.with_suffix(".json").exists():
                try:
                    before = Measured.load(path.with_suffix(".json"))
                except FanlightError as e:
                    messages.print(f"not followed: {e}", markup=False, highlight=False)
                else:
                    anew = set(m.cells)
                    m.follow(self.core, before)
                    same, common = tune_map.agreement(self.core, before, m, anew)
                    as_before = f"; {same} of {common} choices are those of {before.date[:10]}" * bool(common)
            ranges = tune_rules.write(self.core, m, path)
            won = sum(len(r.sizes) for r in ranges if r.choice not in (stats.NATIVE, stats.UNDECIDED))
            rules = sum(r.choice != stats.UNDECIDED for r in ranges)
            messages.print(f"written: {path}: {rules} rules; an algorithm of Fanlight's replaces {m.fingerprint['mpi']}'s own in "
                           f"{won} of {len(m.cells)} cells{as_before}", markup=False, highlight=False, soft_wrap=True)
        if self.left_out:
            raise FanlightError("left out: " + "; ".join(e.problem for e in self.left_out.values()), "`fanlight tune --resume` measures that.")
        _work_file(self.core).unlink(missing_ok=True)
