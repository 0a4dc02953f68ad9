"""What a preload is to the processes that it comes into: of another MPI, of no MPI, on an older system."""

import os
import re
import shutil
import subprocess

import pytest

import running
from running import ALL, IMPI, MPICH, OPENMPI, run

parametrize = pytest.mark.parametrize
ABIS = sorted({mpi.abi for mpi in ALL})


def preload(abi):
    return running.LIBRARIES / f"libfanlight-{abi}.so"


def test_children_that_are_no_mpi_programs(mpi, fanlight_only):
    """They start without the MPI library, which is found by the program's own RUNPATH."""
    run(mpi, 2, ["/usr/bin/env", "-u", "LD_LIBRARY_PATH", mpi.program("children")]).must_be_ok()


@parametrize("mpi,abi", [(mpi, abi) for mpi in ALL for abi in ABIS if abi != mpi.abi], ids=str)
def test_the_preload_for_another_mpi(mpi, abi, fanlight_only):
    """One sentence that names both, and the program's results are right: every function passes on what it is given."""
    result = run(mpi, 2, "collectives --quick --plain", preload=False, preloads=[preload(abi)]).must_be_ok()
    said = [line for line in result.err.splitlines() if "fanlight" in line]
    assert len(said) == 1 and f"libfanlight-{abi}.so is for" in said[0], str(result)
    assert f"libfanlight-{mpi.abi}.so" in said[0] and "without Fanlight" in said[0], str(result)


@parametrize("mpi,abi", [(IMPI, "openmpi"), (IMPI, "abi")], ids=str)
def test_the_preload_for_another_mpi_in_fortran(mpi, abi, fanlight_only):
    if not mpi.program("fortran").exists():
        pytest.skip("no Fortran compiler")
    result = run(mpi, 2, "fortran", preload=False, preloads=[preload(abi)]).must_be_ok()
    assert result.err.count("without Fanlight") == 1, str(result)


@parametrize("mpi,abi", [(MPICH, "openmpi"), (OPENMPI, "mpich")], ids=str)
@parametrize("how", ["", "persistent"])
def test_requests_with_the_preload_for_another_mpi(mpi, abi, how, fanlight_only):
    result = run(mpi, 2, "collectives --quick --plain", preload=False, settings={"BY_REQUESTS": how},
                 preloads=(mpi.program("by_requests.so"), preload(abi))).must_be_ok()
    assert result.err.count("without Fanlight") == 1, str(result)


@parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3), (IMPI, 2)], ids=str)
def test_a_forked_child(mpi, ranks, fanlight_only):
    """It takes no part in what is in flight, and ends through its exit handlers; the report is its parent's alone."""
    result = run(mpi, ranks, "forked", timeout=40).must_be_ok()
    assert result.report.calls("iallreduce") > 10 * ranks, str(result)
    assert result.report.calls("allreduce") + result.report.calls("allreduce", "mpi") == 40 * ranks, str(result)


def test_an_old_c_library_is_enough(fanlight_only):
    """Of no newer version than glibc 2.28, and GCC 8's libgcc, anything is asked for, wherever it was built."""
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    libraries = sorted(running.LIBRARIES.glob("lib*.so"))
    assert libraries
    newest = {"GLIBC": (2, 28), "GCC": (8,)}
    for library in libraries:
        needed = subprocess.run(["readelf", "--version-info", "--wide", library], capture_output=True, text=True, check=True).stdout
        versions = re.findall(r"Name: ((GLIBC|GCC)_([\d.]+))", needed)
        assert any(name == "GLIBC" for _, name, _ in versions), needed
        for whole, name, numbers in versions:
            assert tuple(map(int, numbers.split("."))) <= newest[name], f"{library.name} needs {whole}"


def test_no_settings_in_a_program_with_more_rights(tmp_path, fanlight_only):
    """What such a program's user says does not make it write a file."""
    groups = [g for g in os.getgroups() + [65534] if g != os.getgid()]
    program = tmp_path / "integral"
    shutil.copy(MPICH.program("example_integral"), program)
    written = {}
    for name in ("own", "more"):
        if name == "more":
            try:
                os.chown(program, -1, groups[-1])
                program.chmod(0o2755)
            except (IndexError, OSError) as e:
                pytest.skip(f"no program can be given another group here: {e}")
            if os.statvfs(program).f_flag & os.ST_NOSUID:
                pytest.skip("such programs have no more rights here")
        file = tmp_path / name
        subprocess.run([program], env=os.environ | {"FANLIGHT_REPORT": str(file)}, check=True, stdout=subprocess.DEVNULL, timeout=60)
        written[name] = file.exists()
    assert written == {"own": True, "more": False}


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_no_names_that_c_functions_of_others_have(mpi):
    """R's Rmpi.so has a mpi_bcast of its own, and what is preloaded comes before it."""
    listed = subprocess.run(["nm", "-D", "--defined-only", mpi.preload], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert "MPI_Bcast" in names
    assert not [name for name in names if re.fullmatch("mpi_[a-z0-9_]*(?<!_)|MPI_[A-Z0-9_]+", name) and not name.endswith("_f08_")]
