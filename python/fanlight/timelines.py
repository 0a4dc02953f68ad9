"""What each rank does in a simulated collective, when: as SVG, or in Chrome's trace format."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from .units import format_bytes

_COLORS = {"put": "#3b7dd8", "offer": "#7fb2f0", "arrive": "#2e9e5b", "get": "#2e9e5b", "copy": "#e0a030", "combine": "#c2553a",
            "wait": "#dddddd"}
_MOST = 40000  # shapes; more are no picture


def _words(kind: str, peer: int, nbytes: int, round_: int) -> str:
    to = f" {'to' if kind == 'put' else 'from'} {peer}" if peer >= 0 else ""
    return f"{kind}{to}, {format_bytes(nbytes)}, round {round_}"


def svg(title: str, ranks: int, spans: list) -> str:
    width, left, top = 1200, 60, 50
    row = max(3, min(18, 900 // ranks))
    total = max((s[7] for s in spans), default=0) or 1e-9
    height = top + ranks * row + 60
    x = lambda t: left + t / total * width  # noqa: E731
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{height}" font-family="sans-serif" font-size="11">',
           '<rect width="100%" height="100%" fill="white"/>', f'<text x="{left}" y="20" font-size="14">{escape(title)}</text>']
    for i, (kind, color) in enumerate(_COLORS.items()):
        out.append(f'<rect x="{left + i * 90}" y="30" width="10" height="10" fill="{color}"/><text x="{left + 14 + i * 90}" y="39">{kind}</text>')
    for r in range(0, ranks, max(1, 14 // row)):
        out.append(f'<text x="{left - 6}" y="{top + r * row + row - 2}" text-anchor="end" font-size="{min(10, row + 5)}">{r}</text>')

    def bar(rank, kind, begin, end, words):
        if end > begin:
            out.append(f'<rect x="{x(begin):.2f}" y="{top + rank * row}" width="{max(x(end) - x(begin), 0.3):.2f}" height="{row - 1}" '
                       f'fill="{_COLORS[kind]}"><title>{escape(words)}</title></rect>')

    for rank, round_, kind, peer, nbytes, begin, ready, end in spans:
        words = f"rank {rank}: {_words(kind, peer, nbytes, round_)}, {(end - ready) * 1e6:.3f} µs"
        bar(rank, "wait", begin, ready, "waits: " + words)
        bar(rank, kind, ready, end, words)
    bottom = top + ranks * row
    for i in range(6):
        t = total * i / 5
        out.append(f'<path d="M{x(t):.1f} {top}V{bottom + 4}" stroke="#00000030"/>'
                   f'<text x="{x(t):.1f}" y="{bottom + 18}" text-anchor="middle">{t * 1e6:.3g}</text>')
    out.append(f'<text x="{left + width}" y="{bottom + 36}" text-anchor="end">µs</text></svg>')
    return "\n".join(out) + "\n"


def trace(spans: list) -> dict:
    """chrome://tracing, Perfetto: a thread for each rank, times in microseconds."""
    events = []
    for rank, round_, kind, peer, nbytes, begin, ready, end in spans:
        about = {"pid": 0, "tid": rank, "ph": "X", "args": {"peer": peer, "bytes": nbytes, "round": round_}}
        if ready > begin:
            events.append({"name": "wait", "ts": begin * 1e6, "dur": (ready - begin) * 1e6, **about})
        events.append({"name": kind, "ts": ready * 1e6, "dur": (end - ready) * 1e6, **about})
    return {"displayTimeUnit": "ns", "traceEvents": events}


def write(path: Path, title: str, ranks: int, spans: list):
    if path.suffix == ".json":
        path.write_text(json.dumps(trace(spans)) + "\n")
        return
    if len(spans) > _MOST:
        raise ValueError(f"{len(spans)} steps are too many for a picture; write a trace: --timeline {path.with_suffix('.json').name}")
    path.write_text(svg(title, ranks, spans))
