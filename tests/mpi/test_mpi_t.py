"""Fanlight's variables by MPI_T, the interface of tools."""

import pytest

from running import run


@pytest.mark.parametrize("report,only", [("", "0"), (None, "")], ids=["rank-0-counts", "beside-the-report"])
def test_variables(mpi, report, only, fanlight_only):
    """Found among the MPI library's, written before they are read, counted while they are started."""
    result = run(mpi, 2, ["mpi_t_variables", *only], {} if report is None else {"REPORT": report}).must_be_ok()
    assert "FANLIGHT_WAIT=standing: expected one of auto spin yield sleep" in result.err, str(result)
    if report is None:  # that a tool has reset a variable changes nothing of the report
        assert result.report.calls("allreduce") == 2 * 17 and result.report.calls("allreduce", by="mpi") == 2 * 3, str(result)
    else:
        assert result.report is None, str(result)
