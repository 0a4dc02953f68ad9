"""Long blocks of programs in any language lie in the shared heap, and programs that fork or start others run as ever."""

import os
import shutil
import subprocess
import sys

import pytest

from environments import ROOT
from fanlight import doctor, launch, libraries
from test_run import compiled

HEAP = ROOT / "build/release/lib/fanlight" / libraries.HEAP

# Whether an address lies in the arena.
IS_SHARED = """
import ctypes
arena = (ctypes.c_uint64 * 2).in_dll(ctypes.CDLL(None), "fanlight_arena_0")
def is_shared(address):
    return arena[0] <= address < arena[0] + arena[1]
"""


def python(script, **environment):
    return subprocess.run([sys.executable, "-c", IS_SHARED + script], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_PRELOAD": str(HEAP), **environment})


def said(done):
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    return done.stdout


def test_numpys_arrays(clean):
    assert said(python("""
import numpy
for array in (numpy.arange(100_000.), numpy.zeros(100_000), numpy.ones((300, 300)) * 2, numpy.frombuffer(bytearray(100_000), numpy.uint8)):
    assert is_shared(array.ctypes.data), array
assert not is_shared(numpy.arange(100.).ctypes.data)
print(numpy.arange(100_000.).sum())
""")) == "4999950000.0\n"


def test_a_python_program_that_forks(clean):
    """Each process has what was there when it was made, and keeps what it writes to itself."""
    assert said(python("""
import multiprocessing, os, subprocess, threading
import numpy
array = numpy.ones(500_000)
assert is_shared(array.ctypes.data)
def work(i):
    assert array[0] == 1, "another process's"
    array[:] = i + 2
    return float(array.sum())
def count(method):
    with multiprocessing.get_context(method).Pool(2, maxtasksperchild=1) as pool:
        return pool.map(work, range(4), chunksize=1)
assert count("fork") == [500_000.0 * (i + 2) for i in range(4)]
assert array.sum() == 500_000
stop = threading.Event()
thread = threading.Thread(target=lambda: [numpy.zeros(50_000) for _ in iter(stop.is_set, True)])
thread.start()
assert count("fork")[0] == 1_000_000
stop.set()
thread.join()
assert subprocess.run(["echo", "here"], capture_output=True, text=True, check=True).stdout == "here\\n"
assert subprocess.run(["sh", "-c", "exit 3"], preexec_fn=lambda: None).returncode == 3
assert os.system("exit 2") == 2 << 8 and os.popen("echo there").read() == "there\\n"
assert array.sum() == 500_000
print("ok")
""")) == "ok\n"


def test_a_python_program_that_spawns(clean, tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text("import multiprocessing, numpy\ndef work(a):\n    return float(a.sum())\nif __name__ == '__main__':\n"
                      "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n        print(pool.map(work, [numpy.ones(100_000)] * 2))\n")
    assert said(subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60,
                               env={**os.environ, "LD_PRELOAD": str(HEAP)})) == "[100000.0, 100000.0]\n"


def test_fortrans_arrays(clean, tmp_path):
    if not shutil.which("gfortran"):
        pytest.skip("no Fortran compiler")
    (tmp_path / "is_shared.c").write_text("#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdint.h>\n"
                                          "int is_shared(const double *x) {\n    const uint64_t *arena = dlsym(RTLD_DEFAULT, \"fanlight_arena_0\");\n"
                                          "    return (uint64_t)x - arena[0] < arena[1];\n}\n")
    (tmp_path / "arrays.f90").write_text("program arrays\n  use iso_c_binding\n  interface\n    integer(c_int) function is_shared(x) bind(c)\n"
                                         "      import\n      real(c_double) :: x(*)\n    end function\n  end interface\n"
                                         "  real(c_double), allocatable :: long(:), short(:)\n  allocate(long(100000), short(100))\n"
                                         "  long = 1\n  short = 1\n  print '(2i2, f8.0)', is_shared(long), is_shared(short), sum(long)\n"
                                         "  deallocate(long, short)\nend program\n")
    subprocess.run(["gcc", "-c", "is_shared.c"], cwd=tmp_path, check=True)
    subprocess.run(["gfortran", "arrays.f90", "is_shared.o", "-o", "arrays", "-ldl"], cwd=tmp_path, check=True)
    assert said(subprocess.run([tmp_path / "arrays"], capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": str(HEAP)})) == " 1 0 100000.\n"


def test_fanlight_run(fanlight, tmp_path):
    program = compiled(tmp_path, "mpich", rpath=True)
    for options, environment in ((["--shared-heap"], {}), ([], {"FANLIGHT_HEAP": "shared"})):
        shown = fanlight("run", "-n", "2", *options, "--show", program, env=environment).stdout.replace("\n", " ")
        assert f"LD_PRELOAD={libraries.shared_heap()}:{libraries.preload_for('mpich')}" in shown and "FANLIGHT_HEAP=shared" in shown
    assert libraries.HEAP not in fanlight("run", "-n", "2", "--show", program).stdout
    assert "one of them" in fanlight("run", "--plain", "--shared-heap", program, code=2).stderr
    assert libraries.HEAP in fanlight("info").stdout


def test_doctor(clean, tmp_path):
    program = compiled(tmp_path, "mpich", rpath=True)
    clean.setenv("FANLIGHT_HEAP", "shared")

    def about_the_heap():
        return [(f.level, f.says) for f in doctor.examine(program, 1) if f.about == "shared heap"]

    assert about_the_heap() == [(doctor.FINE, str(libraries.shared_heap()))]
    other = ROOT / "build/release/tests/heap/libother_malloc.so"
    clean.setenv("LD_PRELOAD", str(other))
    (level, says), = about_the_heap()
    assert level == doctor.PROBLEM and str(other) in says
    clean.setenv("FANLIGHT_LIB_DIR", str(tmp_path))
    (level, says), = about_the_heap()
    assert level == doctor.PROBLEM and libraries.HEAP in says


@pytest.mark.parametrize("enabled,shmem_enabled,said", [
    ("always [madvise] never", "always within_size advise [never] deny force", True),
    ("always [madvise] never", "always within_size [advise] never deny force", False),
    ("always madvise [never]", "always within_size advise [never] deny force", False),
    ("[always] madvise never", None, False)])
def test_doctor_on_huge_pages(monkeypatch, tmp_path, enabled, shmem_enabled, said):
    monkeypatch.setattr(doctor, "HUGE_PAGES", tmp_path)
    for name, text in (("enabled", enabled), ("shmem_enabled", shmem_enabled)):
        if text:
            (tmp_path / name).write_text(text + "\n")
    assert [f.level for f in doctor.of_pages_of_shared_heap()] == [doctor.NOTE] * said


def test_the_order_of_preloads(clean):
    words = launch.rank_environment([libraries.shared_heap(), libraries.preload_for("mpich")], {})
    assert words == [f"LD_PRELOAD={libraries.shared_heap()}:{libraries.preload_for('mpich')}"]
