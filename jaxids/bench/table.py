"""The benchmark's table: one row for each policy, printed as soon as it is measured."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS = ("policy", "jaxids µs", "pairs µs", "compile s")
WIDTHS = (8, 9, 8, 9)


@dataclass(frozen=True)
class Row:
    """One policy: µs for one step of one trial, the same with every pair tried if it mixes, and seconds to compile."""

    policy: str
    jaxids: float
    pairs: float | None
    compile: float


def cells(row: Row) -> list[str]:
    """A row as text."""
    return [row.policy, number(row.jaxids), number(row.pairs), f"{row.compile:.2f}"]


def number(value: float | None) -> str:
    """Three digits, never in scientific notation."""
    if value is None:
        return "–"
    decimals = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}"


def line(texts: Sequence[str], widths: Sequence[int] = WIDTHS) -> str:
    """One line: the name on the left, numbers on the right of their columns."""
    padded = [text.rjust(width) for text, width in zip(texts, widths, strict=True)]
    return "  ".join([texts[0].ljust(widths[0]), *padded[1:]])


def progress(text: str) -> None:
    """On a terminal, one line that the next takes the place of."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
