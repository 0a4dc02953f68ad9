"""`fanlight bench`: each operation by the MPI library and by Fanlight in turn, in one run."""

from __future__ import annotations

import copy
import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import List, Optional

import typer
from rich.console import Console

from . import bench_plot, pictures, records
from .bench_limits import SYNCHRONIZING, Limits
from .bench_provenance import note_versions, provenance
from .errors import FanlightError
from .machine import machine_cores
from .papers import PAPERS
from .tables import progress_bar
from .units import format_bytes, parse_bytes, parse_operations, parse_ranks

OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "gather", "scatter",
              "alltoall", "reduce_scatter_block", "scan")
ON_REQUEST = ("exscan", "gatherv", "scatterv", "alltoallv", "reduce_scatter",
              "neighbor_allgather", "neighbor_alltoall")  # these two on a periodic ring
SIZES = "8,64,512,1K,4K,16K,64K,256K,512K,1M,4M"
QUICK_SIZES = "8,1K,64K,1M"
SLOW_SIZES = (8, 1024, 65536)  # enough of an MPI that takes milliseconds for each
SETTINGS = ("auto", "shipped", "oversubscribed")
LONGEST = 1 << 30  # bench/operations.c
INTERRUPTED = "interrupted: the rest was not measured"
UNTIL_DECIDED = 320  # calls of one class: docs/guard.md
# What is measured alone, and with what else.
_GO_WITH = {"--simulated": ("--paper", "--sizes"), "--paper": ("--simulated", "--operation", "--sizes", "--plot"),
            "--limits": ("--hosts",), "--passthrough": (), "--guard": ("--operation", "--sizes"),
            "--persistent": ("--sizes", "--native-only", "--self-check"), "--progress": ("--native-only", "--self-check"),
            "--overlap": ("--sizes", "--hosts", "--native-only", "--self-check")}

console = Console() if sys.stdout.isatty() else Console(width=150)
messages = Console(stderr=True)


def bench(
    mpi: str = typer.Option("", "--mpi", metavar="MPI[=PREFIX],...",
                            help="Which MPIs: mpich, openmpi, impi; default: all that are found."),
    ranks: str = typer.Option("", "-n", "--ranks", metavar="N,...", help="Numbers of ranks; default: 2."),
    operation: List[str] = typer.Option([], "--operation", metavar="OPERATION,...",
                                        help="Which operations; default: all but " + ", ".join(ON_REQUEST) + "."),
    sizes: str = typer.Option("", "--sizes", metavar="BYTES,...", help=f"Sizes; default: {SIZES}."),
    mode: str = typer.Option("loop", "--mode", help="loop: calls back to back; sync: a barrier after each call of an "
                              "operation that does not synchronize; both; fill: what is sent is filled before each call, and the two together are timed."),
    quick: bool = typer.Option(False, "--quick", help=f"Fewer blocks, and the sizes {QUICK_SIZES}."),
    settings: str = typer.Option("auto", "--settings", help="shipped: each MPI as it ships; oversubscribed: each with "
                                 "its own setting for more ranks than cores, and MPICH as it ships besides; auto: the "
                                 "latter where there are more ranks than cores."),
    hosts: str = typer.Option("", "--hosts", metavar="N | A+B+C", help="On so many hosts, or with so many ranks on each: "
                              "namespaces of this machine (tests/cluster), which need root and a clone of Fanlight."),
    rate: str = typer.Option("", "--rate", metavar="RATE", help="Bandwidth of each host's link, as tc writes it: 1gbit."),
    output: Optional[Path] = typer.Option(None, "--output", help="Write everything as JSON."),
    plot: Optional[Path] = typer.Option(None, "--plot", help="Draw the times and the ratios."),
    paper: str = typer.Option("", "--paper", metavar="PAPER",
                              help="A paper's own comparison beside what the paper reports: " + ", ".join(PAPERS) +
                              "; its operations, numbers of ranks, sizes and mode, unless others are named."),
    simulated: bool = typer.Option(False, "--simulated", help="With --paper: by the model of the paper's machine, at its numbers of ranks "
                                   "(as fanlight simulate --paper)."),
    limits: bool = typer.Option(False, "--limits", help="Only the physical limits."),
    passthrough: bool = typer.Option(False, "--passthrough", help="Only the cost of the preload for a call that it passes on."),
    guard: bool = typer.Option(False, "--guard", help="With the guard (FANLIGHT_GUARD=on), under the rules of FANLIGHT_RULES: what it costs on a "
                               "call once it has decided, then each operation after that."),
    persistent: bool = typer.Option(False, "--persistent", help="Only a persistent allreduce against the blocking one; "
                                    "default: of 8 bytes."),
    progress: bool = typer.Option(False, "--progress", help="Only how quickly the MPI library's one-sided operations and long "
                                  "messages progress while a rank waits in a barrier; default: 2, 3 and 4 ranks."),
    overlap: bool = typer.Option(False, "--overlap", help="Only how much of a non-blocking allreduce hides behind a computation "
                                 "that calls MPI_Test every 50 us; default: of 1 MiB."),
    buffers: str = typer.Option("malloc", "--buffers", metavar="KIND", help="Where the buffers come from, under all contenders: malloc; or, where "
                                "Fanlight's ranks load from directly, alloc_mem: MPI_Alloc_mem, or heap: malloc with the shared heap."),
    native_only: bool = typer.Option(False, "--native-only", help="Only the MPI libraries, without Fanlight."),
    self_check: bool = typer.Option(False, "--self-check", help="Without the preload: all ratios must be 1."),
    bind: bool = typer.Option(True, "--bind/--no-bind", help="Each rank on a core of its own, if there are enough."),
    programs: Optional[Path] = typer.Option(None, "--programs", metavar="FOLDER",
                                            help="Where the fanlight-bench-<mpi> are; default: the build folder; "
                                                 "a missing one is compiled."),
    launcher_arg: List[str] = typer.Option([], "--launcher-arg", metavar="ARG",
                                           help="One argument for mpiexec; may be repeated."),
):
    """Compare Fanlight with the MPI libraries here, operation by operation."""
    from . import bench_run, papers_simulated, this_machine

    _check(paper or not simulated, "--simulated is of papers", "Say which: --paper.")
    operations = parse_operations(operation, OPERATIONS + ON_REQUEST) or list(OPERATIONS)
    wanted_sizes = [parse_bytes(s) for s in (sizes or (QUICK_SIZES if quick else SIZES)).split(",")]
    _check(mode in ("loop", "sync", "both", "fill"), f"--mode {mode}: unknown", "It is loop, sync, both or fill.")
    _check(buffers in ("malloc", "alloc_mem", "heap"), f"--buffers {buffers}: unknown", "It is malloc, alloc_mem or heap.")
    _check(settings in SETTINGS, f"--settings {settings}: unknown", "It is one of " + ", ".join(SETTINGS) + ".")
    _check(all(s > 0 and s % 8 == 0 for s in wanted_sizes), "--sizes: not all are multiples of 8 bytes",
           "Reductions are of doubles: take 8, 64, 1K …")
    _check(simulated or persistent or overlap or max(wanted_sizes) <= LONGEST, f"--sizes: not all are of at most {format_bytes(LONGEST)}",
           "Longer ones are not measured.")
    _check(simulated or not paper or paper in PAPERS, f"--paper {paper}: unknown", "It is one of " + ", ".join(PAPERS) + ".")
    given = {"--simulated": simulated, "--paper": paper, "--limits": limits, "--passthrough": passthrough, "--guard": guard, "--persistent": persistent,
             "--progress": progress, "--overlap": overlap, "--hosts": hosts, "--operation": operation, "--sizes": sizes,
             "--plot": plot, "--mode": mode != "loop", "--buffers": buffers != "malloc", "--native-only": native_only, "--self-check": self_check}
    for name in (name for name in _GO_WITH if given[name]):
        others = [other for other, on in given.items() if on and other != name and other not in _GO_WITH[name]]
        _check(not others, f"{name} does not go with {', '.join(others)}", "Leave one out.")
    _check(re.fullmatch(r"|[1-9]\d*(\+[1-9]\d*)*", hosts), f"--hosts {hosts}: no number of hosts", "For instance 2, or 1+2+3.")
    each = [int(n) for n in hosts.split("+")] if "+" in hosts else []
    _check(not (each and ranks), "--hosts gives the number of ranks", "Leave -n out.")
    _check(hosts or not rate, "--rate is of the links between --hosts", "Add --hosts.")
    numbers = [sum(each)] if each else parse_ranks(ranks or ("4" if hosts else "2,3,4" if progress else "2"))
    pictures.check(output, plot)
    if plot:
        pictures.check_plot(plot)
    if simulated:
        record = papers_simulated.run(paper, numbers if ranks else [], wanted_sizes if sizes else [], console)
        if output is not None:
            _written(record, output)
        return
    contenders = bench_run.find_contenders([w for w in mpi.split(",") if w], programs,
                                           bench_run.OVERLAP if overlap else bench_run.PERSISTENT if persistent
                                           else bench_run.PROGRESS if progress else bench_run.COLLECTIVES)
    cores = machine_cores()
    if paper:
        from . import bench_papers

        _fail_with(bench_papers.bench(paper, contenders, cores, numbers if ranks else [], wanted_sizes if sizes else [],
                                      operations if operation else [], quick, settings, bind, launcher_arg, output,
                                      plot, console, messages))
        return
    preload = not (native_only or self_check or limits)
    labels = {c.key: c.label for c in contenders} | {"mpich-shipped": "shipped MPICH"}
    plan = Plan(contenders, numbers, operations, wanted_sizes, mode, quick, settings, cores, preload, native_only,
                bind and not hosts, [*(["--rate", rate] if rate else []), *launcher_arg], hosts, buffers)
    record = {"format": 1, "provenance": provenance(contenders, cores), "options": plan.options()}

    if limits:
        record |= _measure(plan, ["--limits"], "limits", plan.numbers)
        if hosts:  # which have shown what a message between them takes, and not what two cores of one do
            record["limits"] = record.get("limits", []) + _measure(plan.on_one_host(), ["--limits"], "limits", [2]).get("limits", [])
        this_machine.save(record.get("limits", []), messages)
    elif passthrough:
        record |= _measure(plan, ["--passthrough"], "the preload's cost", [1])
    elif persistent or overlap:
        what, size, times = ("persistent", 8, (51, 501)) if persistent else ("overlap", 1 << 20, (11, 51))
        for bytes_each in wanted_sizes if sizes else [size]:
            for kind, lines in _measure(plan, [str(bytes_each), str(times[not quick])], what, plan.numbers).items():
                record.setdefault(kind, []).extend(lines)
    elif progress:
        record |= _measure(plan, ["5" if quick else "21"], "progress", plan.numbers)
    elif guard:
        os.environ["FANLIGHT_GUARD"] = "on"
        record |= _measure(plan, ["--guard"], "the guard's cost", plan.numbers)
        cost, plan.warm = record.get("guard", []), UNTIL_DECIDED
        record |= _measure_all(plan) | {"guard": cost}
    else:
        record |= _measure_all(plan)
    note_versions(record)
    _show(record, plan, labels)
    if output is not None:
        _write(record, plan, output)
    if plot is not None and record.get("results"):
        with pictures.written(plot):
            files = bench_plot.plot(plan.rows(record), plan.order(), plan.shipped(), labels, plot)
        for path in files:
            messages.print(f"written: {path}", markup=False, highlight=False)
    _fail_with(plan.problems)


def _fail_with(problems: list[str]):
    for problem in problems:
        messages.print(problem, style="red", markup=False, highlight=False)
    if problems:
        raise typer.Exit(1)


class Plan:
    """What is measured, and what went wrong on the way."""

    def __init__(self, contenders, numbers, operations, sizes, mode, quick, settings, cores, preload, native_only,
                 bind, launcher_arguments, hosts="", buffers="malloc"):
        self.contenders, self.numbers, self.operations = contenders, numbers, operations
        self.sizes, self.mode, self.quick, self.settings = sizes, mode, quick, settings
        self.cores, self.preload, self.native_only = cores, preload, native_only
        self.bind, self.launcher_arguments = bind, launcher_arguments
        self.hosts, self.buffers, self.shared_heap = hosts, buffers, buffers == "heap"
        self.warm = 0  # calls of Fanlight's before each figure
        self.with_limits = not hosts  # which are those of shared memory
        self.problems: list[str] = []

    def options(self) -> dict:
        return {"ranks": self.numbers, "operations": self.operations, "sizes": self.sizes, "mode": self.mode,
                "quick": self.quick, "settings": self.settings, "preload": self.preload, "bind": self.bind,
                "hosts": self.hosts, "buffers": self.buffers}

    def contenders_for(self, ranks: int) -> list:
        from . import bench_run

        if self.hosts:
            return bench_run.between_hosts(self.contenders, self.cores, self.hosts, ranks)
        return bench_run.with_settings(self.contenders, ranks, self.cores, self.settings)

    def on_one_host(self) -> Plan:
        plan = copy.copy(self)  # with the same list of problems
        plan.numbers, plan.bind, plan.launcher_arguments, plan.hosts, plan.with_limits = [2], True, [], "", True
        return plan

    def order(self) -> list[str]:
        return [c.key for c in self.contenders]

    def shipped(self) -> list[str]:
        return ["mpich-shipped"] if any(c.slow for n in self.numbers for c in self.contenders_for(n)) else []

    def sizes_for(self, contender) -> list[int]:
        if not contender.slow:
            return self.sizes
        return [s for s in self.sizes if s in SLOW_SIZES] or self.sizes[:1]

    def figures(self, operation: str, contender) -> int:
        modes = 2 if self.mode == "both" and operation not in SYNCHRONIZING else 1
        return modes * (len(self.sizes_for(contender)) if operation != "barrier" else 1)

    def arguments(self, operation: str, contender, with_limits: bool) -> list[str]:
        words = [f"--operations={operation}", f"--mode={self.mode}", f"--buffers={'malloc' if self.shared_heap else self.buffers}",
                 "--sizes=" + ",".join(map(str, self.sizes_for(contender)))]
        if self.quick or contender.slow:
            words.append(f"--blocks={5 if contender.slow else 11}")
        if contender.slow:  # every second here is spent spinning
            words.append(f"--seconds={0.1 * self.figures(operation, contender)}")
        if self.warm:
            words.append(f"--warm={self.warm}")
        if self.native_only:
            words.append("--native-only")
        if self.bind:
            words.append("--bind")
        if with_limits:
            words.append("--with-limits")
        return words

    def rows(self, record: dict) -> list:
        from .bench_table import rows_of

        by_ranks = {n: Limits([line for line in record["limits"] if line["ranks"] == n]) for n in self.numbers}
        return rows_of(record["results"], by_ranks, self.cores)

    def note(self, contender, ranks: int, outcome, what: str):
        where = f"{contender.label}, {ranks} ranks, {what}"
        if outcome.problem:
            self.problems.append(f"{where}: {outcome.problem}")
        for line in outcome.lines:
            if line["type"] == "wrong":
                self.problems.append(f"{where}: WRONG RESULT of {line['side']}, {line['size']} bytes: "
                                     f"{line['words']} words")
            elif line["type"] == "run" and line["preloaded"] != self.preload:
                self.problems.append(f"{where}: " + ("the preload was not active" if self.preload else
                                                     "Fanlight is preloaded although it should not be"))


@contextmanager
def interruptible(problems: list[str]):
    """Ctrl-C ends the measurement, and what there is by then is shown and written."""
    try:
        yield
    except KeyboardInterrupt:
        problems.append(INTERRUPTED)


# Which list of the record a line of the program belongs to.
_KINDS = {"run": "runs", "limit": "limits", "result": "results", "left_out": "left_out", "passthrough": "passthrough", "persistent": "persistent",
          "progress": "progress", "overlap": "overlap", "guard": "guard"}


def _record(record: dict, contender, ranks: int, outcome):
    for line in outcome.lines:
        if kind := _KINDS.get(line["type"]):
            line = {**line, "mpi": contender.key, "ranks": ranks}
            if kind == "runs":
                line["settings"] = contender.settings
            record.setdefault(kind, []).append(line)


def _measure_all(plan: Plan) -> dict:
    """Round robin: each operation by one MPI after the other, so that a drift of the machine
    hits all alike."""
    from . import bench_run

    record = {"runs": [], "limits": [], "results": []}
    jobs = [(n, operation, c) for n in plan.numbers for operation in plan.operations
            for c in plan.contenders_for(n)]
    limited: set = set()
    with interruptible(plan.problems), progress_bar(messages, left=True) as progress:
        task = progress.add_task("", total=sum(plan.figures(operation, c) for _, operation, c in jobs))
        for n, operation, c in jobs if INTERRUPTED not in plan.problems else ():
            progress.update(task, description=f"{n} ranks, {operation}, {c.label}")
            with_limits = plan.with_limits and not c.slow and (n, c.key) not in limited
            limited.add((n, c.key))
            done = 0

            def on_line(line):
                nonlocal done
                if line["type"] in ("result", "left_out"):
                    done += 1
                    progress.advance(task)

            outcome = bench_run.run_once(c, n, plan.cores, plan.arguments(operation, c, with_limits), plan.preload,
                                         on_line, launcher_arguments=plan.launcher_arguments, hosts=plan.hosts, shared_heap=plan.shared_heap)
            progress.advance(task, plan.figures(operation, c) - done)
            plan.note(c, n, outcome, operation)
            _record(record, c, n, outcome)
    return record


def _measure(plan: Plan, arguments: list[str], what: str, numbers: list[int]) -> dict:
    """One short run for each MPI."""
    from . import bench_run

    record = {"runs": []}
    arguments = (["--bind"] if plan.bind else []) + arguments
    jobs = [(n, c) for n in numbers for c in plan.contenders_for(n) if not c.slow]
    with interruptible(plan.problems), progress_bar(messages, left=True) as progress:
        task = progress.add_task("", total=len(jobs))
        for n, c in jobs if INTERRUPTED not in plan.problems else ():
            progress.update(task, description=f"{what}, {c.label}")
            outcome = bench_run.run_once(c, n, plan.cores, arguments, plan.preload,
                                         launcher_arguments=plan.launcher_arguments, hosts=plan.hosts, shared_heap=plan.shared_heap)
            plan.note(c, n, outcome, what)
            _record(record, c, n, outcome)
            progress.advance(task)
    return record


def _show(record: dict, plan: Plan, labels: dict[str, str]):
    from . import bench_table

    where = record["provenance"]
    console.print(f"{where['processor']}, {where['cores']} cores; "
                  + ", ".join(f"{m['name']} {m['version']}" for m in where["mpis"].values()), highlight=False)
    if record.get("passthrough"):
        bench_table.print_passthrough(console, record["passthrough"], labels)
    if record.get("guard"):
        bench_table.print_guard(console, record["guard"], labels)
    if record.get("persistent"):
        bench_table.print_persistent(console, record["persistent"], plan.preload, labels)
    if record.get("progress"):
        bench_table.print_progress(console, record["progress"], labels)
    if record.get("overlap"):
        bench_table.print_overlap(console, record["overlap"], labels)
    for n in sorted({line["ranks"] for line in record.get("limits", [])}):
        bench_table.print_limits(console, Limits([line for line in record["limits"] if line["ranks"] == n]), n)
    for line in record.get("left_out", []):
        messages.print(f"left out: {labels[line['mpi']]}, {line['ranks']} ranks, {line['operation']} {format_bytes(line['size'])}: {line['why']}",
                       markup=False, highlight=False)
    if record.get("results"):
        bench_table.print_results(console, plan.rows(record), plan.order(), plan.shipped(), labels)
        bench_table.warn_of_others(messages, record["results"], plan.cores)


def _write(record: dict, plan: Plan, path: Path):
    from . import bench_table

    record = dict(record)
    if record.get("results"):
        record["summary"] = bench_table.summary(plan.rows(record), plan.order(), plan.shipped())
    record["problems"] = plan.problems
    _written(record, path)


def _written(record: dict, path: Path):
    records.write(record, path)
    messages.print(f"written: {path}", markup=False, highlight=False)


# ---- arguments --------------------------------------------------------------------------------------


def _check(good: bool, problem: str, advice: str):
    if not good:
        raise FanlightError(problem, advice)
