"""Which MPI library will a program load, and which launcher belongs to it?

The answer is looked for where the dynamic linker and the Python packages look:

1. an executable that is linked to an MPI: what `ldd` says;
2. a Python program: MPI_LIB_NRN_PATH (NEURON) and MPI4PY_LIBMPI, then what mpi4py is linked
   to, then the `lib` folder of the Python's environment, where the MPI packages of PyPI lie;
3. otherwise the `mpiexec` on the PATH.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import elf
from .errors import FanlightError

NAMES = {"mpich": "MPICH", "openmpi": "Open MPI", "impi": "Intel MPI"}
# What rules and fingerprints tell from MPICH although its ABI and launcher are of that kind.
_DERIVED = {"mvapich": "mpich", "cray": "mpich", "other": "mpich"}
_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra")


@dataclass(frozen=True)
class Mpi:
    kind: str  # mpich, openmpi or impi: whose library and launcher it is
    abi: str  # mpich, openmpi or abi: which preload fits
    library: Path
    launcher: Path | None
    found_by: str
    # What the launcher's environment needs so that this library is found and works.
    environment: dict = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        return NAMES[self.kind]

    def product(self) -> tuple[str, str]:
        """What the library calls itself (Cray MPICH, MVAPICH …), and its version."""
        name, version = product(_words_of(self.library, tuple(self.environment.items())))
        return name or self.name, version

    def version(self) -> str:
        return self.product()[1]


def kind_of(fingerprint: str) -> str:
    """Whose library it was, by its name in a fingerprint: "cray 8.1.27"."""
    name = fingerprint.split()[0]
    return _DERIVED.get(name, name)


class UnknownAbi(FanlightError):
    """The library is an MPI, but has the handles of none of the three ABIs."""


def classify(library: Path) -> tuple[str, str] | None:
    """(kind, abi) of an MPI library, by what it exports, as vendors give the file any name; None if it is no MPI.

    The functions and variables that a program's calls need are part of an ABI: MPICH's mpi.h names
    MPIR_Dup_fn, and Open MPI's its handles.
    """
    has = elf.exports(library, "PMPI_Get_library_version", "ompi_mpi_comm_null", "MPIR_Dup_fn", "MPI_Abi_get_version",
                      "I_MPI_Check_image_status")
    if "PMPI_Get_library_version" not in has:
        return None
    if "ompi_mpi_comm_null" in has:
        return "openmpi", "openmpi"
    kind = "impi" if "I_MPI_Check_image_status" in has else "mpich"
    if "MPIR_Dup_fn" in has:
        return kind, "mpich"
    if "MPI_Abi_get_version" in has or "_abi." in library.name:
        return ("openmpi" if kind == "mpich" and "Open MPI" in _words_of(library) else kind), "abi"
    raise UnknownAbi(f"{library} is an MPI library, but its handles are not those of MPICH's, Open MPI's or the standard ABI",
                     "It may be a layer that translates between MPIs (MPItrampoline, Mukautuva, Wi4MPI). Fanlight leaves "
                     "such a program to its MPI: start it without Fanlight, or link it to the MPI itself.")


_ASK_LIBRARY = r"""
import ctypes, sys
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
print(text.value.decode())
"""
# What it says, and what that MPI is called.
_PRODUCTS = {r"Intel\(R\) MPI Library (\d[\w.]*(?: Update \d+)?)": "Intel MPI", r"Open MPI v(\d[\w.]*)": "Open MPI",
             r"CRAY MPICH version (\S+)": "Cray MPICH", r"MVAPICH\S* Version\s*:\s*(\S+)": "MVAPICH",
             r"MPICH Version:\s+(\S+)": "MPICH"}


@functools.lru_cache(maxsize=None)
def _words_of(library: Path, environment: tuple = ()) -> str:
    """What MPI_Get_library_version says (it may be asked before MPI_Init); empty where it does not."""
    try:
        return subprocess.run([sys.executable, "-c", _ASK_LIBRARY, library], capture_output=True, text=True, timeout=60,
                              env={**os.environ, **dict(environment)}, stdin=subprocess.DEVNULL).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def product(words: str) -> tuple[str, str]:
    """The MPI's name and its version, from what MPI_Get_library_version says."""
    for pattern, name in _PRODUCTS.items():
        if found := re.search(pattern, words):
            return name, found[1]
    return "", ""


def resolve_linker_script(library: Path) -> Path:
    """A libmpi.so that is text (INPUT(libmpi.so.12)) stands for the library that it names."""
    try:
        if library.stat().st_size < 4096 and elf.read(library) is None:
            if found := re.search(r"INPUT\s*\(\s*([^\s)]+)", library.read_text(errors="replace")):
                return library.parent / found[1]
    except OSError:
        pass
    return library


def launcher_for(library: Path, kind: str) -> Path | None:
    """The launcher that was installed with a library; else one on the PATH that starts its programs."""
    # /lib is as a rule a link to /usr/lib, whose launchers are in /usr/bin: Open MPI's takes its prefix from its own path.
    for start in dict.fromkeys((library.parent, library.parent.resolve(), library.resolve().parent)):
        for prefix in [p for p in list(start.parents)[:4] if p != Path("/")]:
            names = (f"mpiexec.{kind}", f"mpirun.{kind}", *_LAUNCHERS)
            for name in names:
                candidate = prefix / "bin" / name
                if os.access(candidate, os.X_OK) and launcher_kind(candidate) in (kind, None):
                    return candidate
            if prefix == Path("/usr"):
                break
    return next((launcher for _, launcher in _path_prefixes() if launcher_kind(launcher) == kind), None)


def launcher_kind(launcher: Path) -> str | None:
    try:
        said = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=20,
                              stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = said.stdout + said.stderr
    if re.search(r"Open MPI|OpenRTE|prte", text):
        return "openmpi"
    if "Intel" in text:
        return "impi"
    if re.search(r"HYDRA|MPICH", text):
        return "mpich"
    return None


def _environment_for(library: Path, kind: str, linker_finds_it: bool) -> dict:
    environment = {}
    folder = str(library.parent)
    if kind == "impi":
        # Intel MPI needs its own libfabric and finds neither that nor its providers by itself.
        fabric = [p for p in (library.parent / "libfabric", library.parent) if (p / "libfabric.so.1").exists()]
        environment["LD_LIBRARY_PATH"] = _prepend(os.environ.get("LD_LIBRARY_PATH"),
                                                  *map(str, fabric[:1]), folder)
        if fabric and "FI_PROVIDER_PATH" not in os.environ:
            providers = fabric[0] / "prov"
            environment["FI_PROVIDER_PATH"] = str(providers if providers.is_dir() else fabric[0])
        if "I_MPI_ROOT" not in os.environ:
            environment["I_MPI_ROOT"] = str(library.parent.parent)
    elif not linker_finds_it:
        environment["LD_LIBRARY_PATH"] = _prepend(os.environ.get("LD_LIBRARY_PATH"), folder)
    return environment


def _prepend(path: str | None, *folders: str) -> str:
    old = [p for p in (path or "").split(":") if p]
    return ":".join(dict.fromkeys([*folders, *old]))


def from_library(library: Path, found_by: str, linker_finds_it: bool = True) -> Mpi | None:
    library = resolve_linker_script(library)
    classified = classify(library)
    if classified is None:
        return None
    kind, abi = classified
    return Mpi(kind, abi, library, launcher_for(library, kind), found_by,
               _environment_for(library, kind, linker_finds_it))


def _library_dirs(prefix: Path):
    yield prefix / "lib"
    yield prefix / "lib64"
    if prefix == Path("/usr"):
        yield from sorted(prefix.glob("lib/*-linux-gnu"))


def libraries_in(prefix: Path, soname: str = "libmpi*.so*") -> list[Path]:
    """The MPI libraries there, each once, by the name that programs ask for; the standard ABI's last."""
    found = {}
    for file in (f for d in _library_dirs(prefix) for f in sorted(d.glob(soname))):
        file = resolve_linker_script(file)
        try:
            classified = classify(file)
        except UnknownAbi:
            continue
        if classified:
            asked_for = file.with_name(elf.read(file).soname or file.name)
            found.setdefault(file.resolve(), (classified[1] == "abi", asked_for if asked_for.exists() else file))
    return [file for _, file in sorted(found.values())]


def loaded_by(program: Path) -> dict[str, Path | None]:
    """What a program (or library) loads: file name -> where the linker finds it."""
    if elf.read(program) is None:
        return {}
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # which is no part of the program
    try:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, env={**environment, "LC_ALL": "C"},
                              stdin=subprocess.DEVNULL)
    except OSError as e:
        raise FanlightError(f"cannot run ldd: {e}",
                            "Install the package that has ldd (libc-bin), or give --mpi.") from e
    loaded = {}
    for line in said.stdout.splitlines():
        # A library that a program names with its path has no arrow.
        if found := re.match(r"\s*(?:(\S+) => )?(not found|/.+?)(?: \(0x[0-9a-f]+\))?$", line):
            loaded[found[1] or found[2]] = None if found[2] == "not found" else Path(found[2])
    return loaded


def _from_elf(program: Path) -> Mpi | None:
    about = elf.read(program)
    if about and about.static:
        raise FanlightError(f"{program} is linked statically, so nothing can be preloaded into it",
                            "Link it without -static, to the shared libmpi of its MPI.")
    loaded = loaded_by(program)
    for path in filter(None, loaded.values()):
        if mpi := from_library(path, f"{program.name} is linked to it"):
            return mpi
    # What the linker does not find: look beside the program, then beside the launchers.
    missing = [soname for soname, path in loaded.items() if path is None]
    prefixes = [program.resolve().parent.parent, *(p for p, _ in _path_prefixes())]
    for soname, prefix in ((s, p) for s in missing for p in prefixes):
        for library in libraries_in(prefix, soname):
            if mpi := from_library(library, f"{program.name} needs {soname}; found in {library.parent}", linker_finds_it=False):
                return mpi
    if lost := [soname for soname in missing if "mpi" in soname]:
        raise FanlightError(
            f"{program} needs {lost[0]}, which the dynamic linker does not find",
            "Put the folder with that library in LD_LIBRARY_PATH, or the MPI's mpiexec on the PATH.")
    if elf.contains(program, "MPI_Init", "MPI_Init_thread"):
        raise FanlightError(f"{program} has its MPI library linked into it, so its calls cannot be intercepted",
                            "Link it to the shared library: mpicc without -static, and libmpi.so in place of libmpi.a.")
    return None


_ASK_PYTHON = r"""
import glob, importlib.util, json, os, sys
def folder(name):
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or []) if spec else []
    return places[0] if places else None
mpi4py = folder("mpi4py")
modules = sorted(glob.glob(os.path.join(mpi4py, "MPI.*.so"))) if mpi4py else []
print(json.dumps(dict(prefix=sys.prefix, base=sys.base_prefix, modules=modules,
                      neuron=folder("neuron") is not None)))
"""


def ask_python(interpreter: Path) -> dict:
    try:
        said = subprocess.run([interpreter, "-c", _ASK_PYTHON], capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        return json.loads(said.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return {"prefix": str(interpreter.parent.parent), "base": "", "modules": [], "neuron": False}


def _named_by(variable: str) -> Path | None:
    value = os.environ.get(variable)
    if not value:
        return None
    path = Path(os.path.expanduser(value))
    if path.is_dir():
        path = next(iter(libraries_in(path.parent)), path)
    if not path.is_absolute():
        return None  # a bare name: the dynamic linker's affair
    if not path.exists():
        raise FanlightError(f"{variable} names {path}, which does not exist",
                            f"Set {variable} to the MPI library that the program is to load.")
    return path


def _from_python(interpreter: Path) -> Mpi | None:
    for variable in ("MPI_LIB_NRN_PATH", "MPI4PY_LIBMPI"):
        if (path := _named_by(variable)) and (mpi := from_library(path, f"{variable} names it")):
            return mpi
    about = ask_python(interpreter)
    for module in about["modules"]:
        # A build for one ABI alone is linked to its libmpi; PyPI's wheels load it by name.
        for path in loaded_by(Path(module)).values():
            if path and (mpi := from_library(path, "mpi4py is linked to it")):
                return mpi
    for prefix in dict.fromkeys((about["prefix"], about["base"])):
        if prefix and Path(prefix) != Path("/usr"):
            for library in libraries_in(Path(prefix)):
                if mpi := from_library(library, f"it lies in the environment of {interpreter}"):
                    if about["neuron"] and "MPI_LIB_NRN_PATH" not in os.environ:
                        # NEURON loads what this variable names, and by default no MPI at all.
                        mpi.environment["MPI_LIB_NRN_PATH"] = str(mpi.library)
                    return mpi
    return None


def _path_prefixes() -> list[tuple[Path, Path]]:
    """(prefix, launcher) for each launcher on the PATH."""
    found = {}
    for folder in os.get_exec_path():
        for name in ("mpiexec", "mpiexec.mpich", "mpiexec.openmpi", "mpiexec.hydra", "mpirun"):
            launcher = Path(folder) / name
            if os.access(launcher, os.X_OK):
                found.setdefault(launcher.parent.parent, launcher)
    return list(found.items())


def on_path() -> list[Mpi]:
    """The MPIs whose launchers are on the PATH, in its order."""
    mpis = []
    for prefix, launcher in _path_prefixes():
        for library in libraries_in(prefix):
            mpi = from_library(library, f"{launcher} is on the PATH")
            if mpi and mpi.library.resolve() not in {m.library.resolve() for m in mpis}:
                mpis.append(mpi)
    return mpis


def interpreter_of(program: Path) -> Path | None:
    """The Python that runs a program: itself, or the one that its first line names."""
    if re.match(r"(i?python|pypy)[\d.]*$", program.name):
        return program
    try:
        with open(program, "rb") as f:
            first = f.readline(300)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
        words = [found] if words and (found := shutil.which(words[0])) else []
    if words and re.match(r"(i?python|pypy)[\d.]*$", Path(words[0]).name):
        return Path(words[0])
    return None


def find_program(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        if Path(name).is_dir():
            raise FanlightError(f"{name} is a folder", "Name the program in it.")
        if Path(name).exists():
            raise FanlightError(f"{name} is not executable", "Name a program, for instance: python3 " + name
                                if name.endswith(".py") else f"Make it executable: chmod +x {name}")
        raise FanlightError(f"no program {name!r} here or on the PATH",
                            "Give its path, for instance ./" + Path(name).name)
    # Not resolved: a virtual environment's python is known by its own place alone.
    return Path(os.path.abspath(found))


def find_mpi(program: Path, want: str = "auto") -> Mpi:
    """The MPI that a program will load; `want` says which kind it has to be."""
    candidates = []
    linked = _from_elf(program)
    interpreter = interpreter_of(program)
    mpi = _from_python(interpreter) if linked is None and interpreter is not None else linked
    if mpi is not None:
        candidates.append(mpi)
    if not candidates or want not in ("auto", candidates[0].kind):
        candidates.extend(on_path())
    if want != "auto":
        candidates = [m for m in candidates if m.kind == want]
    if linked is not None:
        candidates = [m for m in candidates if m.abi == linked.abi]
        if not candidates:
            raise FanlightError(f"{program.name} is linked to {linked.name} ({linked.library}), and no {NAMES[want]} that can take its place "
                                "was found on the PATH", "Leave --mpi out.")
    if not candidates:
        kind = "MPI" if want == "auto" else NAMES[want]
        where = f"in the environment of {interpreter} or on the PATH" if interpreter else "on the PATH"
        advice = "Put the folder with that MPI's mpiexec on the PATH, or give the program's own path"
        if interpreter:
            advice = (f"Install one into that environment (for instance: {interpreter} -m pip install mpich), or name "
                      "its library in MPI4PY_LIBMPI (mpi4py) or MPI_LIB_NRN_PATH (NEURON)")
        raise FanlightError(f"{program.name} is not linked to {'an MPI' if want == 'auto' else kind}, and no {kind} "
                            f"was found {where}", advice + ".")
    return candidates[0]
