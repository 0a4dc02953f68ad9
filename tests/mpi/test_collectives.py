"""The program `collectives` on every MPI: the results of Fanlight's collectives, by the report
really Fanlight's."""

import pytest

import running
from test_transports import OnHosts
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, repeated, run

# Why a call may be given to the MPI library in these runs.
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


# All numbers of ranks on one MPI, some on the others: what Fanlight does depends on both, but hardly on the two together.
RANKS = {MPICH: (1, 2, 3, 4, 5, 7, 8), OPENMPI: (1, 2, 3), IMPI: (1, 2, 5), MPICH_ABI: (1, 3)}


@pytest.mark.parametrize("mpi,ranks", [(mpi, n) if n in RANKS[mpi] else repeated(mpi, n) for mpi in running.ALL for n in RANKS[MPICH]], ids=str)
def test_all(mpi, ranks, plain):
    full = ranks == 2 or (ranks == 4 and mpi in (MPICH, OPENMPI))
    collectives(mpi, ranks, plain, "" if full else "--quick")


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 3), (OPENMPI, 2), repeated(MPICH, 2), repeated(OPENMPI, 3)], ids=str)
def test_large(mpi, ranks, plain):
    collectives(mpi, ranks, plain, "--large", {"SINGLE_COPY": "on"}, [
        "bcast", "allreduce", "reduce", "allgather", "alltoall", "gather", "reduce_scatter_block"])


SETTINGS = {"staged": {"SINGLE_COPY": "off"}, "pieces": {"SINGLE_COPY": "off", "PIECE": "4K"},
            "single-copy": {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": 1}, "late": {"START_AFTER": 16}, "sleep": {"WAIT": "sleep"}}
ELSEWHERE = {(OPENMPI, "staged"), (OPENMPI, "single-copy"), (OPENMPI, "late"), (IMPI, "pieces"), (IMPI, "sleep")}


@pytest.mark.parametrize("mpi,ranks,settings", [
    case if mpi is MPICH or (mpi, name) in ELSEWHERE else repeated(*case) for mpi, ranks in ((MPICH, 2), (OPENMPI, 3), (IMPI, 4))
    for name in SETTINGS for case in [(mpi, ranks, name)]], ids=str)
def test_settings(mpi, ranks, settings, plain, fanlight_only):
    settings = SETTINGS[settings]
    operations = running.operations()
    if "START_AFTER" in settings:  # each neighborhood of the program is a communicator of a few calls
        operations = [o for o in operations if not o.startswith("neighbor")]
    collectives(mpi, ranks, plain, "--quick", settings, operations)


# Of operations whose lengths no rank knows, on more than two ranks: for lengths from 5 to 40 bytes the one, for others the other,
# and some are left to the MPI library.
BY_LENGTH = {"gatherv": ("root-reads-all", "all-write-root"), "scatterv": ("root-writes-all", "root-writes-all"),
             "alltoallv": ("pairwise", "all-write-all"), "neighbor_allgather": ("all-write-all", "all-read-all"),
             "neighbor_alltoall": ("all-read-all", "all-write-all"), "neighbor_alltoallv": ("all-write-all", "all-write-all")}


@pytest.mark.parametrize("mpi,requests", [
    (MPICH, None), (MPICH, "non-blocking"), (MPICH, "persistent"), (OPENMPI, None), repeated(OPENMPI, "non-blocking"), (IMPI, None)], ids=str)
def test_two_ranks_choose_by_the_length_of_what_goes_between_them(mpi, requests, tmp_path, fanlight_only):
    rules = tmp_path / "rules"
    rules.write_text("".join(f"{o.replace('_', '-')} bytes={lengths} -> {algorithm}\n" for o, (one, other) in BY_LENGTH.items()
                             for lengths, algorithm in (("5..40", one), ("64..2K", "native"), ("0..", other))))
    options = {"settings": {"BY_REQUESTS": requests}, "preloads": (mpi.program("by_requests.so"), None)} if requests else {}
    # Open MPI 5.0.11's own give wrong results where a graph has several edges between two ranks.
    functions = [f for f in running.functions(BY_LENGTH) if not (mpi is OPENMPI and f.startswith("neighbor"))]
    result = run(mpi, 2, "collectives --plain --only=" + ",".join(functions), {"RULES": rules, "SINGLE_COPY": "on"}, **options).must_be_ok()
    names = {None: "{}", "non-blocking": "i{}", "persistent": "{}_init"}
    for function in functions:
        name = names[requests].format(function)
        assert result.report.algorithms(name) == set(BY_LENGTH[running.SERVED_BY.get(function, function)]), f"{name}\n{result}"
        assert any(row["reason"] == "a rule" for row in result.report.rows(name, "mpi")), f"{name}\n{result}"


@pytest.mark.parametrize("settings", [{"TRANSPORT": "message"}, {"TRANSPORT": "rma-flush", "TOPOLOGY": "2x*"}], ids=lambda s: s["TRANSPORT"])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_not_served_over(mpi, settings, fanlight_only):
    result = running.run(mpi, 3, "collectives --quick --plain", settings | running.ALL_SERVED, timeout=90).must_be_ok()
    served = {o for o in running.operations() if result.report.calls(o)}
    assert "allreduce" in served and not any(o.startswith("neighbor") or o == "alltoallv" for o in served), str(result)


# Whose lengths both ends know: what stays inside a node by cells or read, the rest as messages.
BOTH_ENDS = {"neighbor_allgather": "all-read-all", "neighbor_alltoall": "all-read-all", "neighbor_alltoallv": "all-write-all",
             "alltoallv": "all-write-all"}


def both_ends_know(mpi, ranks, settings, requests=None):
    options = {"settings": {"BY_REQUESTS": requests}, "preloads": (mpi.program("by_requests.so"), None)} if requests else {}
    functions = running.functions(BOTH_ENDS)
    # Of non-blocking ones --plain leaves out what Open MPI does wrong, and we leave to it.
    result = run(mpi, ranks, "collectives --quick --only=" + ",".join(functions) + (" --plain" if requests else ""),
                 {"ALGORITHM": ",".join(map(":".join, BOTH_ENDS.items())), **settings}, **options).must_be_ok()
    names = {None: "{}", "non-blocking": "i{}", "persistent": "{}_init"}
    for name in functions:
        assert result.report.calls(names[requests].format(name)) > 10 * ranks, f"{name}\n{result}"
    assert "several nodes" not in str(result.report.reasons())


@pytest.mark.parametrize("mpi,ranks,topology,requests", [
    (MPICH, 4, "2x2", None), (MPICH, 5, "2x*:cyclic", None), (OPENMPI, 5, "2+1+2", None), (IMPI, 3, "2+1", None),
    (MPICH, 5, "2+1+2", "non-blocking"), (OPENMPI, 4, "2x2:cyclic", "non-blocking"),
    (MPICH, 4, "2x2:cyclic", "persistent"), (OPENMPI, 3, "3x1", "persistent")], ids=str)
def test_both_ends_know_between_nodes(mpi, ranks, topology, requests, fanlight_only):
    for single_copy in ("off", "on"):
        both_ends_know(mpi, ranks, {"TOPOLOGY": topology, "SINGLE_COPY": single_copy}, requests)


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_both_ends_know_on_two_hosts(mpi, fanlight_only, hosts_allowed):
    both_ends_know(OnHosts(mpi.name, mpi.root, mpi.abi), 4, {"CORES": 1})


# Lengths that not all ranks know go first, and what is longer than 16 bytes goes straight: in one node, and between several.
def lengths_first(mpi, ranks, algorithm, operations, topology, single_copy, requests):
    result = run(mpi, ranks, "collectives --quick --only=" + ",".join(operations),
                 {"ALGORITHM": ",".join(f"{o}:{algorithm}" for o in operations), "TOPOLOGY": topology, "SINGLE_COPY": single_copy}, timeout=100,
                 settings={"BY_REQUESTS": requests} if requests else {}, preloads=(mpi.program("by_requests.so"), None) if requests else (None,)).must_be_ok()
    names = {None: "{}", "non-blocking": "i{}", "persistent": "{}_init"}
    for name in map(names[requests].format, operations):
        assert result.report.calls(name) > 10 * ranks and result.report.algorithms(name) == {algorithm.partition("(")[0]}, str(result)


@pytest.mark.parametrize("requests", [None, "non-blocking", "persistent"])
@pytest.mark.parametrize("mpi,ranks,topology,single_copy", [
    (MPICH, 4, "1x2x2", "off"), (MPICH, 5, "1x(1+2)+1x2:cyclic", "on"), (MPICH, 4, "2x2:cyclic", "off"), (OPENMPI, 4, "1x2+1x(1+1)", "on"),
    (OPENMPI, 5, "2+1+2", "off"), (IMPI, 4, "1x2x2", "on")], ids=str)
def test_lengths_by_levels(mpi, ranks, topology, single_copy, requests, fanlight_only):
    lengths_first(mpi, ranks, "by-levels(minimum=16)", ("gatherv", "scatterv", "alltoallv"), topology, single_copy, requests)


@pytest.mark.parametrize("mpi,ranks,degree,topology,single_copy,requests", [
    (MPICH, 5, 2, "5", "off", None), (MPICH, 4, 3, "2x2", "on", "non-blocking"), (MPICH, 3, 2, "3x1", "off", "persistent"),
    (OPENMPI, 5, 3, "2+1+2", "off", None), (OPENMPI, 4, 2, "1x4", "on", "persistent"), (IMPI, 4, 2, "1x2x2", "off", "non-blocking")], ids=str)
def test_lengths_by_digits(mpi, ranks, degree, topology, single_copy, requests, fanlight_only):
    lengths_first(mpi, ranks, f"bruck(degree={degree},minimum=16)", ["alltoallv"], topology, single_copy, requests)


# Every algorithm, forced.
def forced(mpi, ranks, plain, algorithms, settings):
    options = "--quick" + (" --commutative" if "commutative" in algorithms[0].restrictions else "")
    names = {a.operation: a.name for a in algorithms}
    collectives(mpi, ranks, plain, options, {"ALGORITHM": ",".join(":".join(n) for n in names.items()), **settings},
                list(names), names)


def layers_for(ranks, algorithms):
    """Those that can be on so many ranks, in layers, named after one of them."""
    layers = running.in_layers([a for a in algorithms if not ("power_of_two" in a.restrictions and ranks & (ranks - 1)
                                                              or "even" in a.restrictions and ranks % 2)])
    return [(ranks, layer) for layer in layers]


ALL = running.algorithms()
ON_THREE = layers_for(3, ALL)
NOT_ON_THREE = set(ALL).difference(*(layer for _, layer in ON_THREE))


def name(value):
    return f"{len(value)}-from-{value[0].operation}:{value[0].name}" if isinstance(value, list) else str(value)


@pytest.mark.parametrize("ranks,algorithms", [*ON_THREE, *layers_for(4, [a for a in ALL if a in NOT_ON_THREE]),
                                              *(repeated(*case) for ranks in (2, 4) for case in layers_for(ranks, ALL))], ids=name)
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_algorithms(mpi, ranks, algorithms, plain, fanlight_only):
    forced(mpi, ranks, plain, algorithms, {"SINGLE_COPY": "on"})


# Where no rank knows all lengths, blocks are put in pieces, if at all.
IN_PIECES = {a.operation for a in ALL if "piecewise" in a.restrictions} - {"scatter"}


# Others than `one rank per core`: the same algorithms when pieces go through shared memory.
@pytest.mark.long
@pytest.mark.parametrize("ranks,algorithms", layers_for(4, [a for a in ALL if a.operation not in IN_PIECES or "piecewise" in a.restrictions]), ids=name)
@pytest.mark.parametrize("mpi", [OPENMPI], ids=str)
def test_algorithms_without_single_copy(mpi, ranks, algorithms, plain, fanlight_only):
    forced(mpi, ranks, plain, algorithms, {"SINGLE_COPY": "off"})


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_what_is_forced_to_be_native(mpi, fanlight_only):
    """The report says for each operation that a rule left it to the MPI library."""
    native = ",".join(f"{o}:native" for o in running.operations())
    result = run(mpi, 2, "collectives --quick --plain", {"ALGORITHM": native}).must_be_ok()
    for function in running.functions(running.operations()):
        assert "a rule" in {r["reason"] for r in result.report.rows(function, "mpi")}, f"{function}\n{result}"
    assert result.report.calls() == 0, str(result)


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
