"""Fixtures of the tests on real MPIs.  `--mpi=mpich,impi` takes these alone; `--long` adds
what takes minutes: cases that are long, and the same cases on more MPIs and numbers of ranks."""

import subprocess

import pytest

import running


def pytest_addoption(parser):
    group = parser.getgroup("fanlight")
    group.addoption("--mpi", default="", help="only these MPIs: mpich, mpich-abi, openmpi, impi")
    group.addoption("--long", action="store_true", help="also what takes minutes")
    group.addoption("--plain", action="store_true", help="without Fanlight: the tests tested on the MPIs themselves")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only with --long")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    config.hook.pytest_deselected(items=[i for i in items if i.get_closest_marker("long")])
    items[:] = [i for i in items if not i.get_closest_marker("long")]


def pytest_generate_tests(metafunc):
    if "mpi" not in metafunc.fixturenames:
        return
    if any(m.name == "parametrize" and "mpi" in m.args[0].replace(" ", "").split(",")
           for m in metafunc.definition.iter_markers()):
        return
    metafunc.parametrize("mpi", running.ALL, ids=str)


@pytest.fixture(autouse=True)
def _available(request):
    if "mpi" not in request.fixturenames:
        return
    mpi = request.getfixturevalue("mpi")
    wanted = request.config.getoption("--mpi")
    if wanted and mpi.name not in wanted.split(","):
        pytest.skip("left out by --mpi")
    if not mpi.available and mpi.built_for:
        pytest.fail(f"no programs of {mpi.name} in {running.PROGRAMS}, although the build was given this MPI: is it in {mpi.root}?")
    if not mpi.available:
        pytest.skip(f"no {mpi.name}: its test programs are not in {running.PROGRAMS}")
    if not request.config.getoption("--plain") and not mpi.preload.exists():
        pytest.fail(f"{mpi.preload} is missing: build Fanlight for {mpi.name}")


@pytest.fixture(scope="session")
def hosts_allowed():
    """Skips where no hosts can be made of network namespaces."""
    tried = subprocess.run([running.ROOT / "tests/cluster", "--root", "/nowhere", "-n", "1", "true"], capture_output=True, text=True)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """An installation."""
    folder = tmp_path_factory.mktemp("prefix")
    # In a wheel's build this is a component of its own.
    component = "development" if "SKBUILD:" in (running.BUILD / "CMakeCache.txt").read_text() else "fanlight"
    subprocess.run(["cmake", "--install", running.BUILD, "--prefix", folder, "--component", component], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def plain(request):
    """Whether the tests run without Fanlight (--plain)."""
    return request.config.getoption("--plain")


@pytest.fixture
def fanlight_only(plain):
    if plain:
        pytest.skip("a test of Fanlight's own messages")
