"""The collectives' own API: programs that are linked to libfanlight-<abi>.so, with no preload."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import running
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, run

parametrize = pytest.mark.parametrize
SERVED = {"FANLIGHT_START_AFTER": "0", "FANLIGHT_ALGORITHM": "alltoallv:all-write-all"}


def linked(mpi, ranks, command, tmp_path, settings=None):
    """Runs it with no preload; its report."""
    report = tmp_path / "report.json"
    result = run(mpi, ranks, command, preload=False, settings={**SERVED, "FANLIGHT_REPORT": report, **(settings or {})})
    result.must_be_ok()
    result.report = running.Report(report.read_text())
    return result


# With all kinds of buffers; on more numbers of ranks test_cpp and test_fortran call each function.
@parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3), (MPICH_ABI, 2)], ids=str)
def test_every_function(mpi, ranks, tmp_path, fanlight_only):
    result = linked(mpi, ranks, "api_collectives --quick --plain", tmp_path)
    for function in running.functions(running.operations()) if ranks > 1 else []:
        assert result.report.calls(function) > 0, f"{function} was never served\n{result}"


def test_every_function_with_a_request(tmp_path, fanlight_only):
    result = linked(MPICH, 2, "api_by_requests --quick --plain", tmp_path)
    for operation in ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "allgatherv", "gather",
                      "scatter", "alltoall", "reduce_scatter", "reduce_scatter_block"):
        assert result.report.calls("i" + operation) > 10 * 2, f"{operation}\n{result}"


@parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3), (IMPI, 2)], ids=str)
def test_requests(mpi, ranks, tmp_path, fanlight_only):
    """Waited for and tested for by MPI's functions, in one array with the MPI library's."""
    assert linked(mpi, ranks, "api_requests", tmp_path).report.calls("iallreduce") >= 60 * ranks


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_wrong_arguments(mpi, fanlight_only):
    """The error codes are those that the MPI library itself gives."""

    def classes(program):
        return re.sub(r"fanlight_(\w)", lambda m: "MPI_" + m[1], run(mpi, 2, program, preload=False, settings=SERVED).out)

    own = classes("invalid")
    assert "MPI_ERR_ROOT" in own and classes("api_invalid") == own


@parametrize("mpi,ranks", [(MPICH, 1), (MPICH, 2), (MPICH, 3), (OPENMPI, 3), (IMPI, 2)], ids=str)
def test_control(mpi, ranks, tmp_path, fanlight_only):
    file, so_far = tmp_path / "report.json", tmp_path / "so_far.json"
    run(mpi, ranks, f"api_control {file} {so_far}", preload=False).must_be_ok()
    calls, before = (json.loads(f.read_text())["calls"] for f in (file, so_far))
    # The calls in between are those of fanlight_set_algorithm and of nothing that is counted.
    assert before and sum(c["calls"] for c in before) <= sum(c["calls"] for c in calls), before
    assert {c["operation"] for c in calls} <= {"allreduce", "iallreduce", "allreduce_init", "bcast"}, calls
    if ranks > 1:
        assert {"recursive-doubling", "tree", ""} <= {c["algorithm"] for c in calls if c["operation"] == "allreduce"}, calls


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_a_report_that_cannot_be_written(mpi, fanlight_only):
    run(mpi, 2, "api_control unwritten", preload=False, timeout=30).must_be_ok()


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_linked_and_preloaded(mpi, fanlight_only):
    """One library, loaded once: MPI's functions are served as well."""
    result = run(mpi, 2, "api_control").must_be_ok()
    assert result.report.calls("barrier") > 20 and result.report.algorithms("scan") == {"linear"}, str(result)
    assert result.report.algorithms("allreduce") >= {"recursive-doubling", "tree"}


def test_an_error_ends_the_program(fanlight_only):
    result = run(MPICH, 2, "api_control fatal", preload=False)
    assert result.code != 0 and "no-such-thing" in result.err + result.out, str(result)


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_the_mpi_library_comes_first(mpi, tmp_path, fanlight_only):
    file = tmp_path / "report.json"
    run(mpi, 2, f"api_late_library {file}", preload=False, timeout=30).must_be_ok()
    report = running.Report(file.read_text())
    assert report.calls("allreduce") == 40 and report.calls("iallreduce") == 0
    assert any("link libfanlight before" in r for r in report.reasons())


@parametrize("ranks", [1, 2, 3, 4])
@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_cpp(mpi, ranks, fanlight_only):
    """Each operation, blocking, non-blocking and persistent."""
    run(mpi, ranks, "api_layer", preload=False).must_be_ok()


@parametrize("mpi,ranks", [(MPICH, 1), (MPICH, 2), (MPICH, 3), (MPICH, 4), (OPENMPI, 3), (IMPI, 2)], ids=str)
def test_fortran(mpi, ranks, fanlight_only):
    must_be_built(mpi, "api_procedures")
    run(mpi, ranks, "api_procedures", preload=False).must_be_ok()


@parametrize("mpi", [IMPI], ids=str)
def test_fortran_sentinels(mpi, fanlight_only):
    must_be_built(mpi, "api_bottom")
    run(mpi, 2, "api_bottom", preload=False).must_be_ok()


@parametrize("mpi,example,says", [(MPICH, "integral", "pi = 3.14159265"), (OPENMPI, "histogram", "of 2 ranks, at most 2000 each"),
                                  (IMPI, "columns", "100.50    201.00")], ids=str)
def test_examples(mpi, example, says, fanlight_only):
    must_be_built(mpi, f"example_{example}")
    result = run(mpi, 2, f"example_{example}", preload=False)
    assert result.code == 0 and says in result.out, str(result)


def must_be_built(mpi, program):
    if not mpi.program(program).exists():
        pytest.skip(f"{program}: no Fortran compiler, or no Fortran library of this MPI's")


def test_headers_are_made_from_the_table(tmp_path, fanlight_only):
    subprocess.run([sys.executable, running.ROOT / "src/api/generate.py", "headers", tmp_path], check=True)
    for made in tmp_path.iterdir():
        assert made.read_text() == (running.ROOT / "include/fanlight" / made.name).read_text(), \
            "run: python src/api/generate.py headers include/fanlight"


@parametrize("mpi,option,library", [(MPICH, "-DMPI_C_COMPILER={}/bin/mpicc_abi", "ABI"), (MPICH, "-DCMAKE_C_COMPILER={}/bin/mpicc", "MPICH"),
                                    (OPENMPI, "-DCMAKE_C_COMPILER={}/bin/mpicc", "OPENMPI")], ids=str)
def test_the_mpi_that_cmake_finds(tmp_path, mpi, option, library, fanlight_only):
    """Where no prefix is given; the compiler may be the MPI's own."""
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(finds LANGUAGES C)\n"
                                             f"include({running.ROOT}/cmake/mpi.cmake)\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", option.format(mpi.root)], capture_output=True, text=True)
    said = rf"ABI {library}: \S+/{mpi.root.name}/include, \S+/{mpi.root.name}/lib/libmpi"
    assert done.returncode == 0 and re.search(said, done.stdout), done.stdout + done.stderr


def configured(prefix, folder, mpi, language, compiler, example, *options):
    return subprocess.run(["cmake", "-S", running.ROOT / "tests/api/package", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLANGUAGE={language}",
                           f"-DMPI_{language}_COMPILER={mpi.root}/bin/{compiler}", f"-DEXAMPLE={running.ROOT}/examples/{example}", *options],
                          capture_output=True, text=True)


@parametrize("mpi,language,compiler,example", [(OPENMPI, "C", "mpicc", "integral.c"), (MPICH_ABI, "C", "mpicc_abi", "integral.c"),
                                               (MPICH, "CXX", "mpicxx", "histogram.cpp")], ids=str)
def test_cmake_package(prefix, tmp_path, mpi, language, compiler, example, fanlight_only):
    done = configured(prefix, tmp_path, mpi, language, compiler, example)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(["cmake", "--build", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    result = run(mpi, 2, [tmp_path / "example"], preload=False, settings={"FANLIGHT_REPORT": "-"})
    assert result.code == 0 and re.search(r"reduce .* \d+\.\d+  [a-z]", result.err), str(result)


def test_cmake_package_without_the_library(prefix, tmp_path, fanlight_only):
    done = configured(prefix, tmp_path, MPICH, "C", "mpicc", "integral.c", "-DFANLIGHT_ABI=foo")
    assert done.returncode != 0 and "no libfanlight-foo.so" in " ".join(done.stderr.split()), done.stdout + done.stderr


def test_pkg_config(prefix, tmp_path, fanlight_only):
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    found = next(prefix.rglob("pkgconfig"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fanlight-mpich"], env={"PKG_CONFIG_PATH": str(found), "PATH": os.environ["PATH"]},
                           capture_output=True, text=True, check=True).stdout.split()
    program = tmp_path / "integral"
    root = MPICH.root
    subprocess.run(["cc", running.ROOT / "examples/integral.c", "-o", program, *flags, f"-I{root}/include",
                    f"{root}/lib/libmpi.so.12", f"-Wl,-rpath,{root}/lib", "-lm"], check=True)
    assert "pi = 3.14159265" in run(MPICH, 2, [program], preload=False).out
