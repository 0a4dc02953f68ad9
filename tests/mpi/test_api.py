"""The collectives' own API: programs that are linked to libfanlight-<abi>.so, with no preload."""

import json
import re

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


@parametrize("mpi,ranks", [(MPICH, 1), (MPICH, 2), (MPICH, 3), (MPICH, 4), (OPENMPI, 1), (OPENMPI, 3), (OPENMPI, 4),
                           (IMPI, 2), (MPICH_ABI, 2)], ids=str)
def test_every_function(mpi, ranks, tmp_path, fanlight_only):
    result = linked(mpi, ranks, "api_collectives --quick --plain", tmp_path)
    for function in running.functions(running.operations()) if ranks > 1 else []:
        assert result.report.calls(function) > 0, f"{function} was never served\n{result}"


@parametrize("how", ["started", "persistent"])
@parametrize("mpi,ranks", [(MPICH, 3), (OPENMPI, 2)], ids=str)
def test_every_function_with_a_request(mpi, ranks, how, tmp_path, fanlight_only):
    result = linked(mpi, ranks, "api_by_requests --quick --plain", tmp_path, {"BY_REQUESTS": how})
    for operation in ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "allgather", "allgatherv", "gather",
                      "scatter", "alltoall", "reduce_scatter", "reduce_scatter_block"):
        name = f"i{operation}" if how == "started" else f"{operation}_init"
        assert result.report.calls(name) > 10 * ranks, f"{name}\n{result}"


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
    file = tmp_path / "report.json"
    run(mpi, ranks, f"api_control {file}", preload=False).must_be_ok()
    calls = json.loads(file.read_text())["calls"]
    assert {c["operation"] for c in calls} <= {"allreduce", "iallreduce", "allreduce_init", "bcast"}, calls
    if ranks > 1:
        assert {"recursive-doubling", "tree", ""} <= {c["algorithm"] for c in calls if c["operation"] == "allreduce"}, calls


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
