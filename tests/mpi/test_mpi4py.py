"""mpi4py's own test suite, unmodified, from its source package on PyPI, under Fanlight.

The module is the wheel's, in the MPI's virtual environment; the tests are of the same version.
"""

import itertools
import re
import subprocess
import sys
import tarfile

import pytest

import running
from running import MPICH, OPENMPI, repeated, run

# What fails without Fanlight as well (mpi4py 4.1.2), by name.
LEFT_OUT = {
    "mpich": {"testGetFortranInfo": "the wheel of MPICH 5.0.2 is built without Fortran's datatypes"},
    "openmpi": {},
}


def suite(mpi):
    """The folder of mpi4py's sources; kept in the build tree."""
    python = mpi.root / "bin/python"
    asked = subprocess.run([python, "-c", "import mpi4py; print(mpi4py.__version__)"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"no mpi4py in {mpi.root}")
    version = asked.stdout.strip()
    cache = running.BUILD / "downloads"
    package = cache / f"mpi4py-{version}.tar.gz"
    folder = cache / f"mpi4py-{version}"
    if not package.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py",
               "--dest", str(cache), f"mpi4py=={version}"]
        subprocess.run(pip, check=True)
    if not folder.exists():
        with tarfile.open(package) as tar:
            tar.extractall(cache, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(cache)
    return folder, python


# What has nothing to do with collectives, requests, communicators, operators or errors: files, windows, datatypes
# by themselves, how buffers are described, dynamic processes, mpi4py's own tools.  One MPI runs it all the same, but for what takes most of
# the time.
OTHER = r"test_(io|file|rma|rma_nb|win|datatype|pack|pickle|msgspec|dynproc|spawn|util_\w+)\.py"
LONG = r"test_(io|pack|spawn|util_\w+)\.py"


@pytest.mark.parametrize("mpi,ranks,without", [(MPICH, 2, LONG), (OPENMPI, 3, OTHER), repeated(MPICH, 2, ""), repeated(OPENMPI, 3, "")],
                         ids=lambda v: {"": "whole", LONG: "most", OTHER: "part"}.get(v, str(v)))
def test_mpi4py(mpi, ranks, without, plain):
    whole_suite(mpi, ranks, without, plain)


@pytest.mark.parametrize("mpi,ranks", [repeated(MPICH, 2), repeated(OPENMPI, 3)], ids=str)
def test_mpi4py_in_the_shared_heap(mpi, ranks, fanlight_only):
    result = whole_suite(mpi, ranks, OTHER, False, {"HEAP": "shared", "HEAP_FROM": 4096}, preloads=(running.LIBRARIES / "libfanlight-heap.so", None))
    assert "no shared heap" not in result.err, str(result)


def whole_suite(mpi, ranks, without, plain, settings=None, **options):
    folder, python = suite(mpi)
    command = [python, folder / "test/main.py", "--no-builddir", "--failfast", *(["-e", without] if without else [])]
    for test in LEFT_OUT[mpi.name]:
        command += ["-x", test]
    result = run(mpi, ranks, command, running.ALL_SERVED | (settings or {}), preload=not plain, timeout=590, **options)
    text = result.out + result.err
    assert not result.hung and result.code == 0, str(result)
    assert len(re.findall(r"\bOK\b", text)) == ranks, str(result)
    least = 1200 if without == OTHER else 1500
    assert all(int(n) > least for n in re.findall(r"^Ran (\d+) tests", text, re.M)), str(result)
    if not plain:
        for operation in running.operations():
            assert result.report.calls(operation) >= 10, f"{operation}\n{result}"
    return result


@pytest.mark.parametrize("mpi,nodes,ranks", [(OPENMPI, "2x1", 2), *itertools.starmap(repeated, [
    (MPICH, "2x1", 2), (MPICH, "1+2", 3), (OPENMPI, "2x1x2", 4)])], ids=str)
def test_collectives_between_nodes(mpi, nodes, ranks, fanlight_only):
    folder, python = suite(mpi)
    command = [python, folder / "test/main.py", "--no-builddir", "--failfast", "-i", "test_cco", "-i", "test_request"]
    by_levels = ",".join(f"{a.operation}:by-levels" for a in running.algorithms() if a.name == "by-levels")
    result = run(mpi, ranks, command, {"TOPOLOGY": nodes, "ALGORITHM": by_levels}, timeout=590)
    assert not result.hung and result.code == 0, str(result)
    assert len(re.findall(r"^OK\b", result.out + result.err, re.M)) == ranks, str(result)
    assert result.report.calls("allreduce_init") and result.report.calls("iallgatherv"), str(result)


@pytest.mark.parametrize("mpi,transport", [(MPICH, "rma-flush"), (OPENMPI, "message"), *itertools.starmap(repeated, [
    (MPICH, "message"), (MPICH, "rma-fence"), (MPICH, "rma-lock"), (OPENMPI, "rma-flush"), (OPENMPI, "rma-fence"),
    (OPENMPI, "rma-lock")])], ids=str)
def test_collectives_over(mpi, transport, fanlight_only, request):
    """Its collectives, blocking, non-blocking and persistent, over a transport that is forced."""
    folder, python = suite(mpi)
    everything = request.config.getoption("--long")
    command = [python, folder / "test/main.py", "--no-builddir", "--failfast",
               "-i", "test_cco" if everything else "test_cco_buf"]
    result = run(mpi, 2, command, {"TRANSPORT": transport}, timeout=590)
    text = result.out + result.err
    assert not result.hung and result.code == 0, str(result)
    assert len(re.findall(r"\bOK\b", text)) == 2, str(result)
    ran = [int(n) for n in re.findall(r"^Ran (\d+) tests", text, re.M)]
    assert all(n > (500 if everything else 80) for n in ran), str(result)
    for operation in ("allgather", "allreduce", "alltoall", "bcast", "gather", "reduce", "scan", "scatter"):
        assert result.report.calls(operation) > 500, f"{operation}\n{result}"
