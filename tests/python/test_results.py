"""bench/results: one measurement on a line, and what the documents quote follows from it."""

import subprocess
import sys

import pytest

from environments import ROOT
from fanlight import bench_papers, bench_table, records
from fanlight.papers import PAPERS

FILES = sorted((ROOT / "bench/results").glob("*.json"))


def said(claims):
    return [(c["where"], c["says"], c["here"]) for c in claims if c["here"]]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_file(file):
    record = records.read(file)
    assert file.read_text() == records.text_of(record)
    assert all(record["provenance"][what] for what in ("when", "processor", "cores", "fanlight", "commit", "mpis"))
    if "summary" in record and "results" in record:
        order = list(record["provenance"]["mpis"])
        shipped = ["mpich-shipped"] if any(r["mpi"] == "mpich-shipped" for r in record["results"]) else []
        rows = bench_table.rows_of(record["results"], {}, record["provenance"]["cores"])
        assert bench_table.summary(rows, order, shipped) == record["summary"]
    if "paper" in record:
        assert bench_papers.times_of(record["results"]) == record["times"]
        claims = bench_papers.claims_of(PAPERS[record["paper"]], record["times"], list(record["provenance"]["mpis"]))
        # A claim that the paper's file gained since has no figures here.
        assert said(claims) == said(record["claims"])


def test_format():
    record = {"format": 1, "provenance": {"when": "now", "cores": 2}, "results": [{"a": 1.5, "b": ["ä", None]}, {}], "runs": {1: [2]}, "problems": []}
    lines = records.text_of(record).splitlines()
    assert lines[2:5] == ['"provenance": {', ' "when": "now",', ' "cores": 2']
    assert lines[6:10] == ['"results": [', ' {"a": 1.5, "b": ["ä", null]},', ' {}', '],']


def test_readme_has_the_figures_of_the_files():
    done = subprocess.run([sys.executable, ROOT / "bench/figures.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
