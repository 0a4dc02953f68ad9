"""The program `collectives` on every MPI: the results of Fanlight's collectives, by the report
really Fanlight's."""

import pytest

import running
from running import IMPI, MPICH, OPENMPI, run

# Why a call may be left to the MPI library in these runs.
ALLOWED = {"a rule", "no bytes", "a communicator of one rank", "first calls on a communicator"}


def must_be_served(result, ranks, operations, forced=None):
    assert result.report, f"no report\n{result}"
    for function in running.functions(operations) if ranks > 1 else []:
        assert result.report.calls(function) > 0, f"{function} was never served\n{result}"
        if forced:
            wanted = forced[running.SERVED_BY.get(function, function)]
            assert result.report.algorithms(function) == {wanted}, str(result)
    assert result.report.reasons() <= ALLOWED, f"{result.report.reasons() - ALLOWED}\n{result}"


def collectives(mpi, ranks, plain, options="", fanlight=None, operations=None, forced=None, timeout=100):
    command = "collectives " + options
    if operations:
        command += " --only=" + ",".join(running.functions(operations))
    if plain:
        return run(mpi, ranks, command + " --plain", preload=False, timeout=timeout).must_be_ok()
    result = run(mpi, ranks, command, {**running.ALL_SERVED, **(fanlight or {})}, timeout=timeout).must_be_ok()
    must_be_served(result, ranks, operations or running.operations(), forced)
    return result


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7, 8])
def test_all(mpi, ranks, plain):
    full = ranks == 2 or (ranks == 4 and mpi in (MPICH, OPENMPI))
    collectives(mpi, ranks, plain, "" if full else "--quick")


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
@pytest.mark.parametrize("ranks", [2, 3])
def test_large(mpi, ranks, plain):
    collectives(mpi, ranks, plain, "--large", {"SINGLE_COPY": "on"}, [
        "bcast", "allreduce", "reduce", "allgather", "alltoall", "gather", "reduce_scatter_block"])


@pytest.mark.parametrize("settings", [
    {"SINGLE_COPY": "off"}, {"SINGLE_COPY": "off", "PIECE": "4K"}, {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": 1}, {"START_AFTER": 16},
    {"WAIT": "sleep"}], ids=lambda s: ",".join(f"{k}={v}" for k, v in s.items()))
@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3), (IMPI, 4)], ids=str)
def test_settings(mpi, ranks, settings, plain, fanlight_only):
    operations = running.operations()
    if "START_AFTER" in settings:  # each neighborhood of the program is a communicator of a few calls
        operations = [o for o in operations if not o.startswith("neighbor")]
    collectives(mpi, ranks, plain, "--quick", settings, operations)


# Every algorithm, forced.
def forced(mpi, ranks, plain, layer, settings):
    algorithms = [a for a in running.layers()[layer]
                  if not ("power_of_two" in a.restrictions and ranks == 3 or "even" in a.restrictions and ranks % 2)]
    if not algorithms:
        pytest.skip(f"none of them is for {ranks} ranks")
    options = "--quick" + (" --commutative" if "commutative" in algorithms[0].restrictions else "")
    names = {a.operation: a.name for a in algorithms}
    collectives(mpi, ranks, plain, options, {"ALGORITHM": ",".join(":".join(n) for n in names.items()), **settings},
                list(names), names)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("layer", range(len(running.layers())))
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_algorithms(mpi, layer, ranks, plain, fanlight_only):
    forced(mpi, ranks, plain, layer, {"SINGLE_COPY": "on"})


# Others than `one rank per core`: the same algorithms when pieces go through shared memory.
@pytest.mark.parametrize("layer", range(len(running.layers())))
@pytest.mark.parametrize("mpi", [OPENMPI], ids=str)
def test_algorithms_without_single_copy(mpi, layer, plain, fanlight_only, long):
    forced(mpi, 4, plain, layer, {"SINGLE_COPY": "off"})


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_parameters_of_a_forced_algorithm(mpi, plain, fanlight_only):
    collectives(mpi, 4, plain, "--quick", {"ALGORITHM": "bcast:tree(degree=1,piece=1K),reduce:tree(degree=4)"},
                ["bcast", "reduce"], {"bcast": "tree", "reduce": "tree"})


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_forced_algorithm_that_a_restriction_forbids_is_an_error(mpi, fanlight_only):
    result = run(mpi, 3, "plain_calls", {"ALGORITHM": "allgather:recursive-doubling"})
    result.must_be_ok()  # no allgather in it
    result = run(mpi, 3, "collectives --quick --only=allgather", {"ALGORITHM": "allgather:recursive-doubling"})
    assert not result.hung and result.code != 0, str(result)
    assert "recursive-doubling" in result.err and "fanlight" in result.err, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
@pytest.mark.parametrize("sabotage", ["barrier", "bcast", "reduce", "allreduce", "guard", "input", "allgather",
                                      "alltoall", "gather", "scan", "nothing"])
def test_the_program_sees_what_is_wrong(mpi, sabotage):
    """Red tests: with one operation made wrong on purpose the program must fail."""
    operation = "allreduce" if sabotage in ("guard", "input", "nothing") else sabotage
    result = run(mpi, 2, f"collectives --plain --quick --only={operation}", preload=False,
                 preloads=(mpi.program("saboteur.so"),), settings={"SABOTAGE": sabotage})
    if sabotage == "nothing":
        result.must_be_ok()
    else:
        assert not result.hung and result.code != 0 and f"WRONG {operation}" in result.err, str(result)
