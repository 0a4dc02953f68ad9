"""Starts a program under its own MPI's launcher, with Fanlight's preload in its ranks."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import libraries
from .errors import FanlightError
from .mpis import Mpi


@dataclass(frozen=True)
class Launcher:
    path: Path
    pmi: str = ""  # of srun: what it is asked for with --mpi=
    why: str = ""
    settings: tuple[tuple[str, str], ...] = ()  # what the ranks need under it

    @property
    def is_srun(self) -> bool:
        return self.path.name == "srun"


@functools.lru_cache(maxsize=None)
def srun_plugins(srun: str) -> list[str]:
    """The process managers' interfaces that this Slurm offers to MPI libraries."""
    try:
        said = subprocess.run([srun, "--mpi=list"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"\b(?:cray_shasta|pmi2|pmix(?:_v\d+)?)\b", said.stdout + said.stderr)


def pmi_for(mpi: Mpi, plugins: list[str]) -> str:
    """Open MPI speaks PMIx; MPICH and its kin PMI-2, and as a rule PMIx; Cray's its own, which Slurm offers
    elsewhere as well: there each rank would be alone."""
    wanted = ["pmix"] if mpi.kind == "openmpi" else ["pmi2", "pmix"]
    if "cray_shasta" in plugins and mpi.kind == "mpich" and "cray" in mpi.product()[0].lower():
        wanted.insert(0, "cray_shasta")
    return next((w for w in wanted if w in plugins), "")


@functools.lru_cache(maxsize=None)
def pmi2_library() -> str:
    """Slurm's half of PMI-2, which Intel MPI does not bring; empty: none is installed."""
    for name in ("libpmi2.so.0", "libpmi2.so"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return ""


def srun_for(srun: str, mpi: Mpi, why: str) -> Launcher:
    pmi = pmi_for(mpi, srun_plugins(srun))
    settings = ()
    if mpi.kind == "impi" and pmi == "pmi2" and not os.environ.get("I_MPI_PMI_LIBRARY"):
        settings = (("I_MPI_PMI_LIBRARY", pmi2_library()),)
        pmi = pmi if pmi2_library() else ""
    return Launcher(Path(srun), pmi, why, settings if pmi else ())


def choose_launcher(mpi: Mpi, wanted: str = "auto") -> Launcher:
    """srun inside of a Slurm allocation, if it speaks to this MPI; else the MPI's own mpiexec."""
    if wanted not in ("auto", "srun", "mpiexec"):
        found = shutil.which(wanted)
        if not found:
            raise FanlightError(f"--launcher {wanted}: no such program", "It is auto, srun, mpiexec, or a launcher's path.")
        why = "--launcher names it"
        return srun_for(found, mpi, why) if Path(found).name == "srun" else Launcher(Path(found), why=why)
    srun = shutil.which("srun")
    in_slurm = bool(os.environ.get("SLURM_JOB_ID"))
    if wanted == "srun" and not srun:
        raise FanlightError("--launcher srun: no srun on the PATH", "Load Slurm's module, or leave --launcher out.")
    if srun and (wanted == "srun" or wanted == "auto" and in_slurm):
        launcher = srun_for(srun, mpi, "inside of a Slurm allocation" if in_slurm else "--launcher names it")
        if launcher.pmi or wanted == "srun" or mpi.launcher is None:
            return launcher
    if mpi.launcher is None:
        raise FanlightError(f"no mpiexec found that belongs to {mpi.library} ({mpi.found_by})",
                            "Install the launcher of that MPI beside its library (PREFIX/bin/mpiexec), or name one: --launcher PATH.")
    return Launcher(mpi.launcher, why="it belongs to the library")


def open_mpi_slots() -> int:
    """How many ranks Open MPI accepts without being told: one for each core that this process
    may use, where hardware threads of one core count as one."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        try:
            cores.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text())
        except OSError:
            return 1
    return len(cores)


def launcher_options(mpi: Mpi, launcher: Launcher, ranks: int | None, cores: int) -> list[str]:
    if launcher.is_srun:
        # Without -n as many as the allocation was made for.
        return [*([f"--mpi={launcher.pmi}"] if launcher.pmi else []), *(["-n", str(ranks)] if ranks else [])]
    tasks = int(os.environ.get("SLURM_NTASKS") or 0)
    ranks = ranks or tasks or cores
    options = ["-n", str(ranks)]
    if mpi.kind == "openmpi":
        # Open MPI refuses both unless it is told.
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if ranks > (tasks or min(cores, open_mpi_slots())):
            options.append("--oversubscribe")
    return options


def rank_environment(preloads: list[Path], settings: dict[str, str]) -> list[str]:
    """NAME=VALUE for the ranks alone: the launcher itself runs without the preload.  What the user preloads comes last,
    but for Fanlight's own, of which a second copy would serve what these do not see."""
    words = []
    if files := [*map(str, preloads), *(f for f in libraries.preloaded() if not libraries.is_ours(f))]:
        words.append("LD_PRELOAD=" + ":".join(files))
    words += [f"{name}={value}" for name, value in settings.items()]
    return words


def is_a_rank() -> bool:
    """Whether a launcher has started this process as one of an MPI job's: mpiexec -n 4 fanlight run ./app."""
    return any(variable in os.environ for variable in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"))


def become(program: Path, arguments: list[str], preloads: list[Path], settings: dict[str, str], mpi: Mpi):
    """The program in this process's place, as the rank that it is."""
    ours = dict(word.split("=", 1) for word in rank_environment(preloads, settings))
    inherited = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    os.execve(program, [str(program), *arguments], {**inherited, **mpi.environment, **ours})


def command_line(mpi: Mpi, ranks: int | None, cores: int, program: Path, arguments: list[str],
                 preloads: list[Path], settings: dict[str, str], launcher_arguments: list[str],
                 launcher: Launcher | None = None) -> list[str]:
    launcher = launcher or Launcher(mpi.launcher)
    # `env` works with every launcher, on this node and on others.
    environment = rank_environment(preloads, {**dict(launcher.settings), **settings})
    return [str(launcher.path), *launcher_options(mpi, launcher, ranks, cores), *launcher_arguments,
            *(["env", *environment] if environment else []), str(program), *arguments]


def run(command: list[str], mpi: Mpi) -> int:
    """Runs it to its end; its exit code, or 128 + the signal that ended it."""
    environment = {**os.environ, **mpi.environment}
    # Kept out of the launcher; rank_environment() has put it behind Fanlight's.
    environment.pop("LD_PRELOAD", None)
    process = subprocess.Popen(command, env=environment)

    def pass_on(number, _frame):
        process.send_signal(number)

    # Ctrl-C reaches the launcher by itself (same process group): it ends the job, not we.
    old = {signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
           signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    try:
        code = process.wait()
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
