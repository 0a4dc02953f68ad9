"""The documents are true: generated pages are up to date, the commands in them run."""

import re
import shlex
import subprocess
import sys

import pytest

from fanlight import documentation

from environments import ROOT

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
# What starts MPI programs or takes long is tried by other tests; here only the rest.
QUICK = ("list", "draw", "count", "explain", "info", "rules", "verify", "--version")


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
            found.append(pytest.param(text, id=f"{document.name}-{len(found)}"))
    return found


@pytest.mark.parametrize("text", blocks("sh"))
def test_commands(text, tmp_path, clean):
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.partition(" # ")[0])
        if not words or words[0] != "fanlight":
            continue
        done = subprocess.run([sys.executable, "-m", "fanlight", *(words[1:] if words[1] in QUICK else [words[1], "--help"])],
                              cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        if words[1] not in QUICK:
            for option in (w.partition("=")[0] for w in words[2:] if w.startswith("-") and w != "--"):
                assert option in done.stdout, f"{line}: no option {option}"


# Those of python.md need mpi4py and ranks: tests/mpi/test_python.py.
@pytest.mark.parametrize("text", [b for b in blocks("python") if not b.id.startswith("python.md")])
def test_python(text, tmp_path):
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tutorial(tmp_path, clean):
    text = (ROOT / "docs/own-algorithms.md").read_text()
    command = f"fanlight() {{ {shlex.quote(sys.executable)} -m fanlight \"$@\"; }}; "
    for kind, block in re.findall(r"^```(python|sh)\n(.*?)^```", text, re.M | re.S):
        for one in [block] if kind == "python" else block.splitlines():
            if "fanlight run" in one:
                continue  # tests/mpi/test_saved_plans.py
            done = subprocess.run([sys.executable, "-c", one] if kind == "python" else ["bash", "-c", command + one],
                                  cwd=tmp_path, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, f"{one}\n{done.stdout}{done.stderr}"
            assert "explain" not in one or "file(mine.plan)" in done.stdout, done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links(document):
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target
