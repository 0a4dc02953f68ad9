"""Buffers in a GPU's memory, with a driver that has no GPU (tools/driver.c): a rank that takes such a buffer for the
host's memory ends."""

import subprocess

import pytest

from running import IMPI, MPICH, OPENMPI, ROOT, repeated, run

parametrize = pytest.mark.parametrize


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    subprocess.run(["gcc", "-O1", "-Wall", "-shared", "-fPIC", "-o", library, ROOT / "tests/mpi/tools/driver.c"], check=True)
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
