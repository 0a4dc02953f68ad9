"""Makes what a library is linked to in front of the C library, so that glibc 2.28 can load it.

    old_glibc.py COMPILER READELF FOLDER

glibc 2.34 took libpthread, libdl and librt into libc.so.6 and gave their functions new versions; so
did single ones before and after it.  The old versions are still there, but the linker takes the newest.
So here are libpthread.so.0 and so on, and libm.so.6, as they were to the linker: the names of these functions, empty, with
the version that 2.28 has.  At run time the C library's own files of these names are loaded.
"""

import pathlib
import re
import subprocess
import sys

OLDEST = (2, 28)

# In which file 2.28 has the functions that begin like this.
FILES = {"libpthread.so.0": r"_*pthread_|sem_", "libdl.so.2": r"dl", "librt.so.1": r"shm_|mq_|aio_|lio_|timer_"}


def numbers(version):
    return tuple(int(n) for n in version.removeprefix("GLIBC_").split("."))


def versions(library, readelf):
    """Of each function: its versions, the newest first."""
    listed = subprocess.run([readelf, "--dyn-syms", "-W", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, version in re.findall(r" I?FUNC .* (\w+)@@?(GLIBC_[\d.]+)$", listed, re.M):
        found.setdefault(name, []).append(version)
    return {name: sorted(all_, key=numbers, reverse=True) for name, all_ in found.items()}


def stub(file, functions, compiler, folder):
    text = "".join(f".globl {name}\n.type {name}, STT_FUNC\n{name}:\n" for name in functions)
    (folder / f"{file}.s").write_text(f".text\n{text}.section .note.GNU-stack\n")
    groups = {}
    for name, version in functions.items():
        groups.setdefault(version, []).append(name)
    script = "".join(f"{version} {{ {' '.join(name + ';' for name in names)} }};\n" for version, names in groups.items())
    (folder / f"{file}.map").write_text(script)
    subprocess.run([compiler, "-shared", "-nostdlib", folder / f"{file}.s", "-o", folder / file, f"-Wl,-soname,{file}",
                    f"-Wl,--version-script,{folder / file}.map"], check=True)


def main():
    compiler, readelf, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)

    def as_of_old(file, only_moved):
        """The functions of this file, or those of which it has a newer version than 2.28: the newest that 2.28 has."""
        path = subprocess.run([compiler, f"-print-file-name={file}"], capture_output=True, text=True, check=True).stdout.strip()
        old = {name: next((v for v in all_ if numbers(v) <= OLDEST), None) for name, all_ in versions(path, readelf).items()
               if not only_moved or numbers(all_[0]) > OLDEST}
        return {name: version for name, version in old.items() if version}

    moved = as_of_old("libc.so.6", only_moved=True)
    for file, names in FILES.items():
        stub(file, {n: v for n, v in moved.items() if re.match(names, n)}, compiler, folder)
    # Of libm all: the linker takes a library of one name once.
    stub("libm.so.6", as_of_old("libm.so.6", only_moved=False), compiler, folder)


if __name__ == "__main__":
    main()
