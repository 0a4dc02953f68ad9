"""`fanlight doctor`: what keeps Fanlight from serving a program here, and what to do about it."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import elf, launch, libraries, machine, mpis
from .errors import FanlightError
from .units import format_bytes

PROBLEM, NOTE, FINE = "problem", "note", "fine"
# What a tool that looks at collectives intercepts.
_COLLECTIVES = ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Alltoall", "MPI_Reduce", "MPI_Allgather")
# A group of 8 ranks takes 6 MiB, and programs have several.
_MEMORY_OF_A_RANK = 2 << 20
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


@dataclass
class Finding:
    level: str
    about: str
    says: str
    remedy: str = ""


def file_name(path) -> str:
    return str(path).rsplit("/", 1)[-1]


# --- the program --------------------------------------------------------------------------

def has_capabilities(program: Path) -> bool:
    try:
        return "security.capability" in os.listxattr(program)
    except (AttributeError, OSError):  # of this Python, or of the file system, that has none
        return False


def of_program(program: Path, loaded: dict[str, Path | None]):
    about = elf.read(program)
    if about is None:
        return
    if about.machine != (own := elf.read(Path("/proc/self/exe")).machine):
        yield Finding(PROBLEM, "program", f"it is for {about.machine}, but this machine is {own}", "Compile it for this machine.")
    if "musl" in about.interpreter:
        yield Finding(PROBLEM, "program", "it is linked to the C library musl, but the preloads are for glibc",
                      "Build and run the program on a distribution with glibc.")
    mode = program.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID) or has_capabilities(program):
        yield Finding(PROBLEM, "program", "it gets more rights than its user has (setuid, setgid or capabilities), and the dynamic linker "
                                          "preloads nothing into such programs",
                      "Remove these rights (chmod ug-s, setcap -r), or link the program to libfanlight (docs/api.md).")
    if sanitizer := next((name for name in loaded if name.startswith(("libasan", "libhwasan"))), None):
        yield Finding(PROBLEM, "program", f"AddressSanitizer ({sanitizer}) ends programs that have another library preloaded before it",
                      "Set ASAN_OPTIONS=verify_asan_link_order=0 in the ranks.")


def of_mpi(mpi: mpis.Mpi):
    name = " ".join(mpi.product()).strip()
    abi = {"mpich": "MPICH's ABI", "openmpi": "Open MPI's ABI", "abi": "the standard ABI"}[mpi.abi]
    yield Finding(FINE, "MPI", f"{name}, {abi}, linked dynamically: {mpi.library} ({mpi.found_by})")
    try:
        preload = libraries.preload_for(mpi.abi)
    except FanlightError as e:
        yield Finding(PROBLEM, "preload", e.problem, e.advice)
        return
    said = subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(preload)}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if said.returncode or said.stderr:
        yield Finding(PROBLEM, "preload", f"the dynamic linker does not load {preload}: {said.stderr.strip()}",
                      "Install Fanlight for this machine and C library (pip install fanlight).")
    else:
        yield Finding(FINE, "preload", str(preload))


def of_launcher(mpi: mpis.Mpi, wanted: str):
    try:
        launcher = launch.choose_launcher(mpi, wanted)
    except FanlightError as e:
        yield Finding(PROBLEM, "launcher", e.problem, e.advice)
        return
    yield Finding(FINE, "launcher", f"{launcher.path}: {launcher.why}")
    first = shutil.which("mpiexec")
    if first and not launcher.is_srun and (kind := mpis.launcher_kind(Path(first))) not in (None, mpi.kind):
        yield Finding(NOTE, "launcher", f"the first mpiexec on the PATH, {first}, is {mpis.NAMES[kind]}'s: the ranks that it starts would "
                                        "not find each other", f"Start the program by `fanlight run`, or by {launcher.path}.")


def of_shared_heap(preloaded: list[str], loaded: dict[str, Path | None]):
    """Whether long blocks of malloc can lie where other ranks load from them, where that is wanted."""
    if os.environ.get("FANLIGHT_HEAP") != "shared" and not any(file_name(p).startswith(libraries.HEAP) for p in preloaded):
        return
    try:
        heap = libraries.shared_heap()
    except FanlightError as e:
        yield Finding(PROBLEM, "shared heap", e.problem, e.advice)
        return
    here = [Path(p) for p in preloaded if "/" in p] + [p for p in loaded.values() if p]
    expected = (libraries.HEAP, "libc.so", "ld-linux")
    others = [p for p in here if not file_name(p).startswith(expected) and elf.exports(p, "malloc", "free")]
    if others:
        yield Finding(PROBLEM, "shared heap", f"{others[0]} has its own malloc, which the program would use in place of the shared heap",
                      "Run the program without that library, or without FANLIGHT_HEAP=shared.")
    else:
        yield Finding(FINE, "shared heap", str(heap))
        yield from of_pages_of_shared_heap()


def of_pages_of_shared_heap():
    private, shared = (machine.contents(HUGE_PAGES / name) for name in ("enabled", "shmem_enabled"))
    if "[never]" not in private and ("[never]" in shared or "[deny]" in shared):
        yield Finding(NOTE, "huge pages", f"the kernel gives them to private memory alone ({HUGE_PAGES}/shmem_enabled): programs that have long "
                                          "blocks in them, or ask for it by madvise, lose them in the shared heap",
                      f"As root: echo advise > {HUGE_PAGES}/shmem_enabled")


def of_preloaded(mpi: mpis.Mpi | None):
    for word in libraries.preloaded():
        abi = libraries.abi_of(word)
        if "/" in word and not Path(word).exists():
            yield Finding(PROBLEM, "LD_PRELOAD", f"it names {word}, which does not exist", f"Remove it: export LD_PRELOAD=${{LD_PRELOAD//{word}/}}")
        elif abi and mpi and abi != mpi.abi:
            yield Finding(PROBLEM, "LD_PRELOAD", f"{word} is for another ABI than that of the program's MPI, and passes every call on",
                          f"Remove it; `fanlight run` preloads {libraries.FILES[mpi.abi]}.")
        elif abi:
            yield Finding(NOTE, "LD_PRELOAD", f"{word} serves every MPI program that is started from here",
                          "`fanlight run` preloads its own in its place, and with --plain none.")
        else:
            yield from of_tool(Path(word), "LD_PRELOAD")


def of_tool(library: Path, how: str):
    """A library that intercepts MPI's collectives and is no MPI: as a rule a profiler, which calls PMPI_Xxx."""
    if not libraries.abi_of(library) and elf.exports(library, *_COLLECTIVES) and not elf.exports(library, "PMPI_Get_library_version"):
        yield Finding(PROBLEM, how, f"{file_name(library)} intercepts MPI's collectives too. `fanlight run` puts Fanlight before it, so it does "
                                    "not see the calls that Fanlight serves. If it came first it would see all calls, but since it calls PMPI "
                                    "itself, Fanlight would serve none",
                      "Profile without Fanlight (fanlight run --plain), and use --report to see what Fanlight serves.")


def of_settings():
    from . import _core

    known = [s.variable for s in _core.settings()]
    for name in sorted(n for n in os.environ if n.startswith("FANLIGHT_")):
        if name not in known and not name.endswith("_ROOT"):
            near = difflib.get_close_matches(name, known, 1)
            yield Finding(PROBLEM, "settings", f"{name} is not a setting", f"Do you mean {near[0]}?" if near else "`fanlight info` lists them.")
    if os.environ.get("FANLIGHT", "").lower() in ("0", "false", "off", "no"):
        yield Finding(PROBLEM, "settings", "FANLIGHT switches Fanlight off", "unset FANLIGHT")
    try:
        _core.check_selection(os.environ.get("FANLIGHT_ALGORITHM", ""), os.environ.get("FANLIGHT_RULES", ""))
    except ValueError as e:
        yield Finding(PROBLEM, "settings", str(e), "Correct FANLIGHT_ALGORITHM or FANLIGHT_RULES; `fanlight list` has the names.")


# --- the node -----------------------------------------------------------------------------

def container() -> str:
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if name in os.environ:
            return "Apptainer"
    for file, name in (("/run/.containerenv", "Podman"), ("/.dockerenv", "Docker")):
        if Path(file).exists():
            return name
    return ""


def of_memory(ranks: int, box: str):
    why = machine.nameless_memory()
    if not why:
        yield Finding(FINE, "shared memory", "anonymous (memfd): the size of /dev/shm does not matter")
        return
    memory = machine.shared_memory()
    wanted = ranks * _MEMORY_OF_A_RANK
    remedy = "Allow memfd_create (a seccomp filter forbids it), or enlarge /dev/shm: " + (
        "start the container with --shm-size=1g" if box in ("Docker", "Podman") else "mount -o remount,size=1g /dev/shm")
    if memory.problem or not os.access("/dev/shm", os.W_OK):
        yield Finding(PROBLEM, "/dev/shm", f"{memory.problem or '/dev/shm is not writable'}, and {why}: the MPI library serves every call",
                      "Mount it: mount -t tmpfs -o mode=1777 tmpfs /dev/shm")
    elif memory.free < wanted:
        yield Finding(PROBLEM, "/dev/shm", f"{format_bytes(memory.free)} free, and {why}; {ranks} ranks take {format_bytes(wanted)} or more. "
                                           "Communicators for which too little is left stay with the MPI library", remedy)
    else:
        yield Finding(FINE, "shared memory", f"in /dev/shm, {format_bytes(memory.free)} free ({why})")


def of_single_copy(box: str):
    why = machine.single_copy()
    if not why:
        yield Finding(FINE, "single copy", "a process may read the memory of another process of the same user")
        return
    scope = machine.contents("/proc/sys/kernel/yama/ptrace_scope")
    remedy = {"Docker": "Start the container with --cap-add SYS_PTRACE.", "Podman": "Start the container with --cap-add SYS_PTRACE."}.get(
        box, "Set /proc/sys/kernel/yama/ptrace_scope to 0 or 1." if scope in ("2", "3") else
        "A seccomp filter (of a container, or of systemd) forbids process_vm_readv: allow it.")
    yield Finding(PROBLEM, "single copy", f"not allowed ({why}): long messages are copied twice", remedy)


def of_cores(ranks: int | None):
    from . import _core

    cores = _core.cores_report()
    usable = cores["usable"]
    limits = [f"{cores['affinity']} by the affinity mask"] + ([f"{cores['quota']:g} by the cgroup ({cores['quota_file']})"] if cores["quota"] else [])
    if ranks and ranks > usable:
        yield Finding(PROBLEM, "cores", f"{ranks} ranks on {usable} cores ({', '.join(limits)}): ranks share cores, so calls are slow",
                      f"Start at most {usable} ranks here, or give the job more cores (srun --cpus-per-task, taskset, docker --cpus).")
    elif cores["quota"] and cores["quota"] < cores["affinity"]:
        yield Finding(NOTE, "cores", f"{usable} usable: {', '.join(limits)}", f"More than {usable} ranks would share cores; raise the cgroup's quota for more.")
    else:
        yield Finding(FINE, "cores", f"{usable} usable ({', '.join(limits)})")
    limit = machine.contents("/sys/fs/cgroup/memory.max") or machine.contents("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    if limit.isdigit() and int(limit) < (1 << 30):
        yield Finding(NOTE, "cgroup", f"memory, including shared memory, is limited to {format_bytes(int(limit))}", "Raise memory.max for larger runs.")


def of_huge_pages():
    if "[never]" in machine.contents(HUGE_PAGES / "enabled"):
        yield Finding(NOTE, "huge pages", "switched off: global memory (docs/global-memory.md) is in ordinary pages",
                      f"echo madvise > {HUGE_PAGES}/enabled")


def of_slurm(mpi: mpis.Mpi | None):
    if not os.environ.get("SLURM_JOB_ID"):
        return
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "1")
    srun = shutil.which("srun")
    if not srun:
        yield Finding(PROBLEM, "Slurm", f"job {os.environ['SLURM_JOB_ID']}, but no srun on the PATH: mpiexec will start the ranks",
                      "Load Slurm's module, or mount srun into the container, so that the job's limits apply to the ranks.")
    elif mpi and launch.pmi_for(mpi, launch.srun_plugins(srun)) and not launch.srun_for(srun, mpi, "").pmi:
        yield Finding(PROBLEM, "Slurm", f"{mpi.name} needs Slurm's libpmi2.so, which is not installed. Under srun each rank would be a job of one rank, "
                                        "so mpiexec will start them",
                      "Install it (Debian: libpmi2-0), or set its path: I_MPI_PMI_LIBRARY=/path/to/libpmi2.so.")
    elif mpi and not launch.pmi_for(mpi, plugins := launch.srun_plugins(srun)):
        yield Finding(PROBLEM, "Slurm", f"srun has no plugin for {mpi.name} (srun --mpi=list: {', '.join(plugins) or 'none'}). Under srun each rank "
                                        "would be a job of one rank, so mpiexec will start them",
                      f"Build Slurm with {'pmix' if mpi.kind == 'openmpi' else 'pmi2'}, or use --launcher mpiexec.")
    else:
        yield Finding(FINE, "Slurm", f"job {os.environ['SLURM_JOB_ID']} on {nodes} node(s)")


# --- all ----------------------------------------------------------------------------------

def examine(program: Path | None, ranks: int | None, want: str = "auto", launcher: str = "auto") -> list[Finding]:
    findings = []
    mpi = None
    loaded: dict[str, Path | None] = {}
    try:
        if program:
            loaded = mpis.loaded_by(program)
            findings += of_program(program, loaded)
            mpi = mpis.find_mpi(program, want)
        else:
            mpi = next(iter(mpis.on_path()), None)
            if mpi is None:
                findings.append(Finding(NOTE, "MPI", "none on the PATH", "Name the program: fanlight doctor ./app"))
    except FanlightError as e:
        findings.append(Finding(PROBLEM, "MPI", e.problem, e.advice))
    if mpi:
        findings += [*of_mpi(mpi), *of_launcher(mpi, launcher)]
    findings += [*of_preloaded(mpi), *of_shared_heap(libraries.preloaded(), loaded)]
    for library in filter(None, loaded.values()):
        findings += of_tool(library, "program")
    findings += of_settings()
    box = container()
    if box:
        findings.append(Finding(NOTE, "container", box, "Run all ranks of a node in one container. Ranks in several containers share memory only "
                                "if these share IPC and process ids (--ipc=host --pid=host)."))
    from . import _core

    number = ranks or _core.usable_cores()
    for found in (of_slurm(mpi), of_memory(number, box), of_single_copy(box), of_cores(ranks), of_huge_pages()):
        findings += found
    return findings


def show(findings: list[Finding], console):
    styles = {PROBLEM: "bold red", NOTE: "yellow", FINE: "green"}
    for level in (PROBLEM, NOTE, FINE):
        for f in (f for f in findings if f.level == level):
            console.print(f"[{styles[level]}]{level:8}[/]", end="")
            console.print(f"{f.about}: {f.says}", markup=False, highlight=False, soft_wrap=True)
            if f.remedy:
                console.print(f"          -> {f.remedy}", markup=False, highlight=False, soft_wrap=True)
    count = sum(f.level == PROBLEM for f in findings)
    console.print(f"{count} problem{'' if count == 1 else 's'} found" if count else "no problem found", highlight=False)
    return count
