"""The machine at hand for the cost model, from its limits as `fanlight bench --limits` measures them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from .bench_limits import Limits
from .errors import FanlightError
from .machine import contents, processor
from .simulation import this_machine

_CPUS = Path("/sys/devices/system/cpu")


def _caches(cpu: int) -> dict[int, tuple[str, str]]:
    """Of each level the CPUs that share it, and its size."""
    found = {}
    for index in sorted((_CPUS / f"cpu{cpu}" / "cache").glob("index*")):
        if contents(index / "type") != "Instruction":
            found[int(contents(index / "level") or 0)] = (contents(index / "shared_cpu_list"), contents(index / "size"))
    return found


def structure(cpus: list[int]) -> tuple[int, int, int, str, str]:
    """Sockets, L3s in one, cores in one of these, and the sizes of an L3 and of a core's own cache."""
    caches = {c: _caches(c) for c in cpus}
    packages = {c: contents(_CPUS / f"cpu{c}" / "topology" / "physical_package_id") for c in cpus}
    l3 = {c: (packages[c], caches[c].get(3, ("", ""))[0]) for c in cpus}
    of_package = Counter(package for package, _ in set(l3.values()))
    sizes = caches[cpus[0]]
    return (len(of_package), max(of_package.values()), max(Counter(l3.values()).values()),
            sizes.get(3, ("", ""))[1], sizes.get(2, ("", ""))[1])


STEP = 20e-9  # as of rome2x64, where none was measured
NETWORK = "latency=1.5us overhead=0.3us link=12G eager=8K"  # where none was measured


def network(limits: Limits) -> str:
    """LogGP of the link between two nodes; empty: none was measured."""
    sizes = limits.sizes("link_one_way")
    if not sizes:
        return ""
    one_way = {size: limits.times["link_one_way", size] for size in sizes}
    longest, shortest = sizes[-1], sizes[0]
    rate = longest / limits.times["link_stream", longest]  # bytes in a microsecond
    overhead = min(limits.times["link_busy", shortest], one_way[shortest] / 2)
    latency = one_way[shortest] - 2 * overhead
    # A message that waits for its receiver is there a way later.
    waits = [size for size in sizes if one_way[size] - one_way[shortest] - size / rate > 0.7 * one_way[shortest]]
    eager = next((size // 2 for size in waits if all(larger in waits for larger in sizes if larger > size)), longest)
    return f"latency={latency:.4g}us overhead={overhead:.3g}us link={rate * 1e-3:.4g}G eager={eager}"


def text(lines: list[dict], cpus: list[int], step: float = STEP, begin: float = 0) -> str:
    """`step`, `begin`: seconds, what a step takes, and a call before its first one.  Raises ValueError where the limits
    are not all there."""
    limits = Limits(lines)
    round_trip = limits.latency("round_trip")
    if round_trip is None or not limits.sizes("copy_both") or not limits.sizes("shared_copy"):
        raise ValueError("without the time of a cache line and of copies there is no machine to write down")
    at = 65536  # in the caches, and long enough
    copy = 2 * 1e-3 * at / limits.moving(at, "copy_both")
    taken = 1e-3 * at / limits.moving(at, "shared_copy")
    longest = limits.sizes("copy_both")[-1]
    beyond = 2 * 1e-3 * longest / limits.moving(longest, "copy_both")
    ranks = f"step={step * 1e9:.3g}ns reader=12ns gather=4" + (f" begin={begin * 1e9:.0f}ns" if begin else "")
    name = "single_copy_both" if limits.sizes("single_copy_both") else "single_copy"
    if sizes := limits.sizes(name):
        rate = 1e-3 * at / limits.moving(at, name)
        call = max(0.0, limits.times[name, sizes[0]] - 1e-3 * sizes[0] / rate)
        ranks += f" call={call * 1e3:.0f}ns copied={rate:.3g}G"
    sockets, l3s, cores, l3_size, own_size = structure(cpus)
    hop = f"hop={round_trip / 2 * 1e3:.0f}ns"
    with_size = lambda size: f" size={size}" if size else ""  # noqa: E731
    unmeasured = "step, reader and gather" if step == STEP else "reader and gather"
    out = [f"# {processor()}, as `fanlight bench --limits` measured it between two of its cores.",
           f"# One hop stands for all; memory, links between sockets and the network are not measured; {unmeasured} are as of rome2x64.",
           f"ranks   {ranks}", f"node    *  {network(limits) or NETWORK}"]
    if sockets > 1:
        out.append(f"socket  {sockets}  {hop}")
    if l3s > 1 or l3_size:
        out.append(f"l3      {l3s}  {hop}{with_size(l3_size)}")
    out.append(f"core    {cores}  {hop} bandwidth={copy:.3g}G link={taken:.3g}G"
               + (f" memory={beyond:.3g}G" if beyond < copy else "") + with_size(own_size))
    return "\n".join(out) + "\n"


def save(lines: list[dict], messages):
    """Where `--machine this` finds it."""
    try:
        path = this_machine()
        contents = text(lines, sorted(os.sched_getaffinity(0)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(contents)
        messages.print(f"written: {path}, for --machine this", markup=False, highlight=False)
    except (OSError, ValueError, LookupError, FanlightError) as e:
        messages.print(f"no machine for --machine this: {e}", markup=False, highlight=False)


def numa_domains() -> list[set[int]]:
    """The CPUs of each; domains of memory alone are left out."""
    domains = []
    for folder in Path("/sys/devices/system/node").glob("node[0-9]*"):
        cpus: set[int] = set()
        for part in filter(None, contents(folder / "cpulist").split(",")):
            first, _, last = part.partition("-")
            cpus |= set(range(int(first), int(last or first) + 1))
        if cpus:
            domains.append(cpus)
    return domains
