"""The pages of docs/ that come from tables in the code:

    python -m fanlight.documentation docs
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import _core

_NOTE = "<!-- Written by `python -m fanlight.documentation docs`; do not change it by hand. -->\n"


def configuration() -> str:
    lines = ["# Configuration\n", _NOTE,
             "Environment variables configure Fanlight; `fanlight info` shows them with their present values. They are",
             "read when a program makes its first collective call; until then a tool can write them as MPI_T's control",
             "variables ([mpi-t.md](mpi-t.md)). If a value cannot be understood, a message on",
             "standard error names it and the default is used. A wrong rule, an algorithm that does not exist, or one",
             "that a restriction forbids, ends the program instead: ranks that decide differently would wait for each",
             "other.\n",
             "Types: boolean is 0 or 1; bytes may end in K, M or G (powers of 1024).\n",
             "Where the column `ranks` has `same`, all ranks of a communicator must have the same value. They compare",
             "them at its second blocking collective; where they differ, rank 0 prints how, and the communicator stays",
             "with the MPI library on all of its ranks.\n",
             "| variable | type | default | ranks | meaning |", "|---|---|---|---|---|"]
    for s in _core.settings():
        default = f"`{s.default}`" if s.default else ""
        ranks = "same" if s.same else "own"
        lines.append(f"| `{s.variable}` | {s.type} | {default} | {ranks} | {s.help} |".replace("||", "\\|\\|"))
    libraries = _core.mpi_libraries()
    lines += ["", "## Rules of the selection\n",
              "A file of rules (`FANLIGHT_RULES`) has the same grammar as the built-in ones; the first rule that",
              "matches applies. `fanlight explain` shows which one that is. A line is\n",
              "    operation conditions ... -> algorithm parameters ...\n",
              "as in `bcast bytes=..2K ranks=2..8 -> tree degree=3`, or `-> native` for the MPI library's own. (In",
              "`FANLIGHT_ALGORITHM` the same is written `bcast:tree(degree=3)`.)\n",
              "- Conditions: `bytes`, `ranks` and `nodes` are numbers or ranges (`4K`, `..2K`, `1M..`, ends included);",
              "  `oversubscribed`, `single_copy` and `blocking` are yes or no (`blocking=no`: non-blocking and persistent operations);",
              f"  `mpi` is {', '.join(libraries[:-1])} or {libraries[-1]}.",
              "  `bytes` is the length of the vector or of one block; of the v forms the mean block, of gatherv,",
              "  scatterv, alltoallv and neighborhoods, where no rank knows the other ranks' lengths, 0; of two ranks the mean",
              "  of the blocks that go between them.",
              *(f"- `{name}=`: {what}." for name, what in _core.parameters()),
              "- `by-levels` takes the algorithms of the levels of the topology, the innermost first:",
              "  `allreduce -> by-levels(root-reads-all, recursive-doubling)`. The last runs between the outermost",
              "  domains, the last but one on all inner levels without one of their own; where there are fewer levels the inner",
              "  names are dropped. Inside, the operation's own (barrier, allreduce, alltoall) lets all ranks take part on each level.",
              "- On several nodes an algorithm runs between the nodes, one rank of each: `ring` is short for `by-levels(ring)`.",
              "- `lanes=yes`: all ranks of a node take part, not one: rank i of each node moves its part of the data;",
              "  `ring` is short for `multi-lane(ring)`. Where nodes have different numbers of ranks, or the operation has no such",
              "  form, the rule does not match (a forced algorithm runs without lanes).",
              "- `flat=yes`: on several nodes the algorithm runs among all ranks, not among one rank of each node;",
              "  `flat=no`: where the operation has no levels over nodes, the rule does not match.",
              "- `transport=`: shared, message, rma-fence, rma-lock or rma-flush.\n", "```",
              _core.built_in_rules().rstrip(), "```", ""]
    return "\n".join(lines)


def algorithms() -> str:
    lines = ["# The algorithms\n", _NOTE,
             "Each is one row of `src/algorithms/registry.def`; `fanlight draw` shows its message pattern.\n",
             "A rule, or `FANLIGHT_ALGORITHM`, may set the parameters of an algorithm: `bcast:tree(degree=4,piece=8K)`.\n",
             "| parameter | meaning |", "|---|---|", *(f"| `{name}` | {text} |" for name, text in _core.parameters()), ""]
    before = None
    for a in _core.algorithms():
        if a.operation != before:
            lines += ([""] if before else []) + [f"## {a.operation}\n", "| name | needs | parameters | idea | paper |", "|---|---|---|---|---|"]
            before = a.operation
        needs = ", ".join(t for t, so in (("a power of two", a.power_of_two), ("an even number", a.even),
                                           ("a commutative operator", a.commutative)) if so)
        lines.append(f"| `{a.name}` | {needs} | {', '.join(a.parameters)} | {a.description} | {a.paper} |")
    return "\n".join(lines) + "\n"


PAGES = {"configuration.md": configuration, "algorithms.md": algorithms}


def main(folder: str):
    for name, text in PAGES.items():
        (Path(folder) / name).write_text(text())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs")
