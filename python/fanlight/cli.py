"""The command `fanlight`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import List, Optional

import typer
from rich.console import Console

from . import __version__
from .bench import bench
from .errors import FanlightError
from .machine import machine_cores
from . import pictures
from .simulation import simulate
from .tune import tune

MOST_RANKS = 4096

app = typer.Typer(name="fanlight", no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  pretty_exceptions_enable=False,
                  help="Faster collective operations for MPI programs.")
# Piped into a file a table may be as wide as it needs.
console = Console() if sys.stdout.isatty() else Console(width=140)
messages = Console(stderr=True)


def core():
    """The compiled module, with a word of advice where it is missing."""
    try:
        from . import _core
    except ImportError as e:
        raise FanlightError(f"the compiled module of Fanlight is missing ({e})",
                            "Install the package (pip install .) or run make build.") from e
    return _core


def check_mpi(mpi: str):
    from .mpis import NAMES

    if mpi not in ("auto", *NAMES):
        raise FanlightError(f"--mpi {mpi}: unknown", "It is one of auto, " + ", ".join(NAMES) + ".")


# --- run ----------------------------------------------------------------------------------

@app.command(context_settings={"allow_interspersed_args": False})
def run(
    program: str = typer.Argument(..., help="The program; its own arguments follow it."),
    arguments: Optional[List[str]] = typer.Argument(None, metavar="[ARGUMENTS]..."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1,
                                        help="Ranks; default: the Slurm allocation's tasks, else the usable cores."),
    report: bool = typer.Option(False, "--report", help="At the end print what was called, who served it, and who waited."),
    report_file: Optional[Path] = typer.Option(None, "--report-file", help="Write the report to this file, as JSON."),
    trace: Optional[Path] = typer.Option(None, "--trace", help="Write each call and each wait to this file, for ui.perfetto.dev."),
    mpi: str = typer.Option("auto", "--mpi", help="Which MPI: auto, mpich, openmpi or impi."),
    algorithm: List[str] = typer.Option([], "--algorithm", metavar="OPERATION:NAME",
                                        help="Force an algorithm (as FANLIGHT_ALGORITHM); may be repeated."),
    launcher: str = typer.Option("auto", "--launcher", help="auto (srun inside a Slurm allocation, else the MPI's mpiexec), "
                                                            "srun, mpiexec, or a path."),
    launcher_arg: List[str] = typer.Option([], "--launcher-arg", metavar="ARG",
                                           help="One argument for the launcher; may be repeated (--launcher-arg=-v)."),
    shared_heap: bool = typer.Option(False, "--shared-heap", help="Put long blocks of malloc where the node's other ranks can load from "
                                                                  "them directly (FANLIGHT_HEAP=shared does the same)."),
    plain: bool = typer.Option(False, "--plain", help="Run without Fanlight, by the same MPI and launcher."),
    show: bool = typer.Option(False, "--show", help="Print the command instead of running it."),
):
    """Start an MPI program with Fanlight's collectives instead of its MPI library's."""
    from . import launch, libraries, mpis, reports

    check_mpi(mpi)
    path = mpis.find_program(program)
    found = mpis.find_mpi(path, mpi)
    settings = {}
    if algorithm:
        settings["FANLIGHT_ALGORITHM"] = ",".join(algorithm)
        try:
            core().check_selection(settings["FANLIGHT_ALGORITHM"])
        except ValueError as e:
            raise FanlightError(f"--algorithm: {e}", "`fanlight list` shows the names.") from e
    if plain and (report or report_file or trace):
        raise FanlightError("--plain runs without Fanlight, so there is nothing to report",
                            "To see the MPI library's own times, set FANLIGHT=0 and leave --plain out.")
    pictures.check(report_file, trace)
    for variable, file in (("FANLIGHT_TRACE", trace), ("FANLIGHT_REPORT", report_file)):
        if file:
            settings[variable] = str(file.absolute())
    cores = machine_cores()
    preloads = [] if plain else [libraries.preload_for(found.abi)]
    if shared_heap and plain:
        raise FanlightError("--plain runs without Fanlight, and so without its shared heap", "Leave one of them out.")
    heap = os.environ.get("FANLIGHT_HEAP", "auto")
    preloads_heap = any(Path(file).name.startswith(libraries.HEAP) for file in libraries.preloaded())
    if not plain and (shared_heap or heap == "shared" or (heap == "auto" and preloads_heap)):
        preloads.insert(0, libraries.shared_heap())
        settings["FANLIGHT_HEAP"] = "shared"
    if launch.is_a_rank() and not show:
        if ranks or report or launcher != "auto":
            raise FanlightError("a launcher has already started this process, so -n, --report and --launcher have no meaning",
                                "Leave them out, or leave out the launcher: fanlight run -n 4 ./app. --report-file may be given to all ranks.")
        launch.become(path, arguments or [], preloads, settings, found)
    chosen = launch.choose_launcher(found, launcher)
    temporary = None
    try:
        if report and not report_file:
            settings["FANLIGHT_REPORT"] = "-" if show else str(temporary := reports.temporary(chosen))
        command = launch.command_line(found, ranks, cores, path, arguments or [], preloads, settings, launcher_arg, chosen)
        if show:
            import shlex

            environment = [f"{k}={v}" for k, v in found.environment.items()]
            print(shlex.join([*(["env", *environment] if environment else []), *command]))
            raise typer.Exit(0)
        for file in filter(None, (report_file, trace)):
            reports.remove_old(file)
        code = launch.run(command, found)
        for written, what in ((report_file or temporary, "report"), (trace, "trace")):
            if written and (not written.exists() or written.stat().st_size == 0):
                messages.print(reports.why_none(what, written, found.library), markup=False, highlight=False)
            elif report and what == "report":
                reports.show(reports.load(written), console)
    finally:
        if temporary:
            for file in (temporary, *reports.of_single_ranks(temporary)):
                file.unlink(missing_ok=True)
    raise typer.Exit(code)


@app.command()
def report(
    file: Path = typer.Argument(..., help="A file from fanlight run --report-file or --trace."),
    output: Optional[Path] = typer.Option(None, "-o", "--output", help="Draw it to this file: .png (needs matplotlib) or .html."),
    rules: Optional[Path] = typer.Option(None, "--rules", help="Write the guard's findings (FANLIGHT_GUARD=record) as rules for the next run."),
):
    """Show the report or the trace of a run: time by operation and size, and waits by rank."""
    from . import report_plot, reports

    if rules and output:
        raise FanlightError("--rules writes rules and -o a picture", "Leave one of them out.")
    said = reports.load(file)
    if rules:
        found = reports.write_rules(said, rules)
        messages.print(f"{rules}: {found} rule{'' if found == 1 else 's'} (FANLIGHT_RULES)", highlight=False)
        return
    if output:
        report_plot.write(said, output)
        messages.print(f"{output}: {said['ranks']} ranks", highlight=False)
        return
    reports.show(said, console)
    report_plot.show(said, console)


@app.command()
def doctor(
    program: Optional[str] = typer.Argument(None, help="The program that you want to run; default: look only at the MPI on the PATH."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, help="How many ranks you want to run on this node."),
    mpi: str = typer.Option("auto", "--mpi", help="Which MPI: auto, mpich, openmpi or impi."),
    launcher: str = typer.Option("auto", "--launcher", help="As for fanlight run."),
):
    """Find out what keeps Fanlight from serving a program here, and what to do about it."""
    core()
    from . import doctor as doctors, mpis

    check_mpi(mpi)
    if doctors.show(doctors.examine(program and mpis.find_program(program), ranks, mpi, launcher), console):
        raise typer.Exit(1)


# --- info ---------------------------------------------------------------------------------

@app.command()
def info():
    """Show the MPIs found here, what this node allows, and all settings."""
    core()
    from . import information

    information.show(console)


# --- the catalogue ------------------------------------------------------------------------

def check_operation(name: Optional[str]) -> str:
    if name is None:
        return ""
    given, name = name, name.lower().replace("_", "-").removeprefix("mpi-")
    if name not in core().operations():
        raise FanlightError(f"no operation {given!r}", "There are: " + ", ".join(core().operations()) + ".")
    return name


def restrictions(a) -> str:
    return ", ".join(t for t, is_so in (("power of two", a.power_of_two), ("even", a.even), ("commutative", a.commutative))
                     if is_so)


@app.command("list")
def list_algorithms(operation: Optional[str] = typer.Argument(None, help="Only this operation.")):
    """List the algorithms, by operation."""
    from .tables import table

    operation = check_operation(operation)
    t = table("operation", "algorithm", "needs", "parameters", "idea", "paper")
    before = None
    for a in core().algorithms(operation):
        if before not in (None, a.operation):
            t.add_section()
        t.add_row("" if before == a.operation else a.operation, a.name, restrictions(a), ", ".join(a.parameters),
                  a.description, a.paper)
        before = a.operation
    console.print(t)


def parse_range(text: str) -> range:
    first, dots, last = text.partition("..")
    try:
        a = int(first)
        b = int(last) if dots else a
    except ValueError:
        a = b = 0
    if not 1 <= a <= b <= MOST_RANKS:
        raise FanlightError(f"-n {text}: not a number of ranks", "Write for instance -n 8 or -n 1..64.")
    return range(a, b + 1)


@app.command()
def verify(
    operation: Optional[str] = typer.Argument(None, help="Only this operation."),
    algorithm: Optional[str] = typer.Argument(None, help="Only this algorithm."),
    ranks: str = typer.Option("1..16", "-n", "--ranks", help="Numbers of ranks, for instance 8 or 1..64."),
    calls: int = typer.Option(3, "--calls", min=1, max=1000, help="How many calls follow each other."),
):
    """Prove algorithms right by a symbolic run of all ranks together: every number of ranks,
    every root, with and without a commuting operator, blocks of different lengths."""
    from . import proofs

    sizes = parse_range(ranks)
    operation = check_operation(operation)
    chosen = core().algorithms(operation)
    if algorithm:
        chosen = [named(operation, algorithm)[0]]
    if proofs.run(chosen, sizes, calls, console):
        raise typer.Exit(1)


def named(operation: str, algorithm: str):
    """The algorithm and its parameters: tree(degree=4)."""
    try:
        return core().parse_choice(operation, algorithm)
    except ValueError as e:
        raise FanlightError(str(e), "`fanlight list` shows them.") from e


def one_problem(operation: str, algorithm: str, ranks: int, root: int, size: str, topology: str):
    from .units import parse_bytes

    operation = check_operation(operation)
    a, parameters = named(operation, algorithm)
    length = parse_bytes(size)
    element = 8 if length % 8 == 0 else 1
    try:
        return a, core().Problem(operation, ranks, root=root, bytes=length, element=element,
                                 topology=topology, **parameters)
    except ValueError as e:
        raise FanlightError(str(e)) from e


OPERATION = typer.Argument(..., help="A collective operation; `fanlight list` shows them.")
RANKS = "Number of ranks."
ROOT = typer.Option(0, "--root", min=0, max=MOST_RANKS - 1, help="The root of the operation, if it has one.")
TOPOLOGY = typer.Option("", "--topology", help="Where the ranks are: 4x2x8 means 4 nodes, each with 2 domains of 8 ranks; "
                                               "2x* means 2 nodes; default: all ranks in one domain.")


@app.command()
def draw(
    operation: str = OPERATION,
    algorithm: str = typer.Argument(..., help="One of its algorithms, also with parameters: 'tree(degree=4)'."),
    ranks: int = typer.Option(8, "-n", "--ranks", min=1, max=256, help=RANKS),
    root: int = ROOT,
    size: str = typer.Option("8K", "--bytes", help="Length of the vector or of a block."),
    topology: str = TOPOLOGY,
    output: Optional[Path] = typer.Option(None, "-o", "--output", help="The SVG file; default: standard output."),
):
    """Draw who sends what to whom, step by step, as SVG."""
    a, problem = one_problem(operation, algorithm, ranks, root, size, topology)
    try:
        text = core().draw(a.name, problem)
    except ValueError as e:
        raise FanlightError(str(e)) from e
    if output is None:
        print(text)
        return
    with pictures.written(output):
        output.write_text(text)
    messages.print(f"{output}: {a.operation} {a.name}, {ranks} ranks", highlight=False)


@app.command()
def count(
    operation: str = OPERATION,
    algorithm: Optional[str] = typer.Argument(None, help="Only this one; also with parameters: 'tree(degree=4)'."),
    ranks: int = typer.Option(8, "-n", "--ranks", min=1, max=MOST_RANKS, help=RANKS),
    root: int = ROOT,
    size: str = typer.Option("8K", "--bytes", help="Length of the vector or of a block."),
    topology: str = TOPOLOGY,
):
    """Count messages, bytes and rounds, and estimate the time by a simple model."""
    from . import counts

    operation = check_operation(operation)
    chosen = [named(operation, algorithm)[0]] if algorithm else core().algorithms(operation)
    counts.show(chosen, lambda a: one_problem(operation, algorithm or a.name, ranks, root, size, topology)[1], console)


@app.command()
def explain(
    operation: str = OPERATION,
    size: str = typer.Argument("8", metavar="BYTES", help="Length of the vector or of a block: 8, 64K, 4M."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, max=1 << 20, help="Number of ranks; default: the usable cores."),
    mpi: str = typer.Option("mpich", "--mpi", help="Which MPI the program uses: mpich, openmpi, impi, mvapich, cray or other."),
    nodes: int = typer.Option(1, "--nodes", min=1, max=1 << 20, help="How many nodes the ranks are on."),
    single_copy: bool = typer.Option(True, help="Whether single copy is allowed, and faster here."),
    commutative: bool = typer.Option(True, help="Whether the operator commutes."),
    blocking: bool = typer.Option(True, "--blocking/--non-blocking", help="Whether the call is a blocking one, or a non-blocking or persistent one."),
    machine: str = typer.Option("", "--machine", help="Add the model's estimate for this machine; default: for the machine here, if "
                                                      "`fanlight bench --limits` has measured it."),
):
    """Show which algorithm is chosen here, by which rule, and what the model expects."""
    from . import explained
    from .units import parse_bytes

    operation = check_operation(operation)
    length = parse_bytes(size)
    if mpi not in core().mpi_libraries():
        raise FanlightError(f"--mpi {mpi}: unknown", "It is one of " + ", ".join(core().mpi_libraries()) + ".")
    cores = machine_cores()
    ranks = ranks or cores
    if nodes > ranks:
        raise FanlightError(f"--nodes {nodes}: there are {ranks} ranks", "Give fewer nodes, or more ranks (-n).")
    situation = {"ranks": ranks, "nodes": nodes, "oversubscribed": ranks > cores * nodes, "single_copy": single_copy, "commutative": commutative,
                 "blocking": blocking, "mpi": mpi}
    explained.show(core(), operation, length, situation, cores, machine, console)


@app.command()
def rules():
    """Print the built-in selection rules."""
    print(core().built_in_rules(), end="")


def _version(wanted: bool):
    if wanted:
        print(f"fanlight {__version__}")
        raise typer.Exit(0)


@app.callback()
def _options(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version and exit.")):
    pass


app.command()(bench)
app.command()(simulate)
app.command()(tune)


def main():
    try:
        app(prog_name="fanlight")
    except FanlightError as e:
        messages.print(f"fanlight: {e.problem}", markup=False, highlight=False, soft_wrap=True)
        if e.advice:
            messages.print(f"  {e.advice}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
