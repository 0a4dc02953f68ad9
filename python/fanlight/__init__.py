"""Fanlight: faster collective operations for MPI programs.

Beside mpi4py: collectives for its communicators and NumPy arrays (docs/python.md).  Without MPI: which algorithms
there are, what their schedules look like, whether they are right, what they cost and which one is chosen when.
"""

from pathlib import Path

__version__ = "0.1.0"

_core_names = frozenset({
    "Problem", "algorithms", "operations", "parameters", "settings", "machines", "Machine", "choose", "built_in_rules", "usable_cores",
})

# Of built-in algorithms and of those in Python alike.
_own_names = {name: "own_algorithms" for name in ("algorithm", "verify", "count", "cost", "simulate", "draw", "schedule", "schedules")}
_own_names["Schedule"] = "builder"

# What needs mpi4py, which is imported with the first of them.
_mpi_names = {name: "collectives" for name in (
    "allgather", "allgatherv_any", "allreduce", "alltoall", "barrier", "bcast", "check_arguments", "exscan", "explain", "gather",
    "iallgather", "iallreduce", "ialltoall", "ibarrier", "ibcast", "iexscan", "igather", "ireduce",
    "ireduce_scatter_block", "iscan", "iscatter", "prepare", "reduce", "reduce_scatter_block", "report", "scan", "scatter", "set_algorithm")}
_mpi_names.update(shared_array="shared", global_array="distributed")

__all__ = sorted({*_core_names, *_own_names})

# In a checkout the compiled modules lie in its build tree.
if (_built := Path(__file__).resolve().parents[2] / "build" / "release" / "python").is_dir():
    __path__.append(str(_built))


def __getattr__(name):
    # The compiled module is loaded when it is needed: `fanlight run` and `info` work without.
    if name in _core_names:
        from . import _core

        return getattr(_core, name)
    if module := _own_names.get(name) or _mpi_names.get(name):
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
        return found
    raise AttributeError(f"module 'fanlight' has no attribute {name!r}")
