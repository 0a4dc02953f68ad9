"""Every algorithm over messages and windows, and every operation composed over nodes: on one node,
on one that is taken for several (FANLIGHT_TOPOLOGY), and on hosts of their own (tests/cluster)."""

import collections
import dataclasses
import functools
import itertools
import pathlib
import re
import subprocess

import pytest

import running
from running import IMPI, MPICH, OPENMPI, repeated, run

SCANS = {"scan", "exscan"}
COMPOSED = {"barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "gather", "scatter",
            "reduce_scatter", "reduce_scatter_block"} | SCANS
VECTORS = {"bcast", "reduce", "allreduce"}
LANES = {"allgather", "allgatherv", "alltoall", "reduce_scatter", "reduce_scatter_block"}
BLIND = {"gatherv", "scatterv"}  # whose lengths the ranks do not know beforehand
# Over nothing but shared memory.
IN_MEMORY = {"alltoallv", "neighbor_allgather", "neighbor_alltoall", "neighbor_alltoallv"}


@functools.cache
def by_operation():
    table = collections.defaultdict(list)
    for a in running.algorithms():
        if a.operation in IN_MEMORY:
            continue
        table[a.operation].append(a)
    return table


CLASSES = max(len(a) for a in by_operation().values())


def rules(folder, extra="", of=None):
    """Algorithm number c of each operation takes class c of the program `every_algorithm`."""
    lines = []
    for operation in of or by_operation():
        for c, a in enumerate(by_operation()[operation]):
            if operation in BLIND | {"barrier"}:
                lines.append(f"{operation} -> {a.name} {extra}")
                continue
            for first, length in ((1000 * (c + 1), 1000), (200000 + 10000 * c, 10000)):
                lines.append(f"{operation} bytes={first}..{first + length - 1} -> {a.name} {extra}")
    file = folder / "rules"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


def every_algorithm(mpi, ranks, fanlight, operations, nodes=0, composed=COMPOSED):
    """`nodes`: between which the algorithms run, where their operation is composed."""
    result = run(mpi, ranks, f"every_algorithm {CLASSES}", fanlight, timeout=90).must_be_ok()
    assert result.report, str(result)
    for operation in operations:
        among = nodes if operation in composed and nodes else ranks
        wanted = {a.name for a in by_operation()[operation]
                  if ("power_of_two" not in a.restrictions or among & (among - 1) == 0)
                  and ("even" not in a.restrictions or among % 2 == 0)}
        if operation in BLIND | {"barrier"}:
            wanted = {by_operation()[operation][0].name}
        ran = result.report.algorithms(operation)
        assert ran >= wanted, f"{operation}: {wanted - ran}\n{result}"
    return result


TRANSPORTS = ["message", "rma-flush", "rma-fence", "rma-lock"]


# With more ranks than cores locks and fences take long.
SHORT = {(MPICH, "message", 2), (MPICH, "message", 5), (OPENMPI, "message", 3),
         *((MPICH, transport, 3) for transport in TRANSPORTS[1:]), *((OPENMPI, transport, 2) for transport in TRANSPORTS[1:])}


@pytest.mark.parametrize("mpi,transport,ranks", [case if case in SHORT else repeated(*case) for case in
                                                 itertools.product((MPICH, OPENMPI), TRANSPORTS, (2, 3, 4, 5))], ids=str)
def test_in_one_node(mpi, transport, ranks, tmp_path, fanlight_only):
    operations = set(by_operation()) - (BLIND if transport != "message" else set())
    every_algorithm(mpi, ranks, {"TRANSPORT": transport, "RULES": rules(tmp_path)}, operations)


@pytest.mark.parametrize("nodes,ranks", [("2x*", 4), ("2x*:cyclic", 5), ("3x*", 5), ("3x*:cyclic", 3)])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_composed(mpi, nodes, ranks, tmp_path, fanlight_only):
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path), "VERBOSE": 1}
    # Where a node's ranks do not follow each other a scan is not composed.
    composed = COMPOSED - (SCANS if nodes.endswith("cyclic") and ranks > int(nodes[0]) else set())
    result = every_algorithm(mpi, ranks, settings, set(by_operation()), int(nodes[0]), composed)
    assert served(result, "between the nodes") == composed, str(result)


@pytest.mark.parametrize("transport,nodes", [("rma-flush", "2x*"), ("rma-fence", "2x*:cyclic"), ("rma-lock", "2x*:cyclic")])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_composed_over_windows(mpi, transport, nodes, tmp_path, fanlight_only):
    every_algorithm(mpi, 3, {"TOPOLOGY": nodes, "RULES": rules(tmp_path, f"transport={transport}")}, COMPOSED, 2)


def served(result, how):
    """The operations that FANLIGHT_VERBOSE says run `how`."""
    return {o.replace("-", "_") for o in re.findall(rf"^fanlight: ([\w-]+) of \d+ bytes: \S+ {how}", result.err, re.M)}


def in_lanes(result):
    return served(result, "in lanes")


@pytest.mark.parametrize("mpi,nodes,ranks", [(MPICH, "2x*", 4), (OPENMPI, "2x*:cyclic", 4)], ids=str)
def test_in_lanes(mpi, nodes, ranks, tmp_path, fanlight_only):
    # Alltoall's blocks for a node must be neighbours.
    lanes = LANES - ({"alltoall"} if nodes.endswith("cyclic") else set())
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path, "lanes=yes", LANES), "VERBOSE": 1}
    result = every_algorithm(mpi, ranks, settings, lanes, 2, LANES)
    assert in_lanes(result) == lanes, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_no_lanes_where_nodes_differ(mpi, tmp_path, fanlight_only):
    file = pathlib.Path(rules(tmp_path, "lanes=yes", LANES))
    file.write_text("".join(f"{o} -> multi-lane lanes=yes\n" for o in VECTORS) + file.read_text())
    result = run(mpi, 3, "every_algorithm 1", {"TOPOLOGY": "2x*", "RULES": file, "VERBOSE": 1})
    assert in_lanes(result.must_be_ok()) == set(), str(result)
    assert not any("multi-lane" in result.report.algorithms(o) for o in VECTORS), str(result)
    assert result.report.calls("bcast") and not result.report.calls("alltoall"), str(result)


@pytest.mark.parametrize("how", ["non-blocking", "persistent"])
@pytest.mark.parametrize("mpi,settings,reason", [
    (MPICH, {"TOPOLOGY": "2x*:cyclic"}, "a communicator that spans several nodes"),
    (OPENMPI, {"TRANSPORT": "message"}, "FANLIGHT_TRANSPORT does not serve it")], ids=str)
def test_requests_are_left_to_the_library(mpi, settings, reason, how, fanlight_only):
    result = run(mpi, 3, "every_algorithm 1", settings, preloads=(mpi.program("by_requests.so"), None),
                 settings={"BY_REQUESTS": how}).must_be_ok()
    for operation in by_operation():
        name = "i" + operation if how == "non-blocking" else operation + "_init"
        assert not result.report.calls(name), str(result)
        assert {r["reason"] for r in result.report.rows(name, "mpi")} & {reason, "lengths that only the root knows, non-blocking"}, str(result)


def by_levels(mpi, ranks, topology):
    operations = {"barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "gather", "scatter",
                  "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "alltoall"}
    result = run(mpi, ranks, "every_algorithm 1", {"TOPOLOGY": topology, "VERBOSE": 1,
                                                   "ALGORITHM": ",".join(f"{o}:by-levels" for o in operations)}).must_be_ok()
    for operation in operations:
        assert result.report.algorithms(operation) == {"by-levels"}, str(result)
    return result, operations


@pytest.mark.parametrize("topology", ["1x2x2", "1x2x2:0,2,1,3", "1x(3+1)"])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_levels_in_one_node(mpi, topology, fanlight_only):
    said = topology.removeprefix("1x").strip("()")
    assert f"4 ranks in domains {said}\n" in by_levels(mpi, 4, topology)[0].err


# Cells and staging inside the nodes, messages between them.
@pytest.mark.parametrize("mpi,ranks,topology", [(MPICH, 4, "2x2"), (OPENMPI, 4, "2x1x2:cyclic"), (IMPI, 6, "1+2+3"), (MPICH, 5, "1+2x2")], ids=str)
def test_levels_on_nodes(mpi, ranks, topology, fanlight_only):
    result, operations = by_levels(mpi, ranks, topology)
    assert served(result, "in shared memory and over message") == operations, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_a_topology_of_other_ranks(mpi, fanlight_only):
    result = run(mpi, 3, "every_algorithm 1", {"TOPOLOGY": "2x2"})
    assert result.code != 0 and "FANLIGHT_TOPOLOGY: topology '2x2': it has 4 places for 3 ranks" in result.err, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_flat(mpi, tmp_path, fanlight_only):
    every_algorithm(mpi, 3, {"TOPOLOGY": "2x*", "RULES": rules(tmp_path, "flat=yes")}, set(by_operation()))


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_between_nodes_only_if_allowed(mpi, fanlight_only):
    result = run(mpi, 3, "every_algorithm 1", {"TOPOLOGY": "2x*", "TRANSPORT": "shared"}).must_be_ok()
    assert not result.report.calls(), str(result)
    assert "FANLIGHT_TRANSPORT does not serve it" in result.report.reasons(), str(result)


@dataclasses.dataclass(frozen=True)
class OnHosts(running.Mpi):
    """An MPI whose ranks are on two hosts that are namespaces of this machine."""

    cyclic: bool = False

    @property
    def environment(self):
        if self.name == "openmpi":
            return super().environment | {"OMPI_MCA_mpi_yield_when_idle": "1"}
        if self.name == "mpich":
            return super().environment
        lib = f"{self.root}/lib"
        return {"LD_LIBRARY_PATH": lib, "FI_PROVIDER_PATH": lib, "FI_PROVIDER": "tcp", "I_MPI_WAIT_MODE": "1",
                "I_MPI_PIN": "0"}

    def launcher(self, ranks, options=()):
        return [str(running.ROOT / "tests/cluster"), "--mpi", self.name, "--root", str(self.root),
                *(["--cyclic"] if self.cyclic else []), *options, "-n", str(ranks)]


@pytest.fixture(scope="session")
def hosts_allowed():
    tried = subprocess.run([running.ROOT / "tests/cluster", "--root", "/nowhere", "-n", "1", "true"],
                           capture_output=True, text=True)
    if tried.returncode == 77:
        pytest.skip(tried.stderr.strip())


@pytest.mark.parametrize("cyclic", [False, True], ids=["blocks", "cyclic"])
@pytest.mark.parametrize("mpi,ranks", [(MPICH, 4), (OPENMPI, 3), (IMPI, 4)], ids=str)
def test_on_two_hosts(mpi, ranks, cyclic, tmp_path, fanlight_only, hosts_allowed):
    hosts = OnHosts(mpi.name, mpi.root, mpi.abi, cyclic)
    # All hosts share the cores of this machine.
    settings = {"CORES": 1, "RULES": rules(tmp_path)}
    every_algorithm(hosts, ranks, settings, set(by_operation()), 2)


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_built_in_rules_on_two_hosts(mpi, fanlight_only, hosts_allowed):
    hosts = OnHosts(mpi.name, mpi.root, mpi.abi)
    result = run(hosts, 4, "every_algorithm 1", {"CORES": 1, "VERBOSE": 1}, timeout=90).must_be_ok()
    # They are for long vectors, and 200 KB are among the lengths.
    assert in_lanes(result) >= {"allgather", "reduce_scatter", "reduce_scatter_block"}, str(result)
    assert all("multi-lane" in result.report.algorithms(o) for o in ("reduce", "allreduce")), str(result)
    assert all(result.report.calls(operation) for operation in COMPOSED), str(result)
