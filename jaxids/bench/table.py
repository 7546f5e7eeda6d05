"""The benchmark's table: one row for each policy, printed as soon as it is measured."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["COLUMNS", "Row", "cells", "line", "number", "progress"]

COLUMNS = ("policy", "jaxids µs", "pairs µs", "numpy µs", "factor", "loop µs", "factor", "compile s")
WIDTHS = (8, 9, 8, 8, 6, 7, 6, 9)


@dataclass(frozen=True)
class Row:
    """One policy: µs for one step of one trial by each simulator, and seconds to compile; None where not measured."""

    policy: str
    jaxids: float
    pairs: float | None
    batched: float | None
    loop: float | None
    compile: float


def cells(row: Row) -> list[str]:
    """A row as text: times, and how many times longer than jaxids the NumPy simulators take."""
    by_numpy, by_loop = (None if time is None else time / row.jaxids for time in (row.batched, row.loop))
    times = [number(row.jaxids), number(row.pairs), number(row.batched), number(by_numpy, "×")]
    return [row.policy, *times, number(row.loop), number(by_loop, "×"), f"{row.compile:.2f}"]


def number(value: float | None, unit: str = "") -> str:
    """Three digits, never in scientific notation."""
    if value is None:
        return "–"
    decimals = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}{unit}"


def line(texts: Sequence[str], widths: Sequence[int] = WIDTHS) -> str:
    """One line: the name on the left, numbers on the right of their columns."""
    padded = [text.rjust(width) for text, width in zip(texts, widths, strict=True)]
    return "  ".join([texts[0].ljust(widths[0]), *padded[1:]])


def progress(text: str) -> None:
    """On a terminal, one line that the next takes the place of."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
