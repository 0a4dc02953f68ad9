"""A report as pictures: time by operation and size, and which rank waits for which, as bars in the
terminal, as PNG and as one HTML file that needs nothing else."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from . import pictures
from .reports import size_class
from .tables import table
from .units import format_seconds


@dataclass(frozen=True)
class Bar:
    """Of seconds, in parts: (name, seconds)."""
    label: str
    parts: tuple[tuple[str, float], ...]
    note: str = ""

    @property
    def length(self) -> float:
        return sum(seconds for _, seconds in self.parts)


@dataclass(frozen=True)
class Chart:
    title: str
    bars: list[Bar]


COLORS = {"Fanlight": ("green", "#2a9d5c"), "MPI library": ("yellow", "#d9a400"),
          "working": ("blue", "#4a7fc1"), "waiting": ("red", "#c8503c")}
# More operations and sizes, or ranks, than anybody reads.
MOST_BARS = 64


def time_chart(report: dict) -> Chart:
    ranks = max(report["ranks"], 1)
    sums: dict[tuple, dict[str, float]] = {}
    for row in report["calls"]:
        who = "Fanlight" if row["by"] == "fanlight" else "MPI library"
        both = sums.setdefault((row["operation"], row["bytes_from"], size_class(row)), dict.fromkeys(("Fanlight", "MPI library"), 0.0))
        both[who] += row["seconds"] / ranks
    longest = sorted(sums, key=lambda key: -sum(sums[key].values()))[:MOST_BARS]
    bars = [Bar(f"{key[0]} {key[2]}", tuple(sums[key].items())) for key in sorted(longest)]
    return Chart("Time by operation and size, per rank", bars)


def _peer(peer: int) -> str:
    return f"rank {peer}" if peer >= 0 else "others"


def waits_chart(report: dict) -> Chart:
    bars = []
    for rank, row in enumerate(report.get("by_rank", [])):
        waited = row["waited"]
        most = row["for"][:1]
        note = f"mostly for {_peer(most[0]['rank'])}" if most and waited else ""
        bars.append((rank, Bar(f"rank {rank}", (("waiting", waited), ("working", max(row["seconds"] - waited, 0.0))), note)))
    # Those that wait most, and those that wait least: for these the others wait.
    if len(bars) > MOST_BARS:
        by_wait = sorted(bars, key=lambda one: one[1].parts[0][1])
        bars = sorted(by_wait[:MOST_BARS // 2] + by_wait[-MOST_BARS // 2:], key=lambda one: one[0])
    return Chart("Time in collectives by rank: waiting for others, and working", [bar for _, bar in bars])


def imbalance(report: dict) -> str:
    """What the waits come to, and who causes them."""
    rows = report.get("by_rank", [])
    waited = sum(row["waited"] for row in rows)
    if not waited:
        return ""
    caused: dict[int, float] = {}
    for row in rows:
        for peer in row["for"]:
            caused[peer["rank"]] = caused.get(peer["rank"], 0.0) + peer["seconds"]
    late, seconds = max(caused.items(), key=lambda item: item[1])
    return (f"The ranks waited {format_seconds(waited / len(rows))} each on average, "
            f"{seconds / waited:.0%} of it for {_peer(late)}")


def charts(report: dict) -> list[Chart]:
    return [chart for chart in (time_chart(report), waits_chart(report)) if any(bar.length for bar in chart.bars)]


# --- terminal -----------------------------------------------------------------------------

def show(report: dict, console: Console):
    for chart in charts(report):
        longest = max(bar.length for bar in chart.bars)
        names = [name for name, _ in chart.bars[0].parts]
        t = table("", "", "", "", title=f"{chart.title} ({', '.join(names)})", show_header=False)
        width = max(console.width - 70, 20)
        for bar in chart.bars:
            drawn = Text()
            for name, seconds in bar.parts:
                drawn.append(("█" if name in names[:1] else "░") * round(width * seconds / longest), COLORS[name][0])
            t.add_row(bar.label, format_seconds(bar.length) if bar.length else "0", drawn, bar.note)
        console.print(t)
    if said := imbalance(report):
        console.print(said, highlight=False)


# --- files --------------------------------------------------------------------------------

def write(report: dict, path: Path):
    pictures.write(path, {".png": partial(_png, report), ".html": partial(_html, report), ".htm": partial(_html, report)})


def _png(report: dict, path: Path):
    plt = pictures.pyplot(", or write .html, which needs nothing")
    drawn = charts(report)
    rows = [max(len(chart.bars), 1) for chart in drawn] or [1]
    figure = plt.figure(figsize=(9, 0.28 * sum(rows) + 1.1 * len(rows) + 0.5), layout="constrained")
    figure.suptitle(f"{report['mpi']}, {report['ranks']} ranks")
    for axes, chart in zip(figure.subplots(len(rows), 1, squeeze=False, height_ratios=rows).flat, drawn):
        labels = [bar.label for bar in chart.bars]
        begun = [0.0] * len(labels)
        for i, (name, _) in enumerate(chart.bars[0].parts):
            lengths = [bar.parts[i][1] for bar in chart.bars]
            axes.barh(labels, lengths, left=begun, label=name, color=COLORS[name][1])
            begun = [a + b for a, b in zip(begun, lengths)]
        for y, bar in enumerate(chart.bars):
            axes.annotate(bar.note, (bar.length, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize="x-small")
        axes.invert_yaxis()
        axes.set_title(chart.title, fontsize="medium")
        axes.set_xlabel("seconds")
        axes.tick_params(labelsize="small")
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=130)
    plt.close(figure)


_STYLE = ("body{font:14px sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse}"
          "td,th{padding:2px 8px;text-align:left;white-space:nowrap}td.n{text-align:right}"
          ".bar{display:inline-block;height:12px}.key{display:inline-block;width:12px;height:12px;margin:0 4px 0 12px}")


def _html(report: dict, path: Path):
    said = html.escape
    parts = [f"<!DOCTYPE html><html><head><meta charset='utf-8'><title>Fanlight: report of a run</title><style>{_STYLE}</style></head><body>",
             f"<h1>{report['ranks']} ranks, {said(report['mpi'])}</h1><p>{said(imbalance(report))}</p>"]
    for chart in charts(report):
        longest = max(bar.length for bar in chart.bars)
        keys = "".join(f"<span class='key' style='background:{COLORS[name][1]}'></span>{name}" for name, _ in chart.bars[0].parts)
        parts.append(f"<h2>{said(chart.title)}</h2><p>{keys}</p><table>")
        for bar in chart.bars:
            drawn = "".join(f"<span class='bar' title='{name}: {format_seconds(seconds)}' "
                            f"style='width:{400 * seconds / longest:.1f}px;background:{COLORS[name][1]}'></span>"
                            for name, seconds in bar.parts if seconds)
            parts.append(f"<tr><td>{said(bar.label)}</td><td class='n'>{format_seconds(bar.length) if bar.length else '0'}</td>"
                         f"<td>{drawn} {said(bar.note)}</td></tr>")
        parts.append("</table>")
    parts.append("<h2>All calls, sums over all ranks</h2><table><tr><th>operation</th><th>size</th><th>calls</th><th>time</th><th>served by</th></tr>")
    for row in sorted(report["calls"], key=lambda r: -r["seconds"]):
        who = row["algorithm"] if row["by"] == "fanlight" else f"MPI: {row['reason'] or 'not served'}"
        parts.append(f"<tr><td>{said(row['operation'])}</td><td>{size_class(row)}</td><td class='n'>{row['calls']:,}</td>"
                     f"<td class='n'>{format_seconds(row['seconds'])}</td><td>{said(who)}</td></tr>")
    parts.append("</table></body></html>\n")
    path.write_text("".join(parts), encoding="utf-8")
