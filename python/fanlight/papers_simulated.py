"""`fanlight simulate --paper`, `fanlight bench --paper X --simulated`: a paper's comparison on the model of its machine, at its
own numbers of ranks."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from . import halo_simulated
from .bench_papers import _range, _times_table, claims_of
from .errors import FanlightError
from .papers import MIB, PAPERS, Way
from .simulation import Question, machine_named
from .tables import progress_bar, table
from .units import factor_text


@dataclass(frozen=True)
class Scale:
    """The paper's machine, its numbers of ranks, what moves the data there, and sizes that are not measured here."""

    machine: str
    ranks: tuple[int, ...]
    # Over shared memory: between nodes the model has messages anyway.
    transports: tuple[str, ...] = ("shared",)
    further_sizes: tuple[int, ...] = ()


SCALES = {"pruned-ring": Scale("hornet", (9, 16, 17, 33, 64, 129, 256)),
          "intra-cell": Scale("cell-16", (4, 8, 16)),
          "rma-trees": Scale("cloud4", (2, 4, 8, 16, 32, 64), ("rma-lock",), (32 * MIB,)),
          "spike-exchange": Scale("bl460c", (2, 4, 8, 16, 32), ("rma-fence", "message"))}


def run(name: str, ranks: list[int], sizes: list[int], console: Console) -> dict:
    """Empty `ranks` and `sizes` stand for the paper's."""
    if name == halo_simulated.NAME:
        if ranks or sizes:
            raise FanlightError(f"--paper {name} has its own numbers of ranks and cells", "Leave -n and --sizes out.")
        return halo_simulated.run(console)
    if name not in SCALES:
        raise FanlightError(f"--paper {name}: unknown", "There are " + ", ".join([*SCALES, halo_simulated.NAME]) + ".")
    paper, scale = PAPERS[name], SCALES[name]
    chosen = machine_named(scale.machine)
    rows = []
    asked = [(c, n) for c in paper.comparisons for n in ranks or scale.ranks]
    with progress_bar() as progress:
        task = progress.add_task("", total=len(asked))
        for comparison, n in asked:
            progress.update(task, description=f"{comparison.operation}, {n} ranks")
            for size in (sizes or comparison.sizes + scale.further_sizes) if comparison.sizes else [0]:
                times = {w.name: seconds * 1e6 for w in ways(comparison, scale) for seconds in asked_of(w, comparison, n, chosen, size)}
                rows.append({"mpi": "model", "operation": comparison.operation, "ranks": n, "size": size, "times": times})
            progress.advance(task)
    record = {"paper": name, "machine": scale.machine, "times": rows, "claims": claims_of(paper, rows, ["model"])}
    show(paper, record, console)
    return record


def ways(comparison, scale: Scale) -> list[Way]:
    return [w for w in comparison.ways if w.transport in scale.transports]


def asked_of(way: Way, comparison, ranks: int, machine, size: int):
    """Seconds; nothing where the algorithm is not for so many ranks."""
    # What the paper's blade has in main memory and what MPI copies is read where it is.
    question = Question(comparison.operation, ranks, machine, copied_once=0, transport=way.transport)
    return [question.ask(w, size)["seconds"] for w in question.ways(way.algorithm)]


def show(paper, record: dict, console: Console):
    console.print(f"{paper.title}\n[dim]Simulated, nothing is measured: machine {record['machine']}[/]", highlight=False)
    for comparison in paper.comparisons:
        rows = [r for r in record["times"] if r["operation"] == comparison.operation]
        console.print(_times_table(comparison, rows, "simulated"))
    t = table("section", "the paper reports", "way", "factor there", "simulated", title="What the paper reports, and how many times faster it is by the model")
    for line in record["claims"]:
        if here := line["here"].get("model"):
            t.add_row(line["where"], line["says"], f"{line['way']} / {line['than']}", factor_text(*line["factor"]), _range(here))
    console.print(t)
