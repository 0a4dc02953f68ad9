import json

import pytest
from rich.console import Console

from fanlight import report
from fanlight.errors import FanlightError
from fanlight.units import format_bytes, format_seconds, parse_bytes

EXAMPLE = {
    "fanlight_report": 1, "mpi": "MPICH 5.0.2", "ranks": 4, "seconds": 2.0,
    "communicators": [{"ranks": 4, "count": 1, "served": True, "reason": ""},
                      {"ranks": 1, "count": 3, "served": False, "reason": "a communicator of one rank"},
                      {"ranks": 2, "count": 1, "served": False, "reason": "first calls on a communicator"}],
    "calls": [
        {"operation": "allreduce", "bytes_from": 64, "bytes_to": 255, "by": "fanlight", "algorithm": "all-read-all",
         "reason": "", "calls": 900, "bytes": 57600, "seconds": 0.0018, "seconds_max": 0.0006},
        {"operation": "allreduce", "bytes_from": 64, "bytes_to": 255, "by": "mpi", "algorithm": "",
         "reason": "first calls on a communicator", "calls": 100, "bytes": 6400, "seconds": 0.4, "seconds_max": 0.1},
        {"operation": "barrier", "bytes_from": 0, "bytes_to": 0, "by": "fanlight", "algorithm": "one-to-all",
         "reason": "", "calls": 10, "bytes": 0, "seconds": 1e-5, "seconds_max": 1e-5},
    ],
}


def test_table(capsys):
    report.show(EXAMPLE, Console(width=200))
    said = capsys.readouterr().out
    for part in ("allreduce", "64 B to 256 B", "all-read-all", "2 µs", "MPI: first calls on a communicator", "90.0%",
                 "Fanlight served 90.1% of 1,010 calls",
                 "first calls of communicators (FANLIGHT_START_AFTER): 100 calls, 100 ms per rank in the MPI library; "
                 "100 ms of it would be 50 µs at the mean of the same calls when served",
                 "1 communicator served; left to the MPI library: 3 communicators with 1 rank (a communicator of one rank), "
                 "1 communicator with 2 ranks (fewer calls than FANLIGHT_START_AFTER)"):
        assert part in said, part


def test_no_calls(capsys):
    report.show({**EXAMPLE, "calls": [], "communicators": []}, Console(width=200))
    assert "0.0%" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fanlight_report": 2}'])
def test_wrong_files(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(FanlightError, match="r.json"):
        report.load(tmp_path / "r.json")


def test_right_file(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(EXAMPLE))
    assert report.load(tmp_path / "r.json") == EXAMPLE


@pytest.mark.parametrize("text, number", [("8", 8), ("64K", 65536), ("4m", 4 << 20), ("1KiB", 1024), ("2GB", 2 << 30), ("0", 0)])
def test_bytes(text, number):
    assert parse_bytes(text) == number


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5K", "8X"])
def test_no_bytes(text):
    with pytest.raises(FanlightError):
        parse_bytes(text)


def test_formats():
    assert [format_bytes(n) for n in (0, 8, 1024, 1536, 1 << 20, 5 << 30)] == ["0 B", "8 B", "1K", "1.5K", "1M", "5G"]
    assert [format_seconds(s) for s in (2, 0.5, 3e-6, 12.34e-9)] == ["2 s", "500 ms", "3 µs", "12.3 ns"]
