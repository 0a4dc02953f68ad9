"""`fanlight doctor`: each planted problem is named, with what to do about it."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from environments import ROOT, environment_of
from fanlight import doctor, libraries
from test_run import compiled

BUILT = ROOT / "build/release"


@pytest.fixture
def program(clean, tmp_path):
    return compiled(tmp_path, "mpich", rpath=True)


def gcc(*words):
    subprocess.run(["gcc", *map(str, words)], check=True, capture_output=True)


def problems(program=None, ranks=None, level=doctor.PROBLEM, **options):
    return {f.about: (f.says, f.remedy) for f in doctor.examine(program, ranks, **options) if f.level == level}


def only(found, about, says, remedy):
    assert set(found) == {about} and says in found[about][0] and remedy in found[about][1], found


def test_nothing_is_wrong(fanlight, program):
    said = fanlight("doctor", program, "-n", "1").stdout
    assert "no problem found" in said and "MPICH 5" in said and "MPICH's ABI, linked dynamically" in said
    assert "libfanlight-mpich.so" in said and "bin/mpiexec: it belongs to the library" in said


# 1
def test_a_program_that_is_linked_statically(fanlight, clean, tmp_path):
    (tmp_path / "x.c").write_text("int MPI_Init(int *c, char ***v) { return 0; }\nint main(void) { return MPI_Init(0, 0); }\n")
    gcc(tmp_path / "x.c", "-static", "-o", tmp_path / "static")
    only(problems(tmp_path / "static"), "MPI", "linked statically", "without -static")
    gcc(tmp_path / "x.c", "-o", tmp_path / "linked-in")
    only(problems(tmp_path / "linked-in"), "MPI", "has its MPI library linked into it", "libmpi.so in place of libmpi.a")
    said = fanlight("run", tmp_path / "static", code=2).stderr
    assert "linked statically" in said and "without -static" in said


# 2
def test_a_library_that_the_linker_does_not_find(clean, tmp_path):
    only(problems(compiled(tmp_path, "mpich", rpath=False)), "MPI", "needs libmpi.so.12", "LD_LIBRARY_PATH")


# 3
def test_handles_of_no_abi(clean, tmp_path):
    (tmp_path / "l.c").write_text("int PMPI_Get_library_version(char *t, int *n) { return *n = 0; }\n")
    gcc("-shared", tmp_path / "l.c", "-o", tmp_path / "liblayer.so")
    (tmp_path / "x.c").write_text("int PMPI_Get_library_version(char *, int *);\nint main(void) { return PMPI_Get_library_version(0, 0); }\n")
    gcc(tmp_path / "x.c", "-o", tmp_path / "x", tmp_path / "liblayer.so")
    only(problems(tmp_path / "x"), "MPI", "handles are not those", "MPItrampoline")


# 4
def test_no_preload_or_none_that_loads(clean, program, tmp_path):
    clean.setenv("FANLIGHT_LIB_DIR", str(tmp_path))
    only(problems(program), "preload", "no libfanlight-mpich.so", "FANLIGHT_LIB_DIR")
    (tmp_path / "libfanlight-mpich.so").write_text("no library")
    only(problems(program), "preload", "does not load", "Install Fanlight for this machine")


# 5
def test_a_profiler_that_calls_pmpi(clean, program, tmp_path):
    (tmp_path / "p.c").write_text("int PMPI_Allreduce();\nint MPI_Allreduce(void) { return PMPI_Allreduce(); }\n")
    gcc("-shared", "-fPIC", tmp_path / "p.c", "-o", tmp_path / "libprofiler.so")
    clean.setenv("LD_PRELOAD", str(tmp_path / "libprofiler.so"))
    only(problems(program), "LD_PRELOAD", "libprofiler.so intercepts MPI's collectives", "--plain")
    clean.delenv("LD_PRELOAD")
    prefix = environment_of("mpich")
    gcc(tmp_path / "hello.c", f"-I{prefix}/include", "-Wl,--no-as-needed", tmp_path / "libprofiler.so", prefix / "lib/libmpi.so.12",
        "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{prefix}/lib", "-o", tmp_path / "profiled")
    only(problems(tmp_path / "profiled"), "program", "libprofiler.so intercepts", "--plain")


# 6
def test_what_is_preloaded_already(clean, program, tmp_path):
    clean.setenv("LD_PRELOAD", str(libraries.preload_for("openmpi")))
    only(problems(program), "LD_PRELOAD", "another ABI", "libfanlight-mpich.so")
    clean.setenv("LD_PRELOAD", f"{tmp_path}/gone.so")
    only(problems(program), "LD_PRELOAD", "gone.so, which does not exist", "export LD_PRELOAD")
    clean.setenv("LD_PRELOAD", str(libraries.preload_for("mpich")))
    assert "serves every MPI program" in problems(program, level=doctor.NOTE)["LD_PRELOAD"][0]


# 7
def test_a_program_with_more_rights(program):
    program.chmod(0o2755)
    only(problems(program), "program", "more rights than its user", "chmod ug-s")


def test_a_file_system_without_attributes(clean, program):
    def none(path):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    clean.setattr(os, "listxattr", none)
    assert problems(program) == {}


def test_programs_for_other_systems(clean, program, tmp_path):
    other = bytearray(program.read_bytes())
    other[18] = 183  # AArch64's number
    (tmp_path / "other").write_bytes(other)
    (tmp_path / "other").chmod(0o755)
    found = problems(tmp_path / "other")
    assert "it is for AArch64, but this machine is" in found["program"][0] and "Compile it" in found["program"][1], found
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    gcc(tmp_path / "x.c", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "-o", tmp_path / "musl")
    says, remedy = problems(tmp_path / "musl")["program"]
    assert "C library musl" in says and "glibc" in remedy


# 8
def test_address_sanitizer(clean, tmp_path):
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    try:
        gcc(tmp_path / "x.c", "-fsanitize=address", "-o", tmp_path / "x")
    except subprocess.CalledProcessError:
        pytest.skip("no AddressSanitizer here")
    says, remedy = problems(tmp_path / "x")["program"]
    assert "AddressSanitizer" in says
    preload = {**os.environ, "LD_PRELOAD": str(libraries.preload_for("mpich"))}
    assert subprocess.run([tmp_path / "x"], env=preload, capture_output=True).returncode != 0
    name, _, value = remedy.split()[1].partition("=")
    subprocess.run([tmp_path / "x"], env={**preload, name: value}, check=True)


def forbidden(what, *command):
    forbid = BUILT / "tests/mpi/forbid"
    if not forbid.exists():
        pytest.skip(f"no {forbid}")
    done = subprocess.run([*command, forbid, what, sys.executable, "-m", "fanlight", "doctor", "-n", "1"], capture_output=True, text=True)
    return done.stdout + done.stderr


# 9
def test_little_shared_memory(fanlight):
    """Where there is none without a name: else the size of /dev/shm does not matter."""
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    said = forbidden("memfd", *inside)
    assert "problem /dev/shm: 1M free, and memfd_create: Operation not permitted" in said and "size=1g" in said, said
    said = subprocess.run([*inside, sys.executable, "-m", "fanlight", "doctor", "-n", "1"], capture_output=True, text=True).stdout
    assert "/dev/shm does not matter" in said and "problem /dev/shm" not in said, said
    assert "in /dev/shm" in forbidden("memfd")


# 10
def test_no_single_copy(fanlight):
    said = forbidden("single-copy")
    assert "problem single copy: not allowed" in said and "-> " in said, said


# 11
def test_more_ranks_than_cores(program):
    """Of those that the process may use: it may be bound to some."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        only(problems(program, 2), "cores", "2 ranks on 1 cores (1 by the affinity mask)", "taskset")
    finally:
        os.sched_setaffinity(0, allowed)


def test_a_quota_of_cores(fanlight, program):
    group = Path("/sys/fs/cgroup/cpu/fanlight-test")
    try:
        group.mkdir()
    except OSError as e:
        pytest.skip(f"no control group can be made here: {e}")
    try:
        (group / "cpu.cfs_quota_us").write_text("100000")
        done = subprocess.run(["sh", "-c", f'echo $$ > {group}/tasks && exec "$@"', "sh", sys.executable, "-m", "fanlight", "doctor", "-n", "2",
                               str(program)], capture_output=True, text=True)
    finally:
        group.rmdir()
    assert done.returncode == 1 and re.search(r"problem cores: 2 ranks on 1 cores \(.*1 by the cgroup", done.stdout), done.stdout + done.stderr


def slurm(folder, plugins):
    """Slurm's srun as far as it is asked here: on this machine, with the MPI's own launcher."""
    script = folder / "srun"
    script.write_text(f'#!/bin/sh\n[ "$1" = --mpi=list ] && echo "MPI plugin types are... {plugins}" && exit\n'
                      f'echo "srun $1" >&2\nshift\nunset SLURM_JOB_ID\nexec {environment_of("mpich")}/bin/mpiexec "$@"\n')
    script.chmod(0o755)
    return script


# 12
def test_slurm(clean, program, tmp_path):
    clean.setenv("SLURM_JOB_ID", "7")
    only(problems(program), "Slurm", "no srun on the PATH", "Slurm's module")
    clean.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    slurm(tmp_path, "none cray_x")
    only(problems(program), "Slurm", "srun has no plugin for MPICH", "pmi2")


def test_run_in_a_slurm_allocation(fanlight, program, tmp_path):
    """By srun, if it speaks to the MPI; --launcher says otherwise."""
    # Cray's is for Cray's MPICH alone: any other's ranks would each be alone.
    slurm(tmp_path, "cray_shasta none pmi2 pmix")
    allocation = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "2"}
    done = fanlight("run", "-n", "2", program, env=allocation)
    assert done.stdout.count("2 of us") == 2 and "srun --mpi=pmi2" in done.stderr, done
    mpiexec = str(environment_of("mpich") / "bin/mpiexec")
    for options, env, starts in (([], allocation, f"{tmp_path}/srun --mpi=pmi2 env LD_PRELOAD="),
                                 (["--launcher", "mpiexec"], allocation, f"{mpiexec} -n 2 env LD_PRELOAD="),
                                 (["--launcher", "srun", "-n", "3"], {**allocation, "SLURM_JOB_ID": ""}, f"{tmp_path}/srun --mpi=pmi2 -n 3 env")):
        assert fanlight("run", "--show", *options, program, env=env).stdout.startswith(starts)
    slurm(tmp_path, "none")
    assert fanlight("run", "--show", program, env=allocation).stdout.startswith(mpiexec)
    assert "no such program" in fanlight("run", "--launcher", "nothing", program, code=2).stderr


# 13
def test_settings(clean, program):
    clean.setenv("FANLIGHT_SINGLE_COPPY", "no")
    only(problems(program), "settings", "FANLIGHT_SINGLE_COPPY is not a setting", "FANLIGHT_SINGLE_COPY?")
    clean.delenv("FANLIGHT_SINGLE_COPPY")
    clean.setenv("FANLIGHT_ALGORITHM", "bcast:no-such")
    only(problems(program), "settings", "no-such", "fanlight list")


# 14
def test_another_mpis_launcher_comes_first(clean, program):
    clean.setenv("PATH", f"{environment_of('openmpi')}/bin:/usr/bin:/bin")
    says, remedy = problems(program, level=doctor.NOTE)["launcher"]
    assert "is Open MPI's" in says and "fanlight run" in remedy
