"""Random legal MPI programs (program.cpp), each run by the MPI library alone and with Fanlight.

    tests/fuzz/run --minutes 60 --mpi mpich      new seeds for an hour
    tests/fuzz/run --seed 7 --mpi mpich          this one again
    tests/fuzz/run --seed 7 --mpi mpich --narrow ... and with as few actions as fail

From the seed come the program, the number of ranks, Fanlight's settings and its rules.  What each
rank finds in its buffers after each call must be the same.  A program on which the MPI library
alone fails is passed over, and one where it comes to another result in each run, or another MPI
library alone to Fanlight's.  A run that compares no program has failed.
"""

import argparse
import itertools
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/mpi"))

import running  # noqa: E402

ACTIONS = 40


def any_rule(operation, r):
    """A line of a file of rules: one of the operation's algorithms, with parameters that it takes."""
    algorithm = r.choice(running.algorithms(operation))
    values = {"degree": [1, 2, 3, 5], "piece": ["512", "4K", "64K"], "minimum": [64, 1024, 100000], "shift": [1, 3]}
    taken = [p for p in algorithm.parameters | ({"piece"} if operation != "barrier" else set()) if r.random() < 0.3]
    return " ".join([operation.replace("_", "-"), "->", algorithm.name, *(f"{p}={r.choice(values[p])}" for p in sorted(taken))])


def settings(seed, ranks):
    """Fanlight's variables, and the text of a file of rules."""
    r = random.Random(f"settings {seed}")
    result = {"START_AFTER": r.choice([0, 0, 0, 0, 3, 16]), "SINGLE_COPY": r.choice(["auto", "on", "off"])}
    if r.random() < 0.4:
        result["SINGLE_COPY_FROM"] = r.choice([1, "1K", "8K"])
    if r.random() < 0.3:
        result["PIECE"] = r.choice(["512", "4K", "64K"])
    if r.random() < 0.4:
        result["WAIT"] = r.choice(["yield", "sleep"])
    if ranks > 2 and r.random() < 0.3:
        result["TOPOLOGY"] = r.choice(["2x*", "2x*:cyclic", "1x2x*", "2x2x*"])
    if r.random() < 0.15:
        result["TRANSPORT"] = r.choice(["shared", "message", "rma-fence", "rma-lock", "rma-flush"])
    if r.random() < 0.1:
        result["SHARED_MEMORY"] = r.choice(["1M", "8M", "32M"])
    rules = [any_rule(o, r) for o in running.operations() if r.random() < 0.7] if r.random() < 0.5 else []
    return result, "".join(line + "\n" for line in rules)


class Outcome:
    """What one run left, by ranks."""

    def __init__(self, result, folder, ranks):
        self.result = result
        self.ranks = [(folder / str(i)).read_text().splitlines() if (folder / str(i)).exists() else [] for i in range(ranks)]
        self.ended = not result.hung and result.code == 0 and all(lines and lines[-1] == "end" for lines in self.ranks)

    def of(self, action):
        """What each rank wrote in this action."""
        starts = [lines.index(f"action {action}") if f"action {action}" in lines else len(lines) for lines in self.ranks]
        return [list(itertools.takewhile(lambda line: line != "end" and not line.startswith("action "), lines[start + 1:]))
                for lines, start in zip(self.ranks, starts)]

    def __str__(self):
        ends = "".join(f"rank {i} was at: {' / '.join(lines[-2:])}\n" for i, lines in enumerate(self.ranks))
        return f"{self.result}\n{'' if self.ended else ends}"


def differences(alone, served):
    """Of the ranks' lines: rank, number of the line, and the two."""
    return [(rank, k, *lines) for rank, both in enumerate(zip(alone, served))
            for k, lines in enumerate(itertools.zip_longest(*both)) if lines[0] != lines[1]]


def call_of(lines, k):
    """What was called where line k is what came of it: the results follow in the calls' order."""
    calls, results = [], 0
    for line in lines[:k + 1]:
        if line.startswith(("step ", "thread ")):
            calls, results = [], 0
        elif line.startswith("round "):
            results = 0
        elif line.startswith("  "):
            results += 1
        elif not line.startswith("messages "):
            calls.append(line)
    return calls[results - 1] if 0 < results <= len(calls) else ""


class Case:
    def __init__(self, mpi, seed, ranks=None):
        self.mpi, self.seed = mpi, seed
        self.ranks = ranks or random.Random(f"ranks {seed}").choice([2, 2, 3, 3, 4, 4, 5, 6, 7, 8])
        self.settings, self.rules = settings(seed, self.ranks)
        self.served = self.passed_on = 0
        self.alone_is_wrong = False

    def __str__(self):
        return f"tests/fuzz/run --mpi {self.mpi} --seed {self.seed} --ranks {self.ranks}"

    preloads, environment = (None,), None  # of the run with Fanlight

    def run(self, fanlight, first, last, timeout, mpi=None):
        mpi = mpi or self.mpi
        with tempfile.TemporaryDirectory(prefix="fanlight-fuzz-") as folder:
            folder = pathlib.Path(folder)
            ours = dict(self.settings)
            if self.rules:
                (folder / "rules").write_text(self.rules)
                ours["RULES"] = folder / "rules"
            # Intel MPI 2021.18's own persistent gathers are wrong.
            without = " no-persistent" if self.mpi is running.IMPI else ""
            # And, of 6 ranks and more that share cores, its broadcasts through shared memory behind any other collective.
            sound = {"I_MPI_COLL_INTRANODE": "pt2pt"} if mpi is running.IMPI else {}
            result = running.run(mpi, self.ranks, f"fuzz {folder} {self.seed} {ACTIONS} {first} {last}{without}", ours,
                                 preload=fanlight, preloads=self.preloads if fanlight else (), settings=sound | (self.environment or {}), timeout=timeout)
            return Outcome(result, folder, self.ranks)

    def alone(self, first=0, last=ACTIONS, timeout=15):
        return self.run(False, first, last, timeout)

    def failure(self, alone, first=0, last=ACTIONS):
        """Runs it with Fanlight: what went wrong, or an empty text."""
        served = self.run(True, first, last, max(30, 20 * alone.result.seconds))
        if report := served.result.report:
            self.served, self.passed_on = report.calls(), report.calls(by="mpi")
        if not served.ended:
            return f"with Fanlight it {'hangs' if served.result.hung else 'fails'}\n{served}"
        wrong = [action for action in range(first, last + 1) if alone.of(action) != served.of(action)]
        if all(self.another_agrees(alone, served, action) for action in wrong):
            self.alone_is_wrong = bool(wrong)
            return ""
        lines = [f"action {action}, rank {i}\n  alone         {theirs}\n  with Fanlight {ours}" for action in wrong
                 for i, k, theirs, ours in differences(alone.of(action), served.of(action))]
        return "\n".join(lines[:4]) + f"\n{served.result.command}"

    def another_agrees(self, alone, served, action):
        """Whether each line that differs is another MPI library's as well, or not always the same."""
        again = [self.alone(action, action).of(action) for _ in range(2)]
        others = [self.run(False, action, action, 15, mpi).of(action)
                  for mpi in (running.MPICH, running.OPENMPI, running.IMPI) if mpi is not self.mpi and mpi.available]
        return all(self.reads_elsewhere(call_of(alone.of(action)[rank], k)) or any(lines[rank][k:k + 1] == [ours] for lines in others) or
                   any(lines[rank][k:k + 1] not in ([], [theirs]) for lines in again)
                   for rank, k, theirs, ours in differences(alone.of(action), served.of(action)))

    def reads_elsewhere(self, call):
        """Open MPI 5.0.11's alltoallw on a communicator of one rank, which it serves itself, gives what lies in memory:
        another result with another MALLOC_PERTURB_.  So does MPICH 5.0.2's reduce_scatter_block by an operator that does
        not commute, of elements that do not begin at their address; Intel MPI's ends the program."""
        if self.mpi is running.OPENMPI:
            return "alltoallw ranks=1 " in call
        return "reduce_scatter_block" in call and " compose subarray" in call

    def narrowed(self):
        """The shortest range of actions, found by halving, that still fails."""
        first, last = 0, ACTIONS

        def fails(first, last):
            alone = self.alone(first, last)
            return alone.ended and self.failure(alone, first, last)

        for step in (ACTIONS // 2, ACTIONS // 4, ACTIONS // 8, 2, 1):
            while last - step >= first and fails(first, last - step):
                last -= step
            while first + step <= last and fails(first + step, last):
                first += step
        return first, last


def run(cases, say=print, narrow=False):
    """Runs these; the failures, as texts."""
    failures, number, passed_over, served, passed_on, must_serve = [], 0, [], 0, 0, False
    for case in cases:
        number += 1
        alone = case.alone()
        if not alone.ended:
            say(f"{case}: {case.mpi} alone {'hangs' if alone.result.hung else 'fails'}: passed over")
            if narrow:
                say(str(alone))
            passed_over.append(alone)
            continue
        text = case.failure(alone)
        served, passed_on = served + case.served, passed_on + case.passed_on
        # With little shared memory, or few calls, the MPI library may serve all of them.
        must_serve |= case.settings["START_AFTER"] == 0 and "SHARED_MEMORY" not in case.settings
        if case.alone_is_wrong:
            say(f"{case}: {case.mpi} alone is wrong: passed over")
            passed_over.append(alone)
        if text:
            failures.append(f"{case}\nFANLIGHT_: {case.settings}\n{case.rules}{text}")
            say(f"FAILED {failures[-1]}")
            if narrow:
                say("actions {}..{} are enough".format(*case.narrowed()))
    compared = number - len(passed_over)
    say(f"{number} programs: {compared} compared, {len(failures)} failed; {len(passed_over)} passed over; "
        f"{served} calls were served by Fanlight, {passed_on} by the MPI library")
    if must_serve and not served:
        failures.append("Fanlight served nothing")
    if not compared:
        failures.append(f"no program was compared: all {number} were passed over")
    return failures


def seeds(seconds, first=None):
    """New ones until so many seconds are over; not so few that the MPI library alone may fail on all of them."""
    end = time.monotonic() + seconds
    first = random.SystemRandom().randrange(10**8) if first is None else first
    for seed in itertools.count(first):
        if seed >= first + 3 and time.monotonic() >= end:
            return
        yield seed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", default="mpich", help="mpich, mpich-abi, openmpi or impi")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--from", dest="start", type=int, help="the first seed; else any")
    parser.add_argument("--seed", type=int, nargs="+", help="these alone")
    parser.add_argument("--ranks", type=int, help="in place of 2 to 8, by the seed")
    parser.add_argument("--narrow", action="store_true", help="find the actions that fail")
    arguments = parser.parse_args()
    mpi = next(m for m in running.ALL if m.name == arguments.mpi)
    chosen = arguments.seed or seeds(60 * arguments.minutes, arguments.start)
    sys.exit(bool(run((Case(mpi, seed, arguments.ranks) for seed in chosen), lambda text: print(text, flush=True), arguments.narrow)))


if __name__ == "__main__":
    main()
