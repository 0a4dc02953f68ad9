"""Algorithms in Python: written against a builder, verified, saved in a file that any program loads (docs/own-algorithms.md)."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import _core, proofs
from .errors import FanlightError
from .builder import Problem, Schedule


Sizes = Optional[Tuple[int, Optional[int]]]


class OwnAlgorithm:
    """What `@fanlight.algorithm` makes of a function: it takes a Problem and returns a Schedule.

    It stands where a built-in algorithm's name may stand: fanlight.verify, count, cost, draw, schedules.
    """

    parameters = ()
    levels = False

    def __init__(self, operation: str, function: Callable, name: Optional[str] = None, commutative: bool = False, pipelined: bool = False):
        self.operation = operation.replace("_", "-")
        if self.operation not in _core.operations():
            raise ValueError(f"no operation {operation!r}; there are {', '.join(_core.operations())}")
        self.function = function
        self.commutative, self.pipelined = commutative, pipelined
        self.name = (name or function.__name__).replace("_", "-")
        if not all(c.isalnum() or c in "-." for c in self.name):
            raise ValueError(f"{self.name!r}: a name is made of letters, digits, '-' and '.'")
        self._plans = {}

    def __call__(self, problem: Problem) -> Schedule:
        """The function itself."""
        return self.function(problem)

    def __repr__(self) -> str:
        return f"<algorithm {self.operation}:{self.name}, in Python>"

    def trace(self, problem: Problem) -> Schedule:
        """One rank's schedule, its lengths as expressions."""
        made = self.function(problem)
        if not isinstance(made, Schedule):
            raise TypeError(f"{self.name}: it returned {type(made).__name__} at rank {problem.rank} of {problem.size}, and not its Schedule")
        return made

    def plan(self, ranks: Iterable[int], sizes: Sizes = None, topology: str = "") -> Tuple[_core.SavedPlan, str]:
        """A _core.SavedPlan of it, and its text."""
        ranks = sorted(set(ranks))
        key = tuple(ranks), tuple(sizes) if sizes else None, topology
        if key not in self._plans:
            text = _core.SavedPlan.with_hash("\n".join([*self._head(sizes, topology), *(
                line for size in ranks for line in self._sections(size, topology)), ""]))
            self._plans[key] = _core.SavedPlan(text), text
        return self._plans[key]

    def _head(self, sizes, topology):
        yield f"operation {self.operation}"
        yield f"name {self.name}"
        if sizes:
            yield f"sizes {int(sizes[0])}..{'' if sizes[1] is None else int(sizes[1])}"
        if topology:
            yield f"topology {topology}"
        if self.commutative:
            yield "commutative"
        if self.pipelined:
            yield "pipelined"

    def _sections(self, size, topology):
        rooted = _core.is_rooted(self.operation)
        both = _core.is_reduction(self.operation) and not self.commutative

        def lines(root, commutative, seen_from):
            memory = {}
            traced = [self.trace(Problem(self.operation, size, rank, root, commutative=commutative, topology=topology, memory=memory))
                      for rank in range(size)]
            return [traced[(r + seen_from) % size].text(seen_from) for r in range(size)]

        variants = []
        for commutative in ([True, False] if both else [True]):
            roots = range(size) if rooted else [0]
            seen_from_root = [lines(root, commutative, root) for root in roots]
            if rooted and all(one == seen_from_root[0] for one in seen_from_root):
                variants.append([(" any-root", seen_from_root[0])])
            else:
                variants.append([(f" root {root}" if rooted else "", lines(root, commutative, 0)) for root in roots])
        same = len(variants) == 1 or variants[0] == variants[1]
        for kind, sections in zip(("",) if same else (" commutative", " ordered"), variants):
            for root, ranks in sections:
                yield f"ranks {size}{root}{kind}"
                yield from ranks

    def restriction(self, problem: _core.Problem) -> str:
        """Why it cannot serve this problem; empty if it can."""
        return "it needs an operator that commutes" if self.commutative and not problem.commutative else ""

    def verify(self, ranks: Iterable[int] = range(1, 17), calls: int = 3, topology: str = "") -> List[str]:
        """What is wrong with it: one line for each number of ranks at most, that names rank, round and step; [] if it is right."""
        faults = []
        for size in ranks:
            try:
                plan, _ = self.plan([size], topology=topology)
                for problem in proofs.cases(self, size, topology):
                    if found := _core.verify(plan, problem, calls):
                        where = (f", root {problem.root}" if _core.is_rooted(self.operation) else "") + (
                            "" if problem.commutative else ", an operator that does not commute")
                        faults.append(f"{size} ranks{where}, {problem.bytes} bytes: {found[0]}")
                        break
            except ValueError as e:
                faults.append(f"{size} ranks: {e}")
        return faults

    def save(self, file: Union[str, Path], ranks: Iterable[int], sizes: Sizes = None, topology: str = "") -> str:
        """Verifies it for these numbers of ranks and every root, and writes it; returns the hash.

        sizes: the least and the greatest length in bytes (None: any) that it is meant for, of the vector or of a block;
        topology: if it is meant for ranks that are placed so alone ("2x4").
        FanlightError if it is wrong; ValueError for no ranks; OSError where the file cannot be written.
        """
        ranks = sorted(set(ranks))
        if not ranks:
            raise ValueError("ranks: name at least one number of ranks")
        if faults := self.verify(ranks, topology=topology):
            raise FanlightError(f"{self.operation}:{self.name} is wrong and was not saved: {faults[0]}",
                                f"fanlight.verify({self.function.__name__}, ranks={_compact(ranks)}) lists all that is wrong.")
        plan, text = self.plan(ranks, sizes, topology)
        Path(file).write_text(text)
        return plan.hash


def _compact(numbers) -> str:
    runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    if len(runs) == 1 and len(runs[0]) > 1:
        return f"range({runs[0][0]}, {runs[0][-1] + 1})"
    return str(list(numbers))


def algorithm(operation: str, name: Optional[str] = None, commutative: bool = False, pipelined: bool = False,
              ) -> Callable[[Callable[[Problem], Schedule]], OwnAlgorithm]:
    """A decorator for a function of a Problem that returns this rank's Schedule.

    operation: as `fanlight list` names it; name: the function's, if none is given; commutative: it needs an operator
    that commutes; pipelined: long messages run piece by piece even where nothing is staged, because ranks pass on what
    they have read.  ValueError for an operation or a name that there cannot be.

    >>> @fanlight.algorithm("bcast")
    ... def my_tree(p): ...
    """
    return lambda function: OwnAlgorithm(operation, function, name, commutative, pipelined)


Named = Union[str, OwnAlgorithm]  # a built-in algorithm's name, or one in Python


def _by(algorithm: Named, problem: _core.Problem) -> Any:
    return algorithm.plan([problem.size], topology=problem.topology if problem.levels else "")[0] if isinstance(algorithm, OwnAlgorithm) else algorithm


def verify(algorithm: Named, problem: Optional[_core.Problem] = None, calls: Optional[int] = None, *,
           ranks: Optional[Iterable[int]] = None, topology: str = "") -> List[str]:
    """What is wrong with an algorithm, by a symbolic run of all ranks; empty if it is right.

    algorithm: a built-in one's name, for one problem; or one in Python, for one problem or for numbers of ranks (1 to
    16, if none are given).  calls: so many, one after the other (1 for a problem, else 3).
    ValueError for a name or a problem that there is not; TypeError for a built-in one without a problem.
    """
    if problem is None:
        if not isinstance(algorithm, OwnAlgorithm):
            raise TypeError("a problem is needed; `fanlight verify` proves built-in algorithms for numbers of ranks")
        return algorithm.verify(range(1, 17) if ranks is None else ranks, calls or 3, topology)
    return _core.verify(_by(algorithm, problem), problem, calls or 1)


def count(algorithm: Named, problem: _core.Problem) -> Dict[str, Any]:
    """Messages, bytes and rounds, over all ranks, and between the domains of each level of the topology.
    ValueError where the algorithm cannot serve the problem, here and in all that follow."""
    return _core.count(_by(algorithm, problem), problem)


def cost(algorithm: Named, problem: _core.Problem) -> float:
    """Seconds by the model (orders of magnitude, nothing measured)."""
    return _core.cost(_by(algorithm, problem), problem)


def simulate(algorithm: Named, problem: _core.Problem, machine: _core.Machine, **how: Any) -> Dict[str, Any]:
    """Seconds on a machine, in all and for each rank (docs/simulate.md).  how: `nodes` and so on, as _core.simulate says."""
    return _core.simulate(_by(algorithm, problem), problem, machine, **how)


def draw(algorithm: Named, problem: _core.Problem, block: int = 0) -> str:
    """The message pattern as SVG.  block: what is said of each message, in blocks of so many bytes (0: in bytes)."""
    return _core.draw(_by(algorithm, problem), problem, block)


def schedule(algorithm: Named, problem: _core.Problem) -> _core.Schedule:
    """The schedule of problem.rank."""
    return _core.schedule(_by(algorithm, problem), problem)


def schedules(algorithm: Named, problem: _core.Problem) -> List[_core.Schedule]:
    """The schedules of all ranks."""
    return _core.schedules(_by(algorithm, problem), problem)
