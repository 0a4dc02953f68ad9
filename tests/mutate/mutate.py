"""Makes small changes to the sources, one at a time, and says which of them no test notices.

    tests/mutate/run                       a hundred: those of chosen.txt, the others drawn by the seed
    tests/mutate/run --only datatype.cpp   those whose name has this in it
    tests/mutate/run --show                what is known so far; nothing is run

Each change is made in a copy of the tree (build/mutate/tree), what its tests need is built, and they
run, the quickest first, until one fails.  Results are kept in build/mutate/results.json, so that a run
can be stopped and goes on where it was; --again forgets the survivors, to try new tests on them.
equivalent.txt has the changes that alter no behavior, each with the reason.  On a busy machine: nice -n 19, and
FANLIGHT_TEST_PATIENCE for the limits that the tests have themselves (tests/mpi/running.py).
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build/mutate"
TREE, BUILD, SANITIZED, RESULTS = WORK / "tree", WORK / "build", WORK / "sanitized", WORK / "results.json"
# From which changes are drawn.  chosen.txt may have those of any folder of CHECKS.
FOLDERS = ["execute", "transport", "collective", "schedule", "select"]
# How long one build may take, and a command without a change; with one a multiple of that (--patience): what hangs is
# noticed, and a slow machine is not taken for a change that was noticed.  A command is run without a change when it has
# first failed with one; until then it is taken to need UNKNOWN.
BUILD_LIMIT, TEST_LIMIT, SHORTEST, UNKNOWN = 3600, 1200, 5, 60


# --- what is changed ----------------------------------------------------------------------

SWAPPED = [(" && ", " || "), (" == ", " != "), (" < ", " <= "), (" > ", " >= "), (" + 1", ""), (" - 1", ""), (" + ", " - "), ("std::min", "std::max"),
           ("memory_order_release", "memory_order_relaxed"), ("memory_order_acquire", "memory_order_relaxed"), ("true", "false")]
SWAPS = [pair for a, b in SWAPPED for pair in ([(a, b), (b, a)] if b and a.strip() not in ("<", ">") else [(a, b)])] + [(" <= ", " < "), (" >= ", " > ")]
# A whole statement that is no declaration and does not leave its function.
STATEMENT = re.compile(r"^\s+(?!return\b|break;|continue;|using\b|case\b|default\b|throw\b|static\b|const\b|auto\b|friend\b|std::\w+(<.*>)? \w+)"
                       r"(?:[\w:.>\-\[\]+*()]+(?:\([^;]*\)| [-+*/|^&]?= [^;]*)|\+\+[\w.>\-]+|--[\w.>\-]+);(\s*//.*)?$")
CONDITION = re.compile(r"^(\s*(?:\} else )?if )\((.*)\)( \{| [^()]*;| return .*;)?$")


def changes(lines, i):
    """What may become of line i: (what it was, what it becomes)."""
    line = lines[i]
    code = line.split("//")[0]
    if not code.strip() or code.lstrip().startswith(("#", "*", "static_assert", "template", "using", "case", "class", "struct", "operator")):
        return
    # Texts, and what only makes room beforehand.
    if '"' in code or "operator" in code or ".reserve(" in code:
        return
    for old, new in SWAPS:
        if old in code and not (old.strip() in "<>" and "template" in code):
            yield line, line.replace(old, new, 1)
    if (m := CONDITION.match(code)) and not re.search(r"\b(const|auto)\b|;", m[2]):
        yield line, f"{m[1]}(!({m[2]})){m[3] or ''}"
    if STATEMENT.match(line):
        yield line, ""
        # The order of two statements.
        if i + 1 < len(lines) and STATEMENT.match(lines[i + 1]) and re.search(r"store|fetch|= ", line + lines[i + 1]):
            yield f"{line}\n{lines[i + 1]}", f"{lines[i + 1]}\n{line}"
    for m in re.finditer(r"(?<![\w.])([1-9]\d*)(?![\w.])", code):
        if "{1} <<" not in code[m.start() - 1:m.end() + 4]:
            yield line, line[:m.start()] + str(int(m[1]) + 1) + line[m.end():]


class Change:
    def __init__(self, file, old, new, at=0):
        self.file, self.old, self.new = file, old, new
        self.at = at  # which of the places where the text is

    @property
    def name(self):
        def text(t):
            return " / ".join(line.strip() for line in t.splitlines()) or "(nothing)"

        return f"{self.file}: {text(self.old)} => {text(self.new)}" + (f" [{self.at}]" if self.at else "")

    def applied(self, text):
        start = -1
        for _ in range(self.at + 1):
            start = text.find(self.old, start + 1)
        if start < 0:
            raise LookupError(f"{self.name}: the text is no longer there")
        return text[:start] + self.new + text[start + len(self.old):]


def entries(path):
    """Blocks of lines between empty ones, without comments."""
    blocks = re.split(r"\n\s*\n", "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#")))
    return [b.strip("\n").splitlines() for b in blocks if b.strip()]


def chosen():
    """chosen.txt: the file, `- ` and the text, `+ ` and what takes its place, or neither line."""
    for block in entries(HERE / "chosen.txt"):
        old = "\n".join(line[2:] for line in block[1:] if line.startswith("- "))
        new = "\n".join(line[2:] for line in block[1:] if line.startswith("+ "))
        yield Change(block[0], old, new)


def drawn(seed, number):
    """So many of all the changes that can be made, at most one in a line.  Each line is drawn by itself, so that an edit
    elsewhere leaves the others as they were."""
    places = []
    for folder in FOLDERS:
        for path in sorted((ROOT / "src" / folder).glob("*.[ch]*")):
            file, lines = str(path.relative_to(ROOT)), path.read_text().splitlines()
            for i, line in enumerate(lines):
                if possible := list(changes(lines, i)):
                    before = "\n".join(lines[:i]) + "\n" if i else ""
                    r = random.Random(f"{seed} {file} {line} {before.count(line)}")
                    old, new = r.choice(possible)
                    places.append((r.random(), Change(file, old, new, before.count(old))))
    return [change for _, change in sorted(places, key=lambda place: place[0])[:number]]


# --- which tests notice -------------------------------------------------------------------

def unit(name, only="", build=BUILD):
    folder = name.split("_")[0]
    return [str(build / f"tests/{folder}/{name}"), "--gtest_brief=1", *([f"--gtest_filter={only}"] if only else [])]


def on_mpi(file, only=""):
    return [sys.executable, "-m", "pytest", f"{ROOT}/tests/mpi/{file}.py", "-x", "-q", "--mpi=mpich", *(["-k", only] if only else [])]


FUZZ = [sys.executable, f"{ROOT}/tests/fuzz/fuzz.py", "--mpi", "mpich", "--seed", *map(str, range(1, 9))]
# Some algorithms of each operation, at first.
SOME = "-*binomial*:*tree*:*ring*:*linear*:*Sequence*"
QUICK_MPI = [on_mpi("test_collectives", "test_all and mpich-3"), on_mpi("test_requests", "test_requests and mpich-3")]
ALL_MPI = [*QUICK_MPI, FUZZ, on_mpi("test_bad_cases", "not two_gib and not killed_and"), on_mpi("test_requests"),
           on_mpi("test_collectives", "settings or forced or some"), on_mpi("test_api", "control or requests"),
           on_mpi("test_allgatherv_any"), on_mpi("test_transports"), on_mpi("test_device_memory")]
EXECUTE = [unit("execute_concurrent_test"), unit("execute_threads_test", SOME), unit("execute_exchange_test"),
           unit("execute_polling_test"), unit("execute_wait_test"), unit("execute_operators_test"),
           unit("execute_threads_test")]
# The order of two stores, which a processor may keep all the same.
ORDERS = [unit(f"execute_{name}_test", only, SANITIZED) for name, only in (("concurrent", ""), ("threads", SOME))]
PRELOAD = "fanlight-mpich"
EXECUTE_TESTS = [f"execute_{name}_test" for name in ("concurrent", "threads", "exchange", "polling", "wait", "operators")]

# The first pattern that fits: what is built, and what runs.
CHECKS = [
    (r"src/select/", ["select_test", PRELOAD], [unit("select_test"), QUICK_MPI[0], on_mpi("test_same_bits")]),
    (r"src/schedule/saved_plan", ["execute_saved_plans_test", PRELOAD], [unit("execute_saved_plans_test"), on_mpi("test_saved_plans")]),
    (r"src/schedule/", ["schedule_test", "schedule_catalogue_test", "select_test"],
     [unit("schedule_test"), unit("select_test"), unit("schedule_catalogue_test")]),
    (r"src/execute/(wait|process_watch)", [*EXECUTE_TESTS, PRELOAD],
     [unit("execute_wait_test"), unit("execute_polling_test"), *QUICK_MPI, on_mpi("test_bad_cases", "killed or owes or reached or different or late")]),
    (r"src/(execute/exchange|collective/(message|window)_transport)", [*EXECUTE_TESTS, PRELOAD],
     [unit("execute_exchange_test"), on_mpi("test_transports", "between_nodes or lanes or one_node"), FUZZ, on_mpi("test_transports")]),
    (r"src/transport/", [*EXECUTE_TESTS, "memory_test", PRELOAD], [unit("memory_test", "Parts.*"), *EXECUTE, *ORDERS, *ALL_MPI]),
    (r"src/execute/", [*EXECUTE_TESTS, PRELOAD], [*EXECUTE, *ORDERS, *ALL_MPI]),
    (r"src/collective/(trace|report|call_counts)", [PRELOAD], [on_mpi("test_trace"), *ALL_MPI]),
    (r"src/collective/(guard|reduc)", [PRELOAD], [on_mpi("test_guard"), *ALL_MPI]),
    (r"src/collective/shared_windows", [PRELOAD], [on_mpi("test_peer_memory", "windows"), *ALL_MPI]),
    (r"src/collective/device_memory", [PRELOAD], [on_mpi("test_device_memory"), *ALL_MPI]),
    (r"src/collective/", [PRELOAD], ALL_MPI),
    (r"src/memory/", ["memory_test", PRELOAD], [unit("memory_test"), on_mpi("test_peer_memory"), *QUICK_MPI, on_mpi("test_bad_cases", "memory or killed_as")]),
    (r"src/algorithms/", ["algorithms_test", "execute_threads_test", "schedule_catalogue_test", PRELOAD],
     [unit("algorithms_test"), unit("execute_threads_test"), unit("schedule_catalogue_test"), on_mpi("test_transports")]),
    (r"src/topology/", ["topology_test", PRELOAD], [unit("topology_test"), *QUICK_MPI, on_mpi("test_bad_cases", "cores or forbidden or containers")]),
    (r"src/config/", ["config_test", PRELOAD],
     [unit("config_test"), on_mpi("test_bad_cases", "settings or rules or budget"), on_mpi("test_collectives", "settings")]),
    (r"src/preload/", [PRELOAD], [*QUICK_MPI, on_mpi("test_preload"), on_mpi("test_mpi_t"), on_mpi("test_bad_cases", "fortran or callbacks or tool")]),
    (r"src/heap/", ["heap_test", "fanlight-heap"],
     [["env", f"LD_PRELOAD={BUILD}/lib/fanlight/libfanlight-heap.so", *unit("heap_test")], on_mpi("test_shared_heap")]),
    (r"src/global/", ["global_threads_test", "dart-fanlight-mpich", "dart-mpich-memory", "dart-mpich-interface"],
     [unit("global_threads_test"), ["ctest", "--test-dir", str(BUILD), "-R", r"^dart\.mpich\.(memory|interface)\."]]),
]


def checks(file):
    for pattern, targets, commands in CHECKS:
        if re.match(pattern, file):
            return targets, commands
    sys.exit(f"{file}: no pattern of CHECKS fits it, which would say what tests it")


# --- running ------------------------------------------------------------------------------

def kill_programs():
    """What mpiexec started is in sessions of its own, and outlives it where it hangs."""
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if WORK in exe.readlink().parents:
                os.kill(int(exe.parent.name), signal.SIGKILL)
        except OSError:
            pass  # over, or the kernel's


def run(command, limit):
    """Its exit status; None when it ran too long."""
    environment = os.environ | ({"FANLIGHT_BUILD_DIR": str(BUILD)} if command[0] == sys.executable else {})
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        run.output = process.communicate(timeout=limit)[0]
        return process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            run.output = process.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            run.output = process.communicate()[0]
        kill_programs()
        return None


def built(targets, build=BUILD):
    return run(["cmake", "--build", str(build), "--target", *targets], BUILD_LIMIT) == 0


def sanitized(command):
    """Builds it where it is one with ThreadSanitizer."""
    return SANITIZED not in pathlib.Path(command[0]).parents or built([pathlib.Path(command[0]).name], SANITIZED)


def prepare():
    """The copy; only what has changed since the last time gets a new date."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        source, copy = ROOT / name, TREE / name
        if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
    for copy in TREE.rglob("*"):
        if copy.is_file() and str(copy.relative_to(TREE)) not in names:
            copy.unlink()
    mpich = os.environ.get("FANLIGHT_MPICH_ROOT", ROOT / ".venv/mpich")
    if run(["cmake", "-G", "Ninja", "-S", str(TREE), "-B", str(BUILD), "-DFANLIGHT_TESTS=ON", "-DCMAKE_BUILD_TYPE=Quick",
            "-DCMAKE_CXX_FLAGS_QUICK=-O1 -DNDEBUG -D_GLIBCXX_ASSERTIONS", "-DCMAKE_C_FLAGS_QUICK=-O1", "-DFANLIGHT_UNITY=OFF",
            "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", f"-DFANLIGHT_MPICH_ROOT={mpich}"], BUILD_LIMIT) != 0:
        sys.exit(run.output)
    if run(["cmake", "-G", "Ninja", "-S", str(TREE), "-B", str(SANITIZED), "-DFANLIGHT_TESTS=ON", "-DFANLIGHT_SANITIZE=thread",
            "-DFANLIGHT_UNITY=ON"], BUILD_LIMIT) != 0:
        sys.exit(run.output)
    # The programs that run on MPICH do not change with the sources.
    if run(["cmake", "--build", str(BUILD), "--target", "help"], BUILD_LIMIT) != 0 or not built(
            ["forbid", *sorted(set(re.findall(r"^(mpich-(?!abi-)[\w-]+): phony", run.output, re.M)))]):
        sys.exit(run.output[-3000:])


def words(command):
    return ("ThreadSanitizer: " if SANITIZED in pathlib.Path(command[0]).parents else "") + " ".join(pathlib.Path(w).name if "/" in w else w for w in command)


def passes_unchanged(command, targets, clean):
    """What fails without a change notices none.  clean: how long each command takes so, 0 if it fails."""
    if words(command) not in clean:
        if not built(targets) or not sanitized(command):
            sys.exit(f"the sources as they are do not build\n{run.output[-3000:]}")
        began = time.monotonic()
        passes = run(command, TEST_LIMIT) == 0
        clean[words(command)] = max(round(time.monotonic() - began, 1), 0.1) if passes else 0
        print(f"{'passes' if passes else 'FAILS'} unchanged ({time.monotonic() - began:.0f} s): {words(command)}", flush=True)
        if not passes:
            print(run.output[-1000:], flush=True)
    return clean[words(command)] > 0


def tried(change, clean, patience):
    """What one change comes to."""
    targets, commands = checks(change.file)
    start = time.monotonic()
    copy = TREE / change.file
    original = copy.read_text()
    result = {"found": None}
    try:
        copy.write_text(change.applied(original))
        if not built(targets):
            return {"found": "does not compile"}
        for command in commands:
            if clean.get(words(command)) == 0 or not sanitized(command):
                continue
            status = run(command, patience * max(SHORTEST, clean.get(words(command), UNKNOWN)))
            if status == 0:
                continue
            copy.write_text(original)
            if passes_unchanged(command, targets, clean):
                result = {"found": words(command) + (" (too long)" if status is None else "")}
                break
            copy.write_text(change.applied(original))
            built(targets)
    finally:
        copy.write_text(original)
    return result | {"seconds": round(time.monotonic() - start)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin none after so long")
    parser.add_argument("--patience", type=float, default=8, help="a command that takes so many times as long as without a change has failed")
    parser.add_argument("--again", action="store_true", help="try the survivors again")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    WORK.mkdir(parents=True, exist_ok=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"clean": {}, "changes": {}}
    results = known["changes"]
    if arguments.again:
        known["clean"] = {}
        for name in [n for n, r in results.items() if not r["found"]]:
            del results[name]
    reasons = {block[0]: " ".join(block[1:]) for block in entries(HERE / "equivalent.txt")}
    first = list(chosen())
    all_changes = first + list(drawn(arguments.seed, 2 * arguments.number))
    for change in first:
        checks(change.file)
        change.applied((ROOT / change.file).read_text())  # says so at once if the text is no longer there
    for name in reasons:
        file, _, change = name.partition(": ")
        lines = {line.strip() for line in (ROOT / file).read_text().splitlines()} if (ROOT / file).exists() else set()
        if missing := [line for line in change.split(" => ")[0].split(" / ") if line not in lines]:
            print(f"equivalent.txt: {file} no longer has: {' / '.join(missing)}")
    if not arguments.show:
        prepare()
    counted = []
    for change in all_changes:
        if len(counted) == arguments.number:
            break
        name = change.name
        if name in reasons or arguments.only not in name:
            continue
        if name not in results and not arguments.show and time.monotonic() < end:
            results[name] = tried(change, known["clean"], arguments.patience)
            RESULTS.write_text(json.dumps(known, indent=1))
            print(f"{results[name]['found'] or 'SURVIVED'} ({results[name].get('seconds', 0)} s)\n  {name}", flush=True)
        if name in results and results[name]["found"] != "does not compile":
            counted.append(name)
    survivors = [name for name in counted if not results[name]["found"]]
    print(f"\n{len(counted)} changes, {len(counted) - len(survivors)} found, {len(survivors)} survived"
          f" ({len(reasons)} others alter no behavior: equivalent.txt)")
    for name in survivors:
        print(f"  {name}")
    return 10 * len(survivors) > len(counted)


if __name__ == "__main__":
    sys.exit(main())
