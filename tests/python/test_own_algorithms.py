"""Algorithms in Python: their proofs, what is saved of them, and what is chosen; without MPI."""

import re

import pytest

from rich.console import Console

import fanlight
from fanlight import _core, proofs
from fanlight.errors import FanlightError

import own_algorithms as own


@pytest.mark.parametrize("algorithm", [own.binomial, own.ring, own.in_order, own.parts, own.read_from_root, own.reduce_and_bcast,
                                       own.in_halves, own.in_halves_of_parts, own.twice, own.by_operator],
                         ids=lambda a: a.name)
def test_right(algorithm):
    assert fanlight.verify(algorithm, ranks=range(1, 7)) == []


def test_one_section_for_all_roots_where_they_are_alike():
    assert own.read_from_root.plan([4])[1].count("ranks 4") == 1
    assert own.in_order.plan([4])[1].count("ranks 4 root") == 4


def test_parts_are_whole_elements_and_even():
    problem = fanlight.Problem("allreduce", 3, bytes=40, element=4)
    assert [s.rounds[0][-1].bytes for s in fanlight.schedules(own.parts, problem)] == [12, 12, 16]


def test_blocks_of_a_part_of_its_own_length_lie_side_by_side():
    """`n` is how long a block is, `d` how far apart blocks are."""
    text = own.twice.plan([2])[1]
    assert "tmp+n" in text and "tmp+d" not in text and "out+d" in text and "out+n" not in text, text


@pytest.mark.parametrize("topology,ranks", [("2x2", 4), ("3+2", 5), ("2x*:cyclic", 6)])
def test_levels(topology, ranks):
    assert fanlight.verify(own.two_levels, ranks=[ranks], topology=topology) == []
    problem = fanlight.Problem("bcast", ranks, topology=topology)
    assert fanlight.count(own.two_levels, problem)["between"][0]["messages"] == 1


@pytest.mark.parametrize("algorithm,operation", [(own.binomial, "bcast"), (own.ring, "allgather")], ids=["binomial", "ring"])
@pytest.mark.parametrize("size,length", [(2, 8), (5, 4096), (8, 100000)])
def test_the_same_steps_as_the_built_in_one(algorithm, operation, size, length):
    """From root 0; from another one the built-in tree is another."""
    problem = fanlight.Problem(operation, size, bytes=length)
    for mine, theirs in zip(fanlight.schedules(algorithm, problem), fanlight.schedules(algorithm.name, problem), strict=True):
        assert repr(mine.rounds) == repr(theirs.rounds)
    assert fanlight.count(algorithm, problem) == fanlight.count(algorithm.name, problem)
    assert fanlight.draw(algorithm, problem) == fanlight.draw(algorithm.name, problem)


def test_a_fault_is_named():
    @fanlight.algorithm("bcast")
    def forgets(p):
        s = fanlight.Schedule(p)
        if p.rank == p.root:
            s.copy(s.input, s.output, p.bytes)
        for r in range(p.size) if p.rank == p.root else []:
            if r != p.root:
                s.put(r, s.input, s.output, p.bytes)
        if p.rank != p.root and p.rank != 2:
            s.arrive(p.root, s.output, p.bytes)
        return s

    assert fanlight.verify(forgets, ranks=[1, 2]) == []
    [fault] = fanlight.verify(forgets, ranks=[2, 3])
    assert re.match(r"3 ranks, root 0, 1 bytes: rank 0, round 0: put to rank 2 .*left over", fault)
    with pytest.raises(FanlightError, match="forgets is wrong and was not saved: 3 ranks"):
        forgets.save("never.plan", ranks=[3])


@pytest.mark.parametrize("wrong,text", [
    (lambda p, s: s.put(p.rank, s.input, s.output, 1), "rank 0 of 3, step 0: there is no other rank 0"),
    (lambda p, s: s.put(3, s.input, s.output, 1), "there is no other rank 3"),
    (lambda p, s: p.part(4), "part 4 of 3"),
    (lambda p, s: s.copy(s.input, s.output + 2 * p.bytes, p.bytes), "rank 0, round 0: copy .*outside of the output"),
    (lambda p, s: s.copy(s.input, s.output - p.bytes, p.bytes) if hasattr(s.output, "__sub__") else s.copy(s.input, s.output + -p.bytes, p.bytes),
     "negative"),
], ids=range(5))
def test_wrong_steps(wrong, text):
    @fanlight.algorithm("bcast")
    def bad(p):
        s = fanlight.Schedule(p)
        wrong(p, s)
        return s

    [fault] = fanlight.verify(bad, ranks=[3])
    assert re.search(text, fault), fault


def test_a_length_is_not_known_beforehand():
    @fanlight.algorithm("bcast")
    def by_length(p):
        return fanlight.Schedule(p) if p.bytes < 8 else None

    with pytest.raises(TypeError, match="is not known here"):
        fanlight.verify(by_length, ranks=[2])


def choose(file, operation="bcast", size=64, ranks=4, **more):
    return _core.choose(operation, size, ranks, forced=f"{operation}:file({file})", **more)


def test_chosen_where_it_fits(tmp_path):
    file = tmp_path / "mine.plan"
    code = own.binomial.save(file, ranks=[2, 4, 8], sizes=(8, 1024))
    fits = choose(file)
    assert fits["algorithm"] == f"file({file})" and "FANLIGHT_ALGORITHM" in fits["rule"]
    assert code in _core.algorithm("bcast", f"file({file})").description
    for elsewhere, why in ((dict(ranks=3), "it is a plan for 2, 4, 8 ranks, and there are 3"), (dict(size=4), "8 to 1024 bytes, and there are 4"),
                           (dict(size=1025), "and there are 1025")):
        found = choose(file, **elsewhere)
        assert "built-in rules" in found["rule"] and f"file({file}): it is a plan for" in found["passed_over"] and why in found["passed_over"]
    assert not fits["passed_over"]
    (tmp_path / "rules").write_text(f"bcast bytes=64.. -> file({file}) piece=4K  # a comment\n")
    by_rule = [_core.choose("bcast", size, 4, rules=str(tmp_path / "rules")) for size in (63, 64)]
    assert ["file" in c["algorithm"] for c in by_rule] == [False, True] and by_rule[1]["parameters"]["piece"] == 4096
    problem = fanlight.Problem("bcast", 4, root=2, bytes=777)
    assert fanlight.verify(f"file({file})", problem) == []
    with pytest.raises(ValueError, match="it is a plan for 2, 4, 8 ranks, and there are 3"):
        fanlight.verify(f"file({file})", fanlight.Problem("bcast", 3))


@pytest.mark.parametrize("ranks,cases,said", [(range(2, 5), 54, "all right"), (range(5, 6), 0, "nothing was to be proved")], ids=["2..4", "5"])
def test_proved_where_it_fits(ranks, cases, said, tmp_path):
    """No proof of nothing."""
    own.binomial.save(tmp_path / "mine.plan", ranks=range(2, 5))
    algorithm, _ = _core.parse_choice("bcast", f"file({tmp_path}/mine.plan)")
    console = Console(record=True, width=300)
    assert bool(proofs.run([algorithm], ranks, 3, console)) == (cases == 0)
    text = console.export_text()
    assert said in text and f" {cases} " in text and ("it is a plan for 2..4 ranks, and there are 5" in text) == (cases == 0), text


def test_a_plan_for_one_topology(tmp_path):
    own.two_levels.save(tmp_path / "levels.plan", ranks=[4], topology="2x2")
    assert "levels.plan" in choose(tmp_path / "levels.plan", nodes=2)["algorithm"]
    for nodes in (1, 3):
        assert "built-in rules" in choose(tmp_path / "levels.plan", nodes=nodes)["rule"]


def test_operators_that_do_not_commute(tmp_path):
    own.parts.save(tmp_path / "a.plan", ranks=[3])
    own.reduce_and_bcast.save(tmp_path / "b.plan", ranks=[3])
    found = [choose(tmp_path / f, "allreduce", ranks=3, commutative=False)["algorithm"] for f in ("a.plan", "b.plan")]
    assert "file" not in found[0] and "b.plan" in found[1]


def test_files_that_are_none(tmp_path):
    good = tmp_path / "good.plan"
    own.binomial.save(good, ranks=[4])
    text = good.read_text()

    def message(name, contents, operation="bcast"):
        if contents is not None:
            (tmp_path / name).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
        with pytest.raises(ValueError) as e:
            choose(tmp_path / name, operation)
        assert name in str(e.value)
        return str(e.value)

    def rehashed(text):
        return _core.SavedPlan.with_hash(text.split("\n", 2)[2])

    assert "No such file" in message("missing.plan", None)
    (tmp_path / "folder.plan").mkdir()
    assert "directory" in message("folder.plan", None)
    assert "it is not a plan" in message("other.plan", b"\x00\xff" * 100)
    assert "it is not a plan" in message("empty.plan", "")
    assert "it was changed" in message("changed.plan", text.replace("put 1", "put 2", 1))
    assert "it was changed" in message("short.plan", text[:-20])
    assert "a plan for bcast and not for allreduce" in message("good.plan", None, "allreduce")
    wrong = {"ranks 4": "ranks -4", "put 1": "push 1", "put 2": "put 9", "out n": "out n*n", "arrive 0": "arrive 0 0", "name": "title"}
    for i, (old, new) in enumerate(wrong.items()):
        assert re.search(r"line \d+: .*" + re.escape(new.split()[-1 if i else 1])[:4], message(f"wrong{i}.plan", rehashed(text.replace(old, new, 1))))
    assert "the last section has 3 ranks of 4" in message("few.plan", rehashed(text[:text.rstrip().rindex("\n") + 1]))
    assert "too deep" in message("deep.plan", rehashed(text.replace("out n", "out " + "l(" * 99 + "n" + ")" * 99, 1)))


def test_a_wrong_plan_with_its_hash_is_verified_when_it_is_to_run(tmp_path):
    file = tmp_path / "wrong.plan"
    text = own.binomial.plan([4])[1].split("\n", 2)[2].replace("put 1 in", "put 1 in+8", 1)
    file.write_text(_core.SavedPlan.with_hash(text))
    choose(file)
    greedy = _core.SavedPlan(_core.SavedPlan.with_hash(own.binomial.plan([4])[1].split("\n", 2)[2].replace(": put", "tmp 46000000000000 : put", 1)))
    with pytest.raises(ValueError, match="rank 0 asks for 46000000000000 bytes of scratch"):
        _core.verify(greedy, fanlight.Problem("bcast", 4))
    with pytest.raises(ValueError, match=r"the plan binomial is wrong for 64 bytes: rank \d, round \d: .*outside of the input"):
        _core.schedules(f"file({file})", fanlight.Problem("bcast", 4, bytes=64))
