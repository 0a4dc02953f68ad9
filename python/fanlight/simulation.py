"""`fanlight simulate`: how long collectives would take on another machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Optional

import typer
from rich.console import Console

from . import pictures
from .errors import FanlightError
from .machine import cache_folder
from .tables import progress_bar, table
from .units import format_bytes, format_seconds, parse_bytes


def this_machine() -> Path:
    """Where `fanlight bench --limits` records the machine at hand."""
    return cache_folder() / "this.txt"


def is_measured() -> bool:
    try:
        return this_machine().exists()
    except (OSError, FanlightError):  # a home that this user may not read, or none
        return False


def machine_named(name: str):
    """One that comes with Fanlight, `this`, or a file."""
    from . import _core

    path = this_machine() if name == "this" else Path(name)
    try:
        if name == "this" or "/" in name or path.suffix == ".txt":
            return _core.Machine(path.stem, path.read_text())
        return _core.Machine(name)
    except OSError as e:
        raise FanlightError(f"{path}: {e.strerror}", "`fanlight bench --limits` writes this machine's.") from e
    except ValueError as e:
        raise FanlightError(str(e), "docs/simulate.md describes the format.") from e


def parse_sizes(text: str) -> list[int]:
    """8,1K,64K; 8..8M: times 4 each."""
    sizes: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        size = parse_bytes(first)
        end = parse_bytes(last) if last else size
        if dots and not (last and 0 < size <= end):
            raise FanlightError(f"{part!r} is no range of sizes", "Write for instance 8..8M.")
        while size <= end:
            sizes.append(size)
            size *= 4
            if not dots:
                break
    return sizes


class Question:
    """An operation of so many ranks on a machine, and how steps are carried out there."""

    def __init__(self, operation: str, ranks: int, machine, nodes: int = 0, root: int = 0, **transfer):
        from . import _core

        self.core, self.operation, self.ranks, self.machine = _core, operation, ranks, machine
        self.nodes, self.root, self.transfer = nodes, root, transfer
        try:
            self.topologies = machine.topologies(ranks, nodes)
        except ValueError as e:
            raise FanlightError(str(e), "Give --nodes, fewer ranks, or another machine.") from e

    def problem(self, size: int, topology: str = "", **parameters):
        reduction = self.core.is_reduction(self.operation)
        element = next((e for e in (8, 4, 2) if size % e == 0), 1) if reduction else 1
        return self.core.Problem(self.operation, self.ranks, root=self.root, bytes=0 if self.operation == "barrier" else size,
                                 element=element, topology=topology, **parameters)

    def ways(self, name: str = ""):
        """Every algorithm that applies, as (algorithm, parameters, topology, radices): by levels with each choice of levels."""
        if name:
            chosen, parameters = self.core.parse_choice(self.operation, name)
            rows = [(chosen, parameters)]
        else:
            rows = [(a, {}) for a in self.core.algorithms(self.operation)]
        for a, parameters in rows:
            if a.restriction(self.problem(8)):
                continue
            if not a.levels:
                yield a, parameters, "", ""
            for topology, radices in self.topologies if a.levels else []:
                yield a, parameters, topology, radices

    def ask(self, way, size: int, spans: bool = False) -> dict:
        algorithm, parameters, topology, _ = way
        return self.core.simulate(algorithm.name, self.problem(size, topology, **parameters), self.machine, self.nodes,
                                  spans=spans, **self.transfer)


def opinion(machine: str, operation: str, size: int, ranks: int, nodes: int, chosen: dict) -> list[tuple[str, str]]:
    """What the model says of a rule's choice, for `fanlight explain`."""
    m = machine_named(machine)
    try:
        question = Question(operation, ranks, m, nodes)
    except FanlightError as e:
        return [("by the model", f"nothing: {e.problem}")]
    times = sorted(((question.ask(w, size)["seconds"], w) for w in question.ways()), key=lambda x: x[0])
    describe = lambda x: f"{x[1][0].name}{' ' + x[1][3] if x[1][3] else ''}, {format_seconds(x[0])}"  # noqa: E731
    rows = [("by the model", f"on {m.name} the best is {describe(times[0])}")] if times else []
    if its := [x for x in times if x[1][0].name == chosen["algorithm"]]:
        rows.append(("", f"the chosen one: {describe(its[0])}"))
    return rows


def compare(question: Question, sizes: list[int], name: str, progress) -> list[dict]:
    ways = list(question.ways(name))
    results = []
    task = progress.add_task("", total=len(ways) * len(sizes))
    for size in sizes:
        for way in ways:
            progress.update(task, description=f"{way[0].name} {way[3]} {format_bytes(size)}")
            results.append({"algorithm": way[0].name, "radices": way[3], "topology": way[2], "size": size,
                            "seconds": question.ask(way, size)["seconds"]})
            progress.advance(task)
    return results


def best_of_each(results: list[dict]) -> dict[tuple[str, int], dict]:
    """Of each algorithm and size the radices that are best."""
    best: dict[tuple[str, int], dict] = {}
    for r in results:
        key = r["algorithm"], r["size"]
        if key not in best or r["seconds"] < best[key]["seconds"]:
            best[key] = r
    return best


def show(results: list[dict], title: str, console: Console):
    best = best_of_each(results)
    names = list(dict.fromkeys(r["algorithm"] for r in results))
    sizes = list(dict.fromkeys(r["size"] for r in results))
    t = table("algorithm", *map(format_bytes, sizes), title=title, numbers=tuple(map(format_bytes, sizes)))
    for name in names:
        cells = []
        for size in sizes:
            r = best[name, size]
            first = r["seconds"] == min(best[n, size]["seconds"] for n in names)
            cells.append(f"{r['seconds'] * 1e6:.3g}" if r["seconds"] < 1e-3 else f"{r['seconds'] * 1e6:.0f}")
            cells[-1] += ("*" if first else "") + (f"\n{r['radices']}" if r["radices"] else "")
        t.add_row(name, *cells)
    console.print(t)
    console.print("µs, simulated; * the best; beneath the times of an algorithm by levels the radices that are best for it.",
                  highlight=False)


def plot(results: list[dict], title: str, path: Path):
    plt = pictures.pyplot()
    best = best_of_each(results)
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name in dict.fromkeys(r["algorithm"] for r in results):
        points = sorted((size, r["seconds"] * 1e6) for (n, size), r in best.items() if n == name)
        axes.plot(*zip(*points), marker="o", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="µs by the model", title=title)
    axes.set_xticks(sizes := sorted({r["size"] for r in results}), [format_bytes(s) for s in sizes], rotation=45)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def simulate(
    operation: str = typer.Argument("", help="A collective operation; not with --paper."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, max=4096, help="Number of ranks."),
    machine: str = typer.Option("this", "--machine", help="One that comes with Fanlight (`list` shows them), a file, or `this`, which "
                                                          "`fanlight bench --limits` has written."),
    nodes: int = typer.Option(0, "--nodes", min=0, max=4096, help="How many nodes the ranks are on; default: as few as hold them."),
    sizes: str = typer.Option("", "--sizes", help="Bytes of the vector or of a block: 8,64K or 8..8M (times 4 each), the default."),
    paper: str = typer.Option("", "--paper", help="A paper's own comparison on its machine: pruned-ring, intra-cell, rma-trees, spike-exchange "
                                                   "or dart-halo."),
    algorithm: str = typer.Option("", "--algorithm", help="Only this one; also with parameters: 'tree(degree=4)'."),
    root: int = typer.Option(0, "--root", min=0, help="The root of the operation, if it has one."),
    copied_once: str = typer.Option("32K", "--copied-once", help="Messages of at least this many bytes are read from the peer's memory in place."),
    own_pages: bool = typer.Option(False, "--own-pages", help="Place each rank's flags in its own memory, not all of them in one rank's."),
    timeline: Optional[Path] = typer.Option(None, "--timeline", help="Draw the best one at the first size, rank by rank: an SVG, or "
                                                                    "FILE.json for chrome://tracing or Perfetto."),
    plot_file: Optional[Path] = typer.Option(None, "--plot", help="Draw the table to this file."),
    as_json: bool = typer.Option(False, "--json", help="Print all times as JSON."),
    network: str = typer.Option("", "--network", help="The executor's own messages between the nodes, on a torus, fat-tree or dragonfly with "
                                                      "their contention, by SimGrid; also with a shape: torus:8,8,8."),
    against_measured: str = typer.Option("", "--against-measured", metavar="MPI", help="Measure here, each flat algorithm forced under this MPI "
                                         "(mpich, openmpi, impi), and compare; `this` is the machine as that run found it, and --nodes are "
                                         "hosts made of namespaces (root)."),
    rules: bool = typer.Option(False, "--rules", help="Print the selection's rules for many ranks on a node, as the model has them "
                                                      "(src/select/modelled.txt); of one OPERATION, or of all."),
    delay: str = typer.Option("", "--delay", help="With --against-measured: the delay that each host's link adds, for instance 50us."),
    rate: str = typer.Option("", "--rate", help="With --against-measured: the bandwidth of each host's link, for instance 1gbit."),
):
    """Estimate how long the algorithms of an operation would take on another machine."""
    from . import _core, cli, timelines

    console = cli.console
    if operation == "list":
        raise FanlightError("no operation 'list'", "The machines: " + ", ".join(n for n, _ in _core.machines()) + ".")
    if paper:
        from . import papers_simulated

        papers_simulated.run(paper, [ranks] if ranks else [], parse_sizes(sizes) if sizes else [], console)
        return
    if rules:
        from . import modelled_rules

        with progress_bar() as progress:
            print(modelled_rules.text([cli.check_operation(operation)] if operation else modelled_rules.OPERATIONS, progress), end="")
        return
    if (delay or rate) and not against_measured:
        raise FanlightError("--delay and --rate are of the links of --against-measured", "Add --against-measured.")
    if not operation or ranks is None:
        raise FanlightError("which operation, of how many ranks?", "For instance: fanlight simulate allreduce -n 128 --machine rome2x64")
    operation = cli.check_operation(operation)
    wanted = [0] if operation == "barrier" else parse_sizes(sizes or "8..8M")
    if root >= ranks:
        raise FanlightError(f"--root {root}: there are {ranks} ranks")
    if algorithm:
        cli.named(operation, algorithm)
    if against_measured:
        from . import measured

        if ranks < 2:
            raise FanlightError("--against-measured needs 2 ranks or more", "For instance -n 2.")
        links = [word for option, value in (("--delay", delay), ("--rate", rate)) if value for word in (option, value)]
        measured.run(operation, ranks, nodes, machine, wanted, algorithm, against_measured, links, console)
        return
    question = Question(operation, ranks, machine_named(machine), nodes, root, copied_once=parse_bytes(copied_once), own_pages=own_pages)
    title = f"{operation}, {ranks} ranks" + (f" of {nodes} nodes" if nodes > 1 else "") + f", {question.machine.name}"
    with progress_bar() as progress:
        if network:
            from . import networks

            title += f", {networks.shape(network, networks.nodes_of(question))}"
            results = networks.run(network, question, wanted, algorithm, progress)
        else:
            results = compare(question, wanted, algorithm, progress)
    if not results:
        raise FanlightError(f"no algorithm that can serve {title}")
    if as_json:
        json.dump({"operation": operation, "ranks": ranks, "nodes": nodes, "machine": question.machine.name, "results": results}, sys.stdout, indent=1)
        print()
    else:
        show(results, title, console)
    try:
        if plot_file is not None:
            plot(results, title, plot_file)
        if timeline is not None:
            r = min((r for r in results if r["size"] == wanted[0]), key=lambda r: r["seconds"])
            way = next(w for w in question.ways(algorithm) if (w[0].name, w[2]) == (r["algorithm"], r["topology"]))
            run = question.ask(way, wanted[0], spans=True)
            what = f"{operation} {way[0].name}" + (f" {way[3]}" if way[3] else "")
            name = f"{what}, {format_bytes(wanted[0])}, {ranks} ranks, {question.machine.name}: {format_seconds(run['seconds'])}"
            timelines.write(timeline, name, ranks, run["spans"])
    except OSError as e:
        raise FanlightError(f"{e.filename}: {e.strerror}", "Name a file in a folder that exists.") from e
    except ValueError as e:
        raise FanlightError(str(e)) from e
