"""Files of measurements: JSON, with one measurement on a line and where they come from at the head.

    {
    "format": 1,
    "provenance": {
     "when": "2026-11-22T02:45:44+00:00",
     ...
    "results": [
     {"type": "result", "operation": "barrier", ...},
     {"type": "result", "operation": "bcast", ...}
    ]
    }
"""

from __future__ import annotations

import json
from pathlib import Path

from .pictures import written


def text_of(record: dict) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_lines(value)}" for name, value in record.items()) + "\n}\n"


def _lines(value) -> str:
    if isinstance(value, dict) and value:
        return "{\n" + ",\n".join(f" {json.dumps(str(k))}: {_line(v)}" for k, v in value.items()) + "\n}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {_line(v)}" for v in value) + "\n]"
    return _line(value)


def _line(value) -> str:
    return json.dumps(value, ensure_ascii=False)


def write(record: dict, path: Path):
    with written(path):
        path.write_text(text_of(record))


def read(path: Path) -> dict:
    return json.loads(path.read_text())
