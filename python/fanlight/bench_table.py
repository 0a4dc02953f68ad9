"""What the runs of all MPIs say together, as rows, and as tables for the terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rich.console import Console

from .bench_limits import Limits
from .tables import table
from .units import format_bytes

# The classes over which geometric means are taken: name, smallest and largest size.
CLASSES = (("up to 1 KiB", 0, 1024), ("2 KiB to 32 KiB", 1025, 65535), ("64 KiB and more", 65536, 1 << 62),
           ("all", 0, 1 << 62))


@dataclass
class Row:
    operation: str
    size: int
    mode: str
    ranks: int
    native: dict[str, float] = field(default_factory=dict)  # contender's key -> median, µs
    fanlight: dict[str, float] = field(default_factory=dict)
    limit: float | None = None

    def ratio(self, key: str) -> float | None:
        """How many times faster Fanlight is than this MPI, in the same run."""
        n, f = self.native.get(key), self.fanlight.get(key)
        return n / f if n and f else None

    def reference(self, order: list[str]) -> str | None:
        return next((k for k in order if k in self.fanlight), None)

    def ratio_to_best(self, order: list[str]) -> float | None:
        """The least of the ratios: times of different runs are not compared, since the machine changes between them."""
        return min((r for k in order if (r := self.ratio(k))), default=None)

    def of_limit(self, order: list[str]) -> float | None:
        reference = self.reference(order)
        return self.fanlight[reference] / self.limit if reference and self.limit else None


def rows_of(results: list[dict], limits: dict[int, Limits], cores: int) -> list[Row]:
    rows: dict[tuple, Row] = {}
    for r in results:
        key = (r["ranks"], r["operation"], r["mode"], r["size"])
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row(r["operation"], r["size"], r["mode"], r["ranks"])
            if r["ranks"] in limits:
                row.limit = limits[r["ranks"]].least(r["operation"], r["size"], r["ranks"], cores, r["mode"])
        row.native[r["mpi"]] = r["native"]["median"]
        if "fanlight" in r:
            row.fanlight[r["mpi"]] = r["fanlight"]["median"]
    return list(rows.values())


def geometric_mean(values: list[float | None]) -> float | None:
    known = [v for v in values if v]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def _in_class(row: Row, smallest: int, largest: int) -> bool:
    return smallest <= row.size <= largest


def summary(rows: list[Row], order: list[str], shipped: list[str]) -> list[dict]:
    """Geometric means of the ratios, per number of ranks and class of sizes."""
    means = []
    for ranks in sorted({r.ranks for r in rows}):
        for name, smallest, largest in CLASSES:
            chosen = [r for r in rows if r.ranks == ranks and _in_class(r, smallest, largest)]
            if not chosen:
                continue
            means.append({
                "ranks": ranks, "sizes": name,
                "ratio": {k: geometric_mean([r.ratio(k) for r in chosen]) for k in order + shipped},
                "ratio_to_best": geometric_mean([r.ratio_to_best(order) for r in chosen]),
            })
    return means


# ---- for the terminal ---------------------------------------------------------------------------


def _time(us: float | None) -> str:
    if us is None:
        return ""
    return f"{us:.2f}" if us < 100 else f"{us:.0f}"


def _ratio(x: float | None) -> str:
    if x is None:
        return ""
    text = f"{x:.0f}" if x >= 10 else f"{x:.2f}" if x >= 0.1 else f"{x:.3f}"
    return f"[bold green]{text}[/]" if x >= 1.1 else f"[bold red]{text}[/]" if x < 0.95 else text


def _size(row: Row) -> str:
    return format_bytes(row.size) if row.size else ""


def print_results(console: Console, rows: list[Row], order: list[str], shipped: list[str], labels: dict[str, str]):
    measured = any(r.fanlight for r in rows)
    for ranks in sorted({r.ranks for r in rows}):
        natives = [labels[k] for k in order + shipped]
        columns = ["operation", "size", *natives]
        if measured:
            columns += ["Fanlight", *(f"× {n}" for n in natives), "× best"]
        columns += ["limit", "of limit"] if measured else ["limit"]
        t = table(*columns, title=f"{ranks} ranks: medians in µs", numbers=tuple(columns[1:]))
        previous = None
        for row in (r for r in rows if r.ranks == ranks):
            name = row.operation + (f" ({row.mode})" if row.mode != "loop" else "")
            if previous not in (None, name):
                t.add_section()
            cells = [name if name != previous else "", _size(row),
                     *(_time(row.native.get(k)) for k in order + shipped)]
            if measured:
                reference = row.reference(order)
                of_limit = row.of_limit(order)
                cells += [_time(row.fanlight[reference] if reference else None),
                          *(_ratio(row.ratio(k)) for k in order + shipped), _ratio(row.ratio_to_best(order)),
                          _time(row.limit), f"{of_limit:.1f}" if of_limit else ""]
            else:
                cells.append(_time(row.limit))
            t.add_row(*cells)
            previous = name
        console.print(t)
    if measured:
        console.print("[dim]Fanlight: under the first of these MPIs. × an MPI: its median divided by Fanlight's, "
                      "in the same run. × best: the least of these\n(each MPI with its own setting). "
                      "limit: what cache lines, memcpy and context switches alone would take.[/]\n")
        _print_summary(console, rows, order, shipped, labels)


def warn_of_others(console: Console, results: list[dict], cores: int):
    """With a core for each rank, one that is often taken off it shares it with another program."""
    alone = [r for r in results if r["ranks"] <= cores]
    disturbed = [r for r in alone if r["interruptions"] > r["blocks"]]
    if len(disturbed) * 10 > len(alone):
        console.print(f"[yellow]Other programs were at work: ranks were taken off their cores again and again in "
                      f"{len(disturbed)} of {len(alone)} measurements. Do not trust these figures.[/]")


def _print_summary(console: Console, rows: list[Row], order: list[str], shipped: list[str], labels: dict[str, str]):
    columns = ["ranks", "sizes", *(f"× {labels[k]}" for k in order + shipped), "× best"]
    t = table(*columns, title="Geometric means over the operations", numbers=tuple(columns[2:]))
    previous = None
    for mean in summary(rows, order, shipped):
        if previous not in (None, mean["ranks"]):
            t.add_section()
        t.add_row(str(mean["ranks"]) if mean["ranks"] != previous else "", mean["sizes"],
                  *(_ratio(mean["ratio"][k]) for k in order + shipped), _ratio(mean["ratio_to_best"]))
        previous = mean["ranks"]
    console.print(t)


_LATENCIES = (
    ("round_trip", "a cache line there and back"),
    ("exchange", "an exchange: both write, both wait"),
    ("context_switch", "a switch between two processes on one core"),
)
_MOVES = (("copy", "memcpy"), ("copy_both", "both at once"), ("shared_copy", "what the other just wrote"),
          ("add_both", "adding, both"), ("single_copy", "process_vm_readv"), ("single_copy_both", "both at once"))


def print_limits(console: Console, limits: Limits, ranks: int):
    if sizes := limits.sizes("link_one_way"):
        names = ("one way", "its sender is busy", "each of many")
        t = table("bytes", *names, title=f"Messages between two hosts of {ranks} ranks, µs", numbers=("bytes", *names))
        for size in sizes:
            t.add_row(format_bytes(size), *(f"{limits.times[name, size]:.4g}" for name in ("link_one_way", "link_busy", "link_stream")))
        console.print(t)
        return
    t = table("limit", "µs", title=f"Physical limits between two of {ranks} ranks", numbers=("µs",))
    for name, words in _LATENCIES:
        t.add_row(words, f"{time:.3f}" if (time := limits.latency(name)) else "not measured")
    console.print(t)
    shown = [(name, words) for name, words in _MOVES if limits.sizes(name)]
    if shown:
        t = table("bytes", *(words for _, words in shown), title="GB/s of one process, by size",
                  numbers=("bytes", *(words for _, words in shown)))
        for size in limits.sizes(shown[0][0]):
            t.add_row(format_bytes(size), *(f"{1e-3 * size / limits.times[name, size]:.1f}" for name, _ in shown))
        console.print(t)
    if limits.refused:
        console.print(f"process_vm_readv is refused: {limits.refused}", markup=False, highlight=False)


def print_persistent(console: Console, lines: list[dict], by_fanlight: bool, labels: dict[str, str]):
    by = "Fanlight" if by_fanlight else "the MPI libraries"
    t = table("MPI", "ranks", "size", "blocking", "persistent", "ratio",
              title=f"A persistent allreduce by {by}: medians in µs",
              numbers=("ranks", "size", "blocking", "persistent", "ratio"))
    for line in lines:
        t.add_row(labels[line["mpi"]], str(line["ranks"]), format_bytes(line["size"]),
                  _time(line["blocking"]["median"]), _time(line["persistent"]["median"]),
                  f"{line['ratio']['median']:.2f}")
    console.print(t)
    console.print("[dim]ratio: the median of persistent / blocking over pairs of blocks of calls.[/]\n")


_ASKED = {"accumulate": "MPI_Accumulate of 4 MiB to the rank that waits", "fetch_and_op": "MPI_Fetch_and_op on it",
          "vector": "MPI_Recv of its 4 MiB vector"}


def print_progress(console: Console, lines: list[dict], labels: dict[str, str]):
    t = table("MPI", "ranks", "what is asked of a rank in a barrier", "after ms", "MPI alone", "Fanlight", "ratio",
              title="The MPI library's progress while a rank waits: medians in µs",
              numbers=("ranks", "after ms", "MPI alone", "Fanlight", "ratio"))
    for line in lines:
        t.add_row(labels[line["mpi"]], str(line["ranks"]), _ASKED[line["case"]], f"{line['after'] / 1000:g}",
                  _time(line["native"]["median"]), _time(line["fanlight"]["median"]), f"{line['ratio']:.2f}")
    console.print(t)
    console.print("[dim]after: how long it has waited already. ratio: Fanlight / MPI alone; 1.3 is what Fanlight "
                  "promises.[/]\n")


def print_overlap(console: Console, lines: list[dict], labels: dict[str, str]):
    t = table("MPI", "ranks", "bytes", "by", "alone", "computation", "together", "hidden",
              title="A non-blocking allreduce behind a computation that calls MPI_Test: medians in µs",
              numbers=("ranks", "bytes", "alone", "computation", "together", "hidden"))
    for line in lines:
        for by, side in (("the MPI alone", line["native"]), ("Fanlight", line["fanlight"])):
            t.add_row(labels[line["mpi"]], str(line["ranks"]), format_bytes(line["size"]), by,
                      *(_time(side[what]["median"]) for what in ("alone", "computation", "together")),
                      f"{100 * side['hidden']['median']:.0f} %")
    console.print(t)
    console.print("[dim]hidden: (alone + computation - together) / the shorter of both.[/]\n")


def print_passthrough(console: Console, passed: list[dict], labels: dict[str, str]):
    t = table("MPI", "call on MPI_COMM_SELF", "native ns", "preloaded ns", "difference",
              title="What the preload costs on a call that it passes on",
              numbers=("native ns", "preloaded ns", "difference"))
    for line in passed:
        t.add_row(labels[line["mpi"]], line["operation"], f"{1e3 * line['native']['median']:.1f}",
                  f"{1e3 * line['fanlight']['median']:.1f}", f"{line['nanoseconds']:+.1f}")
    console.print(t)


def print_guard(console: Console, guarded: list[dict], labels: dict[str, str]):
    t = table("MPI", "ranks", "call of 8 bytes", "by", "with the guard ns", "forced ns", "difference",
              title="What the guard costs on a call once it has decided", numbers=("ranks", "with the guard ns", "forced ns", "difference"))
    for line in guarded:
        t.add_row(labels[line["mpi"]], str(line["ranks"]), line["operation"], line["algorithm"], f"{1e3 * line['guarded']['median']:.1f}",
                  f"{1e3 * line['forced']['median']:.1f}", f"{line['nanoseconds']:+.1f}")
    console.print(t)
