"""`fanlight simulate`."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import fanlight as package
from fanlight import simulation


def test_sizes():
    assert simulation.parse_sizes("8..1K") == [8, 32, 128, 512]
    assert simulation.parse_sizes("8,64K") == [8, 65536]
    assert len(simulation.parse_sizes("8..8M")) == 11


def test_every_algorithm_is_compared(fanlight, tmp_path):
    said = fanlight("simulate", "allreduce", "-n", 16, "--machine", "rome2x64", "--sizes", "8,64K", "--plot", tmp_path / "x.png").stdout
    assert all(a.name in said for a in package.algorithms("allreduce"))
    assert "*" in said and "4·4" in said and "64K" in said
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_json_has_all_radices(fanlight):
    found = json.loads(fanlight("simulate", "bcast", "-n", 6, "--machine", "icx2x32", "--nodes", 2, "--sizes", "4K", "--json").stdout)
    assert found["machine"] == "icx2x32"
    assert {r["algorithm"] for r in found["results"]} >= {"binomial", "by-levels"}
    assert all(0 < r["seconds"] < 1e-3 for r in found["results"])
    assert any(r["radices"] == "3·2" for r in found["results"])


def test_timeline(fanlight, tmp_path):
    words = ("simulate", "allreduce", "-n", 8, "--machine", "rome2x64", "--sizes", "4K", "--algorithm", "binomial", "--timeline")
    fanlight(*words, tmp_path / "x.svg")
    picture = ElementTree.parse(tmp_path / "x.svg").getroot()
    titles = [t.text for t in picture.iter() if t.tag.endswith("title")]
    assert any(t.startswith("rank 7: get") or t.startswith("rank 7: arrive") for t in titles), titles[:5]
    assert any(t.startswith("waits: rank 0") for t in titles)
    fanlight(*words, tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert {e["tid"] for e in events} == set(range(8)) and all(e["dur"] >= 0 for e in events)


def test_a_machine_of_ones_own(fanlight, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("node *\ncore 4 hop=100ns bandwidth=10G\n")
    assert "mine" in fanlight("simulate", "barrier", "-n", 4, "--machine", mine).stdout
    assert "more ranks" in fanlight("simulate", "barrier", "-n", 5, "--nodes", 1, "--machine", mine, code=2).stderr
    mine.write_text("node *\ncore 4 hop=soon bandwidth=10G\n")
    assert "hop=soon" in fanlight("simulate", "barrier", "-n", 4, "--machine", mine, code=2).stderr


@pytest.mark.parametrize("arguments, said", [(("--machine", "vax"), "rome2x64"), (("--machine", "rome2x64", "--root", "4"), "--root"),
                                             (("--machine", "rome2x64", "--sizes", "8..4"), "range"),
                                             (("--machine", "rome2x64", "--algorithm", "quickest"), "quickest")])
def test_refusals(fanlight, arguments, said):
    assert said in fanlight("simulate", "bcast", "-n", 4, *arguments, code=2).stderr
