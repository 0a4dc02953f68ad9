"""Which MPI a program loads, and how it is started."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from environments import environment_of
from fanlight import launch, libraries, mpis, reports
from fanlight.errors import FanlightError

SONAME = {"mpich": "libmpi.so.12", "impi": "libmpi.so.12", "openmpi": "libmpi.so.40"}
ABI = {"mpich": "mpich", "impi": "mpich", "openmpi": "openmpi"}
HELLO = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%d of us, %s\n", size, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
"""


def compiled(tmp_path, kind, rpath):
    prefix = environment_of(kind)
    (tmp_path / "hello.c").write_text(HELLO)
    program = tmp_path / f"hello-{kind}"
    subprocess.run(["gcc", "hello.c", f"-I{prefix}/include", f"{prefix}/lib/{SONAME[kind]}", "-o", program,
                    "-Wl,--allow-shlib-undefined"] + ([f"-Wl,-rpath,{prefix}/lib"] if rpath else []),
                   check=True, cwd=tmp_path)
    return program


def test_a_linked_program(clean, kind, prefix, tmp_path):
    mpi = mpis.find_mpi(compiled(tmp_path, kind, rpath=True))
    assert (mpi.kind, mpi.abi, mpi.launcher.parent) == (kind, ABI[kind], prefix / "bin")
    assert mpi.version()[:2].isdigit() or mpi.version()[0].isdigit()


def test_a_linked_program_whose_library_is_beside_the_mpiexec_on_the_path(clean, kind, prefix, tmp_path):
    program = compiled(tmp_path, kind, rpath=False)
    with pytest.raises(FanlightError, match=SONAME[kind]):
        mpis.find_mpi(program)
    clean.setenv("PATH", f"{prefix}/bin:/usr/bin:/bin")
    mpi = mpis.find_mpi(program)
    assert mpi.kind == kind and mpi.environment["LD_LIBRARY_PATH"].split(":")[0] == str(prefix / "lib")


def test_a_python_program(clean, kind, prefix, tmp_path):
    assert mpis.find_mpi(prefix / "bin" / "python").kind == kind
    script = tmp_path / "script"
    script.write_text(f"#!{prefix}/bin/python\n")
    script.chmod(0o755)
    mpi = mpis.find_mpi(script)
    assert mpi.kind == kind and mpi.library.parent == prefix / "lib"
    if kind != "impi":
        assert mpi.environment["MPI_LIB_NRN_PATH"] == str(mpi.library)


def test_the_interpreter_by_env(clean, tmp_path):
    prefix = environment_of("openmpi")
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env python\n")
    script.chmod(0o755)
    clean.setenv("PATH", f"{prefix}/bin:/usr/bin:/bin")
    assert mpis.find_mpi(script).kind == "openmpi"


@pytest.mark.parametrize("variable", ["MPI4PY_LIBMPI", "MPI_LIB_NRN_PATH"])
def test_a_variable_names_the_library(clean, variable):
    mpich, openmpi = environment_of("mpich"), environment_of("openmpi")
    clean.setenv(variable, f"{openmpi}/lib/libmpi.so.40")
    assert mpis.find_mpi(mpich / "bin" / "python").kind == "openmpi"
    clean.setenv(variable, f"{openmpi}/lib/none.so")
    with pytest.raises(FanlightError, match=variable):
        mpis.find_mpi(mpich / "bin" / "python")


def test_the_standard_abi(clean, tmp_path):
    prefix = environment_of("mpich")
    (tmp_path / "hello.c").write_text(HELLO)
    subprocess.run(["gcc", "hello.c", "-DMPI_ABI", f"-I{prefix}/include", f"{prefix}/lib/libmpi_abi.so.1", "-o", "hello",
                    "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{prefix}/lib"], check=True, cwd=tmp_path)
    mpi = mpis.find_mpi(tmp_path / "hello")
    assert (mpi.kind, mpi.abi) == ("mpich", "abi")


def test_the_linker_script_of_pypis_mpich():
    prefix = environment_of("mpich")
    assert mpis.resolve_linker_script(prefix / "lib" / "libmpi.so").name == "libmpi.so.12"


def test_nothing_found_says_what_to_do(clean):
    with pytest.raises(FanlightError, match="true") as e:
        mpis.find_mpi(mpis.find_program("true"))
    assert "PATH" in e.value.advice
    with pytest.raises(FanlightError) as e:
        mpis.find_mpi(mpis.Path(sys.executable))
    assert "pip install" in e.value.advice


def test_programs_that_cannot_run(clean, tmp_path):
    with pytest.raises(FanlightError, match="no program"):
        mpis.find_program("no-such-program")
    (tmp_path / "x.py").write_text("")
    with pytest.raises(FanlightError, match="not executable") as e:
        mpis.find_program(str(tmp_path / "x.py"))
    assert "python3" in e.value.advice
    with pytest.raises(FanlightError, match="is a folder") as e:
        mpis.find_program(str(tmp_path))
    assert "chmod" not in e.value.advice


def test_a_library_without_a_soname(clean, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "l.c").write_text("void PMPI_Get_library_version(void) {}\nvoid MPIR_Dup_fn(void) {}\n")
    subprocess.run(["gcc", "-shared", tmp_path / "l.c", "-o", tmp_path / "lib/libmpi.so"], check=True)
    assert mpis.libraries_in(tmp_path) == [tmp_path / "lib/libmpi.so"]


def test_another_kind_than_the_programs_own(clean, tmp_path):
    with pytest.raises(FanlightError, match="Intel MPI"):
        mpis.find_mpi(compiled(tmp_path, "mpich", rpath=True), "impi")
    clean.setenv("PATH", f"{environment_of('openmpi')}/bin:{environment_of('impi')}/bin:/usr/bin:/bin")
    with pytest.raises(FanlightError, match="linked to MPICH .*libmpi.so.12"):
        mpis.find_mpi(compiled(tmp_path, "mpich", rpath=True), "openmpi")
    assert mpis.find_mpi(compiled(tmp_path, "mpich", rpath=True), "impi").kind == "impi"  # of the same ABI


def test_the_command_line(clean, tmp_path):
    clean.setenv("LD_PRELOAD", "/lib/theirs.so")
    mpi = mpis.Mpi("openmpi", "openmpi", tmp_path / "libmpi.so.40", tmp_path / "mpiexec", "")
    clean.setattr(os, "geteuid", lambda: 0)
    clean.setattr(launch, "open_mpi_slots", lambda: 2)
    words = launch.command_line(mpi, 3, 2, tmp_path / "app", ["-n", "7"], [tmp_path / "ours.so"], {"FANLIGHT_X": "1"}, ["-v"])
    assert words == [str(tmp_path / "mpiexec"), "-n", "3", "--allow-run-as-root", "--oversubscribe", "-v", "env",
                     f"LD_PRELOAD={tmp_path}/ours.so:/lib/theirs.so", "FANLIGHT_X=1", str(tmp_path / "app"), "-n", "7"]
    clean.setattr(os, "geteuid", lambda: 1000)
    clean.delenv("LD_PRELOAD")
    assert launch.command_line(mpi, 2, 2, tmp_path / "app", [], [], {}, []) == [
        str(tmp_path / "mpiexec"), "-n", "2", str(tmp_path / "app")]


def test_a_copy_of_fanlight_that_is_preloaded_already(clean, tmp_path):
    clean.setenv("LD_PRELOAD", "/opt/libfanlight-mpich.so:/opt/libfanlight-heap.so.0 /lib/theirs.so")
    assert launch.rank_environment([tmp_path / "ours.so"], {}) == [f"LD_PRELOAD={tmp_path}/ours.so:/lib/theirs.so"]
    clean.setenv("LD_PRELOAD", "/opt/libfanlight-mpich.so")
    assert launch.rank_environment([], {}) == []
    became = {}
    clean.setattr(os, "execve", lambda program, words, environment: became.update(environment))
    launch.become(tmp_path / "app", [], [], {}, mpis.Mpi("mpich", "mpich", tmp_path / "libmpi.so.12", None, ""))
    assert became and "LD_PRELOAD" not in became


def test_plain_runs_and_exit_codes(fanlight, kind, prefix, tmp_path):
    program = compiled(tmp_path, kind, rpath=True)
    assert fanlight("run", "--plain", "-n", "3", program, "-x").stdout.count("3 of us, -x") == 3
    assert "2 of us" in fanlight("run", "--plain", "-n", "2", "--", program, "a", "5", code=5).stdout


def test_with_fanlight(fanlight, kind, prefix, tmp_path):
    """The preload is in the ranks and not in the launcher; the program's output is its own."""
    try:
        library = libraries.preload_for(ABI[kind])
    except FanlightError as e:
        pytest.skip(e.problem)
    program = compiled(tmp_path, kind, rpath=True)
    assert fanlight("run", "-n", "2", program, "x").stdout.count("2 of us, x") == 2
    show = tmp_path / "show"
    show.write_text(f'#!{prefix}/bin/python\nimport os\nprint("rank:", os.environ["LD_PRELOAD"])\n'
                    'print("launcher:", b"LD_PRELOAD" in open(f"/proc/{os.getppid()}/environ", "rb").read())\n')
    show.chmod(0o755)
    said = fanlight("run", "-n", "1", show).stdout
    assert f"rank: {library}" in said
    assert "launcher: False" in said


def test_started_by_a_launcher(fanlight, clean, tmp_path):
    """mpiexec -n 2 fanlight run ./app, as users of srun write it: each is a rank, and starts none."""
    prefix = environment_of("mpich")
    program = compiled(tmp_path, "mpich", rpath=True)
    command = [prefix / "bin/mpiexec", "-n", "2", sys.executable, "-m", "fanlight", "run"]
    done = subprocess.run([*command, program, "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.count("2 of us, x") == 2, done.stdout + done.stderr
    done = subprocess.run([*command, "-n", "2", program], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "has already started this process" in done.stderr, done.stderr


def test_report(fanlight, kind, prefix, tmp_path):
    try:
        libraries.preload_for(ABI[kind])
    except FanlightError as e:
        pytest.skip(e.problem)
    code = "from mpi4py import MPI\nfor i in range(200): MPI.COMM_WORLD.Barrier()"
    said = fanlight("run", "-n", "2", "--report", prefix / "bin" / "python", "-c", code).stdout
    assert "barrier" in said and "Fanlight served" in said and "first calls" in said
    file = tmp_path / "report.json"
    fanlight("run", "-n", "2", "--report-file", file, prefix / "bin" / "python", "-c", code)
    from fanlight import reports

    rows = [r for r in reports.load(file)["calls"] if r["operation"] == "barrier"]
    assert sum(r["calls"] for r in rows) == 400
    assert sum(r["calls"] for r in rows if r["by"] == "fanlight") > 300


def test_ranks_that_never_agreed_have_reports_of_their_own(fanlight, kind, prefix, tmp_path):
    try:
        libraries.preload_for(ABI[kind])
    except FanlightError as e:
        pytest.skip(e.problem)
    file, code = tmp_path / "report.json", "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()"
    (tmp_path / "report.json.rank-7").write_text("of an earlier run")
    said = fanlight("run", "-n", "2", "--report-file", file, prefix / "bin" / "python", "-c", code).stderr
    assert "second blocking collective call on MPI_COMM_WORLD" in " ".join(said.split()), said
    from fanlight import reports

    assert [f.name for f in reports.of_single_ranks(file)] == ["report.json.rank-0", "report.json.rank-1"]
    assert all(reports.load(f)["ranks"] == 1 for f in reports.of_single_ranks(file))


def test_no_report_is_said(fanlight):
    python = environment_of("mpich") / "bin" / "python"
    try:
        libraries.preload_for("mpich")
    except FanlightError as e:
        pytest.skip(e.problem)
    assert "MPI_Finalize" in fanlight("run", "-n", "1", "--report", python, "-c", "pass").stderr


def test_a_missing_preload_says_where_it_was_looked_for(fanlight, tmp_path):
    python = environment_of("mpich") / "bin" / "python"
    said = fanlight("run", python, env={"FANLIGHT_LIB_DIR": str(tmp_path)}, code=2).stderr
    assert "libfanlight-mpich.so" in said and str(tmp_path) in said and "FANLIGHT_LIB_DIR" in said


def test_a_wrong_algorithm_is_said_before_anything_starts(fanlight):
    python = environment_of("mpich") / "bin" / "python"
    said = fanlight("run", "--algorithm", "bcast:no-such", python, code=2).stderr
    assert "no-such" in said and "binomial" in said


def test_show(fanlight, tmp_path):
    python = environment_of("openmpi") / "bin" / "python"
    (tmp_path / "libfanlight-openmpi.so").write_text("")
    said = fanlight("run", "--show", "-n", "2", python, "a b", env={"FANLIGHT_LIB_DIR": str(tmp_path)}).stdout
    assert "'a b'" in said and f"LD_PRELOAD={tmp_path}/libfanlight-openmpi.so" in said


def test_a_report_needs_no_file_where_nothing_runs(fanlight, tmp_path):
    python = environment_of("mpich") / "bin" / "python"
    fanlight("run", "--report", "--launcher", "nothing", python, code=2, env={"TMPDIR": str(tmp_path)})
    assert "FANLIGHT_REPORT=- " in fanlight("run", "--report", "--show", python, env={"TMPDIR": str(tmp_path)}).stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--report-file", "--trace"])
def test_a_report_that_cannot_be_written_is_said_before_anything_starts(fanlight, tmp_path, option):
    python = environment_of("mpich") / "bin" / "python"
    assert "its folder does not exist" in fanlight("run", option, "/nonexistent/x.json", python, "-c", "print(7)", code=2).stderr
    assert "is a folder" in fanlight("run", option, tmp_path, python, "-c", "print(7)", code=2).stderr


def test_what_is_no_file_of_an_earlier_run_stays(tmp_path):
    old, pipe, target, link = (tmp_path / name for name in ("old", "pipe", "target", "link"))
    os.mkfifo(pipe)
    link.symlink_to(target)
    for file in (old, target, tmp_path / "old.rank-1"):
        file.write_text("")
    for file in (old, pipe, link, tmp_path / "none"):
        reports.remove_old(file)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["link", "pipe", "target"]


def test_no_folder_for_the_report(clean, monkeypatch):
    def none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(FanlightError, match="no folder for the report"):
        reports.temporary(launch.Launcher(Path("mpiexec")))


def test_a_path_that_is_not_preloaded(clean, tmp_path):
    for name in ("a b", "a:b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "libfanlight-mpich.so").write_text("")
        clean.setenv("FANLIGHT_LIB_DIR", str(folder))
        with pytest.raises(FanlightError, match="space or colon"):
            libraries.preload_for("mpich")
        assert libraries.library_for("mpich").parent == folder, "for a program that loads it itself"


@pytest.mark.parametrize("words,said", [(("explain", "bcast", "²"), "not a number of bytes"), (("explain", "bcast", "9" * 25), "no message is that long"),
                                        (("explain", "bcast", "8", "-n", "9" * 12), "-n"), (("verify", "bcast", "-n", "9" * 12), "not a number of ranks"),
                                        (("count", "bcast", "--root", "9" * 12), "--root"), (("doctor", "--mpi", "foo"), "--mpi foo: unknown"),
                                        (("report", "r.json", "--rules", "a", "-o", "b"), "Leave one"), (("report", "r.json"), "no report")])
def test_odd_input(fanlight, tmp_path, words, said):
    (tmp_path / "r.json").write_text('{"fanlight_report": 1}')
    assert said in " ".join(fanlight(*words, code=2, cwd=tmp_path).stderr.split())


def test_without_a_home(fanlight, tmp_path):
    """No folder of this user's, or one that cannot be read: there is nothing in it."""
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "none"):
        env = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": str(home)}
        assert "binomial" in fanlight("explain", "bcast", "8", "-n", 16, "--mpi", "mpich", env={**env, "FANLIGHT_ALGORITHM": "bcast:binomial"}).stdout
        assert "no interrupted run" in fanlight("tune", "--resume", env=env, code=2).stderr


def test_the_report_of_srun_is_where_other_nodes_see_it(clean, tmp_path):
    clean.chdir(tmp_path)
    for name, folder in (("srun", tmp_path), ("mpiexec", Path(tempfile.gettempdir()))):
        file = reports.temporary(launch.Launcher(tmp_path / name))
        file.unlink()
        assert file.parent == folder


def test_information_about_a_path(fanlight, kind, prefix):
    said = fanlight("info", env={"PATH": f"{prefix}/bin:/usr/bin:/bin"}).stdout
    assert mpis.NAMES[kind] in said and shutil.which("mpiexec", path=str(prefix / "bin")) in said
