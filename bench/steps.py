"""What the executor costs: ns and instructions for a call and for a step of a schedule.

    python bench/steps.py build/release/bench/fanlight-steps

Instructions are counted by valgrind's callgrind where it is installed: they are the same in every
run.  A step's cost is the slope between a call of 2 ranks and one of 16, the call's what is left.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def lines(program, *options):
    done = subprocess.run([program, *options], check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def instructions(program, case, ranks):
    """Steps and instructions of one call of the rank that is timed."""
    counted = []
    for batches in (10, 30):  # what the start costs is in both
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "callgrind")
            done = subprocess.run(
                ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=*Ranks::timed*",
                 program, "--case", case, "--ranks", str(ranks), "--batches", str(batches)],
                check=True, capture_output=True, text=True)
            total = int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)[1])
        _, steps, calls, _ = done.stdout.strip().split("\t")
        counted.append((int(calls), total))
    (few, a), (many, b) = counted
    return int(steps), (b - a) / (many - few)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(pathlib.Path(sys.argv[1]).resolve())
    print(f"{'step':<18}{'ns a call':>10}{'ns a step':>11}{'instructions a call':>21}{'a step':>8}")
    for case, call_ns, step_ns in lines(program):
        text = f"{case:<18}{call_ns:>10}{step_ns:>11}"
        if shutil.which("valgrind"):
            (s2, i2), (s16, i16) = (instructions(program, case, n) for n in (2, 16))
            step = (i16 - i2) / (s16 - s2)
            text += f"{i2 - s2 * step:>21.0f}{step:>8.0f}"
        else:
            text += "   (valgrind is not installed)"
        print(text, flush=True)


if __name__ == "__main__":
    main()
