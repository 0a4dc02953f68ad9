"""The Python sources keep to pyproject.toml's [tool.ruff]."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_ruff():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", "--output-format", "concise", ROOT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
