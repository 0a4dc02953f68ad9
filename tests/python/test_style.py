"""The Python sources keep to pyproject.toml's [tool.ruff], the C++ sources, as far as it can say so, to .clang-format."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_ruff():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", "--output-format", "concise", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_clang_format():
    """It would have less than one line in fifty otherwise: what it cannot express (see .clang-format) is about one in a hundred."""
    sources = [p for suffix in ("cpp", "h") for p in (ROOT / "src").rglob(f"*.{suffix}")]
    lines = sum(p.read_text().count("\n") for p in sources)
    done = subprocess.run([Path(sys.executable).with_name("clang-format"), "--style=file", "--dry-run", *sources], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    others = [line for line in done.stderr.splitlines() if "clang-format-violations" in line]
    assert lines > 10_000 and len(others) * 50 < lines, "\n".join(others)


@pytest.mark.parametrize("module", ["builder", "collectives", "distributed", "own_algorithms", "shared"])
def test_what_programs_call_is_typed_and_described(module):
    """Every public function and method: its arguments, what it returns, and a text."""
    tree = ast.parse((ROOT / f"python/fanlight/{module}.py").read_text())
    bodies = [tree, *(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name[0] != "_")]
    lacking = []
    for f in (n for body in bodies for n in body.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"):
        given = [*f.args.args, *f.args.kwonlyargs, *filter(None, (f.args.vararg, f.args.kwarg))]
        lacking += [f"{f.name}: {a.arg}" for a in given if not a.annotation and a.arg != "self"]
        lacking += [f"{f.name}: what it returns"] if not f.returns else []
        lacking += [f"{f.name}: a text"] if not ast.get_docstring(f) else []
    assert lacking == []
