"""Sizes as people write them: 8, 64K, 4M; and what else stands in options."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import FanlightError

_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_bytes(text: str) -> int:
    digits = text.strip().upper().removesuffix("IB").removesuffix("B")
    factor = _FACTORS.get(digits[-1:], None) if not digits[-1:].isdecimal() else 1
    number = digits if factor == 1 else digits[:-1]
    if factor is None or not number.isdecimal():
        raise FanlightError(f"{text!r} is not a number of bytes", "Write for instance 8, 64K or 4M.")
    if len(number) > 19 or int(number) * factor >= 1 << 63:
        raise FanlightError(f"{text}: no message is that long", "Write for instance 8, 64K or 4M.")
    return int(number) * factor


def parse_operations(options: list[str], known: Sequence[str]) -> list[str]:
    """The operations in options such as bcast,reduce-scatter, without repetitions."""
    names = [word.lower().replace("-", "_").removeprefix("mpi_") for words in options for word in words.split(",") if word]
    if unknown := next((name for name in names if name not in known), None):
        raise FanlightError(f"--operation {unknown}: unknown", "It is one of " + ", ".join(known) + ".")
    return list(dict.fromkeys(names))


def parse_ranks(text: str, least: int = 1) -> list[int]:
    words = text.split(",")
    if not all(w.isdecimal() and len(w) < 9 and int(w) >= least for w in words):
        raise FanlightError(f"-n {text}: not numbers of ranks from {least} on", "Write for instance -n 2,8.")
    return list(dict.fromkeys(map(int, words)))


def format_bytes(n: float) -> str:
    for letter in ("", "K", "M", "G", "T"):
        if n < 1024 or letter == "T":
            return (f"{n:.0f}" if letter == "" or n == int(n) or n >= 100 else f"{n:.1f}") + (letter or " B")
        n /= 1024
    raise AssertionError


def exact_bytes(n: int) -> str:
    """As rules have it: 4K, 4097."""
    for letter, factor in (("M", 1 << 20), ("K", 1 << 10)):
        if n >= factor and n % factor == 0:
            return f"{n // factor}{letter}"
    return str(n)


def format_seconds(s: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if s * factor >= 1:
            return f"{s * factor:.3g} {unit}" if s * factor < 1000 else f"{s * factor:.0f} {unit}"
    return f"{s * 1e9:.3g} ns"


def size_text(n: int) -> str:
    """524280 and 524288 are different sizes in the papers."""
    text = format_bytes(n)
    return text if n < 1024 or (n % 1024 == 0 and "." not in text) else str(n)


def factor_text(least: float | None, greatest: float | None) -> str:
    if least is None:
        return f"at most {greatest:g}"
    if greatest is None:
        return f"at least {least:g}"
    return " to ".join(dict.fromkeys([f"{least:g}", f"{greatest:g}"]))
