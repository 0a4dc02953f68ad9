"""`fanlight tune --merge`: one text of rules from measurements with several MPI libraries, or of several machines.

So the built-in rules of what was measured are made (src/select/measured.txt).  What is chosen must be good everywhere, not the
best somewhere: the geometric mean over all measurements decides.  `python -m fanlight.tune_merge FILE.json OUTPUT.json` keeps
the medians of each launch alone, a fortieth of the file, which is all that is looked at here.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from . import mpis, tune_plan
from . import tune_statistics as stats
from .errors import FanlightError
from .modelled_rules import written_rules
from .tune_rules import Measured
from .units import exact_bytes

OURS = "ours"  # whatever was chosen of Fanlight's
HEAD = """\
# Rules that `fanlight tune` measured.  Written by `fanlight tune --merge`, from
{sources}
# Behind each size is what Fanlight takes of each library's time, the geometric mean of its measurements.
"""


def medians(m: Measured) -> Measured:
    """Of each launch one window: the median of the MPI library's own, and of the others those of their ratios to it."""
    for launches in m.cells.values():
        for one in launches:
            native = one.get(stats.NATIVE)
            for name, own in one.items():
                if native and own and name != stats.NATIVE:
                    one[name] = [float(f"{statistics.median(a / b for a, b in zip(own, native)) * statistics.median(native):.4g}")]
            if native:
                one[stats.NATIVE] = [statistics.median(native)]
    return m


def load(folder: Path) -> list[Measured]:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise FanlightError(f"{folder}: there is no .json of fanlight tune", "Copy what `fanlight tune` wrote beside its rules there.")
    return [medians(Measured.load(file)) for file in files]


def mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


class Merged:
    """Of one number of ranks and operation."""

    def __init__(self, of: list[Measured], ranks: int, operation: str, standing: dict[int, str]):
        self.of, self.ranks, self.operation = of, ranks, operation
        in_all = sorted(set.intersection(*(set(m.sizes(ranks, operation)) for m in of)))
        # size -> of each measurement the ratios to its MPI library's own
        self.ratios = {size: [stats.ratios(m.cells[ranks, operation, size]) for m in of] for size in in_all}
        self.sizes = [size for size in in_all if set.intersection(*map(set, self.ratios[size]))]
        self.choices = dict(zip(self.sizes, stats.cheapest([self._costs(size, standing.get(size, "")) for size in self.sizes]))) if self.sizes else {}

    def _costs(self, size: int, standing: str) -> dict[str, float]:
        names = sorted(set.intersection(*map(set, self.ratios[size])), key=lambda name: (len(name), name))
        return {name: math.log(mean(r[name].ratio for r in self.ratios[size])) + 1e-6 * place - (math.log(stats.AS_GOOD_AS) if name == standing else 0)
                for place, name in enumerate(names)}

    def mpis(self) -> list[str]:
        return sorted({mpis.kind_of(m.fingerprint["mpi"]) for m in self.of})

    def part(self, mpi: str, size: int) -> float:
        """Of the library's time."""
        return mean(r[self.choices[size]].ratio for m, r in zip(self.of, self.ratios[size]) if mpis.kind_of(m.fingerprint["mpi"]) == mpi)

    def servers(self, mpi: str) -> dict[int, str]:
        """Who serves each size: NATIVE or OURS."""
        costs = [{OURS: math.log(self.part(mpi, size)) - math.log(stats.AS_GOOD_AS), stats.NATIVE: 0.0} for size in self.sizes]
        return dict(zip(self.sizes, stats.cheapest(costs))) if costs else {}

    def same(self, other: Merged) -> bool:
        return all(self.choices[s] == other.choices.get(s) for s in self.sizes) and all(
            self.servers(mpi)[s] == other.servers(mpi).get(s) for mpi in self.mpis() for s in self.sizes)

    def lines(self, core, ranks: str) -> list[str]:
        found = []
        for mpi in self.mpis():
            servers = self.servers(mpi)
            found += [self._line(core, ranks, r, f" mpi={mpi}") for r in stats.ranges(self.sizes, [servers[s] for s in self.sizes]) if r[2] == stats.NATIVE]
        return found + [self._line(core, ranks, r) for r in stats.ranges(self.sizes, [self.choices[s] for s in self.sizes])]

    def _line(self, core, ranks: str, one: tuple[int, int, str, list[int]], more: str = "") -> str:
        first, last, choice, sizes = one
        name, runs = tune_plan.rule_name(self.operation), [m.run(self.ranks, self.operation) for m in self.of]
        conditions = f"ranks={ranks} nodes=..1 oversubscribed={'yes' if runs[0]['oversubscribed'] else 'no'}"
        # Shorter and longer than what was measured, the nearest that was.
        bytes_ = ("" if first == self.sizes[0] else exact_bytes(first)) + ".." + ("" if last == self.sizes[-1] else exact_bytes(last))
        if bytes_ != "..":
            conditions += f" bytes={bytes_}"
        if not core.is_reduction(name) and len({run["single_copy"] for run in runs}) == 1 and runs[0]["single_copy"] is not None:
            conditions += f" single_copy={'yes' if runs[0]['single_copy'] else 'no'}"
        conditions += more + ("" if tune_plan.is_blocking(self.operation) else " blocking=no")
        said = [f"{exact_bytes(size)}: " + ", ".join(f"{self.part(mpi, size):.2f} x {mpi}" for mpi in self.mpis()) for size in sizes]
        date = max(m.when(self.ranks, self.operation, size)[:10] for m in self.of for size in sizes)
        return f"{name:<21} {conditions} -> {choice.replace('(', ' ').replace(')', '').replace(',', ' ')}  # {date} | {' | '.join(said)}"


def text(core, all_: list[Measured]) -> str:
    lines: list[tuple[bool, list[str]]] = []
    for oversubscribed in (False, True):
        below = 0
        for ranks in sorted({n for m in all_ for n, run in m.runs.items() if run["oversubscribed"] == oversubscribed and run["nodes"] == 1}):
            of = [m for m in all_ if ranks in m.runs and m.runs[ranks]["oversubscribed"] == oversubscribed and m.runs[ranks]["nodes"] == 1]
            # Between two numbers that were measured, as for the greater one.
            lines += _lines(core, of, ranks, f"{below + 1}..{ranks}" if 0 < below < ranks - 1 else str(ranks))
            below = ranks
    lines.sort(key=lambda one: one[0])
    sources = "\n".join(f"# - {source}, {times} times" for source, times in sorted(Counter(map(_source, all_)).items()))
    return HEAD.format(sources=sources) + "".join(line + "\n" for _, of in lines for line in of)


def _source(m: Measured) -> str:
    f = m.fingerprint
    bound = "not bound" if f["binding"] == "unbound" else f"bound to {f['binding']}"
    return f"{f['mpi']} on {f['processor']}, {f['domains']}, {f['kernel']}, ranks {bound}; {m.date[:10]}, {m.minutes:.3g} minutes"


def _lines(core, all_: list[Measured], ranks: int, between: str) -> list[tuple[bool, list[str]]]:
    """Of each operation, those of blocking ones marked: they come last, since they hold for the others as well."""
    found, blocking = [], {}
    for operation in tune_plan.ALL:
        of = [m for m in all_ if operation in m.operations(ranks)]
        name, collective = tune_plan.rule_name(operation), tune_plan.collective(operation)
        # The last bits of a sum must not depend on whether ranks have cores of their own, and those of two operands do not.
        if not of or (ranks > 2 and core.is_reduction(name)) or (collective != "barrier" and not tune_plan.has_sizes(operation, ranks)):
            continue
        run = of[0].run(ranks, operation)
        sizes = {size for m in of for size in m.sizes(ranks, operation)}
        standing = {size: tune_plan.chosen_text(core.choose(name, size, ranks, oversubscribed=run["oversubscribed"],
                                                            single_copy=run["single_copy"] is not False, rules=written_rules().name)) for size in sizes}
        if collective in blocking:
            standing |= blocking[collective].choices
        merged = Merged(of, ranks, operation, standing)
        if tune_plan.is_blocking(operation):
            blocking[operation] = merged
        elif collective in blocking and merged.same(blocking[collective]):
            continue
        found.append((tune_plan.is_blocking(operation), merged.lines(core, between)))
    return found


if __name__ == "__main__":
    medians(Measured.load(Path(sys.argv[1]))).save(Path(sys.argv[2]))
