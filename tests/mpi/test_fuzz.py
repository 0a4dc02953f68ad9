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


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_what_compares_nothing_fails(mpi, fanlight_only):
    class Hopeless(fuzz.Case):
        def alone(self, first=0, last=0, timeout=15):
            return super().alone(first, 0, 0.01)

    assert fuzz.run([Hopeless(mpi, 1, ranks=2)]) == ["no program was compared: all 1 were passed over"]


def test_results_belong_to_their_calls():
    lines = ["bcast ranks=2", "  bcast 1", "iallreduce ranks=2", "alltoallw ranks=1 ", "  allreduce 2", "  alltoallw 3", "messages 4",
             "step 1", "persistent scan ranks=2", "round 0", "  scan 5", "round 1", "  scan 6", "thread 1"]
    assert [fuzz.call_of(lines, k).split()[0] for k in (1, 4, 5)] == ["bcast", "iallreduce", "alltoallw"]
    assert fuzz.call_of(lines, 10) == fuzz.call_of(lines, 12) == "persistent scan ranks=2"
