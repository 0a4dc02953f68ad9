"""Starts a program under its own MPI's launcher, with Fanlight's preload in its ranks."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from .mpis import Mpi


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


def launcher_options(mpi: Mpi, ranks: int, cores: int) -> list[str]:
    options = ["-n", str(ranks)]
    if mpi.kind == "openmpi":
        # Open MPI refuses both unless it is told.
        if os.geteuid() == 0:
            options.append("--allow-run-as-root")
        if ranks > min(cores, open_mpi_slots()):
            options.append("--oversubscribe")
    return options


def rank_environment(preloads: list[Path], settings: dict[str, str]) -> list[str]:
    """NAME=VALUE for the ranks alone: the launcher itself runs without the preload."""
    words = []
    if libraries := [*map(str, preloads), *filter(None, [os.environ.get("LD_PRELOAD")])]:
        words.append("LD_PRELOAD=" + ":".join(libraries))
    words += [f"{name}={value}" for name, value in settings.items()]
    return words


def command_line(mpi: Mpi, ranks: int, cores: int, program: Path, arguments: list[str],
                 preloads: list[Path], settings: dict[str, str], launcher_arguments: list[str]) -> list[str]:
    # `env` works with every launcher, on this node and on others.
    environment = rank_environment(preloads, settings)
    return [str(mpi.launcher), *launcher_options(mpi, ranks, cores), *launcher_arguments,
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
