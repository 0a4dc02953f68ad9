"""Where the preload libraries lie."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from .errors import FanlightError

# What the file is called, for each ABI.
FILES = {"mpich": "libfanlight-mpich.so", "openmpi": "libfanlight-openmpi.so", "abi": "libfanlight-abi.so"}
HEAP = "libfanlight-heap.so"


def preloaded() -> list[str]:
    """What the environment preloads into every program."""
    return os.environ.get("LD_PRELOAD", "").replace(":", " ").split()


def abi_of(file) -> str | None:
    """The ABI that a preload of Fanlight's is for, by the file's name."""
    return next((abi for abi, name in FILES.items() if Path(file).name.startswith(name)), None)


def is_ours(file) -> bool:
    return abi_of(file) is not None or Path(file).name.startswith(HEAP)


def folders() -> list[Path]:
    """Where they are looked for; the first that has one wins."""
    if chosen := os.environ.get("FANLIGHT_LIB_DIR"):
        return [Path(chosen)]
    package = Path(__file__).resolve().parent
    found = []
    source = package.parent.parent
    if (source / "CMakeLists.txt").exists() and (source / "src" / "preload").is_dir():
        found.append(source / "build" / "release" / "lib" / "fanlight")
    try:
        from . import _core

        found.append(Path(_core.__file__).resolve().parent / "lib")
    except ImportError:
        pass
    found += [package / "lib", Path(sys.prefix) / "lib" / "fanlight",
              Path("/usr/local/lib/fanlight"), Path("/usr/lib/fanlight")]
    return list(dict.fromkeys(found))


def find(name: str, advice: str) -> Path:
    for folder in folders():
        # An installation without links has the file by its full name alone: libfanlight-mpich.so.0.
        if found := sorted(folder.glob(name + "*")):
            return found[0]
    looked = "\n  ".join(str(f) for f in folders())
    raise FanlightError(f"no {name} in any of\n  {looked}", f"{advice}, or name the folder that has it in FANLIGHT_LIB_DIR.")


def _preloadable(library: Path) -> Path:
    if re.search(r"[\s:]", str(library)):
        raise FanlightError(f"{library}: the dynamic linker preloads nothing from a path with a space or colon",
                            "Move Fanlight elsewhere, or name a link to the folder in FANLIGHT_LIB_DIR.")
    return library


def library_for(abi: str) -> Path:
    root = "MPICH" if abi == "abi" else abi.upper()
    return find(FILES[abi], f"Build it with the headers of that MPI (cmake -DFANLIGHT_{root}_ROOT=PREFIX, or make build)")


def preload_for(abi: str) -> Path:
    return _preloadable(library_for(abi))


def dart_for(abi: str) -> Path:
    return find(f"libdart-{FILES[abi].removeprefix('lib')}", "Build it (make build)")


def shared_heap() -> Path:
    return _preloadable(find(HEAP, "Build it (make build)"))
