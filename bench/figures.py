"""Draws README's picture of speedups, fills its tables, and lists where Fanlight is slower, from bench/results.

    python bench/figures.py           # writes docs/images/speedups.svg, README.md and docs/measurements.md
    python bench/figures.py --check   # says whether they are up to date

How many times faster Fanlight is: an MPI library's median divided by Fanlight's, measured in turn in one run.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/images/speedups.svg"
README = ROOT / "README.md"
SLOWER = ROOT / "docs/measurements.md"
MPIS = {"mpich": "MPICH 5.0.2", "openmpi": "Open MPI 5.0.11", "impi": "Intel MPI 2021.18"}
COLORS = {"mpich": "#2f6db3", "openmpi": "#d9822b", "impi": "#5a9a51"}
TWO, APART = "2026-11-27-epyc-2-cores-2-ranks", "2026-11-27-epyc-2-cores-no-shared-cache"
MORE = "2026-11-28-epyc-2-cores-4-and-8-ranks"
XEON = "2026-11-27-xeon-16-cores"
KIB, MIB = 1 << 10, 1 << 20

# What it is called, the file, the operation, the bytes, the ranks.
CALLS = [
    ("allreduce 8 B, 2 ranks", TWO, "allreduce", 8, 2),
    ("allreduce 64 KiB, 2 ranks", TWO, "allreduce", 64 * KIB, 2),
    ("allreduce 4 MiB, 2 ranks", TWO, "allreduce", 4 * MIB, 2),
    ("bcast 64 KiB, 2 ranks", TWO, "bcast", 64 * KIB, 2),
    ("bcast 64 KiB, 2 ranks that share no cache", APART, "bcast", 64 * KIB, 2),
    ("allgather 4 MiB, 2 ranks", TWO, "allgather", 4 * MIB, 2),
    ("alltoallv 1 KiB, 2 ranks", TWO, "alltoallv", KIB, 2),
    ("barrier, 4 ranks on 2 cores", MORE, "barrier", 0, 4),
    ("allreduce 64 KiB, 8 ranks on 2 cores", MORE, "allreduce", 64 * KIB, 8),
    ("allreduce 8 B, 16 ranks on 16 cores", XEON, "allreduce", 8, 16),
    ("allgather 64 KiB, 16 ranks on 16 cores", XEON, "allgather", 64 * KIB, 16),
    ("alltoall 1 KiB, 16 ranks on 16 cores", XEON, "alltoall", KIB, 16),
]
# Geometric means over everything that a file has: bcast, reduce, allreduce and allgather, of 8 B to 4 MiB.
MEANS = [
    ("2 simulated hosts of 2 ranks, mean", "2026-11-27-epyc-2-hosts-of-2-ranks"),
    ("4 simulated hosts of 2 ranks, mean", "2026-11-27-epyc-4-hosts-of-2-ranks"),
    ("3 simulated hosts of 1, 2, 3 ranks, mean", "2026-11-27-epyc-hosts-of-1-2-3-ranks"),
]
# The best MPI against Fanlight, over all operations.
BEST = [("EPYC, 2 ranks, all caches shared", TWO, 2), ("EPYC, 2 ranks, no cache shared", APART, 2),
        ("EPYC, 4 ranks on 2 cores", MORE, 4), ("EPYC, 8 ranks on 2 cores", MORE, 8),
        ("Intel Xeon, 2 cores, 2 ranks", "2026-11-20-2-cores-2-ranks", 2),
        *((f"Intel Xeon, 16 cores, {ranks} ranks", XEON, ranks) for ranks in (2, 4, 8, 16))]


def results(file: str) -> list[dict]:
    return json.loads((ROOT / f"bench/results/{file}.json").read_text())["results"]


def ratio(result: dict) -> float:
    return result["native"]["median"] / result["fanlight"]["median"]


def mean(values: list[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def rows() -> list[tuple[str, dict[str, float]]]:
    found = []
    for name, file, operation, size, ranks in CALLS:
        of = {r["mpi"]: ratio(r) for r in results(file) if (r["operation"], r["size"], r["ranks"]) == (operation, size, ranks)}
        found.append((name, {mpi: of[mpi] for mpi in MPIS}))
    for name, file in MEANS:
        of = {mpi: mean([ratio(r) for r in results(file) if r["mpi"] == mpi]) for mpi in MPIS}
        found.append((name, {mpi: value for mpi, value in of.items() if value}))
    return found


def operations(file: str, ranks: int) -> int:
    return len({r["operation"] for r in results(file) if r["ranks"] == ranks})


def best(file: str, ranks: int, least: int, most: float) -> float:
    """The least of the MPIs' ratios for each call, and of these the mean."""
    calls: dict[tuple, list[float]] = {}
    for r in results(file):
        if r["mpi"] in MPIS and r["ranks"] == ranks and least <= r["size"] <= most:
            calls.setdefault((r["operation"], r["size"], r["mode"]), []).append(ratio(r))
    return mean([min(of) for of in calls.values()])


def compared() -> list[tuple[str, dict]]:
    """Every call of the files with all operations and of those between hosts, and where it ran."""
    places = {TWO: "{} ranks", APART: "{} ranks that share no cache", MORE: "{} ranks on 2 cores", XEON: "{} ranks on 16 cores",
              **{file: name.partition(", mean")[0] for name, file in MEANS}}
    return [(place.format(r["ranks"]), r) for file, place in places.items() for r in results(file) if r["mpi"] in MPIS]


def is_slower(r: dict) -> bool:
    return ratio(r) < 1 / 1.05


def how_often() -> str:
    """For README: of how many calls, and which most often."""
    of = [r for _, r in compared()]
    worse = [r for r in of if is_slower(r)]
    on_16 = sum(place.endswith("on 16 cores") for place, r in compared() if is_slower(r))
    long = sum(r["size"] >= 16 * KIB for r in worse)
    return (f"Fanlight takes more than 5 % longer than the MPI library in {len(worse)} of {len(of):,} comparisons ({100 * len(worse) / len(of):.0f} %): "
            f"{on_16} of them on the 16-core Xeon, {long} with messages of 16 KiB or more. [All of them](docs/measurements.md).\n")


def slower() -> str:
    """Every call that takes more than 1.05 times as long as the MPI library, by operation, place and MPI."""
    found: dict[tuple, list[dict]] = {}
    for place, r in compared():
        if is_slower(r):
            found.setdefault((place, r["mpi"], r["operation"]), []).append(r)
    lines: dict[str, dict[str, list[str]]] = {}
    for (place, mpi, operation), of in found.items():
        sizes = " to ".join(dict.fromkeys(size(f(r["size"] for r in of)) for f in (min, max)))
        lines.setdefault(place, {}).setdefault(MPIS[mpi].rpartition(" ")[0], []).append(f"{operation} of {sizes} ({1 / min(map(ratio, of)):.1f})")
    return """# Where Fanlight is slower

<!-- Written by bench/figures.py; do not change it by hand. -->

Calls for which Fanlight takes more than 5 % longer than the MPI library, and in parentheses the largest factor.
It is measured as in [README](../README.md#measured); in all other calls that were measured
Fanlight takes at most 5 % longer, and in most of them less time than the MPI library.

""" + "".join(f"- **{place}**: " + "; ".join(f"{mpi}'s {', '.join(calls)}" for mpi, calls in of.items()) + "\n" for place, of in lines.items())


def size(n: int) -> str:
    return f"{n // MIB} MiB" if n >= MIB else f"{n // KIB} KiB" if n >= KIB else f"{n} B"


def number(x: float) -> str:
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def table() -> str:
    lines = ["| | " + " | ".join(MPIS.values()) + " |", "|---" * (len(MPIS) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(number(of[mpi]) if mpi in of else "" for mpi in MPIS) + " |" for name, of in rows()]
    lines += ["", "| least of the three ratios for each call, geometric mean | operations | up to 1 KiB | from 64 KiB on |", "|---|---|---|---|"]
    lines += [f"| {name} | {operations(file, ranks)} | {number(best(file, ranks, 0, KIB))} | {number(best(file, ranks, 64 * KIB, math.inf))} |"
              for name, file, ranks in BEST]
    return "\n".join(lines) + "\n"


def picture() -> str:
    """Bars on a logarithmic scale, from 1 (as fast as the MPI library) to 100."""
    left, width, bar, gap, top = 260, 430, 9, 9, 72
    across = lambda x: left + width * math.log10(max(x, 1)) / 2  # noqa: E731
    shown = rows()
    height = top + sum(bar * len(of) + gap for _, of in shown) + 34
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="Helvetica, Arial, sans-serif" font-size="13" role="img">',
           "<title>How many times faster MPI's collectives are with Fanlight</title>",
           f'<rect width="760" height="{height}" fill="#fff"/>',
           '<text x="20" y="24" font-size="15" font-weight="bold" fill="#1c2733">How many times faster with Fanlight</text>']
    for i, (mpi, label) in enumerate(MPIS.items()):
        x = left + 150 * i
        out += [f'<rect x="{x}" y="36" width="11" height="11" fill="{COLORS[mpi]}"/>', f'<text x="{x + 16}" y="46" fill="#1c2733">{label}</text>']
    for tick in (1, 2, 5, 10, 20, 50, 100):
        x = across(tick)
        out += [f'<line x1="{x:.1f}" y1="{top - 10}" x2="{x:.1f}" y2="{height - 28}" stroke="{"#1c2733" if tick == 1 else "#d5dbe1"}"/>',
                f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle" font-size="12" fill="#46525e">{tick}</text>']
    y = top
    for name, of in shown:
        out.append(f'<text x="{left - 10}" y="{y + bar * len(of) / 2 + 4:.1f}" text-anchor="end" fill="#1c2733">{name}</text>')
        for mpi, value in of.items():
            out += [f'<rect x="{left}" y="{y}" width="{across(value) - left:.1f}" height="{bar - 1}" fill="{COLORS[mpi]}"/>',
                    f'<text x="{across(value) + 4:.1f}" y="{y + 8}" font-size="9" fill="#46525e">{number(value)}</text>']
            y += bar
        y += gap
    return "\n".join(out) + "\n</svg>\n"


def filled(text: str) -> str:
    begin, end = "<!-- Written by bench/figures.py. -->\n\n", "\n<!-- End. -->"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: begin + table() + "\n" + how_often() + end, text, flags=re.S)


def main():
    wanted = {PICTURE: picture(), README: filled(README.read_text()), SLOWER: slower()}
    if sys.argv[1:] == ["--check"]:
        old = [str(path.relative_to(ROOT)) for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        sys.exit(f"out of date: {', '.join(old)}; run: python bench/figures.py" if old else 0)
    for path, text in wanted.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
