"""The table of signatures: the functions of MPI that the preload stands in for (signatures.txt)."""

import re
import sys
from dataclasses import dataclass

KINDS = ("served", "started", "initialized", "starts", "counted", "tested", "polled", "waited", "freed", "kept", "comm_gone", "type_gone", "window_made",
         "window_allocated", "window_gone", "block_made", "block_gone", "group_made", "cart_made", "graph_made", "dist_graph_made", "finalize")
HANDLES = ("MPI_Comm", "MPI_Group", "MPI_Datatype", "MPI_Op", "MPI_Info", "MPI_Request", "MPI_Win")


@dataclass
class Parameter:
    type: str  # "const void *", "COUNT", ...
    name: str
    array: bool

    def c(self, large):
        text = self.type.replace("COUNT", "MPI_Count" if large else "int")
        text = text.replace("DISPL", "MPI_Aint" if large else "int")
        space = "" if text.endswith("*") else " "
        return f"{text}{space}{self.name}{'[]' if self.array else ''}"


@dataclass
class Function:
    kind: str
    name: str
    parameters: list
    since: tuple = ()  # (4, 1): of MPI-4.1

    @property
    def operation(self):
        return self.name.lower()

    @property
    def blocking(self):
        """The operation that a non-blocking or persistent one starts: of Ibcast and Bcast_init, bcast."""
        if self.kind == "initialized":
            return self.operation.removesuffix("_init")
        return self.operation[1:] if self.kind == "started" else self.operation

    @property
    def is_collective(self):
        return self.kind in ("served", "started", "initialized", "counted")

    @property
    def neighbors(self):
        return self.blocking.startswith("neighbor_")

    @property
    def has_large(self):
        return any("COUNT" in p.type or "DISPL" in p.type for p in self.parameters)

    def has(self, name):
        return any(p.name == name for p in self.parameters)


def read(path):
    functions = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            match = re.fullmatch(rf"({'|'.join(KINDS)})\s+(\w+)\((.*)\)(?: since (\d)\.(\d))?", line)
            if not match:
                sys.exit(f"{path}:{number}: not of the form 'kind Name(parameters)'")
            parameters = []
            for text in filter(None, match[3].split(", ")):
                one = re.fullmatch(r"(.*?)(\w+)(\[\])?", text)
                parameters.append(Parameter(one[1].strip(), one[2], bool(one[3])))
            functions.append(Function(match[1], match[2], parameters, (match[4], match[5]) if match[4] else ()))
    return functions
