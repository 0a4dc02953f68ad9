"""An MPI library is known by what it exports and does: vendors give the file other names, and layers that
translate between MPIs have MPI's names with handles of their own."""

import os
import re
import subprocess
import sys

import pytest

import running
from running import IMPI, MPICH, MPICH_ABI, OPENMPI, ROOT, run

parametrize = pytest.mark.parametrize
SOURCES = ROOT / "tests/mpi"
REAL = {"mpich": "libmpi.so.12", "mpich-abi": "libmpi_abi.so.1", "openmpi": "libmpi.so.40", "impi": "libmpi.so.12"}


def gcc(*words):
    subprocess.run(["gcc", "-O1", "-Wall", *map(str, words)], check=True)


def vendors(mpi, name, folder):
    """An installation of this MPI whose library's file has another name."""
    (folder / "lib").mkdir(parents=True)
    for file in (mpi.root / "lib").iterdir():
        if not file.name.startswith("libmpi"):
            (folder / "lib" / file.name).symlink_to(file)
    (folder / "lib" / name).symlink_to(mpi.root / "lib" / REAL[mpi.name])
    for other in ("bin", "share", "etc"):
        if (mpi.root / other).exists():
            (folder / other).symlink_to(mpi.root / other)
    return folder


def linked(mpi, name, prefix, program, *words):
    """A program that asks for the library by that name."""
    stand_in = program.with_suffix(".c")
    stand_in.write_text("".join(f"void MPI_{f}(void) {{}}\n" for f in ("Init", "Comm_rank", "Comm_size", "Allreduce", "Barrier", "Abort", "Finalize"))
                        + "char ompi_mpi_comm_world[64], ompi_mpi_int[64], ompi_mpi_op_sum[64];\n")
    gcc("-shared", "-fPIC", stand_in, f"-Wl,-soname,{name}", "-o", program.with_suffix(".stand-in"))
    abi = ["-DMPI_ABI"] if mpi.abi == "abi" else []
    gcc("-fPIC", *words, *abi, f"-I{mpi.root}/include", "-o", program, program.with_suffix(".stand-in"), f"-Wl,-rpath,{prefix}/lib", "-ldl")
    return program


# What Open MPI has in a library of its own, and a program's part in Fortran: gfortran makes such a common block of MPI_IN_PLACE.
FORTRAN = '''
#include <mpi.h>
#if defined(LIBRARY)
int mpi_fortran_in_place_ = 0;
void mpi_allreduce_(void *in, void *out, int *n, int *type, int *op, int *comm, int *error) {
    if (in == &mpi_fortran_in_place_) in = MPI_IN_PLACE;
    *error = PMPI_Allreduce(in, out, *n, PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm));
}
#elif defined(SOLVER)
int mpi_fortran_in_place_ __attribute__((common));
void mpi_allreduce_(void *, void *, int *, int *, int *, int *, int *);
int solve(void) {
    int rank, size, one = 1, error, type = MPI_Type_c2f(MPI_INT), op = MPI_Op_c2f(MPI_SUM), comm = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; ++i) {
        int value = rank + i;
        mpi_allreduce_(&mpi_fortran_in_place_, &value, &one, &type, &op, &comm, &error);
        if (error || value != size * (size - 1) / 2 + size * i) return 0;
    }
    return 1;
}
#else
void begin(void) { MPI_Init(0, 0); }
void end(void) { MPI_Finalize(); }
#endif
'''


@parametrize("others", [False, True], ids=["alone", "beside"])
def test_a_fortran_library_under_python(others, tmp_path, fanlight_only):
    """It is in nobody's sight but its own (RTLD_LOCAL); a module that is linked to MPI alone may come first."""
    (tmp_path / "parts.c").write_text(FORTRAN)
    mpi = [f"-I{OPENMPI.root}/include", f"-Wl,-rpath,{OPENMPI.root}/lib", "-Wl,--no-as-needed", OPENMPI.root / "lib/libmpi.so.40"]
    gcc("-shared", "-fPIC", "-DLIBRARY", tmp_path / "parts.c", "-o", tmp_path / "libmpi_mpifh.so", *mpi)
    gcc("-shared", "-fPIC", "-DSOLVER", tmp_path / "parts.c", "-o", tmp_path / "solver.so", tmp_path / "libmpi_mpifh.so", f"-Wl,-rpath,{tmp_path}", *mpi)
    gcc("-shared", "-fPIC", tmp_path / "parts.c", "-o", tmp_path / "module.so", *mpi)
    first, second = ("module", "solver") if others else ("solver", "module")
    script = f"import ctypes; {first}, {second} = (ctypes.CDLL('{tmp_path}/%s.so' % name) for name in ('{first}', '{second}')); " \
             "module.begin(); print('ok' if solver.solve() else 'WRONG'); module.end()"
    result = run(OPENMPI, 2, [sys.executable, "-c", script]).must_be_ok()
    assert "WRONG" not in result.out and result.report.calls("allreduce") >= 2 * 18, str(result)


NAMES = [(MPICH, "libmpi_gnu_91.so.12"), (MPICH, "libmpi_cray.so.12"), (MPICH, "libmpich_parastation.so.12"),
         (MPICH_ABI, "libmpi_abi.so.0"), (OPENMPI, "libmpi_ibm.so.3")]


@parametrize("mpi,name", NAMES, ids=str)
def test_a_vendors_name(mpi, name, tmp_path, fanlight_only):
    """`fanlight run` finds the ABI and the launcher, and the program is served."""
    prefix = vendors(mpi, name, tmp_path / "vendor")
    program = linked(mpi, name, prefix, tmp_path / "late", SOURCES / "bad_cases/late.c")
    report = tmp_path / "report.json"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FANLIGHT_", "LD_"))}
    environment |= mpi.environment | {"FANLIGHT_LIB_DIR": str(running.LIBRARIES), "FANLIGHT_START_AFTER": "0", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-m", "fanlight", "run", "-n", "2", "--report-file", report, program, "0"], env=environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "ok" in done.stdout, done.stdout + done.stderr
    assert running.Report(report.read_text()).calls("allreduce") > 40, done.stdout + done.stderr


def test_a_vendors_name_in_a_library_that_is_loaded_later(tmp_path, fanlight_only):
    """With RTLD_LOCAL, so that nobody but who asks for it finds what it exports."""
    name = NAMES[0][1]
    prefix = vendors(MPICH, name, tmp_path / "vendor")
    module = linked(MPICH, name, prefix, tmp_path / "module.so", "-shared", "-fPIC", "-Dmain=start", SOURCES / "bad_cases/late.c")
    (tmp_path / "host.c").write_text("#include <dlfcn.h>\nint main(int argc, char **argv) {\n"
                                     "    int (*start)(int, char **) = dlsym(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), \"start\");\n"
                                     "    return start(argc - 1, argv + 1) + 0 * argc;\n}\n")
    gcc(tmp_path / "host.c", "-o", tmp_path / "host", "-ldl")
    result = run(MPICH, 2, [tmp_path / "host", module, "0"]).must_be_ok()
    assert result.report.calls("allreduce") > 40, str(result)


def test_intels_fortran_library(tmp_path, fanlight_only):
    """Its Fortran functions lie in another file than MPI itself."""
    if not IMPI.program("fortran").exists():
        pytest.skip("no Fortran compiler, or no Intel MPI")
    result = run(IMPI, 2, "fortran").must_be_ok()
    assert result.report.calls("allreduce") > 0, str(result)


def test_a_window_is_looked_at_once(tmp_path, fanlight_only):
    fortran = IMPI.root / "lib/libmpifort.so.12"
    if not fortran.exists():
        pytest.skip("no Intel MPI")
    gcc(f"-I{IMPI.root}/include", SOURCES / "tools/win_test.c", "-o", tmp_path / "win_test", fortran, IMPI.root / "lib/libmpi.so.12")
    for _ in range(20):  # in some runs what was put arrives later
        result = run(IMPI, 2, [tmp_path / "win_test"], timeout=30).must_be_ok()
        from_c, from_f08 = map(int, re.findall(r"\d+", result.out.replace("mpi_f08", ""))[:2])
        if from_c > 10:
            break
    assert result.report.calls("barrier") > 70 and from_c > 10 and from_f08 > 5, str(result)


@parametrize("handles", ["layer", "openmpi"])
@parametrize("preload", ["mpich", "openmpi", "abi"])
def test_a_layer_with_handles_of_its_own(preload, handles, tmp_path, fanlight_only):
    """The program is right, and one sentence says that it goes on without Fanlight."""
    options = ["-DLAYER_OF_OPENMPI"] if handles == "openmpi" else []
    gcc("-shared", "-fPIC", *options, f"-I{MPICH.root}/include", SOURCES / "tools/layer.c", "-o", tmp_path / "liblayer.so", "-ldl")
    gcc(*options, SOURCES / "tools/layered.c", "-o", tmp_path / "layered", tmp_path / "liblayer.so", f"-Wl,-rpath,{tmp_path}")
    says = {"LAYER_VERSION": "MPItrampoline 5.5.0, wrapping MPICH Version: 4.1"} if handles == "layer" else {}
    result = run(MPICH, 2, [tmp_path / "layered"], preload=False, preloads=[running.LIBRARIES / f"libfanlight-{preload}.so"],
                 settings={"LAYER_ON": MPICH.root / "lib/libmpi.so.12", "FANLIGHT_START_AFTER": 0, **says}).must_be_ok()
    said = [line for line in result.err.splitlines() if "fanlight" in line]
    assert len(said) == 1 and "other handles" in said[0] and "without Fanlight" in said[0], str(result)
    assert ("MPItrampoline 5.5.0" if says else "MPICH Version") in said[0] and "liblayer.so" in said[0], str(result)
    if handles == "layer":
        from fanlight import mpis

        with pytest.raises(mpis.UnknownAbi, match="liblayer.so"):
            mpis.find_mpi(tmp_path / "layered")


def test_an_mpi_that_lacks_a_function(tmp_path, fanlight_only):
    """An old one, say: nothing of it ends the program."""
    source = (SOURCES / "tools/layer.c").read_text() + 'char ompi_mpi_op_null[64], ompi_request_null[64];\n'
    (tmp_path / "old.c").write_text(source)
    gcc("-shared", "-fPIC", "-DLAYER_OF_OPENMPI", f"-I{MPICH.root}/include", tmp_path / "old.c", "-o", tmp_path / "liblayer.so", "-ldl")
    gcc("-DLAYER_OF_OPENMPI", SOURCES / "tools/layered.c", "-o", tmp_path / "layered", tmp_path / "liblayer.so", f"-Wl,-rpath,{tmp_path}")
    result = run(MPICH, 2, [tmp_path / "layered"], preload=False, preloads=[OPENMPI.preload],
                 settings={"LAYER_ON": MPICH.root / "lib/libmpi.so.12", "LAYER_VERSION": "Open MPI v1.2"}).must_be_ok()
    assert result.err.count("PMPI_Abort, which Fanlight needs: the program goes on without Fanlight") == 1, str(result)
