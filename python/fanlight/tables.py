"""One look for all tables and progress bars."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

# What is copied from a table into a command stays in one piece.
_NAMES = {"operation", "algorithm", "variable", "MPI", "key"}


def table(*columns: str, title: str | None = None, numbers: tuple[str, ...] = (), **options) -> Table:
    t = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", **options)
    for c in columns:
        t.add_column(c, justify="right" if c in numbers else "left", overflow="fold", no_wrap=c in _NAMES)
    return t


def progress_bar(console: Console | None = None, left: bool = False) -> Progress:
    """`left`: with the time that has passed and that is left."""
    times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()) if left else ()
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *times, console=console or Console(stderr=True), transient=True)
