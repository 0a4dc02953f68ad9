"""The benchmark programs (bench/): found or built, started in turn, read line by line."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from . import launch, libraries, mpis
from .errors import FanlightError
from .machine import cache_folder
from .mpis import Mpi
from .pictures import written

# The programs, fanlight-NAME-<mpi>, with their sources.
COLLECTIVES, OVERLAP, PERSISTENT, PROGRESS, TUNE = "bench", "bench-overlap", "bench-persistent", "bench-progress", "tune"
HEADERS = ("exchange.h", "operations.h", "limits.h", "run_line.h", "shared.h", "statistics.h")
SOURCES = {COLLECTIVES: ("collectives.c", "exchange.c", "operations.c", "limits.c", "link.c", "run_line.c", "shared.c"),
           OVERLAP: ("overlap.c", "run_line.c", "shared.c"),
           PERSISTENT: ("persistent.c", "run_line.c", "shared.c"),
           PROGRESS: ("progress.c", "run_line.c", "shared.c"),
           TUNE: ("tune.c", "operations.c", "limits.c", "link.c", "run_line.c", "shared.c")}

# What each MPI's users set when there are more ranks than cores.  Open MPI yields by itself
# under --oversubscribe.
OVERSUBSCRIBED = {
    "mpich": {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
              "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "100"},
    "openmpi": {},
    "impi": {"I_MPI_WAIT_MODE": "1"},
}


# What each needs between hosts that are namespaces of this machine: the same, and the way to
# them.  Open MPI sees no more ranks than cores on any of its hosts.
BETWEEN_HOSTS = {
    "mpich": OVERSUBSCRIBED["mpich"],
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "impi": OVERSUBSCRIBED["impi"] | {"FI_PROVIDER": "tcp", "I_MPI_PIN": "0"},
}


@dataclass(frozen=True)
class Contender:
    """An MPI with its benchmark program and the settings that it runs under."""

    key: str  # mpich, openmpi, impi, or mpich-shipped
    label: str
    mpi: Mpi = field(compare=False)
    program: Path = field(compare=False)
    settings: dict = field(default_factory=dict, compare=False)
    slow: bool = False  # takes milliseconds for a call: measured more coarsely


@dataclass
class Outcome:
    lines: list[dict]
    problem: str = ""  # why it ended before its end
    said: str = ""  # on the standard error


# ---- which MPIs, which programs -------------------------------------------------------------


def _package() -> Path:
    return Path(__file__).resolve().parent


def _source_tree() -> Path | None:
    tree = _package().parent.parent
    return tree if (tree / "bench" / SOURCES[COLLECTIVES][0]).exists() else None


def built_programs(chosen: Path | None = None, name: str = COLLECTIVES) -> dict[str, Path]:
    """fanlight-NAME-<mpi> where a build puts them, or in the folder that the user chose."""
    folders = [chosen] if chosen else []
    if not chosen and (tree := _source_tree()):
        folders = sorted((tree / "build").glob("*/bench")) + [tree / "build" / "bench"]
        folders.sort(key=lambda f: f.parent.name != "release")
    found = {}
    for folder in folders:
        for kind in mpis.NAMES:
            program = folder / f"fanlight-{name}-{kind}"
            if kind not in found and os.access(program, os.X_OK):
                found[kind] = program
    return found


def _sources() -> Path:
    tree = _source_tree()
    for folder in ([tree / "bench"] if tree else []) + [_package() / "bench-source"]:
        if (folder / SOURCES[COLLECTIVES][0]).exists():
            return folder
    raise FanlightError("the sources of the benchmark program are missing",
                        "Build fanlight-bench-<mpi> with CMake and give --programs FOLDER.")


def _folders_of_wrapper(mpi: Mpi) -> list[Path]:
    """Where the compiler wrapper beside the launcher looks for headers."""
    for wrapper in (mpi.launcher.with_name(name) for name in (f"mpicc.{mpi.kind}", "mpicc")):
        if os.access(wrapper, os.X_OK):
            said = subprocess.run([wrapper, "-show"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60).stdout
            return [Path(word) for word in re.findall(r"-I(\S+)", said)]
    return []


def _header_folder(mpi: Mpi) -> Path | None:
    prefix = mpi.library.parent.parent
    debian = mpi.library.parent / mpi.kind / "include"
    folders = (prefix / "include", prefix / "include" / "mpi", debian, *_folders_of_wrapper(mpi))
    # A plain mpicc may be another MPI's.
    return next((f for f in folders if (f / "mpi.h").exists() and
                 ("OMPI_MAJOR_VERSION" in (f / "mpi.h").read_text(errors="replace")) == (mpi.abi == "openmpi")), None)


def _compile(mpi: Mpi, name: str) -> Path:
    """The program for an MPI that nobody built it for; kept for the next time."""
    sources = _sources()
    include = _header_folder(mpi)
    if include is None:
        raise FanlightError(f"no mpi.h found for {mpi.name} ({mpi.library})",
                            f"Install its headers, or name another one: --mpi {mpi.kind}=PREFIX.")
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise FanlightError("no C compiler found for the benchmark program",
                            "Install one (apt-get install gcc) or set CC.")
    mark = hashlib.sha256(str(mpi.library.resolve()).encode() + mpi.version().encode())
    for file in SOURCES[name] + HEADERS:
        mark.update((sources / file).read_bytes())
    cache = cache_folder()
    program = cache / f"{name}-{mpi.kind}-{mark.hexdigest()[:16]}"
    if os.path.exists(program):
        return program
    with written(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=cache, delete=False) as f:
            unfinished = Path(f.name)
    command = [*compiler.split(), "-std=c11", "-O3", "-D_GNU_SOURCE", f"-I{include}",
               *(str(sources / s) for s in SOURCES[name]), "-o", str(unfinished),
               str(mpi.library), f"-Wl,-rpath,{mpi.library.parent}", "-ldl", "-lrt"]
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode != 0:
        unfinished.unlink(missing_ok=True)
        raise FanlightError(f"the benchmark program does not compile for {mpi.name}:\n{said.stderr[-2000:]}",
                            "The compiler's message above gives the reason.")
    unfinished.chmod(0o755)
    unfinished.replace(program)
    return program


def _mpi_in(prefix: Path, kind: str, found_by: str) -> Mpi | None:
    found = (mpis.from_library(library, found_by, linker_finds_it=False) for library in mpis.libraries_in(prefix))
    return next((mpi for mpi in found if mpi and mpi.kind == kind), None)


def _mpi_of_kind(kind: str) -> Mpi | None:
    here = _mpi_in(Path(sys.prefix), kind, f"in the environment of {sys.executable}")
    return here or next((m for m in mpis.on_path() if m.kind == kind), None)


def find_contenders(wanted: list[str], programs: Path | None = None, name: str = COLLECTIVES) -> list[Contender]:
    """`wanted`: mpich, openmpi, impi, or one of these with =PREFIX; none: all that are there."""
    built = built_programs(programs, name)
    contenders = []
    kinds = [word.partition("=")[0] for word in wanted]
    if twice := next((kind for kind in kinds if kinds.count(kind) > 1), None):
        raise FanlightError(f"--mpi names {twice} more than once", "What is measured is filed by the kind of MPI: run the command once for each.")
    problem = FanlightError("no MPI found", "Put an mpiexec on the PATH, or give --mpi mpich=PREFIX.")
    for word in wanted or list(mpis.NAMES):
        kind, _, prefix = word.partition("=")
        if kind not in mpis.NAMES:
            raise FanlightError(f"--mpi {word}: unknown",
                                "It is a list of mpich, openmpi, impi, each with =PREFIX if it is not found.")
        program = None
        if prefix:
            mpi = _mpi_in(Path(prefix).absolute(), kind, "--mpi names it")
        elif kind in built:
            program = built[kind]
            mpi = mpis.find_mpi(program)
        else:
            mpi = _mpi_of_kind(kind)
        if mpi is None or mpi.kind != kind:
            if wanted:
                raise FanlightError(f"no {mpis.NAMES[kind]} found",
                                    f"Put its mpiexec on the PATH, or give --mpi {kind}=PREFIX.")
            continue
        try:
            if mpi.launcher is None:
                raise FanlightError(f"no mpiexec found that belongs to {mpi.library}",
                                    "Install the launcher of that MPI beside its library (PREFIX/bin/mpiexec).")
            program = program or _compile(mpi, name)
        except FanlightError as e:
            if wanted:
                raise
            problem = e  # a library alone, without launcher or headers
            continue
        contenders.append(Contender(kind, mpi.name, mpi, program))
    if not contenders:
        raise problem
    return contenders


def with_settings(contenders: list[Contender], ranks: int, cores: int, settings: str) -> list[Contender]:
    """The contenders for so many ranks: each with its own setting for too few cores, and MPICH
    once more as it ships, since then it spins."""
    if settings == "shipped" or (settings == "auto" and ranks <= cores):
        return contenders
    ready = []
    for c in contenders:
        ready.append(Contender(c.key, c.label, c.mpi, c.program, OVERSUBSCRIBED[c.key]))
    ready += [Contender("mpich-shipped", "shipped MPICH", c.mpi, c.program, {}, slow=True)
              for c in contenders if c.key == "mpich"]
    return ready


def between_hosts(contenders: list[Contender], cores: int, hosts: str, ranks: int) -> list[Contender]:
    """The hosts share this machine's cores, which Fanlight cannot see: a rank that is alone on its host would spin."""
    share = {"FANLIGHT_CORES": str(max(cores // (hosts.count("+") + 1 if "+" in hosts else int(hosts)), 1))}
    if ranks > cores:
        share["FANLIGHT_WAIT"] = "yield"
    return [Contender(c.key, c.label, c.mpi, c.program, BETWEEN_HOSTS[c.key] | share) for c in contenders]


def hosts_script() -> Path:
    tree = _source_tree()
    if tree is None or not (tree / "tests" / "cluster").exists():
        raise FanlightError("--hosts needs Fanlight's source tree", "Run it from a clone, with tests/cluster.")
    return tree / "tests" / "cluster"


# ---- one run --------------------------------------------------------------------------------


class _Signals:
    """A signal that would end this process is an exception, so that the job is ended too: it is in a session of its own, and
    would stay behind.  Before arm() the job is being started, and the exception waits."""

    def __enter__(self) -> _Signals:
        self.number, self.armed = 0, False
        main = threading.current_thread() is threading.main_thread()
        self.numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if main and signal.getsignal(n) == signal.SIG_DFL]
        for number in self.numbers:
            signal.signal(number, self._leave)
        return self

    def __exit__(self, *_):
        for number in self.numbers:
            signal.signal(number, signal.SIG_DFL)

    def _leave(self, number: int, _frame):
        self.number = number
        if self.armed:
            self.armed = False  # a second one is not to break off the end of the job
            raise SystemExit(128 + number)

    def arm(self):
        self.armed = True
        if self.number:
            raise SystemExit(128 + self.number)


def run_once(contender: Contender, ranks: int, cores: int, arguments: list[str], preload: bool,
             on_line: Callable[[dict], None] = lambda line: None, timeout: float = 1800,
             launcher_arguments: list[str] = (), hosts: str = "", shared_heap: bool = False) -> Outcome:
    preloads = ([libraries.shared_heap()] if shared_heap else []) + ([libraries.preload_for(contender.mpi.abi)] if preload else [])
    settings = {**contender.settings, **({"FANLIGHT_HEAP": "shared"} if shared_heap else {})}
    if hosts:
        command = [str(hosts_script()), "--mpi", contender.mpi.kind, "--root", str(contender.mpi.library.parent.parent),
                   "--hosts", hosts, *launcher_arguments, "-n", str(ranks),
                   "env", *launch.rank_environment(preloads, settings), str(contender.program), *arguments]
    else:
        command = launch.command_line(contender.mpi, ranks, cores, contender.program, arguments, preloads,
                                      settings, list(launcher_arguments))
    environment = {**os.environ, **contender.mpi.environment}
    environment.pop("LD_PRELOAD", None)
    with _Signals() as signals:
        return _followed(command, environment, on_line, timeout, signals)


def _followed(command: list[str], environment: dict, on_line: Callable[[dict], None], timeout: float, signals: _Signals) -> Outcome:
    outcome = Outcome([])
    said: list[str] = []
    late = threading.Event()

    def end():
        late.set()
        _end(process)

    clock = threading.Timer(timeout, end)
    # A session of its own, so that a job that hangs can be ended with all its ranks.
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        signals.arm()
        listener = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
        listener.start()
        clock.start()
        for text in process.stdout:
            if text.startswith("{"):  # launchers may say something as well
                try:
                    line = json.loads(text)
                except ValueError:
                    continue
                outcome.lines.append(line)
                on_line(line)
        code = process.wait()
    except BaseException:
        _end(process)
        raise
    finally:
        clock.cancel()
    listener.join(timeout=5)
    outcome.said = "".join(said)
    if late.is_set():
        outcome.problem = f"still running after {timeout:.0f} s"
    elif code != 0 and not any(line["type"] == "wrong" for line in outcome.lines):
        last = re.sub(r"\s+", " ", outcome.said)[-300:].strip()
        outcome.problem = f"ended with code {code}" + (f": {last}" if last else "")
    return outcome


def _end(process: subprocess.Popen):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return
