"""Sizes as people write them: 8, 64K, 4M."""

from __future__ import annotations

from .errors import FanlightError

_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_bytes(text: str) -> int:
    digits = text.strip().upper().removesuffix("IB").removesuffix("B")
    factor = _FACTORS.get(digits[-1:], None) if not digits[-1:].isdigit() else 1
    number = digits if factor == 1 else digits[:-1]
    if factor is None or not number.isdigit():
        raise FanlightError(f"{text!r} is not a number of bytes", "Write for instance 8, 64K or 4M.")
    return int(number) * factor


def format_bytes(n: float) -> str:
    for letter in ("", "K", "M", "G", "T"):
        if n < 1024 or letter == "T":
            return (f"{n:.0f}" if letter == "" or n == int(n) or n >= 100 else f"{n:.1f}") + (letter or " B")
        n /= 1024
    raise AssertionError


def format_seconds(s: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if s * factor >= 1:
            return f"{s * factor:.3g} {unit}" if s * factor < 1000 else f"{s * factor:.0f} {unit}"
    return f"{s * 1e9:.3g} ns"
