"""Fanlight: faster collective operations for MPI programs.

The functions here are the core that has no MPI in it: which algorithms there are, what their
schedules look like, whether they are right, what they cost and which one is chosen when.
"""

__version__ = "0.1.0"

_core_names = frozenset({
    "Problem", "algorithms", "operations", "parameters", "settings", "schedule", "schedules", "verify", "count", "cost",
    "draw", "machines", "Machine", "simulate", "choose", "built_in_rules", "usable_cores",
})

__all__ = sorted(_core_names)


def __getattr__(name):
    # The compiled module is loaded when it is needed: `fanlight run` and `info` work without.
    if name in _core_names:
        from . import _core

        return getattr(_core, name)
    raise AttributeError(f"module 'fanlight' has no attribute {name!r}")
