"""`fanlight bench` on what is not among its defaults."""

import json
import os
import signal
import subprocess
import sys

import pytest
import typer.testing

from environments import environment_of
from fanlight import bench, bench_run, mpis
from fanlight.errors import FanlightError


@pytest.mark.parametrize("kind, ranks, operations", [("mpich", 2, ["neighbor_allgather", "neighbor_alltoall"]),
                                                     ("openmpi", 3, ["neighbor_alltoall"])])
def test_neighborhoods_on_a_ring(fanlight, tmp_path, kind, ranks, operations):
    """On 2 ranks both neighbors are one."""
    output = tmp_path / "times.json"
    said = fanlight("bench", "--mpi", f"{kind}={environment_of(kind)}", "--operation", ",".join(operations), "-n", ranks,
                    "--sizes", "1K", "--quick", "--settings", "shipped", "--output", output).stdout
    record = json.loads(output.read_text())
    assert record["problems"] == [] and all(name in said for name in operations)
    assert [(r["operation"], r["size"]) for r in record["results"]] == [(name, 1024) for name in operations]
    assert all(r[side]["median"] > 0 for r in record["results"] for side in ("native", "fanlight"))


def test_persistent(fanlight, tmp_path):
    output = tmp_path / "times.json"
    said = fanlight("bench", "--persistent", "--quick", "--mpi", f"mpich={environment_of('mpich')}",
                    "--output", output).stdout
    record = json.loads(output.read_text())
    row, = record["persistent"]
    assert record["problems"] == [] and (row["mpi"], row["ranks"], row["size"], row["pairs"]) == ("mpich", 2, 8, 51)
    assert f"{row['ratio']['median']:.2f}" in said and row["blocking"]["median"] > 0 < row["persistent"]["median"]
    assert record["runs"][0]["preloaded"]


def test_guard(fanlight, tmp_path):
    """What it costs, and the operations under slow rules, where it has left the calls to the MPI library's own."""
    output = tmp_path / "times.json"
    said = fanlight("bench", "--guard", "--quick", "--mpi", f"mpich={environment_of('mpich')}", "--operation", "barrier,bcast", "--sizes", "8",
                    "--output", output, env={"FANLIGHT_RULES": bench_run._source_tree() / "bench/slow_rules.txt"}).stdout
    record = json.loads(output.read_text())
    assert record["problems"] == [] and ("What the guard costs" in said) == bool(record["guard"])
    # Those that it left to the MPI library are not measured; which these are is a matter of time.
    assert {(r["operation"], r["algorithm"]) for r in record["guard"]} <= {("barrier", "tree"), ("bcast", "linear"), ("allreduce", "ring")}
    assert [r["operation"] for r in record["results"]] == ["barrier", "bcast"]


def test_persistent_goes_with_no_operation(fanlight):
    assert "--persistent" in fanlight("bench", "--persistent", "--operation", "bcast", code=2).stderr


@pytest.mark.parametrize("words, said", [(("--output", "."), "is a folder"), (("--sizes", "2G"), "at most 1G"),
                                         (("--simulated", "--paper", "intra-cell", "-n", "x"), "numbers of ranks"),
                                         (("--simulated", "--paper", "intra-cell", "--operation", "bcast"), "--operation"),
                                         (("--simulated", "--paper", "dart-halo", "-n", 4), "-n")])
def test_refusals(fanlight, words, said):
    assert said in fanlight("bench", *words, code=2).stderr


def test_what_was_measured_is_shown_where_it_cannot_be_written(fanlight):
    done = fanlight("bench", "--quick", "--mpi", f"mpich={environment_of('mpich')}", "--operation", "bcast", "--sizes", "8", "--output", "/dev/full", code=2)
    assert "bcast" in done.stdout and "/dev/full: No space left" in done.stderr


def test_what_does_not_fit_is_said(fanlight):
    said = fanlight("bench", "--quick", "--mpi", f"mpich={environment_of('mpich')}", "--operation", "allgather", "--sizes", "64M").stderr
    assert "left out: MPICH, 2 ranks, allgather 64M: more than the memory allowed" in said


def test_an_interruption_keeps_what_was_measured(clean, monkeypatch, tmp_path):
    from fanlight.cli import app

    really, calls = bench_run.run_once, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return really(*arguments, **options)

    monkeypatch.setattr(bench_run, "run_once", interrupted)
    done = typer.testing.CliRunner().invoke(app, ["bench", "--quick", "--mpi", f"mpich={environment_of('mpich')}", "--operation", "barrier,bcast,reduce",
                                                  "--sizes", "8", "--output", str(tmp_path / "o.json")])
    assert (tmp_path / "o.json").exists(), f"{done.output} {done.exception!r}"
    record = json.loads((tmp_path / "o.json").read_text())
    assert done.exit_code == 1 and len(calls) == 2 and "barrier" in done.output
    assert {r["operation"] for r in record["results"]} == {"barrier"} and record["problems"] == [bench.INTERRUPTED]


def test_one_mpi_is_named_once(clean):
    with pytest.raises(FanlightError, match="mpich more than once"):
        bench_run.find_contenders(["mpich", f"mpich={environment_of('mpich')}"])


def test_a_signal_ends_the_job(clean, tmp_path):
    """Which is in a session of its own."""
    program = ("import os, signal, sys, threading; from fanlight import bench_run, launch\n"
               "launch.command_line = lambda *_: ['sh', '-c', f'echo $$ > {sys.argv[1]}; kill -TERM {os.getpid()}; exec sleep 100']\n"
               "class Mpi: environment = {}\n"
               "bench_run.run_once(bench_run.Contender('mpich', 'MPICH', Mpi, None), 2, 2, [], False)")
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "pid"], timeout=60)
    assert done.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_plots_ending_is_checked_first(fanlight, tmp_path):
    pytest.importorskip("matplotlib")
    assert ".png" in fanlight("bench", "--plot", tmp_path / "x.foo", code=2).stderr


def test_a_launchers_message_is_no_markup(fanlight):
    done = fanlight("bench", "--mpi", f"mpich={environment_of('mpich')}", "--operation", "barrier", "--launcher-arg", "[/no]", code=1)
    assert "[/no]" in done.stderr and "MarkupError" not in done.stderr


@pytest.mark.parametrize("kind", ["mpich", "openmpi"])
def test_progress(fanlight, tmp_path, kind):
    """How soon a rank that waits in a barrier does its part of what others ask of the MPI library."""
    output = tmp_path / "times.json"
    said = fanlight("bench", "--progress", "--quick", "--mpi", f"{kind}={environment_of(kind)}", "-n", 3,
                    "--output", output).stdout
    record = json.loads(output.read_text())
    assert record["problems"] == [] and record["runs"][0]["preloaded"]
    assert [(r["case"], r["after"]) for r in record["progress"]] == [
        (case, after) for after in (0, 20000) for case in ("accumulate", "fetch_and_op", "vector")]
    assert all(f"{r['ratio']:.2f}" in said and r["ratio"] > 0 for r in record["progress"])


def test_overlap(fanlight, tmp_path):
    output = tmp_path / "times.json"
    said = fanlight("bench", "--overlap", "--quick", "--sizes", "64K", "--mpi", f"mpich={environment_of('mpich')}",
                    "--output", output).stdout
    record = json.loads(output.read_text())
    row, = record["overlap"]
    assert record["problems"] == [] and record["runs"][0]["preloaded"] and row["size"] == 65536 and row["times"] == 11
    for side in (row["native"], row["fanlight"]):
        assert f"{100 * side['hidden']['median']:.0f} %" in said
        assert max(side["alone"]["min"], side["computation"]["min"]) < side["together"]["median"]
        assert side["hidden"]["median"] <= 1.5


@pytest.mark.parametrize("options", [("--overlap", "--operation", "bcast"), ("--overlap", "--limits"), ("--rate", "1gbit")], ids=" ".join)
def test_overlap_goes_with_hosts_alone(fanlight, options):
    assert options[0] in fanlight("bench", *options, code=2).stderr


def test_progress_goes_with_no_operation(fanlight):
    assert "--progress" in fanlight("bench", "--progress", "--operation", "bcast", code=2).stderr


def test_buffers_in_the_shared_heap(clean, tmp_path):
    """Of the plan that --buffers heap makes, one short run."""
    contender, = bench_run.find_contenders([f"mpich={environment_of('mpich')}"], None, bench_run.COLLECTIVES)
    plan = bench.Plan([contender], [2], ["bcast"], [65536], "loop", True, "shipped", 2, True, False, False, [], buffers="heap")
    report = tmp_path / "report.json"
    clean.setenv("FANLIGHT_REPORT", str(report))
    clean.setenv("FANLIGHT_SINGLE_COPY", "off")
    clean.setenv("FANLIGHT_LENT_FROM", "16K")  # whatever it costs
    outcome = bench_run.run_once(contender, 2, 2, [*plan.arguments("bcast", contender, False), "--blocks=1", "--seconds=0.01"], plan.preload,
                                 shared_heap=plan.shared_heap)
    assert not outcome.problem, outcome.said
    lent = [rank["lent"] for rank in json.loads(report.read_text())["by_rank"]]
    assert lent[0] > 5, f"{lent} messages of the root were read where they lay"


def fake_mpi(folder):
    """Two MPIs in one prefix, as Debian has them: their headers are not in its include."""
    found = {}
    for kind, name, exported in (("mpich", "libmpich.so.12", "int MPIR_Dup_fn;"), ("openmpi", "libmpi.so.40", "int ompi_mpi_comm_null;")):
        found[kind] = folder / "lib" / name
        found[kind].parent.mkdir(exist_ok=True)
        (folder / "mpi.c").write_text("void PMPI_Get_library_version(void) {}\n" + exported)
        subprocess.run(["gcc", "-shared", "-fPIC", f"-Wl,-soname,{name}", folder / "mpi.c", "-o", found[kind]], check=True)
    return found


def test_a_prefix_with_two_mpis(clean, tmp_path):
    for kind, library in fake_mpi(tmp_path).items():
        assert bench_run._mpi_in(tmp_path, kind, "").library == library


def test_the_headers_of_debians_mpis(clean, tmp_path):
    """Beside the library, or where the compiler wrapper says."""
    library = fake_mpi(tmp_path)["mpich"]
    mpi = mpis.Mpi("mpich", "mpich", library, tmp_path / "bin/mpiexec.mpich", "")
    assert bench_run._header_folder(mpi) is None
    for folder in ("include/x86/mpich", "lib/mpich/include"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "mpi.h").write_text("")
    assert bench_run._header_folder(mpi) == tmp_path / "lib/mpich/include"
    (tmp_path / "lib/mpich/include/mpi.h").unlink()
    wrapper = tmp_path / "bin/mpicc.mpich"
    wrapper.parent.mkdir()
    wrapper.write_text(f"#!/bin/sh\necho gcc -I{tmp_path}/include/x86/mpich $1 -lmpich\n")
    wrapper.chmod(0o755)
    assert bench_run._header_folder(mpi) == tmp_path / "include/x86/mpich"


def test_no_program_can_be_compiled(clean, tmp_path):
    """Neither is "no MPI found" true then."""
    fake_mpi(tmp_path)["openmpi"].unlink()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mpiexec.mpich").symlink_to(environment_of("mpich") / "bin/mpiexec")
    clean.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with pytest.raises(FanlightError, match="no mpi.h found for MPICH"):
        bench_run.find_contenders([], tmp_path)
