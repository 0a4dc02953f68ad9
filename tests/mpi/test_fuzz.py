"""Random programs with and without Fanlight (tests/fuzz): new ones in each run, a failure says their seeds."""

import sys

import pytest

from running import IMPI, MPICH, OPENMPI, ROOT

sys.path.insert(0, str(ROOT / "tests/fuzz"))
import fuzz  # noqa: E402


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI, IMPI], ids=str)
def test_random_programs(mpi, fanlight_only):
    failures = fuzz.run(fuzz.Case(mpi, seed) for seed in fuzz.seeds(5))
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_a_wrong_result_is_found(mpi, fanlight_only):
    case = fuzz.Case(mpi, 1, ranks=2)
    case.preloads, case.environment = (mpi.program("saboteur.so"), None), {"SABOTAGE": "allreduce"}
    assert "allreduce" in case.failure(case.alone())
