"""The report of a run (the preload writes it at MPI_Finalize) as tables.

Its format is described in src/collective/report.h.
"""

from __future__ import annotations

import json
import os
import tempfile
from glob import escape as escape_pattern
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .errors import FanlightError
from .pictures import written
from .tables import table
from .units import format_bytes, format_seconds

if TYPE_CHECKING:
    from .launch import Launcher


class Report(dict):
    """As src/collective/report.h describes it; its text, and what rich prints of it, is the table of `fanlight report`."""

    def __str__(self) -> str:
        text = StringIO()
        show(self, Console(file=text, width=140))
        return text.getvalue()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _parts(self)


def load(file: Path) -> Report:
    try:
        report = json.loads(file.read_text())
    except OSError as e:
        raise FanlightError(f"{file}: {e.strerror}") from e
    except ValueError as e:
        raise FanlightError(f"{file}: {e}", "The program may have been ended while it wrote it.") from e
    wrong = FanlightError(f"{file} is no report of this version of Fanlight")
    try:
        if report.get("otherData", {}).get("fanlight_trace") == 1:
            return of_trace(report)
        if report["fanlight_report"] != 1:
            raise wrong
        str(Report(report))  # it has what is shown
        return Report(report)
    except (LookupError, TypeError, AttributeError, ValueError) as e:
        raise wrong from e


def temporary(launcher: Launcher) -> Path:
    """A file for a report that is only shown: srun's rank 0, which writes it, may be on a node with another /tmp."""
    try:
        folder = str(Path.cwd()) if launcher.is_srun else tempfile.gettempdir()
    except OSError as e:
        raise FanlightError(f"there is no folder for the report: {e.strerror}", "Name one in TMPDIR, or write the report to a file: --report-file FILE.") from e
    with written(Path(folder)):
        handle, name = tempfile.mkstemp(prefix="fanlight-report-", suffix=".json", dir=folder)
    os.close(handle)
    return Path(name)


def of_single_ranks(file: Path) -> list[Path]:
    """Where each rank wrote its own, since the ranks never agreed on one of all (src/collective/gathering.h)."""
    return sorted(f for f in file.parent.glob(f"{escape_pattern(file.name)}.rank-*") if f.suffix.removeprefix(".rank-").isdigit())


def remove_old(file: Path):
    """What an earlier run has written; a device, a pipe or a link is somebody's own."""
    with written(file):
        for old in (file, *of_single_ranks(file)):
            if old.is_file() and not old.is_symlink():
                old.unlink()


def why_none(what: str, file: Path, library: str) -> str:
    if of_single_ranks(file):
        return (f"fanlight: no {what} of all ranks: they agree on one in their second blocking collective call on MPI_COMM_WORLD, "
                f"and the program made fewer. --{'report-file' if what == 'report' else what} keeps each rank's own, as FILE.rank-0, ...")
    return (f"fanlight: no {what}: the program did not reach MPI_Finalize (or never loaded {library}, "
            f"or its rank 0 is on a node that does not share {file.parent})")


def of_trace(trace: dict) -> Report:
    """The report that the events of a trace (src/collective/trace_file.h) add up to."""
    ranks = trace["otherData"]["ranks"]
    rows: dict[tuple, dict] = {}
    last = max((event["pid"] for event in trace["traceEvents"]), default=0)  # of a rank alone, itself
    by_rank = [{"seconds": 0.0, "waits": 0, "waited": 0.0, "for": {}} for _ in range(max(ranks, last + 1))]
    for event in trace["traceEvents"]:
        if event["ph"] != "X":
            continue
        args, rank, seconds = event["args"], by_rank[event["pid"]], event["dur"] * 1e-6
        if event["cat"] == "wait":
            rank["waits"] += 1
            rank["waited"] += seconds
            peer = rank["for"].setdefault(args["for"], {"rank": args["for"], "waits": 0, "seconds": 0.0})
            peer["waits"] += 1
            peer["seconds"] += seconds
            continue
        rank["seconds"] += seconds
        # The report's classes: 0, then powers of 4.
        first = 4 ** ((args["bytes"].bit_length() - 1) // 2) if args["bytes"] else 0
        key = event["name"], first, args["by"], args.get("algorithm", ""), args.get("transport", ""), args.get("reason", "")
        row = rows.setdefault(key, {"operation": event["name"], "bytes_from": first, "bytes_to": max(4 * first - 1, 0), "by": args["by"],
                                    "algorithm": key[3], "transport": key[4], "reason": key[5], "calls": 0, "bytes": 0, "seconds": 0.0})
        row["calls"] += 1
        row["bytes"] += args["bytes"]
        row["seconds"] += seconds
    for rank in by_rank:
        rank["for"] = sorted(rank["for"].values(), key=lambda peer: -peer["seconds"])
    return Report(mpi=trace["otherData"]["mpi"], ranks=ranks, calls=list(rows.values()), by_rank=by_rank)


def size_class(row: dict) -> str:
    first, last = row["bytes_from"], row["bytes_to"]
    return "0" if last == 0 else f"{format_bytes(first)} to {format_bytes(last + 1)}"


def served_share(rows: list[dict]) -> float:
    calls = sum(r["calls"] for r in rows)
    return sum(r["calls"] for r in rows if r["by"] == "fanlight") / calls if calls else 0.0


FIRST_CALLS = "first calls on a communicator"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_calls(rows: list[dict], ranks: int) -> str:
    """What the calls took that the MPI library served before a communicator had made enough of them."""
    first = [r for r in rows if r["reason"] == FIRST_CALLS]
    if not first:
        return ""
    took = sum(r["seconds"] for r in first) / ranks
    text = (f"first calls on communicators (FANLIGHT_START_AFTER): {_count(sum(r['calls'] for r in first), 'call')}, "
            f"{format_seconds(took)} per rank in the MPI library")
    known, served = 0.0, 0.0
    for row in first:
        same = [r for r in rows if r["by"] == "fanlight" and (r["operation"], r["bytes_from"]) == (row["operation"], row["bytes_from"])]
        if calls := sum(r["calls"] for r in same):
            known += row["seconds"] / ranks
            served += row["calls"] * sum(r["seconds"] for r in same) / calls / ranks
    if known:
        part = "it" if known == took else f"{format_seconds(known)} of it"
        text += f"; at the mean time of the later calls {part} would be {format_seconds(served)}"
    return text


def _left(communicator: dict) -> str:
    reason = communicator["reason"]
    return (f"{_count(communicator['count'], 'communicator')} with {_count(communicator['ranks'], 'rank')} "
            f"({'fewer calls than FANLIGHT_START_AFTER' if reason == FIRST_CALLS else reason})")


def _who(row: dict) -> str:
    if row["by"] != "fanlight":
        return f"MPI: {row['reason'] or 'not served'}"
    transport = row.get("transport", "shared")
    return row["algorithm"] + (f" over {transport}" if transport != "shared" else "")


def rules(report: dict) -> list[str]:
    """What the guard found, as rules for the next run (FANLIGHT_RULES)."""
    # Where communicators did not agree, what the rules chose stays.
    cells: dict[tuple, dict] = {}
    for row in report.get("guard", []):
        conditions = {"ranks": row["ranks"], "nodes": row["nodes"], "oversubscribed": "yes" if row["oversubscribed"] else "no",
                      "mpi": row["mpi"], "blocking": "yes"}  # others it does not compare
        text = row["operation"] + "".join(f" {name}={value}" for name, value in conditions.items())
        cell = cells.setdefault((text, row["bytes_from"]), {"to": row["bytes_to"], "mpi": True, "ratios": [], "seen": 0})
        cell["mpi"] &= row["faster"] == "mpi"
        cell["ratios"].append(row["ratio"])
        cell["seen"] += row["communicators"]
    ranges: list[dict] = []
    for (text, first), cell in sorted(cells.items()):
        if not cell["mpi"]:
            continue
        if ranges and ranges[-1]["text"] == text and ranges[-1]["to"] == first - 1:
            ranges[-1]["to"] = cell["to"]
            ranges[-1]["ratios"] += cell["ratios"]
        else:
            ranges.append({**cell, "text": text, "first": first})
    return [r["text"] + (f" bytes={r['first']}..{r['to']}" if r["to"] is not None else "") + " -> native  # "
            + f"{' to '.join(f'{x:.2f}' for x in sorted({min(r['ratios']), max(r['ratios'])}))} times as fast" for r in ranges]


def write_rules(report: dict, file: Path) -> int:
    found = rules(report)
    head = f"# What the guard found: {report['mpi']}, {report['ranks']} ranks"
    with written(file):
        file.write_text("\n".join([head, *found]) + "\n")
    return len(found)


def _guard(rows: list[dict]) -> Table:
    t = table("operation", "size", "ranks", "by the rules", "MPI's own", "then served by", numbers=("ranks", "MPI's own"),
              title="What the guard found (FANLIGHT_GUARD)")
    for row in sorted(rows, key=lambda r: (r["operation"], r["bytes_from"], r["ranks"])):
        size = "any" if row["bytes_to"] is None else size_class(row)
        faster = row["faster"] == "mpi"
        t.add_row(row["operation"], size, str(row["ranks"]), escape(row["algorithm"]), f"{row['ratio']:.2f} times as fast",
                  "MPI" if row["applied"] else "Fanlight; a rule for the next run" if faster else "Fanlight")
    return t


def show(report: dict, console: Console):
    for part in _parts(report):
        console.print(part, highlight=False)


def _parts(report: dict) -> RenderResult:
    rows = report["calls"]
    ranks = max(report["ranks"], 1)
    numbers = ("calls", "bytes", "time", "per call", "of calls")
    t = table("operation", "size", *numbers, "served by", numbers=numbers,
              title=f"Collective calls of {ranks} ranks ({report['mpi']}); sums over all ranks")
    before = None
    for row in sorted(rows, key=lambda r: (r["operation"], r["bytes_from"], r["by"], -r["calls"])):
        same = [r for r in rows if (r["operation"], r["bytes_from"]) == (row["operation"], row["bytes_from"])]
        share = row["calls"] / max(sum(r["calls"] for r in same), 1)
        if before not in (None, row["operation"]):
            t.add_section()
        t.add_row("" if row["operation"] == before else row["operation"], size_class(row), f"{row['calls']:,}",
                  format_bytes(row["bytes"]), format_seconds(row["seconds"]),
                  format_seconds(row["seconds"] / row["calls"]) if row["calls"] else "", f"{share:.1%}",
                  escape(_who(row)))
        before = row["operation"]
    yield t
    seconds = sum(r["seconds"] for r in rows) / ranks
    whole = report.get("seconds") or 0
    yield Text(f"Fanlight served {served_share(rows):.1%} of {sum(r['calls'] for r in rows):,} calls; "
               f"collectives took {format_seconds(seconds)} per rank"
               + (f" of {format_seconds(whole)} ({seconds / whole:.1%})" if whole else ""))
    if found := report.get("guard"):
        yield _guard(found)
    if cost := first_calls(rows, ranks):
        yield Text(cost)
    if "communicators" not in report:  # of a trace
        return
    left = [c for c in report["communicators"] if not c["served"]]
    taken = sum(c["count"] for c in report["communicators"] if c["served"])
    yield Text(f"{_count(taken, 'communicator')} served" + ("; left to the MPI library: " + ", ".join(map(_left, left)) if left else ""))
