"""`import fanlight` beside mpi4py: loaded by the program itself, and preloaded."""

import itertools
import re
import sysconfig

import pytest

from running import IMPI, LIBRARIES, MPICH, OPENMPI, ROOT, repeated, run

PROGRAMS = ROOT / "tests/mpi/python"


def start(mpi, ranks, program, *arguments, preload=False, **options):
    """As a program would be that finds the checkout on its path."""
    python = mpi.root / "bin/python"
    if not python.exists():
        pytest.skip(f"no {python}")
    own = {} if preload else {"FANLIGHT_START_AFTER": "0"}
    settings = {"PYTHONPATH": ROOT / "python", "FANLIGHT_LIB_DIR": LIBRARIES, **own, **options.pop("settings", {})}
    return run(mpi, ranks, [python, program, *arguments], preload=preload, settings=settings, timeout=60, **options)


@pytest.mark.parametrize("mpi,ranks,preload", [(MPICH, 2, False), (OPENMPI, 3, False), (MPICH, 3, True), (OPENMPI, 2, True), (IMPI, 2, False),
                                               *itertools.starmap(repeated, [(MPICH, 1, False), (OPENMPI, 1, True), (IMPI, 3, True)])], ids=str)
def test_collectives(mpi, ranks, preload, fanlight_only):
    result = start(mpi, ranks, PROGRAMS / "collectives.py", preload=preload).must_be_ok()
    if preload and ranks > 1:
        assert result.report.calls("allreduce") and result.report.calls("iscan") and result.report.calls("bcast")


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3)], ids=str)
def test_bad_input(mpi, ranks, fanlight_only):
    start(mpi, ranks, PROGRAMS / "bad_input.py").must_be_ok()


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3)], ids=str)
def test_shared_array(mpi, ranks, fanlight_only):
    start(mpi, ranks, PROGRAMS / "shared.py").must_be_ok()


@pytest.mark.parametrize("mpi,ranks,settings", [(MPICH, 3, {}), (OPENMPI, 2, {}), (MPICH, 2, {"FANLIGHT_NODE_UNITS": 1}),
                                                repeated(OPENMPI, 3, {"FANLIGHT_NODE_UNITS": 1})], ids=str)
def test_global_array(mpi, ranks, settings, fanlight_only):
    """With one unit on each node what is beyond goes by MPI."""
    start(mpi, ranks, PROGRAMS / "distributed.py", *([] if settings else ["finalize"]), settings=settings).must_be_ok()


def test_global_array_of_an_installation(tmp_path, fanlight_only):
    """Which has no links, as a wheel."""
    for library in LIBRARIES.glob("*.so.0"):
        (tmp_path / library.name).symlink_to(library)
    start(MPICH, 2, PROGRAMS / "distributed.py", settings={"FANLIGHT_LIB_DIR": tmp_path}).must_be_ok()


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 3), (OPENMPI, 2)], ids=str)
def test_heat(mpi, ranks, tmp_path, fanlight_only):
    """The same field on any number of ranks; the picture where there is a matplotlib, which is borrowed here."""
    picture = tmp_path / "heat.png"
    result = start(mpi, ranks, ROOT / "examples/heat.py", *([picture] if mpi is MPICH else []),
                   settings={"PYTHONPATH": f"{ROOT / 'python'}:{sysconfig.get_path('purelib')}"})
    assert not result.hung and result.code == 0 and "mean of the middle: 0.155050" in result.out, str(result)
    assert mpi is not MPICH or picture.read_bytes().startswith(b"\x89PNG")


def test_bench(fanlight_only):
    result = start(MPICH, 2, "-m", "fanlight.bench_python", "--quick")
    assert not result.hung and result.code == 0, str(result)
    for said in ("ragged allgather", "ratio", "us more", "binomial from a file", "of memcpy", "copies in memory"):
        assert said in result.out, str(result)
    copies = float(re.search(r"([\d.]+) copies in memory", result.out)[1])
    assert 0.95 < copies < 1.1, str(result)


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3)], ids=str)
def test_documented(mpi, ranks, tmp_path, fanlight_only):
    """The examples of docs/python.md, one after the other in one program."""
    program = tmp_path / "examples.py"
    examples = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.M | re.S)
    # In one piece: by print(), several ranks' lines may mix.
    program.write_text("\n".join(examples) + "\nimport os\nos.write(1, b'ok\\n')\n")
    assert len(examples) == 3 and "recursive-doubling by fanlight_set_algorithm" in start(mpi, ranks, program).must_be_ok().out
