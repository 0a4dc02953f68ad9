"""The preloads on MPIs that a distribution brings: Debian's MPICH (libmpich.so.12) and Open MPI 4.1."""

import dataclasses
import functools
import pathlib
import shutil
import subprocess

import pytest

import running
from running import ROOT, run

UNPACKED = ROOT / ".venv/debian"  # by .ci/debian_packages


@functools.cache
def triple():
    return subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()


@dataclasses.dataclass(frozen=True)
class DebianMpi(running.Mpi):
    library: str  # root: the folder with usr/

    @property
    def libraries(self):
        return self.root / "usr/lib" / triple()

    @property
    def available(self):
        return (self.libraries / self.library).exists() and (self.include / "mpi.h").exists()

    @property
    def include(self):
        return self.libraries / self.abi / "include"

    @property
    def environment(self):
        paths = {"LD_LIBRARY_PATH": f"{self.libraries}:{self.root}/lib/{triple()}"}
        if self.abi == "mpich":
            return paths
        # Not everything that its network components are linked to is there.
        return paths | {"OPAL_PREFIX": str(self.root / "usr"), "OMPI_MCA_mca_base_component_show_load_errors": "0",
                        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def launcher(self, ranks, options=()):
        own = ["--oversubscribe"] if self.abi == "openmpi" else []
        return [str(self.root / "usr/bin" / f"mpiexec.{self.abi}"), *own, *options, "-n", str(ranks)]


def found(abi, library):
    places = [DebianMpi(f"debian-{abi}", root, abi, library) for root in (UNPACKED, pathlib.Path("/"))]
    return next((mpi for mpi in places if mpi.available), places[0])


@pytest.fixture(scope="module", params=[("mpich", "libmpich.so.12"), ("openmpi", "libmpi.so.40")], ids=lambda p: p[0])
def debian(request):
    mpi = found(*request.param)
    if not mpi.available:
        pytest.skip(f"no {mpi.library} and its headers, neither in {UNPACKED} (make setup) nor installed")
    return mpi


def compiled(mpi, folder, name, *sources, options=()):
    program = folder / name
    subprocess.run(["gcc", "-O1", "-pthread", *(ROOT / "tests/mpi" / s for s in sources), "-o", program, f"-I{mpi.include}", *options,
                    mpi.libraries / mpi.library, "-Wl,--allow-shlib-undefined", "-lm"], check=True)
    return [str(program)]


# What MPICH 4.0 itself does wrong: it does not look at the displacement of a single rank, and takes several edges
# between the same two ranks in one order here and in another there.
DEFECTS = {"mpich": {"allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"}, "openmpi": set()}


def test_collectives(debian, tmp_path, fanlight_only):
    functions = set(running.functions(running.operations())) - DEFECTS[debian.abi]
    program = compiled(debian, tmp_path, "collectives", *(f"collectives/{s}.c" for s in ("main", "check", "movement", "neighbors", "reductions")))
    result = run(debian, 2, [*program, "--quick", "--plain", "--only=" + ",".join(functions)], running.ALL_SERVED).must_be_ok()
    for function in functions:
        assert result.report.calls(function) > 0, f"{function} was never served\n{result}"
    assert ("MPICH" if debian.abi == "mpich" else "Open MPI v4.") in result.report.json["mpi"]


def test_requests(debian, tmp_path, fanlight_only):
    result = run(debian, 3, [*compiled(debian, tmp_path, "requests", "bad_cases/requests.c"), "plain"]).must_be_ok()
    assert result.report.calls("iallreduce") > 0, str(result)


def test_fortran(debian, tmp_path, fanlight_only):
    """Also the first calls on a communicator, which FANLIGHT_GPU=stage has served."""
    library = debian.libraries / ("libmpichfort.so" if debian.abi == "mpich" else "libmpi_mpifh.so")
    if not library.exists() or not shutil.which("gfortran"):
        pytest.skip("no Fortran library, or no gfortran")
    program = tmp_path / "fortran"
    subprocess.run(["gfortran", "-fallow-argument-mismatch", ROOT / "tests/mpi/bad_cases/fortran.f90", "-o", program, f"-I{debian.include}",
                    library, debian.libraries / debian.library, "-Wl,--allow-shlib-undefined"], check=True)
    result = run(debian, 2, [program], running.ALL_SERVED | {"GPU": "stage"}).must_be_ok()
    assert result.report.calls("alltoallw") == result.report.calls("neighbor_alltoallw") == 20, str(result)


def test_global_memory(debian, tmp_path, fanlight_only):
    """The DART library is linked to no file of an MPI: these are called otherwise than those that it was built with."""
    library = running.LIBRARIES / f"libdart-fanlight-{debian.abi}.so"
    program = compiled(debian, tmp_path, "memory", "../dart/memory.c", options=[f"-I{ROOT}/include", library, f"-Wl,-rpath,{running.LIBRARIES}"])
    run(debian, 2, program, preload=False).must_be_ok()


def test_variables_of_mpi_t(debian, tmp_path, fanlight_only):
    run(debian, 2, compiled(debian, tmp_path, "variables", "mpi_t/variables.c")).must_be_ok()
