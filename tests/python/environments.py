"""The virtual environments with one MPI each, which `make setup` has made."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def environment_of(kind):
    python = ROOT / ".venv" / kind / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no .venv/{kind}: run make setup")
    return python.parent.parent
