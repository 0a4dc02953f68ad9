import io
import json
import re

import pytest
from rich.console import Console

from fanlight import report_plot, reports
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
    "by_rank": [{"seconds": 0.1, "waits": 9, "waited": 0.06, "for": [{"rank": 2, "waits": 9, "seconds": 0.06}]},
                {"seconds": 0.1, "waits": 9, "waited": 0.03, "for": [{"rank": 2, "waits": 8, "seconds": 0.02},
                                                                     {"rank": -1, "waits": 1, "seconds": 0.01}]},
                {"seconds": 0.1, "waits": 0, "waited": 0, "for": []},
                {"seconds": 0.1, "waits": 1, "waited": 0.01, "for": [{"rank": 0, "waits": 1, "seconds": 0.01}]}],
}


def test_table(capsys):
    reports.show(EXAMPLE, Console(width=200))
    said = capsys.readouterr().out
    for part in ("allreduce", "64 B to 256 B", "all-read-all", "2 µs", "MPI: first calls on a communicator", "90.0%",
                 "Fanlight served 90.1% of 1,010 calls",
                 "first calls on communicators (FANLIGHT_START_AFTER): 100 calls, 100 ms per rank in the MPI library; "
                 "at the mean time of the later calls it would be 50 µs",
                 "1 communicator served; left to the MPI library: 3 communicators with 1 rank (a communicator of one rank), "
                 "1 communicator with 2 ranks (fewer calls than FANLIGHT_START_AFTER)"):
        assert part in said, part


def test_what_rich_prints_is_the_table():
    """Beside other things, and by a console of the program's own."""
    report, console = reports.Report(EXAMPLE), Console(width=140, file=io.StringIO(), force_terminal=True)
    console.print(report)
    colored = console.file.getvalue()
    assert "\x1b[1m" in colored and re.sub(r"\x1b\[[\d;]*m", "", colored) == str(report)


def guard_row(operation, first, faster, applied=False, **more):
    return {"operation": operation, "bytes_from": first, "bytes_to": 2 * first - 1 if first else None, "ranks": 4, "nodes": 1,
            "mpi": "mpich", "oversubscribed": False, "algorithm": "ring", "faster": faster, "applied": applied, "ratio": 1.5,
            "communicators": 1, **more}


GUARDED = {**EXAMPLE, "guard": [
    guard_row("allgather", 64, "mpi", True), guard_row("allgather", 128, "mpi", ratio=2.25), guard_row("allgather", 512, "mpi"),
    guard_row("allgather", 1024, "fanlight", ratio=0.5), guard_row("allgatherv", 0, "mpi", bytes_to=0), guard_row("alltoallv", 0, "mpi"),
    # Communicators that do not agree, in other calls of the class.
    guard_row("bcast", 64, "mpi"), guard_row("bcast", 64, "fanlight", algorithm="linear", ratio=0.9)]}


def test_rules_of_the_guard(tmp_path, fanlight):
    (tmp_path / "r.json").write_text(json.dumps(GUARDED))
    assert "4 rules" in fanlight("report", tmp_path / "r.json", "--rules", tmp_path / "rules.txt").stderr
    assert "No such file" in fanlight("report", tmp_path / "r.json", "--rules", tmp_path / "none/rules.txt", code=2).stderr
    text = (tmp_path / "rules.txt").read_text()
    conditions = "ranks=4 nodes=1 oversubscribed=no mpi=mpich blocking=yes"
    assert text.splitlines()[1:] == [f"allgather {conditions} bytes=64..255 -> native  # 1.50 to 2.25 times as fast",
                                     f"allgather {conditions} bytes=512..1023 -> native  # 1.50 times as fast",
                                     f"allgatherv {conditions} bytes=0..0 -> native  # 1.50 times as fast",
                                     f"alltoallv {conditions} -> native  # 1.50 times as fast"]
    # They are rules.
    said = fanlight("explain", "allgather", "200", "-n", "4", env={"FANLIGHT_RULES": str(tmp_path / "rules.txt"), "FANLIGHT_CORES": "4"}).stdout
    assert "native" in said and "rules.txt:2" in said


def test_what_the_guard_found(capsys):
    reports.show(GUARDED, Console(width=200))
    said = capsys.readouterr().out
    for part in ("What the guard found", "128 B to 256 B", "2.25 times as fast", "Fanlight; a rule for the next run", "any"):
        assert part in said, part


def test_no_calls(capsys):
    reports.show({**EXAMPLE, "calls": [], "communicators": []}, Console(width=200))
    assert "0.0%" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fanlight_report": 2}'])
def test_wrong_files(tmp_path, text):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(FanlightError, match="r.json"):
        reports.load(tmp_path / "r.json")


def test_no_file(tmp_path):
    with pytest.raises(FanlightError) as e:
        reports.load(tmp_path / "r.json")
    assert e.value.problem == f"{tmp_path}/r.json: No such file or directory" and not e.value.advice


def test_right_file(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(EXAMPLE))
    assert reports.load(tmp_path / "r.json") == EXAMPLE


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


TRACE = {
    "otherData": {"fanlight_trace": 1, "ranks": 2, "left_out": 0, "mpi": "MPICH 5.0.2"},
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 0 on here"}},
        {"ph": "X", "pid": 0, "tid": 0, "ts": 0, "dur": 50, "cat": "collective", "name": "allreduce",
         "args": {"bytes": 255, "by": "mpi", "reason": "first calls on a communicator"}},
        *({"ph": "X", "pid": rank, "tid": 0, "ts": 100, "dur": dur, "cat": "collective", "name": "allreduce",
           "args": {"bytes": bytes_, "by": "fanlight", "algorithm": "all-read-all", "transport": "shared"}}
          for rank, dur, bytes_ in ((0, 30, 64), (1, 5, 64), (1, 5, 256))),
        {"ph": "X", "pid": 0, "tid": 0, "ts": 101, "dur": 25, "cat": "wait", "name": "waits for rank 1", "args": {"for": 1}},
        {"ph": "X", "pid": 0, "tid": 0, "ts": 127, "dur": 1, "cat": "wait", "name": "waits for others", "args": {"for": -1}},
    ]}


def test_a_trace_adds_up(tmp_path, capsys):
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(TRACE))
    said = reports.load(file)
    assert [(r["bytes_from"], r["bytes_to"], r["by"], r["calls"], r["bytes"]) for r in said["calls"]] == [
        (64, 255, "mpi", 1, 255), (64, 255, "fanlight", 2, 128), (256, 1023, "fanlight", 1, 256)]
    assert [round(r["seconds"] * 1e6) for r in said["by_rank"]] == [80, 10]
    assert [(p["rank"], p["waits"], round(p["seconds"] * 1e6)) for p in said["by_rank"][0]["for"]] == [(1, 1, 25), (-1, 1, 1)]
    reports.show(said, Console(width=200))
    report_plot.show(said, Console(width=200))
    assert "96% of it for rank 1" in capsys.readouterr().out


def test_bars(capsys):
    report_plot.show(EXAMPLE, Console(width=120))
    said = capsys.readouterr().out
    lines = {rank: next(line for line in said.splitlines() if line.strip().startswith(f"rank {rank} ")) for rank in range(4)}
    assert lines[0].count("█") == 30 and lines[0].count("░") == 20 and "mostly for rank 2" in lines[0], said
    assert "█" not in lines[2] and lines[2].count("░") == 50 and "for" not in lines[2], said
    assert "25 ms each on average, 80% of it for rank 2" in said
    one = next(line for line in said.splitlines() if "allreduce" in line)
    assert one.count("░") == 50 and "100 ms" in one, said


def test_nothing_to_draw(capsys, tmp_path):
    nothing = {**EXAMPLE, "calls": [], "by_rank": [{"seconds": 0, "waits": 0, "waited": 0, "for": []}] * 4}
    report_plot.show(nothing, Console(width=120))
    assert not capsys.readouterr().out
    report_plot.write(nothing, tmp_path / "r.html")


def test_html_needs_nothing_else(tmp_path):
    file = tmp_path / "r.html"
    report_plot.write({**EXAMPLE, "mpi": "<b>MPI</b>"}, file)
    text = file.read_text()
    assert text.endswith("</html>\n") and text.count("<tr>") == text.count("</tr>") == 2 + 4 + 1 + 3
    assert "mostly for rank 2" in text and "&lt;b&gt;MPI" in text
    assert not any(word in text for word in ("http", "src=", "href=", "<b>"))


def test_png(tmp_path):
    pytest.importorskip("matplotlib")
    report_plot.write(EXAMPLE, tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["r.svg", "missing/r.html"])
def test_no_picture(tmp_path, name):
    with pytest.raises(FanlightError, match=name):
        report_plot.write(EXAMPLE, tmp_path / name)
