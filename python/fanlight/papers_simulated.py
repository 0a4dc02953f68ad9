"""`fanlight simulate --paper`: a paper's comparison on the model of its machine, at its own numbers of ranks."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from .bench_papers import _times_table, claims_of, factor_text, _range
from .errors import FanlightError
from .papers import PAPERS, Way
from .simulation import Question, machine_named
from .tables import table

# The machines of the other papers are not known well enough for a file, or their way is RMA, which is not modelled.
SCALES = {"pruned-ring": ("hornet", (9, 16, 17, 33, 64, 129, 256)), "intra-cell": ("cell-16", (4, 8, 16))}


def run(name: str, ranks: int | None, sizes: list[int], console: Console) -> dict:
    if name not in SCALES:
        raise FanlightError(f"--paper {name}: there is no machine for it", "There are " + ", ".join(SCALES) + ".")
    paper, (machine, numbers) = PAPERS[name], SCALES[name]
    chosen = machine_named(machine)
    rows = []
    asked = [(c, n) for c in paper.comparisons for n in ([ranks] if ranks else numbers)]
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(asked))
        for comparison, n in asked:
            progress.update(task, description=f"{comparison.operation}, {n} ranks")
            # What the paper's blade has in main memory and what MPI copies is read where it is.
            question = Question(comparison.operation, n, chosen, copied_once=0)
            for size in (sizes or comparison.sizes) if comparison.sizes else [0]:
                times = {w.name: question.ask(way, size)["seconds"] * 1e6 for w in ways(comparison)
                         for way in question.ways(w.algorithm)}
                rows.append({"mpi": "model", "operation": comparison.operation, "ranks": n, "size": size, "times": times})
            progress.advance(task)
    record = {"paper": name, "machine": machine, "times": rows, "claims": claims_of(paper, rows, ["model"])}
    show(paper, record, console)
    return record


def ways(comparison) -> list[Way]:
    """Over shared memory: between nodes the model has messages anyway."""
    return [w for w in comparison.ways if w.transport == "shared"]


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
