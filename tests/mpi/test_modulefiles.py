"""The modulefiles under a real Lmod, Debian's."""

import pathlib
import shlex
import subprocess

import pytest

from running import MPICH, MPICH_ENV, ROOT, can_unshare

PACKAGES = (ROOT / ".venv/slurm").resolve()  # by make setup


def in_a_shell(prefix, script):
    """A shell's output in which `module` works.  The packages are laid over /usr, as that is where Lmod looks for its own."""
    if not (PACKAGES / "usr/share/lmod/lmod/init/bash").exists():
        pytest.skip(f"no Lmod in {PACKAGES} (make setup)")
    if not can_unshare():
        pytest.skip("no namespaces here")
    over = f"mount -t overlay overlay -o lowerdir={PACKAGES}/usr:/usr /usr || exit 77\n. /usr/share/lmod/lmod/init/bash\n"
    done = subprocess.run(["unshare", "--mount", "env", "-i", "PATH=/usr/bin:/bin", f"MODULEPATH={prefix}/share/modulefiles", "bash", "-c", over + script],
                          capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("no overlay over /usr here")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_load(prefix, fanlight_only):
    """To load fanlight changes no program; its libraries are found by what is compiled then."""
    said = in_a_shell(prefix, 'module load fanlight\necho "$FANLIGHT_LIB_DIR" "$LD_PRELOAD" "$PKG_CONFIG_PATH"\n'
                              'echo "#include <fanlight/fanlight.h>" | gcc -E -I' + f"{MPICH.root}/include - | grep -c fanlight_allreduce\n")
    folder, pkg_config, functions = said.split()
    assert (pathlib.Path(folder) / "libfanlight-mpich.so").exists() and (pathlib.Path(pkg_config) / "fanlight-mpich.pc").exists()
    assert int(functions) > 1


def test_preload(prefix, fanlight_only):
    """A program that is started after that is served, and no longer when it is unloaded; without an MPI's name it is an error."""
    program = shlex.join(map(str, ["env", *(f"{k}={v}" for k, v in MPICH_ENV.items()), "FANLIGHT_START_AFTER=0", "FANLIGHT_REPORT=-",
                                   *MPICH.launcher(2), MPICH.program("mpi_t_variables")]))
    said = in_a_shell(prefix, 'module load fanlight-preload 2>&1 && exit 1\n[ -z "$LD_PRELOAD" ] || exit 2\n'
                              f'module load fanlight-preload/mpich\necho "$LD_PRELOAD"\n{program} 2>&1 || exit 3\n'
                              'module unload fanlight-preload\n[ -z "$LD_PRELOAD" ] || exit 4\n')
    assert "for which MPI?" in said and "libfanlight-mpich.so\n" in said and "\nok\n" in said and "fanlight: collective calls of 2 ranks" in said, said
