"""From samples to decisions: who replaces the MPI library's own, and for which ranges of sizes.

The samples of a cell are the medians of windows, by launch and algorithm; the i-th of all algorithms of a launch lie
close together in time, so that their ratio knows nothing of the machine's drift.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

WINS_BELOW = 0.95    # the upper bound of the ratio to the MPI library's own
STAYS_BELOW = 1.0    # of what an earlier measurement chose
RETURNS_BELOW = 0.9  # where an earlier measurement kept the MPI library's own
AS_GOOD_AS = 1.03    # so much faster another algorithm must surely be than the earlier or the built-in rules' choice
CHANGE_COSTS = 1.06  # so much faster the next size's algorithm must be for a range of its own
NATIVE = "native"
UNDECIDED = ""         # what the built-in rules say


@dataclass(frozen=True)
class Ratio:
    """An algorithm's time over the MPI library's, with its 95 % interval; and both times in µs."""
    ratio: float
    low: float
    high: float
    own: float
    native: float

    def text(self) -> str:
        return f"{self.own:.4g} us, MPI {self.native:.4g} us, {self.ratio:.3g} [{self.low:.3g}, {self.high:.3g}]"


def median_interval(values: list[float]) -> tuple[float, float]:
    """Of the median, by order statistics: no assumption on how the values are distributed.  95 % from 6 values on; the
    least and the largest of fewer."""
    ordered, n = sorted(values), len(values)
    below, k = 0.5 ** n, 0  # P(at most k of n values lie below the median)
    while below + math.comb(n, k + 1) * 0.5 ** n <= 0.025:
        k += 1
        below += math.comb(n, k) * 0.5 ** n
    return ordered[k], ordered[n - 1 - k]


def ratio(launches: list[tuple[list[float], list[float]]]) -> Ratio:
    """Of (its own medians, the MPI library's) of each launch.  What differs between launches, such as where memory
    lies, the windows of one launch do not show: the interval holds the median of every launch."""
    each = [[a / b for a, b in zip(own, native)] for own, native in launches]
    together = [x for one in each for x in one]
    low, high = median_interval(together)
    medians = [statistics.median(one) for one in each]
    if len(medians) > 1:
        low, high = min(low, *medians), max(high, *medians)
    return Ratio(statistics.median(together), low, high, statistics.median(x for own, _ in launches for x in own),
                 statistics.median(x for _, native in launches for x in native))


def ratios(launches: list[dict[str, list[float]]], to: str = NATIVE) -> dict[str, Ratio]:
    """Of all algorithms that were there to the end in every launch, to the MPI library's own or to another of them."""
    launches = [one for one in launches if one.get(to)]
    if not launches:
        return {}
    names = [n for n in launches[-1] if n not in (NATIVE, to) and all(one.get(n) for one in launches)]
    return {n: ratio([(one[n], one[to]) for one in launches]) for n in names}


def _by_launch(launches: list[dict[str, list[float]]]) -> list[list[float]]:
    """The ratios of the algorithm that is the fastest, window by window."""
    cell = ratios(launches)
    if not cell:
        return []
    best = min(cell, key=lambda name: cell[name].ratio)
    return [[a / b for a, b in zip(one[best], one[NATIVE])] for one in launches if one.get(NATIVE)]


def spread(launches: list[dict[str, list[float]]]) -> float:
    """Between the quartiles of the ratios of one launch, relative to their median: what a busy machine shows.  A slow
    machine is none: many change their clocks from minute to minute, which both sides of a ratio share."""
    quartiles = [statistics.quantiles(one, n=4) for one in _by_launch(launches) if len(one) >= 4]
    return max(((q[2] - q[0]) / q[1] for q in quartiles), default=0.0)


def drift(launches: list[dict[str, list[float]]]) -> float:
    """How far the launches are apart: the largest median ratio over the least, less 1."""
    medians = [statistics.median(one) for one in _by_launch(launches)]
    return max(medians) / min(medians) - 1 if medians else 0.0


def bound(name: str, earlier: str) -> float:
    """What the upper end of an algorithm's interval must be below.  An earlier choice stands until it is clearly otherwise:
    what was close to the bound would else be the one thing now and the other the next time."""
    if earlier == NATIVE:
        return RETURNS_BELOW
    return STAYS_BELOW if name == earlier else WINS_BELOW


def winners(cell: dict[str, Ratio], earlier: str = UNDECIDED) -> dict[str, Ratio]:
    return {name: r for name, r in cell.items() if r.high < bound(name, earlier)}


def surely_slower(launches: list[dict[str, list[float]]], names: Iterable[str], standing: str) -> dict[str, float]:
    """By how much each of these algorithms is slower than the fastest, as far as it is certain: the logarithm of the lower end
    of the interval.  What stands now is preferred to what is as good, and so, by a hair, is a short name: which of two equals
    is chosen must not depend on chance."""
    names = sorted(names, key=lambda name: (len(name), name))
    cell = ratios(launches)
    fastest = min(names, key=lambda name: cell[name].ratio)
    to_fastest = ratios(launches, fastest)
    return {name: (max(0.0, math.log(to_fastest[name].low)) if name != fastest else 0.0) + 1e-6 * place
            - (math.log(AS_GOOD_AS) if name == standing else 0.0) for place, name in enumerate(names)}


def cheapest(costs: list[dict[str, float]]) -> list[str]:
    """For sizes that follow each other the names that together cost the least, by the logarithms of their times, where a
    change costs."""
    change = math.log(CHANGE_COSTS)
    # The cheapest way to each name of the last size.
    ways = {name: (cost, [name]) for name, cost in costs[0].items()}
    for here in costs[1:]:
        ways = {name: min(((cost + so_far + (change if way[-1] != name else 0.0), [*way, name]) for so_far, way in ways.values()),
                          key=lambda one: one[0])
                for name, cost in here.items()}
    return min(ways.values(), key=lambda one: one[0])[1]


def _standing(by_rule: str, earlier: str) -> str:
    return earlier if earlier not in (NATIVE, UNDECIDED) else by_rule


def choose(cells: list[list[dict[str, list[float]]]], rules: list[str], earlier: list[str] | None = None) -> list[str]:
    """For sizes that follow each other: an algorithm that wins in its cell, or the MPI library's own where none does.
    None that is surely slower than another, where a change of algorithm costs and what stands now is preferred: the choice
    of an earlier measurement, else of the built-in rules."""
    if not cells:
        return []
    costs = []
    for launches, by_rule, before in zip(cells, rules, earlier or [UNDECIDED] * len(cells)):
        allowed = winners(ratios(launches), before)
        costs.append(surely_slower(launches, allowed, _standing(by_rule, before)) if allowed else {NATIVE: 0.0})
    return cheapest(costs)


def choose_for_any_size(cells: list[list[dict[str, list[float]]]], by_rule: str, earlier: str = UNDECIDED) -> str:
    """One for all sizes: faster than the MPI library's own taken together, and slower nowhere; the MPI library's own
    where none wins anywhere.  What is faster for some sizes and slower for others nobody can decide once for all."""
    compared = [ratios(launches) for launches in cells]

    def wins(name: str) -> bool:
        return (all(name in cell and cell[name].high < 1 / WINS_BELOW for cell in compared)
                and statistics.fmean(math.log(cell[name].high) for cell in compared) < math.log(bound(name, earlier)))

    names = [name for name in (compared[0] if compared else ()) if wins(name)]
    if not names:
        return UNDECIDED if any(winners(cell, earlier) for cell in compared) else NATIVE
    costs = [surely_slower(launches, names, _standing(by_rule, earlier)) for launches in cells]
    return min(names, key=lambda name: sum(cost[name] for cost in costs))


def ranges(sizes: list[int], choices: list[str | None]) -> list[tuple[int, int, str, list[int]]]:
    """First byte, last byte, choice, the sizes that were measured.  Between two sizes of different choices the middle
    of the scale decides, as powers of 2 go; before the first and behind the last nothing is said, nor between the two
    beside one that could not be measured (None)."""
    out: list[tuple[int, int, str, list[int]]] = []
    for i, (size, choice) in enumerate(zip(sizes, choices)):
        if choice is None:
            continue
        joined = i > 0 and choices[i - 1] is not None
        if joined and out[-1][2] == choice:
            first, _, _, measured = out[-1]
            out[-1] = (first, size, choice, [*measured, size])
            continue
        begin = size
        if joined:
            before = sizes[i - 1]
            begin = max(before + 1, int(math.sqrt(before * size)))
            first, _, kept, measured = out[-1]
            out[-1] = (first, begin - 1, kept, measured)
        out.append((begin, size, choice, [size]))
    return out
