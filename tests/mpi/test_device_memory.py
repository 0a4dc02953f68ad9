"""Buffers in a GPU's memory, with CUDA's driver where there is a GPU, and with one that has no GPU (tools/driver.c).  A
rank that takes such a buffer for the host's memory ends."""

import subprocess
import sys

import pytest

from running import IMPI, MPICH, OPENMPI, ROOT, on_rank, repeated, run

parametrize = pytest.mark.parametrize

# Prints where CUDA's driver lies, if it finds a GPU.  A process of its own: one that has started CUDA must not fork.
FIND_DRIVER = """
import ctypes
for name in ("libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"):
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        continue
    gpus = ctypes.c_int(0)
    if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(gpus)) == 0 and gpus.value > 0:
        print(next(line.split()[-1] for line in open("/proc/self/maps") if "/libcuda.so" in line))
        break
"""


@pytest.fixture(scope="module", params=["stub", "gpu"])
def driver(request, tmp_path_factory):
    if request.param == "gpu":
        found = subprocess.run([sys.executable, "-c", FIND_DRIVER], capture_output=True, text=True).stdout.strip()
        return found or pytest.skip("no NVIDIA GPU here")
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    source = ROOT / "tests/mpi/tools/driver.c"
    subprocess.run(["gcc", "-O1", "-Wall", "-shared", "-fPIC", "-pthread", "-o", library, source], check=True)
    return library


@parametrize("mpi,ranks,late,single_copy", [(MPICH, 3, "", "auto"), (OPENMPI, 2, "late", "on"), repeated(IMPI, 3, "late", "off"),
                                            repeated(OPENMPI, 4, "", "off")], ids=str)
def test_staged(driver, mpi, ranks, late, single_copy, fanlight_only):
    """Under MPI libraries that would end the program."""
    result = run(mpi, ranks, f"device_memory staged {late}", {"GPU": "stage", "SINGLE_COPY": single_copy},
                 settings={"DRIVER": driver}).must_be_ok()
    assert result.report.calls("allreduce") == ranks * (80 * bool(late) + 3 * 4), str(result)
    assert result.report.calls("iallreduce") == ranks * 4, str(result)


@parametrize("mpi,gpu,served", [(MPICH, "pass", False), (MPICH, "none", True), (OPENMPI, "pass", False)], ids=str)
def test_a_program_that_has_loaded_a_driver(driver, mpi, gpu, served, fanlight_only):
    """Is left to the MPI library as a whole, unless the user says that it has no such buffers."""
    result = run(mpi, 2, "device_memory plain", {"GPU": gpu}, settings={"DRIVER": driver}).must_be_ok()
    assert (result.report.calls() > 0) == served, str(result)
    assert served or any("a GPU's driver" in reason for reason in result.report.reasons()), str(result)


@parametrize("mpi", [MPICH, repeated(OPENMPI), repeated(IMPI)], ids=str)
def test_a_driver_on_one_rank_alone(driver, mpi, fanlight_only):
    """All ranks stay with the MPI library."""
    command = [*on_rank(1, f"LD_PRELOAD=$LD_PRELOAD:{driver}"), mpi.program("plain_calls")]
    result = run(mpi, 3, command, {"GPU": "pass"}, timeout=30).must_be_ok()
    assert result.report.calls() == 0 and any("a GPU's driver" in reason for reason in result.report.reasons()), str(result)
