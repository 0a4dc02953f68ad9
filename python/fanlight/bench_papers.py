"""`fanlight bench --paper`: a paper's algorithms against each other, here, beside what the paper reports."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from . import _core, bench_run, pictures, records
from .bench import INTERRUPTED, Plan, _measure_all, interruptible
from .bench_provenance import note_versions, provenance
from .bench_table import _ratio, _time, geometric_mean, warn_of_others
from .errors import FanlightError
from .papers import LIBRARY, OTHERS, PAPERS, Claim, Comparison, Paper, Way
from .tables import table
from .units import factor_text, size_text

ROUNDS = 3  # all ways in turn, so often: a drift of the machine hits them alike


class PaperPlan(Plan):
    """A contender for each way of a comparison, under each MPI."""

    def __init__(self, comparison: Comparison, contenders, numbers, sizes, **options):
        super().__init__(contenders, numbers or list(comparison.ranks), [comparison.operation],
                         sizes or list(comparison.sizes) or [8], comparison.mode, preload=True, native_only=False,
                         **options)
        self.ways = comparison.ways
        self.with_limits = False
        self.parts: dict[str, tuple[str, Way]] = {}  # a contender's key -> MPI, way

    def contenders_for(self, ranks: int) -> list:
        ready = []
        for way in self.ways:
            if why := restriction(self.operations[0], way, ranks):
                self.problems.append(f"{ranks} ranks, {self.operations[0]}: {way.name} is left out: {why}")
                continue
            for c in super().contenders_for(ranks):
                if c.slow:
                    continue
                key = f"{c.key}: {way.name}"
                self.parts[key] = c.key, way
                ready.append(dataclasses.replace(c, key=key, label=f"{c.label}, {way.name}",
                                                 settings={**c.settings, **settings_of(self, way, c.key)}))
        return ready

    def note(self, contender, ranks: int, outcome, what: str):
        super().note(contender, ranks, outcome, what)
        way = self.parts[contender.key][1]
        for line in outcome.lines:
            if line["type"] != "result":
                continue
            served = f"{line['operation']} of {line['size']} bytes: {served_as(way)}"
            if f"{served} by " not in outcome.said:
                self.problems.append(f"{contender.label}, {ranks} ranks, {what}: not served as {served}")


def served_as(way: Way) -> str:
    """How FANLIGHT_VERBOSE calls it."""
    return way.algorithm.partition("(")[0] + (f" over {way.transport}" if way.transport != "shared" else "")


def restriction(operation: str, way: Way, ranks: int) -> str:
    a, parameters = _core.parse_choice(operation, way.algorithm)
    return a.restriction(_core.Problem(operation, ranks, bytes=64, element=8, **parameters))


def settings_of(plan: Plan, way: Way, mpi: str) -> dict[str, str]:
    forced = f"{plan.operations[0]}:{way.algorithm}"
    settings = {"FANLIGHT_TRANSPORT": way.transport, "FANLIGHT_VERBOSE": "1"}
    if way.transport != "shared" and plan.operations[0] != "barrier":
        # What mode `sync` puts between the calls: the same for all ways, and not one over windows.
        forced += ",barrier:native"
    if way.transport.startswith("rma") and mpi == "openmpi":
        # Open MPI's windows over UCX cannot be made where there is no network for it.
        settings["OMPI_MCA_osc"] = "^ucx"
    return {**settings, "FANLIGHT_ALGORITHM": forced}


# ---- what comes of the measurements ---------------------------------------------------------------


def times_of(results: list[dict]) -> list[dict]:
    """One row for each MPI, operation, number of ranks and size: the median of each way, and of the
    library's own, which runs in turn with each of them."""
    samples: dict[tuple, dict[str, list[float]]] = {}
    for r in results:
        of = samples.setdefault((r["mpi"], r["operation"], r["ranks"], r["size"]), {})
        of.setdefault(r["way"], []).append(r["fanlight"]["median"])
        of.setdefault(LIBRARY, []).append(r["native"]["median"])
    return [{"mpi": mpi, "operation": operation, "ranks": ranks, "size": size,
             "times": {way: statistics.median(values) for way, values in of.items()}}
            for (mpi, operation, ranks, size), of in samples.items()]


def ratios(claim: Claim, rows: list[dict]) -> list[float]:
    """How many times faster the claim's way is here, for all that it speaks of."""
    found = []
    for row in rows:
        times = row["times"]
        if row["operation"] != claim.operation or claim.way not in times or not (
                claim.ranks(row["ranks"]) and claim.sizes[0] <= row["size"] <= claim.sizes[1]):
            continue
        if claim.than == OTHERS:
            other = min((t for way, t in times.items() if way not in (claim.way, LIBRARY)), default=None)
        else:
            other = times.get(claim.than)
        if other:
            found.append(other / times[claim.way])
    return found


def claims_of(paper: Paper, rows: list[dict], mpis: list[str]) -> list[dict]:
    """Each claim with the least, the greatest and the mean ratio under each MPI."""
    said = []
    for claim in paper.claims:
        here = {}
        for mpi in mpis:
            if found := ratios(claim, [r for r in rows if r["mpi"] == mpi]):
                here[mpi] = {"least": min(found), "greatest": max(found), "mean": geometric_mean(found)}
        said.append({"where": claim.where, "says": claim.says, "operation": claim.operation, "way": claim.way,
                     "than": claim.than, "factor": claim.factor, "here": here})
    return said


def transfers_of(paper: Paper) -> list[dict]:
    counted = []
    for t in paper.transfers:
        operation = paper.comparisons[0].operation
        messages = _core.count(t.way, _core.Problem(operation, t.ranks, bytes=8 * t.ranks, element=8))["messages"]
        counted.append({"ranks": t.ranks, "algorithm": t.way, "paper": t.paper,
                        "counted": messages - t.without * (t.ranks - 1)})
    return counted


# ---- the whole exchange of spikes --------------------------------------------------------------------


def measure_exchanges(contenders, numbers: list[int], cores: int, settings: str, quick: bool, bind: bool,
                      launcher_arguments: list[str], found: list[dict], problems: list[str]):
    """Adds to the last two."""
    arguments = ["--exchange", *(["--blocks=11"] if quick else []), *(["--bind"] if bind else [])]
    for ranks in numbers:
        for c in bench_run.with_settings(contenders, ranks, cores, settings):
            if c.slow:
                continue
            outcome = bench_run.run_once(c, ranks, cores, arguments, True, launcher_arguments=launcher_arguments)
            lines = [line for line in outcome.lines if line["type"] == "exchange"]
            found += [{**line, "mpi": c.key, "ranks": ranks} for line in lines]
            wrong = any(line["type"] == "wrong" for line in outcome.lines)
            if outcome.problem or wrong or not all("any" in line for line in lines):
                why = "WRONG RESULT" if wrong else outcome.problem or "there is no fanlight_allgatherv_any"
                problems.append(f"{c.label}, {ranks} ranks, exchange: {why}")


def exchanges_of(lines: list[dict]) -> list[dict]:
    """One row for each MPI, number of ranks, of silent ones and of spikes: medians over the rounds."""
    samples: dict[tuple, list[dict]] = {}
    for line in lines:
        samples.setdefault((line["mpi"], line["ranks"], line["silent"], line["spikes"]), []).append(line)
    return [{"mpi": mpi, "ranks": ranks, "silent": silent, "spikes": spikes,
             "times": {way: statistics.median(line[way]["median"] for line in of) for way in EXCHANGE_WAYS}}
            for (mpi, ranks, silent, spikes), of in samples.items()]


EXCHANGE_WAYS = {"library": "the MPI's own", "preload": "preloaded", "any": "fanlight_allgatherv_any"}


def _exchange_table(rows: list[dict], label: str):
    numbers = ("ranks", "silent", "spikes", *EXCHANGE_WAYS.values(), "one call: times faster", "than the MPI's own")
    t = table(*numbers, numbers=numbers,
              title=f"Counts and spikes in two calls, or in one, {label}: medians in µs")
    for row in rows:
        times = row["times"]
        t.add_row(*(str(row[k]) for k in ("ranks", "silent", "spikes")), *(_time(times[way]) for way in EXCHANGE_WAYS),
                  _ratio(times["preload"] / times["any"]), _ratio(times["library"] / times["any"]))
    return t


# ---- for the terminal ---------------------------------------------------------------------------


def _range(here: dict | None) -> str:
    if not here:
        return ""
    ends = [f"{here[k]:.2f}" for k in ("least", "greatest")]
    return f"{_ratio(here['mean'])} ({' to '.join(dict.fromkeys(ends))})"


def show(console: Console, record: dict, paper: Paper, labels: dict[str, str]):
    console.print(f"{paper.title}\n[dim]Measured there on: {paper.machine}[/]", highlight=False)
    for comparison in paper.comparisons:
        for mpi, label in labels.items():
            rows = [r for r in record["times"] if (r["operation"], r["mpi"]) == (comparison.operation, mpi)]
            if rows:
                console.print(_times_table(comparison, rows, label))
    for mpi, label in labels.items():
        if rows := [r for r in record["exchanges"] if r["mpi"] == mpi]:
            console.print(_exchange_table(rows, label))
    if record["transfers"]:
        numbers = ("ranks", "paper", "counted")
        t = table("algorithm", *numbers, title="Transfers of the allgather, of all ranks", numbers=numbers)
        for line in record["transfers"]:
            t.add_row(line["algorithm"], *(str(line[k]) for k in numbers))
        console.print(t)
    columns = ["section", "the paper reports", "that is", "factor there",
               *(f"here, {label}" for label in labels.values())]
    t = table(*columns, title="What the paper reports, and how many times faster it is here")
    before = None
    for line in record["claims"]:
        words = line["where"], line["says"]
        compared = f"{line['operation']}: {line['way']} against {line['than']}"
        t.add_row(*(words if words != before else ("", "")), escape(compared),
                  factor_text(*line["factor"]), *(_range(line["here"].get(mpi)) for mpi in labels))
        before = words
    console.print(t)
    console.print("[dim]here: geometric mean, least and greatest over the ranks and sizes that are meant.\n"
                  "Ranks on fewer cores wait for each other's turns: compare ways, not machines.[/]\n")


def _times_table(comparison: Comparison, rows: list[dict], label: str):
    ways = [name for name in (*(w.name for w in comparison.ways), LIBRARY) if any(name in r["times"] for r in rows)]
    title = f"{comparison.operation}{' (sync)' if comparison.mode == 'sync' else ''}, {label}: medians in µs"
    sized = ["size"] if comparison.sizes else []
    t = table("ranks", *sized, *ways, title=title, numbers=("ranks", *sized, *ways))
    before = None
    for row in sorted(rows, key=lambda r: (r["ranks"], r["size"])):
        if sized and before not in (None, row["ranks"]):
            t.add_section()
        best = min((v for way, v in row["times"].items() if way != LIBRARY), default=None)
        cells = [f"[bold green]{_time(v)}[/]" if (v := row["times"].get(way)) == best else _time(v) for way in ways]
        t.add_row(str(row["ranks"]) if row["ranks"] != before else "", *(size_text(row["size"]) for _ in sized),
                  *cells)
        before = row["ranks"]
    return t


# ---- all of it ------------------------------------------------------------------------------------


def bench(name: str, contenders, cores: int, numbers: list[int], sizes: list[int], operations: list[str], quick: bool,
          settings: str, bind: bool, launcher_arguments: list[str], output: Path | None, plot: Path | None,
          console: Console, messages: Console) -> list[str]:
    """Empty `numbers`, `sizes` and `operations` stand for the paper's. Returns what went wrong."""
    paper = PAPERS[name]
    chosen = [c for c in paper.comparisons if not operations or c.operation in operations]
    if not chosen:
        raise FanlightError(f"{name} does not compare " + ", ".join(operations),
                            "It compares " + ", ".join(c.operation for c in paper.comparisons) + ".")
    labels = {c.key: c.label for c in contenders}
    rounds = 1 if quick else ROUNDS
    record = {"format": 1, "paper": name, "title": paper.title, "machine": paper.machine,
              "provenance": provenance(contenders, cores),
              "options": {"rounds": rounds, "quick": quick, "settings": settings, "bind": bind,
                          "comparisons": [dataclasses.asdict(c) for c in chosen]},
              "runs": [], "results": []}
    problems: list[str] = []
    exchanges: list[dict] = []
    for turn in range(rounds):
        for comparison in chosen:
            plan = PaperPlan(comparison, contenders, numbers, sizes, quick=quick, settings=settings, cores=cores,
                             bind=bind, launcher_arguments=launcher_arguments)
            measured = _measure_all(plan)
            for kind in ("runs", "results"):
                for line in measured[kind]:
                    mpi, way = plan.parts[line["mpi"]]
                    record[kind].append({**line, "mpi": mpi, "way": way.name, "round": turn})
            problems += plan.problems
            if INTERRUPTED in problems:
                break
        if INTERRUPTED in problems:
            break
        if paper.exchange and not operations:
            with interruptible(problems):
                measure_exchanges(contenders, numbers or list(paper.exchange), cores, settings, quick, bind, launcher_arguments, exchanges, problems)
            if INTERRUPTED in problems:
                break
    note_versions(record)
    record["exchanges"] = exchanges_of(exchanges)
    record["times"] = times_of(record["results"])
    record["claims"] = claims_of(dataclasses.replace(
        paper, claims=tuple(c for c in paper.claims if c.operation in [k.operation for k in chosen])),
        record["times"], list(labels))
    record["transfers"] = transfers_of(paper)
    record["problems"] = problems = list(dict.fromkeys(problems))
    show(console, record, paper, labels)
    warn_of_others(messages, record["results"], cores)
    if output is not None:
        records.write(record, output)
        messages.print(f"written: {output}", markup=False, highlight=False)
    if plot is not None and record["times"]:
        from . import bench_papers_plot

        with pictures.written(plot):
            bench_papers_plot.plot(record, paper, labels, plot)
        messages.print(f"written: {plot}", markup=False, highlight=False)
    return problems
