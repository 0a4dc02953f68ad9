"""`fanlight simulate --network`: the message executor itself on a simulated network, by SimGrid's SMPI."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import FanlightError
from .libraries import folders
from .units import format_bytes

PROGRAM = "fanlight-simgrid.so"
KINDS = {"torus": 1, "fat-tree": 2, "dragonfly": 4}  # with how many lists of numbers each is described


def program() -> Path:
    for folder in folders():
        if (folder / PROGRAM).exists():
            return folder / PROGRAM
    raise FanlightError(f"--network needs {PROGRAM}, which was not built", "It is built where SimGrid is installed (Debian: libsimgrid-dev).")


def smpirun() -> str:
    if found := shutil.which("smpirun"):
        return found
    raise FanlightError("--network needs SimGrid's smpirun", "Debian: libsimgrid-dev")


def torus(nodes: int) -> str:
    """As near to a cube as the factors of the number allow."""
    best = min(((a, b, nodes // a // b) for a in range(1, round(nodes ** (1 / 3)) + 1) if nodes % a == 0
                for b in range(a, math.isqrt(nodes // a) + 1) if nodes // a % b == 0), key=max)
    return ",".join(str(n) for n in best if n > 1) or "1"


def fat_tree(nodes: int) -> str:
    """Switches of 32 ports: 16 down and 16 up."""
    down = []
    while nodes > 16:
        down.append(16)
        nodes = -(-nodes // 16)
    down.append(nodes)
    return ",".join(map(str, down)) + ";" + ",".join(["1", *["16"] * (len(down) - 1)])


def dragonfly(nodes: int) -> str:
    """As Cray's Aries: four nodes at a router, 16 routers in a chassis, 6 chassis in a group."""
    routers = min(16, -(-nodes // 4))
    chassis = min(6, -(-nodes // (4 * routers)))
    groups = -(-nodes // (4 * routers * chassis))
    return f"{groups},4;{chassis},3;{routers},1;4"


def shape(text: str, nodes: int) -> str:
    """A kind of network, with its shape where that is given: torus, or torus:8,8,8."""
    kind, _, given = text.partition(":")
    if kind not in KINDS or given and not (re.fullmatch(r"[1-9][0-9]*([,;][1-9][0-9]*)*", given) and given.count(";") == KINDS[kind] - 1):
        raise FanlightError(f"--network {text}", "It is torus, fat-tree or dragonfly, also with a shape: torus:8,8,8, "
                            "'fat-tree:16,16;1,16', 'dragonfly:2,4;6,3;16,1;4' (docs/simulate.md).")
    if given:
        lists = [[int(n) for n in part.split(",")] for part in given.split(";")]
        room = math.prod(part[0] for part in lists) if kind == "dragonfly" else math.prod(lists[0])
        if room < nodes:
            raise FanlightError(f"--network {text} has {room} nodes, and {nodes} are needed", "Give a larger shape, or none.")
    return f"{kind} {given or {'torus': torus, 'fat-tree': fat_tree, 'dragonfly': dragonfly}[kind](nodes)}"


def nodes_of(question) -> int:
    return question.nodes or -(-question.ranks // (question.machine.cores or question.ranks))


def settings(machine) -> dict[str, str]:
    """SimGrid's own factors are those of a cluster with Ethernet; here the machine's file says everything."""
    n = machine.network
    overhead = f"0:{n['overhead']:g}:0"
    return {"smpi/privatization": "no", "smpi/simulate-computation": "no", "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1",
            "smpi/coll-selector": "mpich", "network/crosstraffic": "0", "contexts/stack-size": "512",
            "smpi/os": overhead, "smpi/or": overhead, "smpi/send-is-detached-thresh": f"{n['eager']:.0f}"}


def room(operation: str, ranks: int, size: int):
    """All ranks' buffers are in this machine's memory."""
    blocks = ranks if operation in ("allgather", "alltoall", "reduce-scatter-block") else 2
    needed, free = ranks * (blocks + 1) * size, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > free // 2:
        raise FanlightError(f"{operation} of {format_bytes(size)} on {ranks} ranks takes {format_bytes(needed)} of memory",
                            "Give shorter --sizes, or fewer ranks.")


def run(network: str, question, sizes: list[int], algorithm: str, progress) -> list[dict]:
    """Seconds of each way and size, by all ranks together."""
    nodes = nodes_of(question)
    operation = question.operation
    for size in sizes:
        if size % 8:
            raise FanlightError(f"--network: {size} bytes are no multiple of 8", "The data there are numbers of 8 bytes: take 8, 64, 1K …")
        room(operation, question.ranks, size)
    facts = question.machine.network
    # A path has about four cables.
    described = f"{shape(network, nodes)} bandwidth={facts['link']:g} " \
                f"latency={facts['latency'] / 4:g} memory={facts['memory'] or 1e11:g}"
    by_topology: dict[str, list] = {}
    for way in question.ways(algorithm):
        by_topology.setdefault(way[2], []).append(way)
    results: list[dict] = []
    task = progress.add_task("", total=sum(map(len, by_topology.values())) * len(sizes))
    with tempfile.TemporaryDirectory() as folder:
        hosts = Path(folder) / "hosts"
        hosts.write_text("".join(f"{rank * nodes // question.ranks}\n" for rank in range(question.ranks)))
        for topology, ways in by_topology.items():
            texts = [algorithm or w[0].name for w in ways]
            module = str(program())
            command = [smpirun(), "-np", str(question.ranks), "-hostfile", str(hosts), "-platform", module, "--log=root.thres:warning",
                       *(f"--cfg={name}:{value}" for name, value in settings(question.machine).items()), module,
                       operation, str(question.root), topology or "-", ",".join(map(str, sizes)), *texts]
            progress.update(task, description=f"{ways[0][0].name} {ways[0][3]}")
            with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, cwd=folder, env={**os.environ, "SIMULATED_NETWORK": described},
                                                                        stdout=subprocess.PIPE, stderr=said, text=True) as child:
                try:
                    for line in child.stdout:
                        if not line.startswith("{"):
                            continue
                        found = json.loads(line)
                        way = ways[texts.index(found["algorithm"])]
                        if found.get("wrong"):
                            raise FanlightError(f"{way[0].name} of {format_bytes(found['size'])} gave a wrong result on the simulated network")
                        results.append({"algorithm": way[0].name, "radices": way[3], "topology": topology, "size": found["size"],
                                        "seconds": found["seconds"]})
                        progress.update(task, description=f"{way[0].name} {way[3]} {format_bytes(found['size'])}")
                        progress.advance(task)
                    code = child.wait()
                finally:
                    child.terminate()  # smpirun hands it on; none by SIGKILL
                if code != 0:
                    said.seek(0)
                    raise FanlightError(f"{', '.join(texts)} could not be run under SimGrid", said.read().strip()[-400:])
    return results

