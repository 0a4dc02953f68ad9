"""The allgather without counts: what the program `allgatherv_any` checks, by the report really served."""

import pytest

import running
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, run

ALGORITHMS = [a.name for a in running.algorithms("allgather")
              if not a.restrictions]


def served(mpi, ranks, settings=None, by="fanlight"):
    result = run(mpi, ranks, "allgatherv_any", settings).must_be_ok()
    if ranks > 1:
        assert result.report.calls("allgatherv_any", by) > 350 * ranks, str(result)
    return result


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 1), (MPICH, 2), (MPICH_ABI, 3), (OPENMPI, 2), (IMPI, 3)], ids=str)
def test_on_every_mpi(mpi, ranks, fanlight_only):
    served(mpi, ranks)


@pytest.mark.parametrize("mpi,ranks,algorithm", [(MPICH, 5, a) for a in ALGORITHMS] + [(OPENMPI, 4, ALGORITHMS[0])], ids=str)
def test_algorithms(mpi, ranks, algorithm, fanlight_only):
    result = served(mpi, ranks, {"ALGORITHM": f"allgather:{algorithm}"})
    assert result.report.algorithms("allgatherv_any") == {algorithm}, str(result)


@pytest.mark.parametrize("settings", [{"SINGLE_COPY": "off"}, {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": 200},
                                      {"START_AFTER": 16}], ids=lambda s: ",".join(f"{k}={v}" for k, v in s.items()))
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_settings(mpi, settings, fanlight_only):
    served(mpi, 3, settings)


@pytest.mark.parametrize("mpi,settings", [(MPICH, {"TOPOLOGY": "2x*:cyclic"}), (OPENMPI, {"TOPOLOGY": "2x*", "ALGORITHM": "allgather:bruck"}),
                                          (IMPI, {"TRANSPORT": "message"}), (MPICH, {"TRANSPORT": "rma-fence"})], ids=str)
def test_between_nodes(mpi, settings, fanlight_only):
    served(mpi, 3, settings)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_the_records_by_the_mpi_library(mpi, fanlight_only):
    served(mpi, 3, {"ALGORITHM": "allgather:native"}, "mpi")


@pytest.mark.parametrize("mpi", [OPENMPI], ids=str)
def test_without_fanlight_at_work(mpi, fanlight_only):
    run(mpi, 3, "allgatherv_any", settings={"FANLIGHT": "0"}).must_be_ok()
