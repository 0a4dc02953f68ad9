"""A paper's comparison as a picture: the times here, and under them what the paper reports."""

from __future__ import annotations

from pathlib import Path

from . import pictures
from .units import factor_text, size_text
from .papers import LIBRARY, Comparison, Paper


def plot(record: dict, paper: Paper, labels: dict[str, str], path: Path):
    plt = pictures.pyplot()
    panels = []
    for comparison in paper.comparisons:
        for mpi in labels:
            rows = [r for r in record["times"] if (r["operation"], r["mpi"]) == (comparison.operation, mpi)]
            every = sorted({r["ranks"] for r in rows})
            if rows and not comparison.sizes:
                panels.append([(comparison, mpi, rows)])
            elif rows:
                panels.append([(comparison, mpi, [r for r in rows if r["ranks"] == n]) for n in every])
    claims = [c for c in record["claims"] if c["here"]]
    columns = max(map(len, panels))
    heights = [3 * len(panels), 0.5 * len(claims) * len(labels) + 1.2]
    figure = plt.figure(figsize=(max(4.6 * columns, 11), sum(heights) + 0.8), layout="constrained")
    figure.suptitle(f"{paper.title}\nmeasured there on {paper.machine}", fontsize="small", wrap=True)
    upper, lower = figure.subfigures(2, 1, height_ratios=heights)
    grid = upper.subplots(len(panels), columns, squeeze=False)
    for line, row in zip(grid, panels):
        for axes, panel in zip(line, row):
            _times(axes, *panel, labels)
        line[0].legend(fontsize="x-small")
        for axes in line[len(row):]:
            axes.set_axis_off()
    if claims:
        _claims(lower.subplots(), claims, labels)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _times(axes, comparison: Comparison, mpi: str, rows: list[dict], labels: dict[str, str]):
    across = "size" if comparison.sizes else "ranks"
    rows = sorted(rows, key=lambda r: r[across])
    for way in [*(w.name for w in comparison.ways), LIBRARY]:
        points = [(r[across], r["times"][way]) for r in rows if way in r["times"]]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, linewidth=1.2, label=way,
                      **({"color": "grey", "linestyle": ":"} if way == LIBRARY else {}))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [r[across] for r in rows]
    names = [size_text(t) if comparison.sizes else str(t) for t in ticks]
    axes.set_xticks(ticks, names, fontsize="x-small", rotation=45)
    where = f", {rows[0]['ranks']} ranks" if comparison.sizes else ""
    axes.set_title(f"{comparison.operation}{where}, {labels[mpi]}", fontsize="medium")
    axes.set_xlabel("bytes" if comparison.sizes else "ranks")
    axes.set_ylabel("µs")
    axes.grid(alpha=0.3)


def _claims(axes, claims: list[dict], labels: dict[str, str]):
    """A line for each: the paper's factor as a band, least to greatest here as a bar, with the mean."""
    ends = [x for c in claims for x in (*filter(None, c["factor"]), *(h[k] for h in c["here"].values()
                                                                     for k in ("least", "greatest")))]
    left, right = min(ends + [0.5]) / 1.2, max(ends + [2]) * 1.2
    for y, claim in enumerate(claims):
        least, greatest = claim["factor"]
        # A line about it: a factor that is one number has a band of no width.
        axes.fill_betweenx([y - 0.4, y + 0.4], least or left, greatest or right, facecolor="#fff3b0",
                           edgecolor="goldenrod", linewidth=1.5, label="the paper" if y == 0 else None)
        for i, mpi in enumerate(labels):
            if here := claim["here"].get(mpi):
                at = y + 0.6 * ((i + 0.5) / len(labels) - 0.5)
                axes.plot([here["least"], here["greatest"]], [at, at], color=f"C{i}", linewidth=2)
                axes.plot([here["mean"]], [at], "o", color=f"C{i}", markersize=5)
    for i, label in enumerate(labels.values()):  # also of an MPI that the first claim does not have
        axes.plot([], [], "o-", color=f"C{i}", label=f"here, {label}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:e}"[0] in "25" else "")
    axes.set_xlim(left, right)
    axes.set_ylim(len(claims) - 0.5, -0.5)
    axes.set_yticks(range(len(claims)), [f"{c['operation']}: {c['way']} against {c['than']}\n({c['where']}: "
                                         f"{factor_text(*c['factor'])})" for c in claims], fontsize="x-small")
    axes.set_xlabel("times faster")
    axes.legend(fontsize="x-small", loc="lower left", bbox_to_anchor=(0, 1), ncols=1 + len(labels))
    axes.grid(alpha=0.3, axis="x")
