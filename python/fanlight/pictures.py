"""Files that a command writes: pictures by the end of their names, and errors that say what to do."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

from .errors import FanlightError


def pyplot(otherwise: str = ""):
    """Without a display."""
    if importlib.util.find_spec("matplotlib") is None:
        raise FanlightError("a picture needs matplotlib", f"pip install 'fanlight[plot]'{otherwise}.")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def check(*paths: Path | None):
    """Before what is to be written there takes long."""
    for path in filter(None, paths):
        if path.is_dir():
            raise FanlightError(f"{path} is a folder", "Name a file in it.")
        if not path.absolute().parent.is_dir():
            raise FanlightError(f"{path}: its folder does not exist", "Make it first.")


@contextmanager
def written(path: Path):
    try:
        yield
    except OSError as e:
        raise FanlightError(f"{path}: {e.strerror}", "Name a file in a folder that exists.") from e


def write(path: Path, writers: dict[str, Callable[[Path], None]]):
    """By the writer of such files: ".png": ..."""
    if path.suffix.lower() not in writers:
        raise FanlightError(f"{path}: neither {' nor '.join(writers)}", "Name a file that ends in one of them.")
    with written(path):
        writers[path.suffix.lower()](path)
