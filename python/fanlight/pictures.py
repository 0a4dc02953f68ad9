"""Files that a command writes: pictures by the end of their names, and errors that say what to do."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterable

from .errors import FanlightError


def pyplot(otherwise: str = ""):
    """Without a display."""
    if importlib.util.find_spec("matplotlib") is None:
        raise FanlightError("a picture needs matplotlib", f"pip install 'fanlight[plot]'{otherwise}.")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def check_ending(path: Path, endings: Iterable[str]):
    if path.suffix.lower() not in endings:
        raise FanlightError(f"{path}: neither {' nor '.join(endings)}", "Name a file that ends in one of them.")


def check(*paths: Path | None):
    """Before what is to be written there takes long."""
    for path in filter(None, paths):
        if path.is_dir():
            raise FanlightError(f"{path} is a folder", "Name a file in it.")
        if not path.absolute().parent.is_dir():
            raise FanlightError(f"{path}: its folder does not exist", "Make it first.")


def check_plot(path: Path):
    """By matplotlib, which takes a name without an ending as one of a .png."""
    pyplot()
    from matplotlib.backend_bases import FigureCanvasBase

    check(path)
    if path.suffix:
        check_ending(path, [f".{ending}" for ending in FigureCanvasBase.get_supported_filetypes()])


@contextmanager
def written(path: Path):
    try:
        yield
    except OSError as e:
        raise FanlightError(f"{path}: {e.strerror}", "Name a file in a folder that exists.") from e


def write(path: Path, writers: dict[str, Callable[[Path], None]]):
    """By the writer of such files: ".png": ..."""
    check_ending(path, writers)
    with written(path):
        writers[path.suffix.lower()](path)
