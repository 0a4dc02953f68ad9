"""The allgather without counts: what the program `allgatherv_any` checks, by the report really served."""

import pytest

import running
from running import IMPI, MPICH, OPENMPI, run

ALGORITHMS = [a.name for a in running.algorithms("allgatherv_any")]


def served(mpi, ranks, settings=None, by="fanlight"):
    result = run(mpi, ranks, "allgatherv_any", settings).must_be_ok()
    if ranks > 1:
        assert result.report.calls("allgatherv_any", by) > 3000 * ranks, str(result)
    return result


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_on_every_mpi(mpi, ranks, fanlight_only):
    if ranks not in (2, 3) and mpi != MPICH:
        pytest.skip("two numbers of ranks are enough")
    served(mpi, ranks)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("mpi,ranks", [(MPICH, 5), (OPENMPI, 4), (IMPI, 7)], ids=str)
def test_algorithms(mpi, ranks, algorithm, fanlight_only):
    result = served(mpi, ranks, {"ALGORITHM": f"allgatherv-any:{algorithm}"})
    assert result.report.algorithms("allgatherv_any") == {algorithm}, str(result)


@pytest.mark.parametrize("settings", [{"SINGLE_COPY": "off"}, {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": 200},
                                      {"START_AFTER": 16}], ids=lambda s: ",".join(f"{k}={v}" for k, v in s.items()))
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_settings(mpi, settings, fanlight_only):
    served(mpi, 3, settings)


# Nothing but an allgather of the lengths and an allgatherv then.
@pytest.mark.parametrize("mpi,settings", [(MPICH, {"NODES": "cyclic:2"}), (OPENMPI, {"NODES": "blocks:2"}),
                                          (IMPI, {"TRANSPORT": "message"}), (MPICH, {"ALGORITHM": "allgatherv-any:native"})], ids=str)
def test_where_it_is_not_one_operation(mpi, settings, fanlight_only):
    served(mpi, 3, settings, "mpi")


@pytest.mark.parametrize("mpi", [OPENMPI], ids=str)
def test_without_fanlight_at_work(mpi, fanlight_only):
    run(mpi, 3, "allgatherv_any", settings={"FANLIGHT": "0"}).must_be_ok()
