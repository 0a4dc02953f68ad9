"""`fanlight explain`: which algorithm serves a call here, and why."""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console

from . import simulation, tune_rules
from .errors import FanlightError
from .tables import table
from .units import format_bytes


def _choose(core, operation: str, length: int, situation: dict, tuned: str = "") -> dict:
    return core.choose(operation, length, tuned=tuned, forced=os.environ.get("FANLIGHT_ALGORITHM", ""), rules=os.environ.get("FANLIGHT_RULES", ""),
                       **situation)


def answers(core, operation: str, length: int, situation: dict) -> tuple[dict[Path, dict], list[str]]:
    """What the measured rules here say, a file for each version of the MPI library and each way to bind ranks; and why
    some say nothing."""
    found, left_out = {}, []
    # src/collective/tuned.cpp leaves these out as well.
    of_no_measurement = core.is_reduction(operation) and os.environ.get("FANLIGHT_ROUNDING") == "nodes"
    for file in [] if of_no_measurement else tune_rules.files_here(core, situation["mpi"]):
        try:
            found[file] = _choose(core, operation, length, situation, str(file))
        except ValueError as e:
            left_out.append(f"{e} (programs leave it out, too)")
    return found, left_out


def _text(c: dict) -> str:
    parameters = ", ".join(value if p == "level_algorithms" else f"{p}={value}" for p, values in c["parameters"].items()
                           for value in (values if isinstance(values, list) else [values]) if value)
    return c["algorithm"] + (f" ({parameters})" if parameters else "") + (", in lanes" if c["lanes"] else "")


def _because(c: dict) -> str:
    return c["rule"].partition("  # ")[0]


def show(core, operation: str, length: int, situation: dict, cores: int, machine: str, console: Console):
    ranks, nodes = situation["ranks"], situation["nodes"]
    try:
        known = core.length_is_known(operation, ranks)
        c = _choose(core, operation, length, situation)
    except ValueError as e:
        raise FanlightError(str(e), "Look at FANLIGHT_ALGORITHM and FANLIGHT_RULES.") from e
    by_file, left_out = answers(core, operation, length, situation)
    first = next(iter(by_file), None)
    c = by_file.get(first, c)
    t = table("", "", title=None, show_header=False)
    t.add_row("operation", f"{operation}, " + (format_bytes(length) if known else "of any length, since no rank knows those of others")
              + f", {ranks} ranks on {cores} cores"
              + (f" of each of {nodes} nodes" if nodes > 1 else "") + (" (oversubscribed)" if situation["oversubscribed"] else ""))
    t.add_row("algorithm", _text(c))
    t.add_row("because", _because(c))
    if said := tune_rules.measurement_of(c["rule"], length):
        t.add_row("measured", said)
    # Which file a program finds follows from its MPI library and from how its ranks are bound.
    if len(by_file) > 1:
        for file, of in by_file.items():
            t.add_row(f"with {tune_rules.measured_with(file)}", f"{_text(of)}, by {_because(of)}")
    elif first and str(first) in c["rule"]:
        t.add_row("", f"with {tune_rules.measured_with(first)} alone; otherwise the built-in rules decide")
    for why in left_out:
        t.add_row("left out", why)
    if c["passed_over"]:
        t.add_row("passed over", c["passed_over"])
    if (guard := os.environ.get("FANLIGHT_GUARD", "off")) != "off" and c["algorithm"] != "native" and not c["forced"]:
        t.add_row("guard", "compares it with the MPI library's own while the program runs"
                  + ("" if guard == "on" else f" (FANLIGHT_GUARD={guard}: only for the report)"))
    if c["algorithm"] != "native":
        a = core.algorithm(operation, c["algorithm"])
        t.add_row("its idea", a.description + (f" [{a.paper}]" if a.paper else ""))
    if machine or simulation.is_measured():
        for row in simulation.opinion(machine or "this", operation, length, ranks, nodes, c):
            t.add_row(*row)
    console.print(t)
