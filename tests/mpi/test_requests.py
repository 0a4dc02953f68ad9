"""Non-blocking collectives and their requests."""

import pytest

import running
from running import IMPI, MPICH, OPENMPI, repeated, run

parametrize = pytest.mark.parametrize

@parametrize("ranks", [1, 2, 3, 5])
def test_requests(mpi, ranks, plain):
    if ranks not in (2, 3) and mpi not in (MPICH, OPENMPI):
        pytest.skip("two numbers of ranks are enough")
    result = run(mpi, ranks, "requests" + (" plain" if plain else ""), preload=not plain).must_be_ok()
    if not plain and ranks > 1:
        for operation in ("ibarrier", "ibcast", "iallreduce", "iallgather", "ialltoall", "igather", "iscan", "iscatter"):
            assert result.report.calls(operation) >= 60 * ranks, f"{operation}\n{result}"
        # An operator of the program's; 10 with inputs that change.
        assert result.report.calls("iexscan") - 10 * ranks == result.report.calls("ireduce_scatter_block") == 5 * ranks, str(result)


@parametrize("mpi", [MPICH, OPENMPI, repeated(IMPI)], ids=str)
def test_a_program_with_a_waitall_of_its_own(mpi, plain):
    result = run(mpi, 2, "own_waitall", preload=not plain, timeout=20).must_be_ok()
    if not plain:
        assert result.report.calls("allreduce") >= 2 * 18 and result.report.calls("iallreduce") == 0, str(result)
        assert any("another function of requests" in reason for reason in result.report.reasons()), str(result)


def test_waitall_of_mpi_f08(plain):
    library = IMPI.root / "lib/libmpifort.so.12"
    if not library.exists():
        pytest.skip("no mpi_f08")
    result = run(IMPI, 2, ["f08_waitall", library], preload=not plain, timeout=20).must_be_ok()
    if not plain:
        assert result.report.calls("iallreduce") >= 2 * 5, str(result)


@parametrize("ranks", [2, 3])
def test_threads(mpi, ranks, plain):
    result = run(mpi, ranks, "requests_threads", preload=not plain)
    result.skip_without_threads().must_be_ok()
    if not plain:
        assert result.report.calls("iallreduce") > 1000 * ranks, str(result)


@parametrize("algorithm", ["", "allreduce:native"])
def test_a_persistent_one_is_freed_on_one_rank(algorithm, fanlight_only):
    """Whose memory is then in use on others: what the ranks agree by is Fanlight's allreduce or the MPI library's."""
    result = run(MPICH, 3, "requests freed-on-one-rank", {"ALGORITHM": algorithm}).must_be_ok()
    assert result.out.count("freed before the others have started it") == 5 and result.report.calls("bcast_init") == 30, str(result)


def test_many_persistent_ones(fanlight_only):
    run(MPICH, 2, "requests many").must_be_ok()


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_an_active_request_is_freed(mpi, fanlight_only):
    """MPI forbids it, and some libraries allow it."""
    run(mpi, 3, "requests freed").must_be_ok()


@parametrize("mpi,ranks,settings", [(MPICH, 2, {"SINGLE_COPY": "on"}), (OPENMPI, 3, {"SINGLE_COPY": "on"}), (IMPI, 2, {"SINGLE_COPY": "on"}),
                                    (MPICH, 3, {"SINGLE_COPY": "off", "PIECE": "4K"})], ids=str)
def test_every_collective_as_a_non_blocking_one(mpi, ranks, settings, plain):
    if plain and mpi is IMPI:
        pytest.skip("Intel MPI 2021.18's own Ialltoallv or Ialltoallw fails: 'Message truncated'")
    # --plain leaves out what the MPI libraries do wrong: the program's operators stay with them.
    result = run(mpi, ranks, "collectives --quick --plain", running.ALL_SERVED | settings, preload=not plain,
                 preloads=(mpi.program("by_requests.so"), None)).must_be_ok()
    if not plain:
        for operation in running.functions(running.operations()):
            assert result.report.calls("i" + operation) > 10 * ranks, f"{operation}\n{result}"


@parametrize("mpi,ranks,single_copy", [(MPICH, 2, "on"), (OPENMPI, 3, "off")], ids=str)
def test_every_collective_as_a_persistent_one(mpi, ranks, single_copy, plain):
    result = run(mpi, ranks, "collectives --quick --plain", running.ALL_SERVED | {"SINGLE_COPY": single_copy}, preload=not plain,
                 settings={"BY_REQUESTS": "persistent"}, preloads=(mpi.program("by_requests.so"), None)).must_be_ok()
    if not plain:
        for operation in running.functions(running.operations()):
            assert result.report.calls(operation + "_init") > 10 * ranks, f"{operation}\n{result}"


# Between nodes: cells and staging inside these, messages between them.
NODES = [("2x2", 4), ("2x1x2", 4), ("2x2:cyclic", 4), ("1+2", 3)]
SERVED = ("barrier", "bcast", "allreduce", "allgather", "alltoall", "gather", "scan", "scatter")
# The built-in rules leave what is short to the MPI library.
BY_LEVELS = {"ALGORITHM": ",".join(f"{o}:by-levels" for o in (*SERVED, "allgatherv", "reduce"))}


@parametrize("mpi,nodes,ranks", [*((MPICH, *n) for n in NODES), *((OPENMPI, *n) for n in NODES[::2])], ids=str)
def test_requests_between_nodes(mpi, nodes, ranks, fanlight_only):
    result = run(mpi, ranks, "requests freed", BY_LEVELS | {"TOPOLOGY": nodes}).must_be_ok()
    for operation in SERVED:
        assert result.report.calls("i" + operation) >= 60 * ranks, f"{operation}\n{result}"
    assert result.report.calls("allreduce_init") == 12 * ranks, str(result)


@parametrize("threads", ["", " threads"], ids=["one thread", "threads"])
@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_a_rank_is_elsewhere(mpi, threads, fanlight_only):
    settings = BY_LEVELS | {"TOPOLOGY": "2x2"}
    result = run(mpi, 4, "elsewhere" + threads, settings, timeout=60).skip_without_threads().must_be_ok()
    for operation in ("ibcast", "iallgather", "iallreduce"):
        assert result.report.calls(operation) >= 24 * 4, str(result)
