"""The map of what `fanlight tune` measured: operation x size x ranks, who wins and by how much; as a table, SVG and PNG."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from . import pictures, tune_rules
from . import tune_statistics as stats
from .tables import table
from .tune_rules import Measured
from .units import format_bytes


@dataclass(frozen=True)
class Place:
    """One cell of the map."""
    choice: str
    speedup: float  # the MPI library's time over the choice's; 1 where its own was kept


def places(core, measured: Measured) -> dict[int, dict[str, dict[int, Place]]]:
    """By ranks, operation, size."""
    out: dict[int, dict[str, dict[int, Place]]] = {}
    for r in tune_rules.decide(core, measured):
        row = out.setdefault(r.ranks, {}).setdefault(r.operation, {})
        for size in r.sizes:
            choice, of = r.choice, stats.ratios(measured.cells[r.ranks, r.operation, size])
            if choice == stats.UNDECIDED:
                choice = tune_rules.by_rule(core, measured, r.ranks, r.operation, size)
            row[size] = Place(choice if choice in of else stats.NATIVE, 1 / of[choice].ratio if choice in of else 1.0)
    return out


def agreement(core, before: Measured, now: Measured, anew: set | None = None) -> tuple[int, int]:
    """In how many cells both have the same choice, and how many both have; of one kind of machine, and of those measured anew."""
    if before.fingerprint != now.fingerprint:
        return 0, 0
    here, there = ({(n, o, size): place.choice for n, rows in places(core, m).items() for o, row in rows.items() for size, place in row.items()}
                   for m in (before, now))
    common = {key for key in here.keys() & there.keys() if anew is None or key in anew}
    return sum(here[key] == there[key] for key in common), len(common)


def _columns(rows: dict[str, dict[int, Place]]) -> list[int]:
    return sorted({size for operation, row in rows.items() if not operation.endswith("barrier") for size in row}) or [8]


def cells(rows: dict[str, dict[int, Place]], columns: list[int]) -> Iterator[tuple[int, int, Place, list[str]]]:
    """Row, column, and what stands there, also in words.  A barrier has no size: it stands in the first column."""
    for j, (operation, row) in enumerate(rows.items()):
        at = {columns[0]: next(iter(row.values()))} if operation.endswith("barrier") else row
        for i, place in ((i, at[column]) for i, column in enumerate(columns) if column in at):
            yield j, i, place, ["MPI library"] if place.choice == stats.NATIVE else [f"{place.speedup:.2f}", place.choice]


def _title(measured: Measured, ranks: int) -> str:
    run = measured.runs[ranks]
    return (f"{measured.fingerprint['mpi']}, {ranks} ranks" + (f" on {run['nodes']} nodes" if run["nodes"] > 1 else "")
            + (", more than cores" if run["oversubscribed"] else "") + f", {measured.date[:10]}")


def show(core, measured: Measured, path: Path, console: Console):
    console.print(str(path), markup=False, highlight=False, soft_wrap=True)
    console.print(", ".join(measured.fingerprint[k] for k in ("processor", "domains", "kernel", "binding")), markup=False, highlight=False)
    for ranks, rows in places(core, measured).items():
        columns = _columns(rows)
        t = table("operation", *map(format_bytes, columns), title=f"{_title(measured, ranks)}: how many times as fast as the MPI library's own, by what")
        shown = [[Text("") for _ in columns] for _ in rows]
        for j, i, place, words in cells(rows, columns):
            shown[j][i] = Text("MPI", "dim") if place.choice == stats.NATIVE else Text(" ".join(words), "green")
        for operation, row in zip(rows, shown):
            t.add_row(operation, *row)
        console.print(t)
    wrong = [(key, a, why) for key, whys in measured.excluded.items() for a, why in whys.items() if why.startswith("wrong")]
    for (ranks, operation, size), algorithm, why in wrong:
        console.print(f"excluded: {operation} {format_bytes(size)} on {ranks} ranks: {algorithm}: {why}", markup=False, highlight=False)


# --- files --------------------------------------------------------------------------------


def write(core, measured: Measured, path: Path):
    pictures.write(path, {".svg": partial(_svg, core, measured), ".png": partial(_png, core, measured)})


def _color(place: Place) -> tuple[float, float, float]:
    """Gray where the MPI library's own was kept; white where nothing is gained, green from twice as fast on to four times."""
    if place.choice == stats.NATIVE:
        return (0.93,) * 3
    share = min(max(place.speedup - 1, 0) / 3, 1) ** 0.5
    return tuple(1 - share * (1 - of) for of in (0.16, 0.62, 0.36))


_WIDTH, _HEIGHT, _NAMES, _TOP = 118, 34, 170, 46


def _svg(core, measured: Measured, path: Path):
    said, parts, y, width = html.escape, [], 10, 0
    for ranks, rows in places(core, measured).items():
        columns = _columns(rows)
        width = max(width, _NAMES + _WIDTH * len(columns) + 20)
        parts.append(f'<text x="10" y="{y + 16}" font-size="14" font-weight="bold">{said(_title(measured, ranks))}</text>')
        for i, column in enumerate(columns):
            parts.append(f'<text x="{_NAMES + _WIDTH * (i + 0.5)}" y="{y + 38}" text-anchor="middle">{format_bytes(column)}</text>')
        for j, operation in enumerate(rows):
            parts.append(f'<text x="{_NAMES - 8}" y="{y + _TOP + _HEIGHT * j + 21}" text-anchor="end">{said(operation)}</text>')
        for j, i, place, lines in cells(rows, columns):
            x, top = _NAMES + _WIDTH * i, y + _TOP + _HEIGHT * j
            r, g, b = (round(255 * c) for c in _color(place))
            parts.append(f'<rect x="{x}" y="{top}" width="{_WIDTH - 2}" height="{_HEIGHT - 2}" fill="rgb({r},{g},{b})"/>')
            for k, line in enumerate(lines):
                parts.append(f'<text x="{x + _WIDTH / 2 - 1}" y="{top + 13 + 13 * k + (7 if len(lines) == 1 else 0)}" font-size="10" '
                             f'text-anchor="middle">{said(line[:22])}</text>')
        y += _TOP + _HEIGHT * len(rows) + 20
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" font-family="sans-serif" font-size="12">'
                    '<rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n", encoding="utf-8")


def _png(core, measured: Measured, path: Path):
    plt = pictures.pyplot(", or write .svg, which needs nothing")
    maps = places(core, measured)
    heights = [len(rows) for rows in maps.values()]
    columns_most = max(len(_columns(rows)) for rows in maps.values())
    figure, axes = plt.subplots(len(maps), 1, squeeze=False, height_ratios=heights, layout="constrained",
                                figsize=(2.5 + 1.3 * columns_most, 0.45 * sum(heights) + 0.9 * len(maps)))
    for axis, (ranks, rows) in zip(axes.flat, maps.items()):
        columns, names = _columns(rows), list(rows)
        image = [[(1.0, 1.0, 1.0)] * len(columns) for _ in names]
        for j, i, place, words in cells(rows, columns):
            image[j][i] = _color(place)
            axis.text(i, j, "\n".join(word[:22] for word in words), ha="center", va="center", fontsize=6)
        axis.imshow(image, aspect="auto")
        axis.set_xticks(range(len(columns)), [format_bytes(c) for c in columns])
        axis.set_yticks(range(len(names)), names)
        axis.set_title(_title(measured, ranks), fontsize="medium")
    figure.savefig(path, dpi=130)
    plt.close(figure)
