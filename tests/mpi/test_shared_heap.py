"""The shared heap under real MPIs: the same results, and one sentence where it cannot be."""

import pytest

import running
from running import MPICH, OPENMPI, run

HEAP = running.LIBRARIES / "libfanlight-heap.so"
OTHER = running.BUILD / "tests/heap/libother_malloc.so"
parametrize = pytest.mark.parametrize


@running.libraries
def test_all_collectives(mpi, fanlight_only):
    result = run(mpi, 2, "collectives", {"HEAP": "shared"}, preloads=(HEAP, None)).must_be_ok()
    assert "no shared heap" not in result.err, str(result)


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_one_rank_without_it(mpi, fanlight_only):
    without = ["sh", "-c", '[ "${PMI_RANK:-$PMIX_RANK}" != 1 ] || export FANLIGHT_HEAP=off; exec "$@"', "sh"]
    result = run(mpi, 3, "collectives --quick", {"SINGLE_COPY": "off", "LENT_FROM": "16K"}, preloads=(HEAP, None), wrapper=without).must_be_ok()
    lent = [rank["lent"] for rank in result.report.json["by_rank"]]
    assert lent[0] > 50 < lent[2] and lent[1] == 0, f"{lent} messages were lent\n{result}"


@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_memory_of_the_mpi_librarys_that_lies_in_it(mpi, fanlight_only):
    run(mpi, 2, "peers_memory", {"HEAP": "shared"}, preloads=(HEAP, None)).must_be_ok()


@parametrize("program", ["forked", "children"])
@parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_programs_that_fork(mpi, program, fanlight_only):
    run(mpi, 2, program, {"HEAP": "shared", "HEAP_FROM": "4K"}, preloads=(HEAP, None)).must_be_ok()


@parametrize("preloads,settings,says", [
    ((None,), {"HEAP": "shared"}, "libfanlight-heap.so must be preloaded before libfanlight-mpich.so"),
    ((HEAP, None, OTHER), {}, "another library's malloc serves this process"),
    ((HEAP, None), {"HEAP": "no"}, ""),
    ((HEAP, None), {}, ""),
])
def test_what_is_said(preloads, settings, says, fanlight_only):
    """Once, by rank 0; and the program goes on."""
    result = run(MPICH, 2, "plain_calls", settings, preloads=preloads).must_be_ok()
    said = [line for line in result.err.splitlines() if "shared heap" in line or "heap" in line]
    assert len(said) == bool(says) and says in "".join(said), str(result)


def test_without_addresses(fanlight_only):
    """A limit leaves the arena none: it says so, and blocks are the C library's."""
    result = run(MPICH, 2, "plain_calls", {"HEAP": "shared"}, preloads=(HEAP, None),
                 wrapper=["sh", "-c", "ulimit -v 500000; exec \"$@\"", "sh"])
    if "no shared heap" not in result.err:
        pytest.skip("the MPI library itself has too few addresses")
    result.must_be_ok()
    assert result.err.count("a limit leaves it no addresses") == 1, str(result)
