"""`fanlight tune`: statistics, ranges, files, the map, and what it refuses.  What it measures: tests/mpi/test_tune.py."""

import json
import pathlib
import random
import re
import tempfile
import xml.dom.minidom

import pytest
import typer.testing

from environments import environment_of
from fanlight import _core, bench_run, tune, tune_map, tune_merge, tune_noise, tune_plan, tune_rules, tune_run
from fanlight import tune_statistics as stats
from fanlight.cli import app
from fanlight.errors import FanlightError

NATIVE = stats.NATIVE


def windows(center, n=20, noise=0.02, seed=1):
    numbers = random.Random(seed)
    return [center * (1 + numbers.uniform(-noise, noise)) for _ in range(n)]


# --- statistics ---------------------------------------------------------------------------

def test_median_interval():
    """By the table of the sign test: the ranks of 95 % intervals."""
    for n, first in ((6, 1), (10, 2), (20, 6), (30, 10), (50, 18)):
        assert stats.median_interval(list(range(1, n + 1))) == (first, n + 1 - first), n
    assert stats.median_interval([3, 1, 2]) == (1, 3)


def test_interval_covers():
    numbers = random.Random(7)
    inside = 0
    for _ in range(400):
        low, high = stats.median_interval([numbers.gauss(5, 1) for _ in range(15)])
        inside += low <= 5 <= high
    assert 0.94 <= inside / 400 <= 1


def test_ratio_pairs_windows():
    """A machine that drifts to half its speed: ratios know nothing of it."""
    native = [1 + i / 10 for i in range(20)]
    r = stats.ratio([([0.5 * t for t in native], native)])
    assert r.low == pytest.approx(0.5) == r.high


def test_interval_holds_each_launch():
    """Faster in two launches, slower in one: no win, however many windows there are."""
    native = windows(1, 100, seed=2)
    launches = [([f * t for t in native], native) for f in (0.7, 0.72, 1.05)]
    r = stats.ratio(launches)
    assert r.ratio < 0.75 and r.high >= 1.05 and not stats.winners({"a": r})


def cell(noise=0.02, **centers):
    """Three launches, the MPI library's own at 1."""
    return [{NATIVE: windows(1, seed=i), **{name: windows(c, noise=noise, seed=10 * n + i) for n, (name, c) in enumerate(centers.items(), 1)}}
            for i in range(3)]


def test_only_below_095():
    assert set(stats.winners(stats.ratios(cell(a=0.9, b=0.96, c=1.2)))) == {"a"}
    assert not stats.winners(stats.ratios(cell(a=0.945))), "its interval reaches beyond"


def test_an_algorithm_must_be_there_in_all_launches():
    launches = [{NATIVE: windows(1), "a": windows(0.5)}, {NATIVE: windows(1)}]
    assert stats.ratios(launches) == {} and stats.ratios([{"a": [1]}]) == {}


def test_choices_and_hysteresis():
    fast_a, even, fast_b, native = cell(a=0.5, b=0.8), cell(a=0.72, b=0.70), cell(a=0.9, b=0.4), cell(a=1.1, b=1)
    none = [NATIVE] * 4
    # `b` is 3 % faster in the second cell: no reason for a range of its own; 2 times faster is one.
    assert stats.choose([fast_a, even, fast_a, native], none) == ["a", "a", "a", NATIVE]
    assert stats.choose([fast_a, even, fast_b, native], none)[2:] == ["b", NATIVE]
    assert stats.choose([fast_a, fast_b, fast_a], none) == ["a", "b", "a"]
    # What the rules say already is preferred to what is as good, not to what is faster.
    assert stats.choose([cell(a=0.700, b=0.702)], ["b"]) == ["b"] and stats.choose([fast_a], ["b"]) == ["a"]
    assert stats.choose([], []) == []


def test_chance_does_not_choose():
    """Of what may be as fast: what the rules say, else the shorter name."""
    for seed in range(20):
        numbers = random.Random(seed)
        noisy = cell(noise=0.15, **{name: 0.5 + numbers.uniform(-0.002, 0.002) for name in numbers.sample(["tree", "ring", "linear", "tree(degree=3)"], 4)})
        assert stats.choose([noisy], ["linear"]) == ["linear"] and stats.choose([noisy], ["none"]) == ["ring"], seed
    # What is surely faster is another matter.
    assert stats.choose([cell(noise=0.15, ring=0.5, linear=0.7)], ["linear"]) == ["ring"]


def test_one_for_all_sizes():
    assert stats.choose_for_any_size([cell(a=0.5), cell(a=1.0)], NATIVE) == "a"
    assert stats.choose_for_any_size([cell(a=0.5), cell(a=1.2)], NATIVE) == stats.UNDECIDED, "slower for one size"
    assert stats.choose_for_any_size([cell(a=0.97), cell(a=0.97)], NATIVE) == NATIVE
    assert stats.choose_for_any_size([cell(a=0.5, b=0.501)] * 2, "b") == "b" and stats.choose_for_any_size([cell(a=0.5, b=0.6)] * 2, "b") == "a"


def test_an_earlier_choice_stands_until_it_is_clearly_otherwise():
    near, slow = cell(noise=0.01, a=0.96, b=0.945), cell(noise=0.01, a=1.02)
    assert stats.choose([near], [NATIVE]) == [NATIVE] and stats.choose([near], [NATIVE], ["a"]) == ["a"]
    assert stats.choose([slow], [NATIVE], ["a"]) == [NATIVE]
    won = cell(noise=0.01, a=0.92)
    assert stats.choose([won], [NATIVE]) == ["a"] and stats.choose([won], [NATIVE], [NATIVE]) == [NATIVE]
    assert stats.choose([cell(noise=0.01, a=0.85)], [NATIVE], [NATIVE]) == ["a"]
    # It comes before the built-in rules' choice, where it is as good.
    assert stats.choose([cell(a=0.700, b=0.702)], ["a"], ["b"]) == ["b"] and stats.choose([cell(a=0.5, b=0.6)], ["a"], ["b"]) == ["a"]
    assert stats.choose_for_any_size([cell(a=0.97), cell(a=0.97)], NATIVE, "a") == "a"
    assert stats.choose_for_any_size([cell(a=0.92), cell(a=0.92)], NATIVE, NATIVE) == NATIVE


def test_ranges():
    assert stats.ranges([8, 64, 512, 4096], ["a", "a", NATIVE, "b"]) == [
        (8, 180, "a", [8, 64]), (181, 1447, NATIVE, [512]), (1448, 4096, "b", [4096])]
    assert stats.ranges([8], ["a"]) == [(8, 8, "a", [8])]
    # Nothing is said of a size that could not be measured, nor of those beside it.
    assert stats.ranges([8, 64, 512, 4096], ["a", "a", None, "a"]) == [(8, 64, "a", [8, 64]), (4096, 4096, "a", [4096])]
    assert stats.ranges([8, 64], [None, "a"]) == [(64, 64, "a", [64])]
    # Each byte between the first and the last size belongs to one range.
    numbers = random.Random(3)
    for _ in range(50):
        sizes = sorted(numbers.sample(range(8, 1 << 20, 8), 6))
        all_ = stats.ranges(sizes, [numbers.choice("ab") for _ in sizes])
        assert all_[0][0] == sizes[0] and all_[-1][1] == sizes[-1]
        assert all(a[1] + 1 == b[0] and a[2] != b[2] for a, b in zip(all_, all_[1:]))
        assert all(first <= size <= last for first, last, _, of in all_ for size in of)


# --- the plan -----------------------------------------------------------------------------

def test_candidates():
    """Of algorithms that do the same on so many ranks one is measured."""
    two, eight = (tune_plan.candidates(_core, "allgather", 64, n, False) for n in (2, 8))
    assert len(two) < len(eight) and "all-read-all" in eight and "recursive-doubling" in eight
    assert "recursive-doubling" not in tune_plan.candidates(_core, "allgather", 64, 6, False)
    assert not any("by-levels" in c for c in eight) and any("by-levels" in c for c in tune_plan.candidates(_core, "allgather", 64, 8, True))
    for operation in tune_plan.ALL:
        for text in tune_plan.candidates(_core, operation, 1 << 20, 8, True):
            _core.check_selection(f"{tune_plan.collective(operation)}:{text}")


def test_what_the_rules_say_is_the_first_candidate():
    """With its parameters, and of those that do the same: it is measured to the end."""
    for operation, size, ranks in (("bcast", 1 << 20, 2), ("allgather", 64, 2), ("neighbor_alltoall", 64, 8)):
        says = tune_plan.built_in(_core, operation, size, ranks, "mpich", {"nodes": 1, "oversubscribed": False, "single_copy": True})
        found = tune_plan.candidates(_core, operation, size, ranks, False, says)
        assert found[0] == says and len(set(found)) == len(found)
    assert "once=" in tune_plan.built_in(_core, "neighbor_alltoall", 64, 8, "mpich", {"nodes": 1, "oversubscribed": False, "single_copy": True})
    assert tune_plan.candidates(_core, "bcast", 64, 4, False, "native") == tune_plan.candidates(_core, "bcast", 64, 4, False)


def test_what_does_not_fit_is_left_out():
    assert tune_plan.fits("bcast", 4 << 20, 64) and not tune_plan.fits("alltoall", 4 << 20, 64)


def test_numbers_of_ranks(monkeypatch):
    monkeypatch.setattr(tune_plan.this_machine, "structure", lambda cpus: (2, 4, 8, "", ""))
    monkeypatch.setattr(tune_plan.this_machine, "numa_domains", lambda: [set(range(16 * i, 16 * i + 16)) for i in range(4)])
    assert tune_plan.numbers_of_ranks(64, list(range(64))) == [8, 16, 32, 47, 64]
    monkeypatch.setattr(tune_plan.this_machine, "structure", lambda cpus: (1, 1, 2, "", ""))
    monkeypatch.setattr(tune_plan.this_machine, "numa_domains", lambda: [{0, 1}])
    assert tune_plan.numbers_of_ranks(2, [0, 1]) == [2]


# --- files --------------------------------------------------------------------------------

def made(operations=("allreduce", "bcast"), sizes=(8, 64, 4096), ranks=4, **centers):
    m = tune_rules.Measured(_core.fingerprint("MPICH Version: 5.0.2"), "2026-11-24T05:00+00:00", 8, "MPICH Version: 5.0.2")
    m.runs[ranks] = {"nodes": 1, "oversubscribed": False, "single_copy": True}
    for operation in operations:
        for size in sizes:
            m.cells[ranks, operation, size] = [
                {NATIVE: windows(1, seed=i), **{a: windows(c, seed=10 + i) for a, c in (centers or {"binomial": 0.5}).items()}} for i in range(3)]
    return m


def chosen(path, operation, size, ranks=4, **more):
    return _core.choose(operation, size, ranks, tuned=str(path), **{"mpi": "mpich", **more})


def test_rules(tmp_path):
    path = tmp_path / "m.rules"
    tune_rules.write(_core, made(binomial=0.5), path)
    for size in (8, 100, 4096):
        c = chosen(path, "allreduce", size)
        assert c["algorithm"] == "binomial" and f"{path}:" in c["rule"] and "2026-11-24 | 8: 0.5" in c["rule"]
    # Nothing beyond what was measured.
    for size, ranks, more in ((1, 4, {}), (4097, 4, {}), (64, 5, {}), (64, 4, {"nodes": 2}), (64, 4, {"oversubscribed": True})):
        assert str(path) not in chosen(path, "allreduce", size, ranks, **more)["rule"], (size, ranks, more)
    # What is found at the start does not decide the bits of a sum.
    assert str(path) in chosen(path, "allreduce", 64, single_copy=False)["rule"]
    assert str(path) not in chosen(path, "bcast", 64, single_copy=False)["rule"]
    head = path.read_text().split("\n\n")[0]
    f = _core.fingerprint("MPICH Version: 5.0.2")
    for part in ("processor", "domains", "kernel", "mpi", "binding"):
        assert f"# {part}: {f[part]}" in head


def test_non_blocking_ones_have_rules_of_their_own(tmp_path):
    m = made(["iallreduce"], binomial=1.2)
    m.cells |= made(["allreduce"], [*m.sizes(4, "iallreduce"), 1 << 20], binomial=0.5).cells
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    for size, blocking, algorithm in ((64, True, "binomial"), (64, False, "native"), (1 << 20, False, "binomial")):
        assert chosen(path, "allreduce", size, blocking=blocking)["algorithm"] == algorithm, (size, blocking)
    assert set(tune_map.places(_core, m)[4]) == {"allreduce", "iallreduce"}


def test_native_is_a_rule(tmp_path):
    tune_rules.write(_core, made(binomial=1.2), tmp_path / "m.rules")
    c = chosen(tmp_path / "m.rules", "allreduce", 64)
    assert c["algorithm"] == "native" and "binomial 1.2" in c["rule"]


def test_parameters_and_operations_without_sizes(tmp_path):
    m = made(["barrier"], [8], **{"dissemination(degree=3)": 0.5})
    m.cells |= made(["gatherv"], [8, 64], **{"root-reads-all(shift=1)": 0.5}).cells
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    assert chosen(path, "barrier", 0)["parameters"]["degree"] == 3
    assert chosen(path, "gatherv", 0)["algorithm"] == "root-reads-all"


def test_two_ranks_have_rules_by_size(tmp_path):
    """Both know what goes between them."""
    m = made(["gatherv"], [8], ranks=2, **{"root-reads-all": 0.5})
    m.cells |= made(["gatherv"], [4096], ranks=2, **{"root-reads-all": 1.5}).cells
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    for size, algorithm in ((8, "root-reads-all"), (4096, "native")):
        c = chosen(path, "gatherv", size, ranks=2)
        assert c["algorithm"] == algorithm and str(path) in c["rule"], size
        assert str(path) not in chosen(path, "gatherv", size)["rule"]


def test_undecided_is_left_to_the_built_in_rules(tmp_path):
    m = made(["gatherv"], [8], **{"root-reads-all": 0.5})
    m.cells |= made(["gatherv"], [64], **{"root-reads-all": 1.5}).cells
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    assert str(path) not in chosen(path, "gatherv", 0)["rule"] and "# gatherv, 4 ranks: faster for some sizes" in path.read_text()
    row = tune_map.places(_core, m)[4]["gatherv"]
    assert set(row) == {8, 64}


def test_what_could_not_be_measured_has_no_rule(tmp_path):
    m = made(["bcast", "gatherv"], [8, 4096], binomial=0.5, **{"root-reads-all": 0.5})
    m.unmeasured = {(4, "bcast", 64), (4, "gatherv", 64)}
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    assert [str(path) in chosen(path, "bcast", size)["rule"] for size in (8, 64, 4096)] == [True, False, True]
    assert str(path) not in chosen(path, "gatherv", 0)["rule"]
    assert tune_rules.Measured.load(path.with_suffix(".json")).unmeasured == m.unmeasured


def test_an_undecided_non_blocking_one_does_not_have_the_blocking_ones_rule(tmp_path):
    m = made(["gatherv"], [8, 64], **{"root-reads-all": 0.5})
    m.cells |= made(["igatherv"], [8], **{"root-reads-all": 0.5}).cells | made(["igatherv"], [64], **{"root-reads-all": 1.5}).cells
    path = tmp_path / "m.rules"
    tune_rules.write(_core, m, path)
    assert [str(path) in chosen(path, "gatherv", 0, blocking=blocking)["rule"] for blocking in (True, False)] == [True, False]


def of_mpi(mpi, m):
    m.fingerprint = {**m.fingerprint, "mpi": f"{mpi} 1.0"}
    return m


def merged(tmp_path, *all_):
    for i, m in enumerate(all_):
        m.save(tmp_path / f"{i}.json")
    return tune_merge.text(_core, tune_merge.load(tmp_path))


def rules_by(text, operation, size, mpi, **more):
    """By a text of rules that come before the built-in ones."""
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
        file.write(text)
        file.flush()
        c = _core.choose(operation, size, 2, mpi=mpi, rules=file.name, **more)
        return c["algorithm"] if file.name in c["rule"] else None


def test_merged_rules_are_good_everywhere(tmp_path):
    """The best on the one machine is not chosen where it is bad on the other; a library's own serves where it is faster; one size
    by a hair does not make a range of its own."""
    def one(mpi, a, b, sizes):
        return of_mpi(mpi, made(["bcast"], sizes, ranks=2, **{"binomial": a, "tree(degree=3)": b}))

    short = [one("mpich", 0.5, 0.6, [8]), one("mpich", 0.9, 0.5, [8]), one("impi", 0.9, 0.8, [8])]
    long = [one("mpich", 0.5, 0.9, [4096]), one("mpich", 0.5, 0.9, [4096]), one("impi", 1.2, 1.9, [4096])]
    for m, other in zip(short, long):
        m.cells |= other.cells
    text = merged(tmp_path, *short)
    for size, mpi, algorithm in ((0, "mpich", "tree"), (8, "impi", "tree"), (4096, "mpich", "binomial"), (1 << 22, "impi", "native"),
                                 (4096, "other", "binomial")):
        assert rules_by(text, "bcast", size, mpi) == algorithm, (size, mpi, text)
    assert rules_by(text, "bcast", 8, "impi", oversubscribed=True) is None
    assert "degree=3" in text and "4096" not in text and "4K: 1.20 x impi, 0.50 x mpich" in text
    assert "# - impi 1.0 on " in text


def test_merged_non_blocking_ones_have_rules_where_they_differ(tmp_path):
    m = made(["bcast", "reduce"], [8, 4096], ranks=2, binomial=0.5, tree=0.9)
    m.cells |= made(["ibcast"], [8, 4096], ranks=2, binomial=0.5, tree=0.9).cells | made(["ireduce"], [8, 4096], ranks=2, binomial=0.9, tree=0.5).cells
    text = merged(tmp_path, m)
    assert [line.split()[0] for line in text.splitlines() if "blocking=no" in line] == ["reduce"]
    assert [rules_by(text, "reduce", 8, "mpich", blocking=blocking) for blocking in (True, False)] == ["binomial", "tree"]


def test_medians_of_launches_merge_to_the_same(tmp_path):
    def some():
        return made(["bcast", "gatherv"], ranks=2, **{"binomial": 0.7, "root-reads-all": 1.3})

    whole = merged(tmp_path, some())
    short = tune_merge.medians(some())
    assert all(len(of) == 1 for launches in short.cells.values() for one in launches for of in one.values())
    assert merged(tmp_path, short) == whole


def test_the_built_in_measured_rules_are_what_the_measurements_say():
    """src/select/measured.txt: `fanlight tune --merge bench/results/tuned`."""
    root = pathlib.Path(__file__).parents[2]
    done = typer.testing.CliRunner().invoke(app, ["tune", "--merge", str(root / "bench/results/tuned")])
    assert done.exit_code == 0 and done.stdout == (root / "src/select/measured.txt").read_text()


def test_round_trip(tmp_path):
    m = made()
    m.excluded[4, "bcast", 64] = {"tree": "wrong: 8 words"}
    m.earlier[4, "bcast", 64] = NATIVE
    m.round_trips[4] = [100, 110, 560]
    m.save(tmp_path / "m.json")
    again = tune_rules.Measured.load(tmp_path / "m.json")
    assert (again.cells, again.runs, again.excluded, again.fingerprint) == (m.cells, m.runs, m.excluded, m.fingerprint)
    assert again.earlier == {key: NATIVE if key == (4, "bcast", 64) else "" for key in m.cells}
    assert tune_rules.text(_core, again, tune_rules.decide(_core, again)) == tune_rules.text(_core, m, tune_rules.decide(_core, m))
    assert "4 ranks: a round trip between the first two takes 110 ns (from 100 to 560)" in tune_rules.text(_core, again, [])
    assert "excluded: bcast 64 on 4 ranks: tree: wrong" in tune_rules.text(_core, m, [])
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(FanlightError):
        tune_rules.Measured.load(tmp_path / "x.json")


def test_others_are_kept(tmp_path):
    old, new = made(["bcast"], ranks=2), made(["allreduce"])
    old.date, old_key = "2025-01-01", (2, "bcast", 8)
    new.follow(_core, old)
    assert new.cells[old_key] == old.cells[old_key] and new.when(*old_key) == "2025-01-01" and new.when(4, "allreduce", 8) == new.date
    assert new.earlier[old_key] == {(r.ranks, r.operation, size): r.choice for r in tune_rules.decide(_core, old) for size in r.sizes}[old_key]
    # Each with the state in which it was measured, also when that is another one now.
    other, now = made(["bcast"]), made(["allreduce"])
    now.runs = {4: {**now.runs[4], "single_copy": None}}
    now.follow(_core, other)
    assert now.run(4, "bcast") == other.runs[4] and now.run(4, "allreduce")["single_copy"] is None and (4, "bcast", 8) in now.cells
    now.save(tmp_path / "now.json")
    assert tune_rules.Measured.load(tmp_path / "now.json").run(4, "bcast") == other.runs[4]
    # What was measured anew, or elsewhere, is not.
    newer = made(["bcast"], [64], ranks=2, binomial=0.4)
    newer.follow(_core, old)
    assert newer.cells[2, "bcast", 64] != old.cells[2, "bcast", 64] and newer.when(2, "bcast", 64) == newer.date
    # ... by the cell: one size again leaves the others, each with its date.
    assert newer.sizes(2, "bcast") == [8, 64, 4096] and newer.when(*old_key) == "2025-01-01"
    assert "2025-01-01 to 2026-11-24" in tune_rules.text(_core, newer, tune_rules.decide(_core, newer))
    assert tune_map.agreement(_core, old, newer, {(2, "bcast", 64)}) == (1, 1), "those carried over do not count"
    # Where single copy was found differently one rule holds for both.
    differently = made(["bcast"], [64], ranks=2)
    differently.runs[2] = {**differently.runs[2], "single_copy": False}
    differently.follow(_core, old)
    assert differently.run(2, "bcast")["single_copy"] is None and differently.sizes(2, "bcast") == [8, 64, 4096]
    elsewhere = made(["allreduce"])
    elsewhere.fingerprint = {**elsewhere.fingerprint, "binding": "core"}
    elsewhere.follow(_core, old)
    assert old_key not in elsewhere.cells


def test_agreement():
    """What counts is what serves: where nothing was decided that is the built-in rules' choice."""
    one, other = made(binomial=0.5), made(binomial=0.5)
    assert tune_map.agreement(_core, one, other) == (6, 6)
    other.cells |= made(["bcast"], binomial=1.5).cells | made(["gather"], binomial=0.5).cells
    assert tune_map.agreement(_core, one, other) == (3, 6)
    one, other = made(["gatherv"], [8, 64], **{"all-write-root": 0.5}), made(["gatherv"], [8], **{"all-write-root": 0.5})
    other.cells |= made(["gatherv"], [64], **{"all-write-root": 1.5}).cells
    assert tune_map.agreement(_core, one, other) == (2, 2)
    other.fingerprint = {**other.fingerprint, "binding": "core"}
    assert tune_map.agreement(_core, one, other) == (0, 0)


@pytest.fixture
def tuned(clean, tmp_path):
    """The user's folder with rules for this machine."""
    clean.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tune_rules.own_folder(_core) / f"{_core.fingerprint('MPICH Version: 5.0.2')['name']}.rules"
    tune_rules.write(_core, made(["allreduce", "bcast", "reduce"], [8, 64, 4096], ranks=2, binomial=0.5), path)
    return path


def test_explain(tuned, fanlight):
    said = " ".join(fanlight("explain", "allreduce", "64", "-n", 2, env={"COLUMNS": "400", "FANLIGHT_CORES": "2"}).stdout.split())
    assert tuned.name in said and re.search(r"2026-11-24, at 64 B: 0\.\d+ us, MPI \S+ us, 0\.\d+ \[0\.\d+, 0\.\d+\]", said)
    for off in ({"FANLIGHT_TUNED": "off"}, {"XDG_CONFIG_HOME": "/nowhere"}, {"FANLIGHT_ALGORITHM": "allreduce:ring"}):
        assert tuned.name not in fanlight("explain", "allreduce", "64", "-n", 2, env=off).stdout
    assert tuned.name not in fanlight("explain", "allreduce", "64", "-n", 2, "--mpi", "openmpi").stdout
    sums = {"FANLIGHT_ROUNDING": "nodes", "FANLIGHT_CORES": "2"}  # of which no measurement decides the order
    assert [tuned.name in fanlight("explain", o, "64", "-n", 2, env=sums).stdout.replace("\n", "") for o in ("allreduce", "bcast")] == [False, True]
    # Another binding's file says something else.
    other = made(["allreduce"], [64], ranks=2, ring=0.5)
    tune_rules.write(_core, other, tuned.with_name(tuned.name.replace("-unbound-", "-core-")))
    said = " ".join(fanlight("explain", "allreduce", "64", "-n", 2, env={"COLUMNS": "400", "FANLIGHT_CORES": "2"}).stdout.split())
    assert "ranks bound to cores ring, by" in said and "ranks not bound binomial, by" in said, said


def test_explain_where_a_measured_file_says_nothing(tuned, fanlight):
    assert "left out" in fanlight("explain", "bcast", env={"FANLIGHT_TUNED": "/missing"}).stdout
    tuned.write_text("bcast ranks=2 -> binomial  # mine | because: it is better\n")
    said = fanlight("explain", "bcast", "64", "-n", 2, env={"COLUMNS": "400"}).stdout
    assert "binomial" in said and tuned.name in said


def test_where_rules_are_written_programs_look(clean, tmp_path):
    clean.setenv("FANLIGHT_TUNED", str(tmp_path))
    assert tune_rules.own_folder(_core) == tmp_path
    clean.setenv("FANLIGHT_TUNED", "off")
    assert tune_rules.own_folder(_core) != tmp_path


def test_show(tuned, fanlight, tmp_path):
    said = fanlight("tune", "--show", "-o", tmp_path / "map.svg").stdout
    assert "allreduce" in said and "binomial" in said and "2.0" in said
    drawn = xml.dom.minidom.parse(str(tmp_path / "map.svg"))
    texts = [t.firstChild.data for t in drawn.getElementsByTagName("text")]
    assert "bcast" in texts and texts.count("binomial") == 9 and len(drawn.getElementsByTagName("rect")) == 10
    pytest.importorskip("matplotlib")
    fanlight("tune", "--show", "-o", tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert ".svg nor .png" in fanlight("tune", "--show", "-o", tmp_path / "map.pdf", code=2).stderr
    assert "--show" in fanlight("tune", "-o", tmp_path / "map.svg", code=2).stderr


def test_aged():
    before = made(binomial=0.5).cells[4, "bcast", 8]
    ratio = stats.ratios(before)["binomial"]
    assert not tune.aged(ratio, "binomial", stats.ratios(cell(binomial=0.9)))
    assert not tune.aged(ratio, "binomial", {"binomial": stats.Ratio(0.97, 0.96, 0.99, 1, 1)})  # it would stand
    assert "takes 1.1" in tune.aged(ratio, "binomial", stats.ratios(cell(binomial=1.1)))
    assert "wrong" in tune.aged(ratio, "binomial", {})
    assert not tune.aged(None, NATIVE, stats.ratios(cell(a=1.1))) and "a takes 0.5" in tune.aged(None, NATIVE, stats.ratios(cell(a=0.5)))


def test_check_says_that_the_cores_have_moved():
    near, far, both = [100, 110, 120], [500, 540, 560], [100, 130, 560]
    assert "takes 540 ns (from 500 to 560), took 110 ns (from 100 to 120)" in tune.ranks_moved(near, far)
    assert tune.ranks_moved(far, near)
    assert not tune.ranks_moved(near, both)
    assert not tune.ranks_moved(None, near) and not tune.ranks_moved(near, None), "measured by an older version, or with more ranks than cores"


def test_what_is_compared_when_it_is_checked():
    """The choice and the built-in rules' are measured to the end, and what all choices gain is told."""
    m = made(["allreduce"], [8, 64], **{"binomial": 0.5, "all-read-all": 0.6, "linear": 0.7, "ring": 0.8, "tree": 0.9, "dual-root": 0.3})
    by_rule = tune_rules.by_rule(_core, m, 4, "allreduce", 8)
    assert tune._to_compare(_core, m, 4, "allreduce", 8, "tree") == ["tree", by_rule, "dual-root", "binomial"] and by_rule == "all-read-all"
    assert tune._to_compare(_core, m, 4, "allreduce", 8, NATIVE)[:2] == [by_rule, "dual-root"]
    ranges = {(r.operation, size): r for r in tune_rules.decide(_core, m) for size in r.sizes}
    said = tune.summary(_core, m, m, ranges)
    assert re.search(r"0\.(30|29)\d as chosen, 0\.(60|59)\d by the built-in rules; at most 0\.30 \(allreduce", said), said
    m.cells[4, "allreduce", 64] = [{**one, "dual-root": windows(1.2)} for one in m.cells[4, "allreduce", 64]]
    assert "at most 1.2" in tune.summary(_core, m, m, ranges)


# --- refusals -----------------------------------------------------------------------------

def test_restless_machine():
    m = made()
    assert tune_noise.restless(m) == ""
    for launches in m.cells.values():
        for i, one in enumerate(launches):  # others' work hits the one or the other
            one[NATIVE], one["binomial"] = windows(1, noise=0.9, seed=i), windows(0.5, noise=0.9, seed=10 + i)
    assert "within a run" in tune_noise.restless(m)
    m = made()
    for launches in m.cells.values():
        launches[1]["binomial"] = [2.5 * t for t in launches[1]["binomial"]]
    assert "from run to run" in tune_noise.restless(m)
    m = made()
    for launches in m.cells.values():  # a slow launch, for both sides
        launches[1] = {a: [3 * t for t in of] for a, of in launches[1].items()}
    assert tune_noise.restless(m) == ""


def test_a_busy_machine(monkeypatch):
    monkeypatch.setattr(tune_noise, "busy", lambda: 0.5)
    with pytest.raises(FanlightError, match="busy.*50%"):
        tune_noise.refuse_if_busy()


def test_busy_counts_ticks(monkeypatch):
    ticks = iter([(100, 1000), (150, 1200)])
    monkeypatch.setattr(tune_noise, "_times", lambda cpus: next(ticks))
    assert tune_noise.busy(0) == pytest.approx(0.25)


@pytest.mark.parametrize("options,said", [(["--operation", "bcats"], "bcats: unknown"), (["-n", "1"], "ranks from 2 on"),
                                          (["--sizes", "7"], "multiple of 8"), (["--show", "--check"], "exclude"),
                                          (["--resume"], "no interrupted run"), (["--show"], "nothing was measured")],
                         ids=" ".join)
def test_refused(clean, fanlight, tmp_path, options, said):
    clean.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert said in fanlight("tune", *options, code=2).stderr


def test_a_file_that_is_no_tune_file(fanlight, tmp_path):
    (tmp_path / "x.rules").write_text("")
    (tmp_path / "x.json").write_text(json.dumps({"format": 2}))
    assert "is no file of fanlight tune" in fanlight("tune", "--show", "--file", tmp_path / "x.rules", code=2).stderr


# --- a run that does not come to its end --------------------------------------------------

PLAN = {"format": 1, "mpi": "mpich", "ranks": [2, 4], "operations": ["bcast"], "minutes": 0.1, "sizes": [64], "output": "", "seed": 1, "launcher_arg": []}


def lines(mpi, ranks, sizes=(64,), launches=3):
    of = {"mpi": mpi, "ranks_": ranks}
    found = [{**of, "type": "run", "launch": 0, "library": f"{mpi.upper()} Version: 5.0.2", "nodes": 1}, {**of, "type": "cpus", "launch": 0, "cpus": []},
             {**of, "type": "facts", "launch": 0, "single_copy": True, "oversubscribed": False}]
    found += [{**of, "type": "limit", "launch": i, "limit": "round_trip", "time": {"min": 0.1 + 0.01 * i}} for i in range(launches)]
    return found + [{**of, "type": "cell", "launch": i, "operation": "bcast", "size": size,
                     "medians": {NATIVE: windows(1, seed=i), "binomial": windows(0.5, seed=10 + i)}} for size in sizes for i in range(launches)]


class Contender:
    def __init__(self, key):
        self.key = self.label = key


@pytest.fixture
def run(clean, tmp_path, monkeypatch):
    clean.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def made_of(done, contenders=("mpich",), **plan):
        return tune_run.Run(_core, {**PLAN, **plan}, done, [Contender(key) for key in contenders])

    return made_of


def rules_in(tmp_path):
    return "".join(path.read_text() for path in sorted(tmp_path.glob("fanlight/tuned/*.rules")))


def test_what_is_left_to_one_mpi_library_is_measured_to_the_end(run):
    size, state = 1 << 20, {"nodes": 1, "oversubscribed": False, "single_copy": True}
    assert tune_plan.built_in(_core, "ialltoall", size, 2, "impi", state) == NATIVE
    by_rule = run([])._by_rule(Contender("impi"), 2)
    assert by_rule("ialltoall", size) == "all-write-all"
    assert by_rule("ialltoall", 8) == tune_plan.built_in(_core, "ialltoall", 8, 2, "impi", state)


def test_how_far_ranks_are_from_each_other(run):
    (m,) = run(lines("mpich", 2)).measured()
    assert m.round_trips == {2: pytest.approx([100, 110, 120])}


def test_one_busy_part_does_not_take_the_others_along(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tune_noise, "restless", lambda m, numbers: "it shook" if 4 in numbers else "")
    half = run(lines("mpich", 2) + lines("mpich", 4))
    tune_run._work_file(_core).parent.mkdir()
    with pytest.raises(FanlightError, match="it shook"):
        half.write()
    assert "ranks=2" in rules_in(tmp_path) and "ranks=4" not in rules_in(tmp_path)
    # What is left to measure is what was busy.
    _, done = tune_run.interrupted(_core)
    assert {r["ranks_"] for r in done} == {2}


def test_an_mpi_that_does_not_start_does_not_take_the_others_along(run, tmp_path, monkeypatch):
    def measure(self, contender, ranks, *_):
        if contender.key == "openmpi":
            raise FanlightError("it does not start")
        self.lines += lines(contender.key, ranks)

    monkeypatch.setattr(tune_run.Run, "_measure_number", measure)
    both = run([], ("openmpi", "mpich"))
    both.measure()
    with pytest.raises(FanlightError, match="left out: it does not start"):
        both.write()
    assert "ranks=4" in rules_in(tmp_path)
    with pytest.raises(FanlightError, match="^it does not start"):
        alone = run([], ("openmpi",))
        alone.measure()
        alone.write()


def test_what_was_measured_after_all_counts(run):
    failed = {"type": "unmeasured", "mpi": "mpich", "ranks_": 2, "launch": 0, "operation": "bcast", "size": 64}
    m, = run([failed, *lines("mpich", 2)], ranks=[2]).measured()
    assert (2, "bcast", 64) in m.cells and not m.unmeasured
    m, = run([failed, *lines("mpich", 2, [8])], ranks=[2]).measured()
    assert m.unmeasured == {(2, "bcast", 64)}


def test_an_interrupted_run_is_kept(clean):
    path = tune_run._work_file(_core)
    path.parent.mkdir()
    path.write_text(json.dumps(PLAN) + "\n" + "".join(json.dumps(r) + "\n" for r in lines("mpich", 2)))
    text = path.read_text()
    tune_run.keep_interrupted(_core)
    assert not path.exists() and path.with_suffix(".old-1").read_text() == text


def test_the_users_settings_are_not_measured(clean, monkeypatch):
    seen = {}

    def run_once(contender, *_, **__):
        seen.update(contender.settings)
        return bench_run.Outcome([])

    monkeypatch.setattr(bench_run, "run_once", run_once)
    clean.setenv("FANLIGHT_TRANSPORT", "message")
    tune_run.launched(_core, bench_run.Contender("mpich", "MPICH", None, None, {"FANLIGHT_WAIT": "yield"}), 2, [], [], print)
    assert all(seen[s.variable] == s.default for s in _core.settings() if s.same and s.variable != "FANLIGHT_GPU") and "FANLIGHT_GPU" not in seen
    assert seen["FANLIGHT_TUNED"] == "off" and seen["FANLIGHT_WAIT"] == "yield"


def test_where_nothing_can_be_written_nothing_is_measured(fanlight, tmp_path):
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file/x.rules", tmp_path):
        assert str(output) in fanlight("tune", "--mpi", f"mpich={environment_of('mpich')}", "-o", output, code=2).stderr
