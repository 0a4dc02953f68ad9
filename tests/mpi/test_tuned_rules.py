"""`fanlight tune` on real MPIs: it measures, excludes what is wrong, and its rules are applied alike on all ranks.

Nothing here looks at how long something took: what was measured beside other tests is worth nothing."""

import json
import pathlib

import pytest

import running
from running import LIBRARIES, MPICH, OPENMPI, repeated, run

pytest.importorskip("fanlight.tune")
typer_testing = pytest.importorskip("typer.testing")
core = pytest.importorskip("fanlight._core")
from fanlight import tune_noise, tune_plan, tune_rules, tune_run  # noqa: E402


@pytest.fixture
def measure(monkeypatch, tmp_path):
    """Runs the command in this process, where the machine counts as free; returns the folder of its files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FANLIGHT_LIB_DIR", str(LIBRARIES))
    monkeypatch.setattr(tune_noise, "BUSY", 2)
    monkeypatch.setattr(tune_noise, "CROWDED", 1e9)
    monkeypatch.setattr(tune_noise, "MOST_SPREAD", 1e9)
    monkeypatch.setattr(tune_noise, "MOST_DRIFT", 1e9)

    def start(mpi, *options, code=0):
        from fanlight.cli import app

        for name, value in mpi.environment.items():
            monkeypatch.setenv(name, value)
        words = ["tune", "--mpi", f"{mpi.name}={mpi.root}", *map(str, options)]
        if mpi is OPENMPI:
            words += ["--launcher-arg=--mca", "--launcher-arg=osc", "--launcher-arg=^ucx"]
        done = typer_testing.CliRunner().invoke(app, words)
        assert done.exit_code == code, f"{done.output}\n{done.exception!r}"
        return tmp_path / "config/fanlight/tuned"

    return start


SHORT = ("--minutes", "0.03")


def rows(folder):
    file, = folder.glob("*.json")
    return {(r["ranks"], r["operation"], r["size"]): r for r in json.loads(file.read_text())["cells"]}


def rules_of(folder):
    file, = folder.glob("*.rules")
    return file, [line.partition("#")[0].split() for line in file.read_text().splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(running.IMPI)], ids=str)
def test_a_short_run(mpi, measure, tmp_path, fanlight_only):
    """Every operation: all three launches, the MPI library's own in each cell, and a rule for each; then programs use it."""
    folder = measure(mpi, "-n", 2, "--sizes", "64", *SHORT)
    cells = rows(folder)
    assert {o for _, o, _ in cells} == set(tune_plan.ALL)
    for key, row in cells.items():
        assert len(row["launches"]) == tune_run.LAUNCHES and all(min(one["native"]) > 0 for one in row["launches"]), key
        assert len(row["launches"][-1]) > 1, key
        assert not any(why.startswith("wrong") for why in row["excluded"].values()), row["excluded"]
    # What the built-in rules say is measured to the end, however slow.
    measured = tune_rules.Measured.load(next(folder.glob("*.json")))
    for (n, operation, size), launches in measured.cells.items():
        says = tune_rules.by_rule(core, measured, n, operation, size)
        assert says == "native" or all(says in one for one in launches), (operation, says)
    file, rules = rules_of(folder)
    assert {(words[0], "blocking=no" not in words) for words in rules} == \
        {(tune_plan.rule_name(o), tune_plan.is_blocking(o)) for _, o, _ in cells}
    assert not list((tmp_path / "cache/fanlight").glob("tune-*.jsonl"))

    # A program finds it, by the fingerprint that it computes itself.
    text = file.read_text()
    line, = [line for line in text.splitlines() if line.startswith("allreduce ") and "blocking=no" not in line]
    condition, comment = line.partition(" -> ")[0], line.partition("  # ")[2]
    condition = condition.replace("bytes=64..64", "bytes=..1M").replace("oversubscribed=no ", "")
    file.write_text(text.replace(line, f"{condition} -> binomial  # {comment}"))
    launcher = ["--bind-to", "core"] if mpi is OPENMPI and file.name.split("-")[2] == "core" else []
    found = run(mpi, 2, "collectives --quick --only=allreduce", {"TUNED": "auto", "VERBOSE": "1"}, options=launcher,
                settings={"XDG_CONFIG_HOME": tmp_path / "config"}).must_be_ok()
    assert "binomial" in found.report.algorithms("allreduce"), str(found)
    assert f"rules measured by fanlight tune: {file}" in found.err and " by " + str(file) in found.err and comment[:40] in found.err


def test_what_is_wrong_is_excluded(measure, monkeypatch, fanlight_only):
    """A library that makes the results of one algorithm wrong: it is said, and never chosen, however fast."""
    from fanlight import libraries

    spoiler = running.PROGRAMS / "mpich/spoiler.so"
    assert spoiler.exists()
    monkeypatch.setattr(libraries, "preload_for", lambda abi: pathlib.Path(f"{spoiler}:{MPICH.preload}"))
    monkeypatch.setenv("SPOIL", "all-read-all")
    folder = measure(MPICH, "-n", 2, "--operation", "allreduce", "--sizes", "8,4K", *SHORT)
    for row in rows(folder).values():
        assert row["excluded"]["all-read-all"].startswith("wrong"), row
        assert row["launches"] and not any("all-read-all" in one for one in row["launches"])
    file, rules = rules_of(folder)
    assert rules and not any("all-read-all" in words for words in rules)
    assert "# excluded: allreduce 8 on 2 ranks: all-read-all: wrong" in file.read_text()


def test_resume(measure, monkeypatch, tmp_path, fanlight_only):
    """Interrupted in the second launch: what was measured is not measured again."""
    from fanlight import bench_run

    really, calls = bench_run.run_once, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return really(*arguments, **options)

    monkeypatch.setattr(bench_run, "run_once", interrupted)
    folder = measure(MPICH, "-n", 2, "--operation", "bcast,barrier", "--sizes", "8", *SHORT, code=130)
    file, = (tmp_path / "cache/fanlight").glob("tune-*.jsonl")
    kept = file.read_text()
    assert kept.count('"type": "cell"') == 2 and not folder.exists()
    file.write_text(kept + '{"type": "cell", "opera')  # was not written to its end
    measure(MPICH, "--resume")
    assert len(calls) == 4 and len(rows(folder)) == 2
    first = [json.loads(line) for line in kept.splitlines() if '"type": "cell"' in line]
    for r in first:
        assert rows(folder)[2, r["operation"], r["size"]]["launches"][0]["native"] == r["medians"]["native"]


def test_check(measure, monkeypatch, fanlight_only):
    """What was chosen has become wrong: that has aged."""
    from fanlight import libraries

    folder = measure(MPICH, "-n", 2, "--operation", "allreduce", "--sizes", "8", *SHORT)
    file, = folder.glob("*.json")
    said = json.loads(file.read_text())
    for one in said["cells"][0]["launches"]:  # an algorithm of Fanlight's is chosen, whatever the times were
        one["native"] = [1000 * t for t in one["native"]]
    file.write_text(json.dumps(said))
    choice, = (r.choice for r in tune_rules.decide(core, tune_rules.Measured.load(file)))
    monkeypatch.setattr(libraries, "preload_for", lambda abi: pathlib.Path(f"{running.PROGRAMS / 'mpich/spoiler.so'}:{MPICH.preload}"))
    monkeypatch.setenv("SPOIL", choice.partition("(")[0])
    measure(MPICH, "--check", code=1)


RULE = "allreduce bytes=..1M ranks=3 -> {}\nallreduce bytes=..1M ranks=2 -> {}\n"


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_ranks_with_different_files(mpi, tmp_path, fanlight_only):
    """Each rank's folder says something else, and one has none: rank 0's rules are for all of a communicator."""
    for rank, name in enumerate(("ring", "binomial")):
        (tmp_path / f"{rank}.rules").write_text(RULE.format(name, name))
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    result = run(mpi, 3, ["/bin/sh", "-c", f'test {rank} = 2 && FANLIGHT_TUNED=off || FANLIGHT_TUNED={tmp_path}/{rank}.rules; '
                          'export FANLIGHT_TUNED; exec "$0" "$@"', mpi.program("different_first_ranks")], timeout=60).must_be_ok()
    said = {line.partition(": ")[0]: line.partition(": ")[2].split()[0] for line in result.out.splitlines() if " rank " in line}
    assert said["last two rank 0"] == said["last two rank 1"] == "binomial", str(result)
    assert [said[f"world rank {r}"] for r in range(3)] == ["ring"] * 3, str(result)
    # Its rank 0 is the one that has no file, but has been sent one: by its first rank 0.
    assert [said[f"backwards rank {r}"] for r in range(3)] == ["binomial"] * 3, str(result)


def test_the_bits_of_sums_do_not_follow_what_was_measured(tmp_path, fanlight_only):
    """Which file holds depends on how rank 0 is bound."""
    (tmp_path / "x.rules").write_text("allreduce -> ring  # measured\nbcast -> linear\n")
    for rounding, expected in (("own", True), ("nodes", False)):
        result = run(MPICH, 3, "collectives --quick --only=allreduce,bcast", {"TUNED": tmp_path / "x.rules", "ROUNDING": rounding}).must_be_ok()
        assert ("ring" in result.report.algorithms("allreduce")) == expected, str(result)
        assert "linear" in result.report.algorithms("bcast"), str(result)


def test_a_wrong_file_is_left_out(tmp_path, fanlight_only):
    for text, why in (("allreduce -> no-such-thing\n", "unknown algorithm"), ("bcast -> file(x.plan)\n", "plans from files"), ("", "cannot be read")):
        (tmp_path / "x.rules").write_text(text)
        result = run(MPICH, 2, "collectives --quick --only=bcast", {"TUNED": tmp_path / "x.rules"}, timeout=60).must_be_ok()
        assert why in result.err and "the measured rules are left out" in result.err, str(result)
        assert result.report.calls("bcast"), "by the built-in rules"
