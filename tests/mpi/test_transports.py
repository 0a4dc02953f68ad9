"""Every algorithm over messages and windows, and every operation through the levels of nodes: on one node,
on one that is taken for several (FANLIGHT_TOPOLOGY), and on hosts of their own (tests/cluster)."""

import collections
import dataclasses
import functools
import itertools
import re

import pytest

import running
from running import IMPI, MPICH, OPENMPI, repeated, run

SCANS = {"scan", "exscan"}
WITH_LEVELS = {"barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "gather", "scatter",
            "reduce_scatter", "reduce_scatter_block"} | SCANS
LANES = {"bcast", "reduce", "allreduce", "allgather", "allgatherv", "alltoall", "reduce_scatter", "reduce_scatter_block"}
BLIND = {"gatherv", "scatterv"}  # whose lengths the ranks do not know beforehand
# Not over windows, nor over messages inside a node.
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

# Which operation runs between the nodes, where it is another one.
BETWEEN = {"allgather": "allgatherv", "reduce_scatter_block": "reduce_scatter", "scan": "exscan"}


def on_levels(algorithm, how):
    """What an algorithm that is named for several nodes stands for."""
    operation = algorithm.operation
    if "levels" in algorithm.restrictions:
        return algorithm.name
    row = how if (operation, how) in {(a.operation, a.name) for a in by_operation()[operation]} else "by-levels"
    named = any(a.name == algorithm.name for a in by_operation()[BETWEEN.get(operation, operation)])
    return f"{row}({algorithm.name})" if named else row


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


def wanted(operation, among, how=None):
    """What `rules` names of it that so many ranks can run, between nodes `how`."""
    chosen = [a for a in by_operation()[operation]
              if ("power_of_two" not in a.restrictions or among & (among - 1) == 0)
              and ("even" not in a.restrictions or among % 2 == 0)]
    if operation in BLIND | {"barrier"}:
        chosen = by_operation()[operation][:1]
    return {on_levels(a, how) if how else a.name for a in chosen}


def every_algorithm(mpi, ranks, fanlight, operations, nodes=0, with_levels=WITH_LEVELS, how="by-levels"):
    """`nodes`: between which the algorithms run, where their operation has levels."""
    result = run(mpi, ranks, f"every_algorithm {CLASSES}", fanlight, timeout=90).must_be_ok()
    assert result.report, str(result)
    for operation in operations:
        levels = operation in with_levels and nodes
        missing = wanted(operation, nodes if levels else ranks, how if levels else None) - result.report.algorithms(operation)
        assert not missing, f"{operation}: {missing}\n{result}"
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


def with_levels(nodes, ranks):
    # Where a node's ranks do not follow each other a scan has no levels.
    return WITH_LEVELS - (SCANS if nodes.endswith("cyclic") and ranks > int(nodes[0]) else set())


@pytest.mark.parametrize("nodes,ranks", [("2x*", 4), ("2x*:cyclic", 5), ("3x*", 5), ("3x*:cyclic", 3)])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_between_nodes(mpi, nodes, ranks, tmp_path, fanlight_only):
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path), "VERBOSE": 1}
    result = every_algorithm(mpi, ranks, settings, set(by_operation()), int(nodes[0]), with_levels(nodes, ranks))
    assert served(result, "in shared memory and over message") == set(by_operation()) - BLIND, str(result)


@pytest.mark.parametrize("transport,nodes,ranks", [("rma-flush", "2x*", 3), ("rma-fence", "2x*:cyclic", 3), ("rma-lock", "2x*:cyclic", 3),
                                                   repeated("rma-flush", "3x*", 5)])
@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_between_nodes_over_windows(mpi, transport, nodes, ranks, tmp_path, fanlight_only):
    operations = with_levels(nodes, ranks)
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path, f"transport={transport}"), "VERBOSE": 1}
    result = every_algorithm(mpi, ranks, settings, operations, int(nodes[0]), operations)
    how = f"over {transport}" if transport == "rma-fence" else f"in shared memory and over {transport}"
    assert served(result, how) >= operations, str(result)


@pytest.mark.parametrize("mpi", [OPENMPI], ids=str)
def test_what_is_put_before_a_rank_is_through_with_its_window(mpi, fanlight_only):
    """Rank 1 is slow by tools/slow.c.  Nothing is put before all have cleared their windows."""
    settings = {"TRANSPORT": "rma-lock", "ALGORITHM": "allreduce:recursive-doubling"}
    result = run(mpi, 2, "plain_calls", settings, preloads=(None, mpi.program("slow.so")), settings={"SLOW": "window"}, timeout=40).must_be_ok()
    assert result.report.calls("allreduce") > 90, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_single_copy_beside_a_node_of_one_rank(mpi, tmp_path, fanlight_only):
    """That has nobody to copy from, and forbids nothing."""
    (tmp_path / "rules").write_text("bcast single_copy=yes -> binomial\nbcast -> linear\n")
    result = run(mpi, 3, "plain_calls", {"TOPOLOGY": "2x*", "SINGLE_COPY": "on", "RULES": tmp_path / "rules"}).must_be_ok()
    assert result.report.algorithms("bcast") == {"by-levels(binomial)"}, str(result)


def served(result, how):
    """The operations that FANLIGHT_VERBOSE says run `how`."""
    return {o.replace("-", "_") for o in re.findall(rf"^fanlight: ([\w-]+) of \d+ bytes: \S+ {how}", result.err, re.M)}


def in_lanes(result):
    return {o for o in by_operation() if any(a.startswith("multi-lane") for a in result.report.algorithms(o))}


@pytest.mark.parametrize("mpi,nodes,ranks", [(MPICH, "2x*", 4), (OPENMPI, "2x*:cyclic", 4)], ids=str)
def test_in_lanes(mpi, nodes, ranks, tmp_path, fanlight_only):
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path, "lanes=yes", LANES), "VERBOSE": 1}
    result = every_algorithm(mpi, ranks, settings, LANES, 2, LANES, "multi-lane")
    assert in_lanes(result) >= LANES - {"alltoall"}, str(result)


@pytest.mark.parametrize("mpi", [MPICH], ids=str)
def test_no_lanes_where_nodes_differ(mpi, tmp_path, fanlight_only):
    result = run(mpi, 3, "every_algorithm 1", {"TOPOLOGY": "2x*", "RULES": rules(tmp_path, "lanes=yes", LANES), "VERBOSE": 1})
    assert in_lanes(result.must_be_ok()) == set(), str(result)
    assert result.report.calls("bcast") and not result.report.calls("alltoall"), str(result)


@pytest.mark.parametrize("how", ["non-blocking", "persistent"])
@pytest.mark.parametrize("mpi,settings,reason", [
    (IMPI, {"TOPOLOGY": "2x*:cyclic"}, "the MPI library has no hook to advance operations between nodes inside its calls"),
    (MPICH, {"TOPOLOGY": "2x*", "TRANSPORT": "rma-flush"}, "FANLIGHT_TRANSPORT does not serve it"),
    (OPENMPI, {"TRANSPORT": "message"}, "FANLIGHT_TRANSPORT does not serve it")], ids=str)
def test_requests_are_left_to_the_library(mpi, settings, reason, how, tmp_path, fanlight_only):
    ranks = 2 if mpi is IMPI else 3  # with more than cores its own may take for ever
    result = run(mpi, ranks, "every_algorithm 1", settings | {"RULES": rules(tmp_path)}, preloads=(mpi.program("by_requests.so"), None),
                 settings={"BY_REQUESTS": how}).must_be_ok()
    for operation in by_operation():
        name = "i" + operation if how == "non-blocking" else operation + "_init"
        assert not result.report.calls(name), str(result)
        assert {r["reason"] for r in result.report.rows(name, "mpi")} & {reason, "lengths that only the root knows, non-blocking"}, str(result)


@pytest.mark.parametrize("how,name", [("non-blocking", "i{}"), ("persistent", "{}_init")])
@pytest.mark.parametrize("mpi,nodes,ranks,extra", [(MPICH, "2x*", 3, "flat=yes"), (OPENMPI, "2x*:cyclic", 4, "flat=yes"),
                                                   (MPICH, "2x*", 4, ""), (OPENMPI, "2x*", 4, "lanes=yes")], ids=str)
def test_by_requests(mpi, nodes, ranks, extra, how, name, tmp_path, fanlight_only):
    operations = LANES if extra == "lanes=yes" else set(by_operation()) - BLIND
    settings = {"TOPOLOGY": nodes, "RULES": rules(tmp_path, extra, operations)}
    result = run(mpi, ranks, f"every_algorithm {CLASSES}", settings, preloads=(mpi.program("by_requests.so"), None),
                 settings={"BY_REQUESTS": how}, timeout=90).must_be_ok()
    for operation in operations:
        if extra == "flat=yes" or (not extra and operation not in WITH_LEVELS):
            all_of_it = wanted(operation, ranks)
        else:
            all_of_it = wanted(operation, 2, "multi-lane" if extra else "by-levels")
        missing = all_of_it - result.report.algorithms(name.format(operation))
        assert not missing, f"{operation}: {missing}\n{result}"
    assert not any(result.report.calls(name.format(operation)) for operation in BLIND), str(result)


def by_levels(mpi, ranks, topology):
    operations = {"barrier", "bcast", "reduce", "allreduce", "allgather", "allgatherv", "gather", "scatter",
                  "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "alltoall", "gatherv", "scatterv"}
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


@pytest.mark.parametrize("cyclic", [False, True], ids=["blocks", "cyclic"])
@pytest.mark.parametrize("mpi,ranks", [(MPICH, 4), (OPENMPI, 3), (IMPI, 4)], ids=str)
def test_on_two_hosts(mpi, ranks, cyclic, tmp_path, fanlight_only, hosts_allowed):
    hosts = OnHosts(mpi.name, mpi.root, mpi.abi, cyclic)
    # All hosts share the cores of this machine.
    settings = {"CORES": 1, "RULES": rules(tmp_path)}
    every_algorithm(hosts, ranks, settings, set(by_operation()), 2, with_levels("2x*:cyclic" if cyclic else "2x*", ranks))


@pytest.mark.parametrize("mpi", [MPICH, OPENMPI], ids=str)
def test_built_in_rules_on_two_hosts(mpi, fanlight_only, hosts_allowed):
    hosts = OnHosts(mpi.name, mpi.root, mpi.abi)
    result = run(hosts, 4, "every_algorithm 1", {"CORES": 1, "VERBOSE": 1}, timeout=90).must_be_ok()
    # They are for long vectors, and 200 KB are among the lengths.
    assert in_lanes(result) >= {"allgather", "reduce_scatter", "reduce_scatter_block", "reduce", "allreduce"}, str(result)
    assert all(result.report.calls(operation) for operation in WITH_LEVELS), str(result)
