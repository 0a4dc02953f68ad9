# ruff: noqa: F403, F405
"""Fanlight for Spack: the command, the module, and the libraries for the ABI of the MPI that Spack has.

    spack repo create fanlight-repo && mkdir fanlight-repo/packages/fanlight
    cp packaging/spack/package.py fanlight-repo/packages/fanlight/ && spack repo add fanlight-repo
    spack dev-build fanlight@0.1.0 ^openmpi          # in a checkout of Fanlight
    spack load fanlight && fanlight run -n 4 ./app
"""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage
except ImportError:  # before Spack 1.0 it came with spack.package
    pass


class Fanlight(PythonPackage):
    """Faster collective operations for MPI programs, which stay as they are: locality-aware, one-sided, as a preload."""

    license("BSD-3-Clause")
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    conflicts("%gcc@:10", msg="Fanlight is written in C++20")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("mpi", type=("build", "run"))
    depends_on("python@3.9:", type=("build", "link", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-nanobind@2.4:", type="build")
    depends_on("py-pyelftools", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-typer@0.12:", type=("build", "run"))

    def config_settings(self, spec, prefix):
        abi = "OPENMPI" if spec["mpi"].name == "openmpi" else "MPICH"
        return {
            f"cmake.define.FANLIGHT_{abi}_ROOT": spec["mpi"].prefix,
            "cmake.define.FANLIGHT_UNITY": "ON",
            "install.strip": "true",
        }

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        which(join_path(self.prefix.bin, "fanlight"))("info")
