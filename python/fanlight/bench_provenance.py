"""Where a benchmark's figures come from: the machine, the versions, the settings."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

from . import __version__, machine


def provenance(contenders, cores: int) -> dict:
    return {
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": machine.processor(),
        "cores": cores,
        "kernel": platform.release(),
        "system": platform.platform(),
        "fanlight": __version__,
        "commit": _commit(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "mpis": {c.key: {"name": c.label, "version": c.mpi.version()} for c in contenders},
        "environment": {k: v for k, v in os.environ.items()
                        if k.startswith(("FANLIGHT_", "MPIR_CVAR_", "OMPI_MCA_", "I_MPI_"))
                        and not k.endswith(("_ROOT", "_DIR"))},
    }


def note_versions(record: dict):
    """What the libraries themselves say that they are."""
    for run in record["runs"]:
        about = record["provenance"]["mpis"].get(run["mpi"])
        if about is not None:
            about["says"] = run["library"]
            if found := re.search(r"\d+\.\d+(\.\d+)*", run["library"]):
                about["version"] = found[0]


def _commit() -> str:
    tree = Path(__file__).resolve().parent.parent.parent
    if not (tree / ".git").exists():
        return ""

    def git(*words: str) -> str:
        said = subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True)
        return said.stdout.strip() if said.returncode == 0 else ""

    commit = git("rev-parse", "HEAD")
    return commit + (" with changes" if commit and git("status", "--porcelain") else "")
