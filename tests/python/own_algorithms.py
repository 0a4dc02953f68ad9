"""Algorithms in Python, as a user would write them: for the tests."""

import fanlight


@fanlight.algorithm("bcast")
def binomial(p):
    s = fanlight.Schedule(p)
    me = p.relative(p.rank)
    at, bit = s.input, 1
    while bit < p.size:
        if me & bit:
            s.arrive(p.absolute(me - bit), s.output, p.bytes)
            s.next_round()
            at = s.output
            break
        bit *= 2
    while bit > 1:
        bit //= 2
        if me + bit < p.size:
            s.put(p.absolute(me + bit), at, s.output, p.bytes)
    if me == 0:
        s.copy(s.input, s.output, p.bytes)
    return s


@fanlight.algorithm("bcast")
def two_levels(p):
    """Between the first ranks of the domains (the root in its own), then in each domain."""
    s = fanlight.Schedule(p)
    domains = p.levels()[0] if p.levels() else [list(range(p.size))]
    leaders = [p.root if p.root in d else d[0] for d in domains]

    def has_it(rank):
        return s.input if rank == p.root else s.output

    s.run(binomial, [leaders], roots=[p.root], input=has_it)
    s.run(binomial, domains, roots=leaders, input=has_it)
    return s


@fanlight.algorithm("allgather")
def ring(p):
    s = fanlight.Schedule(p)
    for j in range(p.size - 1):
        out, into = p.block((p.rank - j) % p.size), p.block((p.rank - j - 1) % p.size)
        s.put((p.rank + 1) % p.size, s.input if j == 0 else s.output + out.offset, s.output + out.offset, out.bytes)
        s.arrive((p.rank - 1) % p.size, s.output + into.offset, into.bytes)
        s.next_round()
    s.copy(s.input, s.output + p.block(p.rank).offset, p.bytes)
    return s


@fanlight.algorithm("reduce")
def in_order(p):
    """The root reads all and combines them in the order of the ranks."""
    s = fanlight.Schedule(p)
    if p.rank != p.root:
        s.offer(s.input, p.bytes, p.root)
        return s
    for r in range(p.size):
        if r == p.root and r == 0:
            s.copy(s.input, s.output, p.bytes)
        elif r == p.root:
            s.combine(s.input, s.output, p.bytes, "after")
        else:
            s.get(r, 0, s.input, s.output, p.bytes, "after" if r else "")
        s.next_round()
    return s


@fanlight.algorithm("allreduce", name="parts", commutative=True)
def parts(p):
    """Each rank reads its part of all others' vectors, and then all parts."""
    s = fanlight.Schedule(p)
    others = [(p.rank + i) % p.size for i in range(1, p.size)]
    own = p.part(p.rank)
    if others:
        s.offer(s.input, p.bytes, others)
    s.copy(s.input + own.offset, s.output + own.offset, own.bytes)
    for r in others:
        s.next_round()
        s.get(r, 0, s.input + own.offset, s.output + own.offset, own.bytes, "after")
    s.next_round()
    if others:
        s.offer(s.output + own.offset, own.bytes, others)
    for r in others:
        s.get(r, 1, s.output + p.part(r).offset, s.output + p.part(r).offset, p.part(r).bytes)
    return s


@fanlight.algorithm("allreduce")
def reduce_and_bcast(p):
    """Of parts that have offers and scratch."""
    s = fanlight.Schedule(p)
    everybody = [list(range(p.size))]
    room = s.reserve(p.bytes)
    s.run(in_order, everybody, output=room)
    s.run(read_from_root, everybody, input=room)
    return s


@fanlight.algorithm("bcast")
def read_from_root(p):
    s = fanlight.Schedule(p)
    if p.rank == p.root:
        if p.size > 1:
            s.offer(s.input, p.bytes, [r for r in range(p.size) if r != p.root])
        s.copy(s.input, s.output, p.bytes)
    else:
        there = s.reserve(p.bytes)
        s.get(p.root, 0, s.input, there, p.bytes)
        s.next_round()
        s.copy(there, s.output, p.bytes)
    return s


@fanlight.algorithm("bcast")
def in_halves(p):
    """The same ranks offer again in the second part."""
    s = fanlight.Schedule(p)
    for i in range(2):
        half = p.part(i, 2)
        s.run(read_from_root, [list(range(p.size))], half.bytes, roots=[p.root], input=s.input + half.offset, output=s.output + half.offset)
    return s


@fanlight.algorithm("bcast")
def in_halves_of_parts(p):
    """The parts have parts of their own, as long as they are."""
    s = fanlight.Schedule(p)
    for i in range(2):
        half = p.part(i, 2)
        s.run(two_levels, [list(range(p.size))], half.bytes, roots=[p.root], input=s.input + half.offset, output=s.output + half.offset)
    return s


@fanlight.algorithm("allgather")
def twice(p):
    """Into scratch, where the blocks lie side by side, and into the output, where they may not."""
    s = fanlight.Schedule(p)
    everybody = [list(range(p.size))]
    s.run(ring, everybody, p.bytes, output=s.reserve(p.size * p.bytes))
    s.run(ring, everybody)
    return s


@fanlight.algorithm("allreduce")
def by_operator(p):
    return (parts if p.commutative else reduce_and_bcast)(p)
