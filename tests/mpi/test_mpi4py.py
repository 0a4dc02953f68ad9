"""mpi4py's own test suite, unmodified, from its source package on PyPI, under Fanlight.

The module is the wheel's, in the MPI's virtual environment; the tests are of the same version.
"""

import re
import subprocess
import sys
import tarfile

import pytest

import running
from running import MPICH, OPENMPI, run

# What fails or hangs without Fanlight (mpi4py 4.1.2), by name: modules, then tests.
LEFT_OUT_MODULES = {
    "mpich": {"test_mpiabi": "wants a module that is built for the standard ABI"},
    "openmpi": {"test_mpiabi": "wants a module that is built for the standard ABI"},
}
LEFT_OUT_TESTS = {
    "mpich": {},
    "openmpi": {},
}


def suite(mpi):
    """The folder of mpi4py's sources; kept in the build tree."""
    python = mpi.root / "bin/python"
    asked = subprocess.run([python, "-c", "import mpi4py; print(mpi4py.__version__)"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip(f"no mpi4py in {mpi.root}")
    version = asked.stdout.strip()
    cache = running.BUILD / "downloads"
    package = cache / f"mpi4py-{version}.tar.gz"
    folder = cache / f"mpi4py-{version}"
    if not package.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
               "--dest", str(cache), f"mpi4py=={version}"]
        subprocess.run(pip, check=True)
    if not folder.exists():
        with tarfile.open(package) as tar:
            tar.extractall(cache, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(cache)
    return folder, python


@pytest.mark.parametrize("mpi,ranks", [(MPICH, 2), (OPENMPI, 3)], ids=str)
def test_mpi4py(mpi, ranks, plain):
    folder, python = suite(mpi)
    command = [python, folder / "test/main.py", "--no-builddir", "--failfast"]
    for module in LEFT_OUT_MODULES[mpi.name]:
        command += ["-e", module]
    for test in LEFT_OUT_TESTS[mpi.name]:
        command += ["-x", test]
    result = run(mpi, ranks, command, preload=not plain, timeout=590)
    text = result.out + result.err
    assert not result.hung and result.code == 0, str(result)
    assert len(re.findall(r"^OK\b", text, re.M)) == ranks, str(result)
    assert all(int(n) > 1500 for n in re.findall(r"^Ran (\d+) tests", text, re.M)), str(result)
    if not plain:
        for operation in running.operations():
            assert result.report.calls(operation) >= 10, f"{operation}\n{result}"
