"""The builder: one rank's part of a collective, with lengths that are known when it runs."""

from __future__ import annotations

from math import gcd
from operator import index
from typing import TYPE_CHECKING, Callable, Iterable, List, NamedTuple, Sequence, Union

from . import _core

if TYPE_CHECKING:
    from .own_algorithms import OwnAlgorithm


class Length:
    """A number of bytes that follows from the length of the vector or block: sums and multiples of such, and of numbers.

    Which one it is nobody knows yet, so that it cannot be compared or divided; Problem.part cuts the vector.
    """

    __slots__ = ("terms",)
    __hash__ = None

    def __init__(self, terms):
        self.terms = {atom: n for atom, n in terms.items() if n}

    @staticmethod
    def of(value: Bytes) -> Length:
        """A Length as it is, or one of so many bytes.  TypeError for what is no whole number."""
        return value if isinstance(value, Length) else Length({"": index(value)})

    def __add__(self, other):
        other = Length.of(other)
        return Length({a: self.terms.get(a, 0) + other.terms.get(a, 0) for a in {**self.terms, **other.terms}})

    __radd__ = __add__

    def __mul__(self, n):
        if isinstance(n, Length):
            raise TypeError("a length is multiplied by a number, and not by a length")
        return Length({a: m * index(n) for a, m in self.terms.items()})

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -Length.of(other)

    def __rsub__(self, other):
        return Length.of(other) - self

    def _unknown(self, *_):
        raise TypeError("the length of the vector or block is not known here, since one plan serves many: it can be added and multiplied, "
                        "cut with Problem.part, and rules choose an algorithm for a range of lengths")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __index__ = __floordiv__ = __truediv__ = __mod__ = _unknown

    def __str__(self):
        text = ""
        for atom, n in sorted(self.terms.items(), key=lambda t: (t[1] < 0, t[0])):
            number = str(abs(n)) if abs(n) != 1 or not atom else ""
            text += ("-" if n < 0 else "+" if text else "") + number + atom
        return text or "0"

    __repr__ = __str__

    def lines(self) -> Length:
        """In whole cache lines."""
        if set(self.terms) <= {""}:
            return Length({"": (self.terms.get("", 0) + 63) // 64 * 64})
        return Length({f"l({self})": 1})


def greatest(lengths: Iterable[Length]) -> Length:
    """The greatest of them, whatever they will be."""
    texts = sorted({str(n) for n in lengths} - {"0"})
    if len(texts) < 2:
        return next((n for n in lengths if str(n) != "0"), Length({}))
    return Length({f"m({','.join(texts)})": 1})


class Block(NamedTuple):
    offset: Length
    bytes: Length


class Address:
    """A place in a buffer; what is added to it are bytes."""

    def __init__(self, buffer: str, offset=0):
        self.buffer = buffer
        self.offset = Length.of(offset)

    def __add__(self, more):
        return Address(self.buffer, self.offset + more)

    def __repr__(self):
        return self.buffer + (f"+{self.offset}" if self.offset.terms else "")


class Problem:
    """What an algorithm is asked to do: operation, size, rank, root, commutative, and `bytes`, the Length of the vector or of a block."""

    def __init__(self, operation, size, rank, root=0, *, commutative=True, topology="", bytes=None, distance=None, memory=None):
        self.operation, self.size, self.rank, self.root = operation, size, rank, root
        self.commutative, self.topology = commutative, topology
        self.bytes = Length({"n": 1}) if bytes is None else Length.of(bytes)
        self._whole = bytes is None or str(self.bytes) == "n"
        self._distance = Length({"d": 1}) if distance is None else Length.of(distance)
        self.memory = {} if memory is None else memory

    def relative(self, rank: int) -> int:
        """A rank as seen from the root, which is 0."""
        return (rank - self.root) % self.size

    def absolute(self, relative: int) -> int:
        """The rank that is so seen from the root."""
        return (relative + self.root) % self.size

    def block(self, rank: int) -> Block:
        """Where rank's block lies in the buffer that holds all ranks' blocks, and its length."""
        return Block(self._distance * rank, self.bytes)

    def part(self, i: int, parts: int = 0, count: int = 1) -> Block:
        """The i-th (and `count` in all) of so many parts of the vector, of whole elements and as even as possible; as many as ranks, if not given."""
        parts = parts or self.size
        if not 0 <= i <= i + count <= parts:
            raise ValueError(f"part {i} of {parts}, {count} in all: there is none")
        if not self._whole:
            raise ValueError("only the whole vector can be cut")

        def start(k):
            common = gcd(k, parts)
            return Length({} if k == 0 else {"n": 1} if k == parts else {f"c({k // common}/{parts // common})": 1})

        return Block(start(i), start(i + count) - start(i))

    def levels(self) -> List[List[List[int]]]:
        """The ranks of each domain of the topology, from the outermost level to the innermost; [] without one."""
        return _core.domains(self.topology, self.size) if self.topology else []


class _Step(NamedTuple):
    word: str
    peer: int = -1
    offer: int = -1
    source: Address | None = None
    target: Address | None = None
    bytes: Length | None = None
    readers: tuple = ()
    order: str = ""


Bytes = Union[int, Length]
Places = Union[Address, Callable[[int], Address]]


class Schedule:
    """One rank's part: steps go into the current round until next_round().  Steps of a round may run at the same time."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.rounds: List[List[_Step]] = [[]]
        self.offers = 0
        self.reserved = Length({})
        self._offers_of = [0] * problem.size  # that each rank has made in the parts so far
        self.input, self.output = Address("in"), Address("out")

    # --- steps ---

    def put(self, peer: int, source: Address, target: Address, bytes: Bytes) -> None:
        """Write `bytes` from a place here to one at the peer, which awaits it with `arrive`."""
        self._add(_Step("put", self._peer(peer), source=source, target=target, bytes=Length.of(bytes)))

    def arrive(self, peer: int, target: Address, bytes: Bytes, order: str = "") -> None:
        """The peer's put is here; with an order it is combined into the target: "before" what is there, or "after"."""
        self._add(_Step("arrive", self._peer(peer), target=target, bytes=Length.of(bytes), order=self._order(order)))

    def offer(self, source: Address, bytes: Bytes, readers: Union[int, Sequence[int]]) -> int:
        """These ranks may read it from now on; returns the number by which they name it: 0, 1, ..."""
        readers = tuple(self._peer(r) for r in ([readers] if isinstance(readers, int) else readers))
        if not readers:
            raise ValueError(f"rank {self.problem.rank}: an offer to nobody")
        self._add(_Step("offer", source=source, bytes=Length.of(bytes), readers=readers))
        self.offers += 1
        return self.offers - 1

    def get(self, peer: int, offer: int, source: Address, target: Address, bytes: Bytes, order: str = "") -> None:
        """Wait for the peer's offer, then read from that place at the peer."""
        self._add(_Step("get", self._peer(peer), index(offer), source, target, Length.of(bytes), order=self._order(order)))

    def copy(self, source: Address, target: Address, bytes: Bytes) -> None:
        """From one place here to another."""
        self._add(_Step("copy", source=source, target=target, bytes=Length.of(bytes)))

    def combine(self, source: Address, target: Address, bytes: Bytes, order: str) -> None:
        """With the operator, into what is at the target: "before" it, or "after"."""
        self._add(_Step("combine", source=source, target=target, bytes=Length.of(bytes), order=self._order(order or "none")))

    def next_round(self) -> None:
        """Ends the round; an empty one is not counted."""
        if self.rounds[-1]:
            self.rounds.append([])

    def reserve(self, bytes: Bytes) -> Address:
        """Scratch of its own, at the start of a cache line."""
        at = Address("tmp", self.reserved)
        self.reserved = self.reserved + Length.of(bytes).lines()
        return at

    # --- collectives among some of the ranks ---

    def run(self, algorithm: OwnAlgorithm, groups: Sequence[Sequence[int]], bytes: Bytes | None = None, *, roots: Sequence[int] | None = None,
            input: Places | None = None, output: Places | None = None) -> None:
        """A collective in each of several groups of ranks at the same time, as a part of this one.

        All ranks call it alike; a rank is in one group at most.  bytes: the Length of the part's vector or block
        (None: the whole's); roots: for each group the rank that is its root (None: its first); input, output: where all
        ranks, or each, as a function says, have the part's buffers (None: the whole's).  Offers that a rank makes by itself come behind
        all parts.
        """
        p = self.problem
        if self.offers != self._offers_of[p.rank]:
            raise ValueError(f"rank {p.rank}: offers of its own come behind all parts")
        if len({r for g in groups for r in g}) < sum(map(len, groups)):
            raise ValueError("a rank is in two groups")
        length = p.bytes if bytes is None else Length.of(bytes)
        distance = p._distance if bytes is None else length
        places = {"in": input or self.input, "out": output or self.output}
        traced = {}
        for i, group in enumerate(groups):
            root = group.index(roots[i]) if roots else 0
            for rank in range(len(group)):
                key = (algorithm, len(group), rank, root, str(length), str(distance))
                if key not in p.memory:
                    p.memory[key] = algorithm.trace(Problem(algorithm.operation, len(group), rank, root, commutative=p.commutative, bytes=length,
                                                            distance=distance, memory=p.memory))
                traced[group[rank]] = p.memory[key], group
        base = Address("tmp", self.reserved)
        self.reserved = self.reserved + greatest([t.reserved for t, _ in traced.values()]).lines()
        self.next_round()
        if p.rank in traced:
            self._append(*traced[p.rank], lambda rank, at: base + at.offset if at.buffer == "tmp" else
                         (places[at.buffer](rank) if callable(places[at.buffer]) else places[at.buffer]) + at.offset)
        for rank, (part, _) in traced.items():
            self._offers_of[rank] += part.offers

    def _append(self, part, group, place):
        here = self.problem.rank
        for steps in part.rounds:
            for s in steps:
                peer = group[s.peer] if s.peer >= 0 else -1
                source = s.source and place(peer if s.word == "get" else here, s.source)
                target = s.target and place(peer if s.word == "put" else here, s.target)
                if s.word == "copy" and repr(source) == repr(target):
                    continue
                self._add(s._replace(peer=peer, source=source, target=target, readers=tuple(group[r] for r in s.readers),
                                     offer=s.offer + self._offers_of[peer] if s.word == "get" else s.offer))
            self.next_round()
        self.offers += part.offers

    # --- what becomes of it ---

    def _add(self, step):
        for place in (step.source, step.target):
            if place is not None and not isinstance(place, Address):
                raise TypeError(f"rank {self.problem.rank}, {step.word}: {place!r} is no place; it is for instance schedule.output + 8")
        self.rounds[-1].append(step)

    def _peer(self, rank):
        rank = index(rank)
        if not 0 <= rank < self.problem.size or rank == self.problem.rank:
            raise ValueError(f"rank {self.problem.rank} of {self.problem.size}, step {sum(map(len, self.rounds))}: there is no other rank {rank}")
        return rank

    def _order(self, order):
        if order not in ("", "before", "after"):
            raise ValueError(f"rank {self.problem.rank}: the order {order!r} is none of 'before' and 'after'")
        return order

    def text(self, seen_from: int = 0) -> str:
        """As a line of a plan, with ranks counted from this one."""
        def relative(rank):
            return (rank - seen_from) % self.problem.size

        def step(s):
            words = [s.word, *([str(relative(s.peer))] if s.peer >= 0 else []), *([str(s.offer)] if s.word == "get" else []),
                     *(str(a) for a in (s.source, s.target) if a is not None), str(s.bytes),
                     *([",".join(map(str, sorted(map(relative, s.readers))))] if s.readers else []), *([s.order] if s.order else [])]
            return " ".join(words)

        scratch = f"tmp {self.reserved} " if self.reserved.terms else ""
        return scratch + ": " + " | ".join(" ; ".join(map(step, r)) for r in self.rounds if r)
