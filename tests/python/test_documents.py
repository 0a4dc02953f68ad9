"""The documents are true: generated pages are up to date, the commands in them run."""

import functools
import itertools
import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from fanlight import _core, documentation

from environments import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# What starts MPI programs or takes long is tried by other tests; here only the rest.
QUICK = ("list", "draw", "count", "explain", "info", "rules", "verify", "--version")


def name(document) -> str:
    return str(document.relative_to(ROOT))


@pytest.mark.parametrize("page", documentation.PAGES)
def test_generated_page(page):
    assert (ROOT / "docs" / page).read_text() == documentation.PAGES[page](), \
        "run: python -m fanlight.documentation docs"


def blocks(kind):
    found = []
    for document in DOCUMENTS:
        if document.name == "own-algorithms.md":
            continue  # its blocks build on one another: test_tutorial
        for text in re.findall(rf"^```{kind}\n(.*?)^```", document.read_text(), re.M | re.S):
            found.append(pytest.param(text, id=f"{name(document)}-{len(found)}"))
    return found


def commands(text):
    """The settings and the words of each `fanlight ...` in a block, also behind settings or a launcher."""
    for line in text.replace("\\\n", " ").splitlines():
        if "fanlight" not in line:
            continue
        words = shlex.split(line.partition(" # ")[0], comments=True)
        at = next((i for i, w in enumerate(words) if w == "fanlight" or w.endswith("/bin/fanlight")), None)
        if at is None or words[0] in ("apt-get", "pip", "python3"):
            continue
        yield line, dict(w.split("=", 1) for w in words[:at] if w.startswith("FANLIGHT")), words[at + 1:]


def run_fanlight(words, folder):
    return subprocess.run([sys.executable, "-m", "fanlight", *words], cwd=folder, capture_output=True, text=True, timeout=300)


@functools.cache
def options_of(command):
    done = run_fanlight([command, "--help"], ROOT)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"(?<![\w-])--?\w[\w-]*", done.stdout))


@pytest.mark.parametrize("text, runs", [pytest.param(*b.values, kind == "sh", id=b.id) for kind in ("sh", "text") for b in blocks(kind)])
def test_commands(text, runs, tmp_path, clean):
    """In a block of text they are examples for what is not there."""
    for line, settings, words in commands(text):
        assert not settings.keys() - {s.variable for s in _core.settings()}, line
        if runs and words[0] in QUICK:
            done = run_fanlight(words, tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            continue
        own = itertools.takewhile(lambda w: words[0] != "run" or not ("/" in w or w == "python"), words[1:])  # not the program's
        for option in (w.partition("=")[0] for w in own if w.startswith("-") and w != "--"):
            assert option in options_of(words[0]), f"{line}: no option {option}"


# Those of python.md need mpi4py and ranks: tests/mpi/test_python.py.
@pytest.mark.parametrize("text", [b for b in blocks("python") if not b.id.startswith("docs/python.md")])
def test_python(text, tmp_path):
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tutorial(tmp_path, clean):
    text = (ROOT / "docs/own-algorithms.md").read_text()
    command = f"fanlight() {{ {shlex.quote(sys.executable)} -m fanlight \"$@\"; }}; "
    for kind, block in re.findall(r"^```(python|sh)\n(.*?)^```", text, re.M | re.S):
        for one in [block] if kind == "python" else block.splitlines():
            if "fanlight run" in one or "fanlight bench" in one:
                continue  # they need ranks: tests/mpi/test_saved_plans.py
            done = subprocess.run([sys.executable, "-c", one] if kind == "python" else ["bash", "-c", command + one],
                                  cwd=tmp_path, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"{one}\n{done.stdout}{done.stderr}"
            assert "explain" not in one or "file(mine.plan)" in done.stdout, done.stdout


def slugs(document) -> set:
    """What GitHub and MkDocs make of the headings."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"[`*]", "", h)).strip().lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_links(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if "://" not in target:
            path, _, heading = target.partition("#")
            there = document.parent / path if path else document
            assert there.exists(), target
            assert not heading or heading in slugs(there), f"{target}: no such heading"


@pytest.mark.parametrize("picture", sorted((ROOT / "docs/images").glob("*.svg")), ids=lambda p: p.name)
def test_picture(picture):
    """Well-formed, shown somewhere, and for who does not see it there are words."""
    ElementTree.parse(picture)
    shown = [alt for d in DOCUMENTS for alt, path in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", d.read_text()) if path.endswith(picture.name)]
    assert shown and all(shown)


def test_drawn_schedule(tmp_path):
    line = re.search(r"^fanlight draw (.*) -o \S+", (ROOT / "README.md").read_text(), re.M)[1]
    assert run_fanlight(["draw", *line.split(), "-o", "x.svg"], tmp_path).returncode == 0
    assert (tmp_path / "x.svg").read_text() == (ROOT / "docs/images/allreduce-by-levels.svg").read_text(), \
        f"run: fanlight draw {line} -o docs/images/allreduce-by-levels.svg"


def test_added_algorithm(tmp_path):
    """The example of how to add an algorithm, compiled and proved."""
    page = (ROOT / "docs/howto/add-an-algorithm.md").read_text()
    source = re.search(r"^```c\+\+\n(.*?Builder b.*?)^```", page, re.M | re.S)[1]
    (tmp_path / "chain.cpp").write_text(source + """
#include <cstdio>
#include "schedule/all_ranks.h"
#include "schedule/verify.h"
int main() {
    using namespace fanlight;
    for (int size = 1; size <= 16; ++size)
        for (int root = 0; root < size; ++root) {
            const Problem p{.operation = Operation::bcast, .size = size, .root = root, .bytes = 64};
            for (const std::string& fault : verify(schedules_of_all(bcast_algorithms::chain, p), p)) return std::puts(fault.c_str()), 1;
        }
}
""")
    build = ROOT / "build/release/src"
    compiled = subprocess.run(["g++", "-std=c++20", "-I", ROOT / "src", "chain.cpp", build / "algorithms/libfanlight_algorithms.a",
                               build / "schedule/libfanlight_schedule.a", "-o", "chain"], cwd=tmp_path, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    done = subprocess.run([tmp_path / "chain"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", [b for b in blocks("c") if "#include" in b.values[0]])
def test_c(text, tmp_path):
    (tmp_path / "x.c").write_text(text)
    done = subprocess.run(["gcc", "-fsyntax-only", "-Wall", "-Werror", "-I", ROOT / "include", "-I", ROOT / ".venv/mpich/include", "x.c"],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
