"""One look for all tables."""

from __future__ import annotations

from rich import box
from rich.table import Table

# What is copied from a table into a command stays in one piece.
_NAMES = {"operation", "algorithm", "variable", "MPI", "key"}


def table(*columns: str, title: str | None = None, numbers: tuple[str, ...] = (), **options) -> Table:
    t = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", **options)
    for c in columns:
        t.add_column(c, justify="right" if c in numbers else "left", overflow="fold", no_wrap=c in _NAMES)
    return t
