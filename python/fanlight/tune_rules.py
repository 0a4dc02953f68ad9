"""The files that `fanlight tune` writes: rules with their provenance, and beside them what was measured."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from . import __version__, tune_plan
from . import tune_statistics as stats
from .errors import FanlightError
from .units import exact_bytes, format_bytes, parse_bytes


@dataclass
class Measured:
    """Of one fingerprint: all cells, by number of ranks."""

    fingerprint: dict
    date: str
    minutes: float
    library: str
    # ranks -> what the run said of itself: nodes, oversubscribed, single_copy
    runs: dict[int, dict] = field(default_factory=dict)
    # (ranks, operation, size) -> of each launch the windows' medians by algorithm
    cells: dict[tuple[int, str, int], list[dict[str, list[float]]]] = field(default_factory=dict)
    # (ranks, operation, size) -> algorithm -> why not
    excluded: dict[tuple[int, str, int], dict[str, str]] = field(default_factory=dict)
    # (ranks, operation, size) -> when, where that is not `date`
    dates: dict[tuple[int, str, int], str] = field(default_factory=dict)
    # (ranks, operation) -> `runs`, where that was another one
    other_runs: dict[tuple[int, str], dict] = field(default_factory=dict)
    # (ranks, operation, size) -> what an earlier measurement of it chose
    earlier: dict[tuple[int, str, int], str] = field(default_factory=dict)
    # (ranks, operation, size) that was to be measured, but a launch ended early
    unmeasured: set[tuple[int, str, int]] = field(default_factory=set)
    # (ranks, operation, size) -> how long it was measured, for --check
    seconds: dict[tuple[int, str, int], float] = field(default_factory=dict)
    launcher_arg: list[str] = field(default_factory=list)
    # ranks -> of the round trips between the first two, in ns: a tenth was below, half, and nine tenths
    round_trips: dict[int, list[float]] = field(default_factory=dict)

    def when(self, ranks: int, operation: str, size: int) -> str:
        return self.dates.get((ranks, operation, size), self.date)

    def run(self, ranks: int, operation: str) -> dict:
        return self.other_runs.get((ranks, operation), self.runs[ranks])

    def follow(self, core, before: Measured):
        """An earlier measurement of this very kind of machine: what it chose, and what is not measured anew."""
        if before.fingerprint != self.fingerprint:
            return
        self.earlier = {(r.ranks, r.operation, size): r.choice for r in decide(core, before) for size in r.sizes}
        new = {*self.cells, *self.unmeasured}
        anew = {key[:2] for key in new}
        for key, launches in before.cells.items():
            run = before.run(*key[:2])
            mine = self.run(*key[:2]) if key[:2] in anew and key[0] in self.runs else run
            # One rule has sizes of both: where single copy was found differently it does not ask for it.
            if key in new or any(run[what] != mine[what] for what in ("nodes", "oversubscribed")):
                continue
            self.cells[key] = launches
            self.dates[key] = before.when(*key)
            self.seconds[key] = before.seconds.get(key, 0)
            if run != mine:
                run = {**mine, "single_copy": None}
            if self.runs.setdefault(key[0], run) != run:
                self.other_runs[key[:2]] = run
            if key in before.excluded:
                self.excluded[key] = before.excluded[key]
        self.unmeasured |= before.unmeasured - new
        self.round_trips = before.round_trips | self.round_trips

    def sizes(self, ranks: int, operation: str) -> list[int]:
        return sorted(size for n, o, size in self.cells if (n, o) == (ranks, operation))

    def operations(self, ranks: int) -> list[str]:
        there = {o for n, o, _ in self.cells if n == ranks}
        return [o for o in tune_plan.ALL if o in there]

    def save(self, path: Path):
        rows = [{"ranks": n, "operation": o, "size": s, "date": self.when(n, o, s), "run": self.run(n, o), "launches": launches,
                 "seconds": self.seconds.get((n, o, s), 0), "excluded": self.excluded.get((n, o, s), {}), "earlier": self.earlier.get((n, o, s), "")}
                for (n, o, s), launches in self.cells.items()]
        _write(path, json.dumps({"format": 1, "fingerprint": self.fingerprint, "date": self.date, "minutes": self.minutes,
                                 "library": self.library, "launcher_arg": self.launcher_arg, "runs": self.runs,
                                 "unmeasured": sorted(self.unmeasured), "round_trips": self.round_trips, "cells": rows}) + "\n")

    @classmethod
    def load(cls, path: Path) -> Measured:
        try:
            said = json.loads(path.read_text())
            if said["format"] != 1:
                raise KeyError("format")
            made = cls(said["fingerprint"], said["date"], said["minutes"], said["library"], {int(n): r for n, r in said["runs"].items()})
            for row in said["cells"]:
                key = row["ranks"], row["operation"], row["size"]
                made.cells[key], made.dates[key], made.seconds[key] = row["launches"], row["date"], row.get("seconds", 0)
                if row.get("run", made.runs[key[0]]) != made.runs[key[0]]:
                    made.other_runs[key[:2]] = row["run"]
                if row["excluded"]:
                    made.excluded[key] = row["excluded"]
                made.earlier[key] = row.get("earlier", "")
            made.launcher_arg = said.get("launcher_arg", [])
            made.round_trips = {int(n): of for n, of in said.get("round_trips", {}).items()}
            made.unmeasured = {tuple(key) for key in said.get("unmeasured", [])}
        except OSError as e:
            raise FanlightError(f"{path}: {e.strerror}", "`fanlight tune` measures.") from e
        except (ValueError, KeyError, TypeError) as e:
            raise FanlightError(f"{path} is no file of fanlight tune ({e})", "`fanlight tune` measures anew.") from e
        return made


@contextlib.contextmanager
def _said(path: Path):
    try:
        yield
    except OSError as e:
        raise FanlightError(f"{path}: {e.strerror}", "Name a file in a folder that you may write to: -o FILE.") from e


def _write(path: Path, text: str, check=lambda unfinished: None):
    """In one step: a job that begins now reads the old one or the new one."""
    with _said(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            unfinished.write_text(text)
            check(unfinished)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
        unfinished.replace(path)


def check_writable(path: Path):
    """Before what is to be written there is measured."""
    if os.path.isdir(path):
        raise FanlightError(f"{path} is a folder", "Name a file in it.")
    probe = next(folder for folder in path.absolute().parents if os.path.exists(folder)) / f".fanlight-{os.getpid()}"
    with _said(path):
        probe.touch()
        probe.unlink()


@dataclass(frozen=True)
class Range:
    """A rule: what was decided for these sizes, which were measured."""
    ranks: int
    operation: str
    first: int
    last: int
    choice: str
    sizes: tuple[int, ...]


def by_rule(core, measured: Measured, ranks: int, operation: str, size: int) -> str:
    return tune_plan.built_in(core, operation, size, ranks, measured.fingerprint["mpi"].split()[0], measured.run(ranks, operation))


def decide(core, measured: Measured) -> list[Range]:
    out = []
    for ranks in sorted(measured.runs):
        for operation in measured.operations(ranks):
            sizes = measured.sizes(ranks, operation)
            cells = [measured.cells[ranks, operation, size] for size in sizes]
            rules = [by_rule(core, measured, ranks, operation, size) for size in sizes]
            earlier = [measured.earlier.get((ranks, operation, size), stats.UNDECIDED) for size in sizes]
            unmeasured = [size for n, o, size in measured.unmeasured if (n, o) == (ranks, operation)]
            if not tune_plan.has_sizes(operation, ranks):
                choice = stats.UNDECIDED if unmeasured else stats.choose_for_any_size(cells, rules[0], earlier[0])
                out.append(Range(ranks, operation, sizes[0], sizes[-1], choice, tuple(sizes)))
                continue
            choices = {**dict.fromkeys(unmeasured), **dict(zip(sizes, stats.choose(cells, rules, earlier)))}
            out += [Range(ranks, operation, first, last, choice, tuple(of))
                    for first, last, choice, of in stats.ranges(sorted(choices), [choices[size] for size in sorted(choices)])]
    return out


def shown(measured: Measured, r: Range, size: int) -> stats.Ratio | None:
    """Of the choice; of the MPI library's own what came nearest to it."""
    cell = stats.ratios(measured.cells[r.ranks, r.operation, size])
    if r.choice not in (stats.NATIVE, stats.UNDECIDED):
        return cell[r.choice]
    return min(cell.values(), key=lambda one: one.ratio, default=None)


def round_trip_text(of: list[float]) -> str:
    low, middle, high = (f"{ns:.0f}" for ns in of)
    return f"{middle} ns (from {low} to {high})"


def _nearest(measured: Measured, r: Range, size: int) -> str:
    cell = stats.ratios(measured.cells[r.ranks, r.operation, size])
    return min(cell, key=lambda name: cell[name].ratio, default="")


def line(core, measured: Measured, r: Range, undecided: set[tuple[int, str]] = frozenset()) -> str:
    """`undecided`: (ranks, rule's name) of non-blocking operations that the built-in rules decide."""
    run, name = measured.run(r.ranks, r.operation), tune_plan.rule_name(r.operation)
    conditions = [f"ranks={r.ranks}", f"nodes={run['nodes']}", f"oversubscribed={'yes' if run['oversubscribed'] else 'no'}"]
    if tune_plan.has_sizes(r.operation, r.ranks):
        conditions.insert(0, f"bytes={exact_bytes(r.first)}..{exact_bytes(r.last)}")
    # Not for reductions: what is found to be faster at the start must not decide a sum's last bits.
    if not core.is_reduction(name) and run["single_copy"] is not None:
        conditions.append(f"single_copy={'yes' if run['single_copy'] else 'no'}")
    if not tune_plan.is_blocking(r.operation):
        conditions.append("blocking=no")
    elif (r.ranks, name) in undecided:
        conditions.append("blocking=yes")
    said = []
    for size in r.sizes:
        best = shown(measured, r, size)
        if best is None:
            said.append(f"{exact_bytes(size)}: no algorithm was right")
        elif r.choice in (stats.NATIVE, stats.UNDECIDED):
            said.append(f"{exact_bytes(size)}: {_nearest(measured, r, size)} {best.text()}")
        else:
            said.append(f"{exact_bytes(size)}: {best.text()}")
    if r.choice == stats.UNDECIDED:
        why = "faster for some sizes, slower for others, or one could not be measured; the built-in rules decide"
        return f"# {r.operation}, {r.ranks} ranks: {why} | " + " | ".join(said)
    # In a rule's line parameters follow the name.
    choice = r.choice.replace("(", " ").replace(")", "").replace(",", " ")
    dates = sorted({measured.when(r.ranks, r.operation, size)[:10] for size in r.sizes})
    return f"{name:<21} {' '.join(conditions)} -> {choice}  # {' to '.join(dict.fromkeys((dates[0], dates[-1])))} | " + " | ".join(said)


def text(core, measured: Measured, ranges: list[Range]) -> str:
    f = measured.fingerprint
    head = [f"Written by fanlight tune {__version__}, {measured.date}; `fanlight tune --show` draws it.",
            *(f"{key}: {f[key]}" for key in ("processor", "domains", "kernel", "mpi", "binding")),
            f"library: {measured.library}",
            "ranks: " + ", ".join(f"{n} on {run['nodes']} nodes" if run["nodes"] > 1 else str(n) for n, run in sorted(measured.runs.items()))
            + f"; {measured.minutes:.3g} minutes; the ratio to the MPI library's time with its 95 % interval",
            *(f"{n} ranks: a round trip between the first two takes {round_trip_text(of)}" for n, of in sorted(measured.round_trips.items())),
            "Behind `native` is the algorithm that came nearest."]
    for (ranks, operation, size), whys in sorted(measured.excluded.items()):
        for algorithm, why in sorted(whys.items()):
            if why.startswith("wrong"):
                head.append(f"excluded: {operation} {exact_bytes(size)} on {ranks} ranks: {algorithm}: {why}")
    # The blocking ones' rules hold for the others as well, where these were not measured.
    undecided = {(r.ranks, tune_plan.rule_name(r.operation)) for r in ranges if r.choice == stats.UNDECIDED and not tune_plan.is_blocking(r.operation)}
    lines = [line(core, measured, r, undecided) + "\n" for r in sorted(ranges, key=lambda r: tune_plan.is_blocking(r.operation))]
    return "".join(f"# {h}\n" for h in head) + "\n" + "".join(lines)


def write(core, measured: Measured, path: Path) -> list[Range]:
    ranges = decide(core, measured)

    def understood(file: Path):
        try:
            core.choose("bcast", 8, 2, tuned=str(file))
        except ValueError as e:  # it would be left out by every job
            raise FanlightError(f"the rules are not understood: {e}", "This is a fault of fanlight tune; please report it.") from e

    _write(path, text(core, measured, ranges), understood)
    measured.save(path.with_suffix(".json"))
    return ranges


# --- where they are -----------------------------------------------------------------------


def now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="minutes")


def _setting() -> str:
    return os.environ.get("FANLIGHT_TUNED", "auto") or "auto"


def own_folder(core) -> Path:
    """Where rules are written: programs look there."""
    return Path(_setting() if _setting() not in ("auto", "off") and os.path.isdir(_setting()) else core.tuned_folders()[0])


def files_here(core, mpi: str = "") -> list[Path]:
    """Those of this machine that FANLIGHT_TUNED allows for, the one that holds first; of an MPI."""
    setting = _setting()
    if setting == "off":
        return []
    folders = [Path(f) for f in core.tuned_folders()] if setting == "auto" else [Path(setting)]
    if setting != "auto" and not os.path.isdir(setting):
        return folders
    machine = core.fingerprint("")["machine"]
    found: list[Path] = []
    for folder in folders:
        try:
            here = sorted(folder.glob(f"{mpi or '*'}-*-{machine}.rules"), key=lambda p: -p.stat().st_mtime)
        except OSError:  # of a folder that this user may not read
            continue
        found += [p for p in here if p.name not in {q.name for q in found}]
    return found


def measured_with(file: Path) -> str:
    """By its name: mpich-5.0.2-core-1a2b3c4d.rules."""
    words = file.stem.split("-")
    if len(words) < 4:
        return file.name
    bound = {"core": "bound to cores", "L3": "bound to L3 caches", "NUMA": "bound to NUMA domains", "package": "bound to packages", "unbound": "not bound"}
    return f"{words[0]} {words[1]}, ranks {bound.get(words[-2], 'bound to a part of the machine')}"


def measurement_of(rule: str, size: int) -> str:
    """What stands behind a measured rule, for the size that is nearest: "2026-11-24, at 64: ..."."""
    _, _, comment = rule.partition("  # ")
    date, *said = [part.strip() for part in comment.split(" | ")]
    by_size = {}
    for one in said:
        at, _, what = one.partition(": ")
        with contextlib.suppress(FanlightError):  # somebody's own words
            by_size[parse_bytes(at)] = what
    if not by_size:
        return ""
    nearest = min(by_size, key=lambda at: abs((at + 1).bit_length() - (size + 1).bit_length()) + abs(at - size) / (at + size + 1))
    return f"{date}, at {format_bytes(nearest)}: {by_size[nearest]}"
