"""Messages in memory that peers can load from: right, and really read where they lie."""

import re

import pytest

import running
from running import IMPI, MPICH, OPENMPI, libraries, repeated, run
from test_bad_cases import CONTAINER, NO_CMA, OUT_OF_REACH


def lent(result):
    assert result.report, str(result)
    return [rank["lent"] for rank in result.report.json["by_rank"]]


# In the programs's own blocks from 4 KiB on: of them all, of every other one, each on other ranks.  A length says that messages
# are lent wherever they can be; without one that depends on the cores.
LENT = {"LENT_FROM": 4096, "SINGLE_COPY": "off", **running.ALL_SERVED}


@pytest.mark.parametrize("mpi,ranks,memory,requests", [
    (MPICH, 2, "mpi", None), (OPENMPI, 3, "mpi", None), (IMPI, 2, "mpi", None),
    (MPICH, 3, "both", None), repeated(OPENMPI, 2, "both", None), repeated(IMPI, 4, "both", None),
    (MPICH, 3, "mpi", "non-blocking"), (OPENMPI, 2, "both", "persistent"), repeated(IMPI, 3, "mpi", "non-blocking")], ids=str)
def test_all_operations(mpi, ranks, memory, requests, plain):
    options = {"settings": {"BY_REQUESTS": requests}, "preloads": (mpi.program("by_requests.so"), None)} if requests else {}
    command = f"collectives --quick --memory={memory}" + (" --plain" if plain or requests else "")
    result = run(mpi, ranks, command, LENT, preload=not plain, timeout=150, **options).must_be_ok()
    if not plain:
        assert min(lent(result)) > 100, f"{lent(result)} messages were lent\n{result}"


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), repeated(OPENMPI, 3), (IMPI, 3)], ids=str)
def test_copied_once(mpi, ranks, fanlight_only):
    """Where data is copied once anyway, that in an arena is copied by loads and stores."""
    result = run(mpi, ranks, "collectives --quick --memory=both", LENT | {"SINGLE_COPY": "on", "SINGLE_COPY_FROM": 1}, timeout=150).must_be_ok()
    assert min(lent(result)) > 20, f"{lent(result)} messages were lent\n{result}"


@libraries
@pytest.mark.parametrize("ranks", [2, repeated(4)])
@pytest.mark.parametrize("single_copy", ["off", "on"])
def test_buffers_are_the_programs_own(mpi, ranks, single_copy, plain):
    result = run(mpi, ranks, "peers_memory", {"SINGLE_COPY": single_copy, "LENT_FROM": "16K"}, preload=not plain).must_be_ok()
    if not plain:
        assert min(lent(result)) > 50, f"{lent(result)} messages were lent\n{result}"


@libraries
@pytest.mark.parametrize("ranks", [2, repeated(3)])
@pytest.mark.parametrize("single_copy", ["off", "on"])
@pytest.mark.parametrize("made_by", ["shared", "allocate"])
def test_windows_that_the_library_shares(mpi, ranks, single_copy, made_by, plain):
    """Those of MPI_Win_allocate where the library tells where they are, which MPICH's does.  Nothing else reaches them."""
    forbidden = [running.PROGRAMS / "forbid", "single-copy"] if single_copy == "off" else []
    result = run(mpi, ranks, f"shared_windows {made_by}", {"SINGLE_COPY": single_copy, "LENT_FROM": "16K"}, preload=not plain, wrapper=forbidden,
                 settings={"MPIR_CVAR_CH4_CMA_ENABLE": "0"}).must_be_ok()
    if not plain and (made_by == "shared" or mpi is MPICH):
        assert min(lent(result)) > 50, f"{lent(result)} messages were lent\n{result}"


@pytest.mark.parametrize("command", ["peers_memory", "shared_windows shared"])
def test_peers_that_cannot_map(command, fanlight_only):
    """What they get is staged."""
    if not running.can_unshare("--pid", "--fork"):
        pytest.skip("a pid namespace of its own needs root")
    result = run(MPICH, 3, command, {"SINGLE_COPY": "off"}, settings=NO_CMA, wrapper=CONTAINER).must_be_ok()
    assert result.report.calls("allreduce") > 10 and lent(result) == [0, 0, 0], str(result)


def test_what_is_too_short_is_staged(fanlight_only):
    result = run(MPICH, 2, "peers_memory", {"SINGLE_COPY": "off", "LENT_FROM": "1G"}).must_be_ok()
    assert lent(result) == [0, 0], str(result)


@libraries
def test_a_rank_is_killed_while_others_read(mpi, tmp_path, fanlight_only):
    result = run(mpi, 3, "peers_memory killed", wrapper=[*OUT_OF_REACH, tmp_path / "err"], timeout=60)
    result.err += (tmp_path / "err").read_text()
    assert not result.hung and result.code != 0 and result.seconds < 20, str(result)
    assert re.search(r"rank 2 \(process \d+\) has ended while rank \d waits", result.err), str(result)
