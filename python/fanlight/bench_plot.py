"""Time by size for every operation, and how many times faster, as a picture."""

from __future__ import annotations

import math
from pathlib import Path

from . import pictures
from .bench_table import Row
from .units import format_bytes


def plot(rows: list[Row], order: list[str], shipped: list[str], labels: dict[str, str], path: Path) -> list[Path]:
    """One picture per number of ranks: `path`, or with the number in its name if there are several."""
    every = sorted({r.ranks for r in rows})
    written = []
    for ranks in every:
        target = path if len(every) == 1 else path.with_name(f"{path.stem}-{ranks}{path.suffix or '.png'}")
        _plot_one([r for r in rows if r.ranks == ranks], ranks, order, shipped, labels, target)
        written.append(target)
    return written


def _name(row: Row) -> str:
    return row.operation + (f" ({row.mode})" if row.mode != "loop" else "")


def _plot_one(rows: list[Row], ranks: int, order: list[str], shipped: list[str], labels: dict[str, str], path: Path):
    plt = pictures.pyplot()
    names = list(dict.fromkeys(map(_name, rows)))
    sized = [n for n in names if any(r.size for r in rows if _name(r) == n)]
    measured = any(r.fanlight for r in rows)
    columns = min(4, max(1, len(sized)))
    panel_rows = math.ceil(len(sized) / columns)
    heat_height = 0.35 * len(names) + 1.2 if measured else 0
    figure = plt.figure(figsize=(4.2 * columns, 3 * panel_rows + heat_height + 0.6), layout="constrained")
    figure.suptitle(f"{ranks} ranks")
    if measured and panel_rows:
        upper, lower = figure.subfigures(2, 1, height_ratios=[3 * panel_rows, heat_height])
    else:
        upper = lower = figure
    if panel_rows:
        panels = upper.subplots(panel_rows, columns, squeeze=False)
        for axes, name in zip(panels.flat, sized):
            _panel(axes, name, [r for r in rows if _name(r) == name], order, shipped, labels)
        for axes in list(panels.flat)[len(sized):]:
            axes.set_axis_off()
        panels.flat[0].legend(fontsize="small")
    if measured:
        _heatmap(lower, rows, names, order)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _panel(axes, name: str, rows: list[Row], order: list[str], shipped: list[str], labels: dict[str, str]):
    rows = sorted(rows, key=lambda r: r.size)
    for key in order + shipped:
        points = [(r.size, r.native[key]) for r in rows if key in r.native]
        if points:
            axes.plot(*zip(*points), marker=".", linewidth=1, linestyle=":" if key in shipped else "-",
                      label=labels[key])
    points = [(r.size, r.fanlight[k]) for r in rows if (k := r.reference(order))]
    if points:
        axes.plot(*zip(*points), marker="o", markersize=4, linewidth=2, color="black", label="Fanlight")
    points = [(r.size, r.limit) for r in rows if r.limit]
    if points:
        axes.plot(*zip(*points), linestyle="--", linewidth=1, color="grey", label="limit")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(name, fontsize="medium")
    axes.set_xlabel("bytes")
    axes.set_ylabel("µs")
    ticks = [r.size for r in rows][:: max(1, len(rows) // 5)]
    axes.set_xticks(ticks, [format_bytes(t) for t in ticks])
    axes.grid(alpha=0.3)


def _heatmap(figure, rows: list[Row], names: list[str], order: list[str]):
    sizes = sorted({r.size for r in rows if r.size}) or [0]
    grid = [[math.nan] * len(sizes) for _ in names]
    for r in rows:
        if ratio := r.ratio_to_best(order):
            at = names.index(_name(r))
            for column in [sizes.index(r.size)] if r.size in sizes else range(len(sizes)):
                grid[at][column] = ratio
    axes = figure.subplots()
    logs = [[math.log2(x) if not math.isnan(x) else x for x in line] for line in grid]
    axes.imshow(logs, cmap="RdYlGn", vmin=-2, vmax=2, aspect="auto")
    for y, line in enumerate(grid):
        for x, value in enumerate(line):
            if not math.isnan(value):
                axes.text(x, y, f"{value:.2f}" if value < 10 else f"{value:.0f}", ha="center", va="center",
                          fontsize="small")
    axes.set_xticks(range(len(sizes)), [format_bytes(s) if s else "" for s in sizes])
    axes.set_yticks(range(len(names)), names)
    axes.set_title("the best of the MPIs divided by Fanlight, in the same run", fontsize="medium")
