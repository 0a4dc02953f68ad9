"""packaging/spack/package.py.  Spack is neither on PyPI nor in Debian: what it would tell CMake is tried, by a stand-in for its
functions."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import pytest

from environments import environment_of

ROOT = Path(__file__).resolve().parents[2]


class Recorded:
    """The directives that a package is made of, as they were called."""

    def __init__(self):
        self.calls = []
        module = types.ModuleType("spack.package")
        for name in ("license", "version", "depends_on", "conflicts"):
            setattr(module, name, lambda *a, _name=name, **k: self.calls.append((_name, a, k)))
        module.run_after = module.on_package_attributes = lambda *a, **k: lambda function: function
        module.PythonPackage = object
        self.module = module


@pytest.fixture
def package(monkeypatch):
    recorded = Recorded()
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", recorded.module)
    spec = importlib.util.spec_from_file_location("package", ROOT / "packaging/spack/package.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Fanlight, recorded.calls


def test_it_asks_for_what_the_project_asks_for(package):
    """Each Python package of pyproject.toml, and its version."""
    text = (ROOT / "pyproject.toml").read_text()
    wanted = {name for call, (name, *_), _ in package[1] if call == "depends_on"}
    lines = text.split("requires = [")[1].split("]")[0] + "," + text.split("dependencies = [")[1].split("]")[0]
    for requirement in (r.strip().strip('"') for r in lines.replace("\n", "").split(",") if r.strip()):
        name, _, version = requirement.partition(">=")
        assert f"py-{name}" + (f"@{version}:" if version else "") in wanted, requirement
    assert f'version = "{next(a[0] for call, a, _ in package[1] if call == "version")}"' in text


@pytest.mark.parametrize("name,abi", [("openmpi", "openmpi"), ("mpich", "mpich")])
def test_cmake_takes_its_settings(package, name, abi, tmp_path):
    mpi = types.SimpleNamespace(name=name, prefix=environment_of(name))
    settings = package[0]().config_settings({"mpi": mpi}, None)
    prefix = "cmake.define."
    defines = [f"-D{k.removeprefix(prefix)}={v}" for k, v in settings.items() if k.startswith(prefix)]
    done = subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, "-DFANLIGHT_TESTS=OFF", *defines], capture_output=True, text=True)
    assert done.returncode == 0 and "not used by the project" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert f"ABI {abi.upper()}: {mpi.prefix}/include" in done.stdout, done.stdout
