"""What this node allows: cores, shared memory, reading another process's memory."""

from __future__ import annotations

import ctypes
import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .errors import FanlightError


def processor() -> str:
    names = (line.partition(":")[2].strip() for line in contents("/proc/cpuinfo").splitlines() if line.startswith("model name"))
    return next(names, platform.machine())


def machine_cores() -> int:
    """The cores that ranks may really use: the affinity mask, or less by the cgroup's quota."""
    try:
        from . import _core

        return _core.usable_cores()
    except (ImportError, AttributeError):
        return len(os.sched_getaffinity(0))


def cache_folder() -> Path:
    """Where what was measured or compiled here is kept."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fanlight"
    except RuntimeError as e:
        raise FanlightError("this user has no home folder", "Name a folder in XDG_CACHE_HOME.") from e


def temporary_folder() -> tempfile.TemporaryDirectory:
    try:
        return tempfile.TemporaryDirectory(prefix="fanlight-")
    except OSError as e:
        raise FanlightError(f"there is no folder for temporary files: {e.strerror}", "Name one in TMPDIR.") from e


def contents(path) -> str:
    """Of one of the system's files; empty where it is not there."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


@dataclass
class SharedMemory:
    total: int
    free: int
    problem: str = ""


def shared_memory() -> SharedMemory:
    try:
        s = os.statvfs("/dev/shm")
    except OSError as e:
        return SharedMemory(0, 0, f"/dev/shm: {e.strerror}")
    return SharedMemory(s.f_blocks * s.f_frsize, s.f_bavail * s.f_frsize)


def nameless_memory() -> str:
    """Why there is no shared memory without a name, which others open in /proc; empty if there is."""
    try:
        file = os.memfd_create("fanlight")
    except OSError as e:
        return f"memfd_create: {e.strerror}"
    try:
        os.close(os.open(f"/proc/{os.getpid()}/fd/{file}", os.O_RDWR))
    except OSError as e:
        return f"/proc/{os.getpid()}/fd: {e.strerror}"
    finally:
        os.close(file)
    return ""


def single_copy() -> str:
    """Why two processes started side by side (as ranks are) may not read each other's memory;
    empty if they may.  It is tried, by the probe that the ranks use: of two children one reads
    a number of the other's."""
    from . import _core

    number = ctypes.c_uint64(0)
    secret = 0x46414E4C49474854
    ready_read, ready_write = os.pipe()
    end_read, end_write = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.close(end_write)
        number.value = secret
        os.write(ready_write, b"1")
        os.read(end_read, 1)  # until the parent closes its end
        os._exit(0)
    os.close(end_read)
    os.read(ready_read, 1)
    reader = os.fork()
    if reader == 0:
        os.write(ready_write, _core.probe_single_copy(owner, ctypes.addressof(number), secret).encode()[:1000] or b"\0")
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1])
    os.close(ready_write)
    why = os.read(ready_read, 1000).rstrip(b"\0").decode()
    os.close(ready_read)
    os.close(end_write)
    os.waitpid(owner, 0)
    return why if status == 0 else f"the probe was ended by signal {-status} (a seccomp filter?)"
