"""Parts of a sweep: which tiles are whose, so that several runs make one store without talking to each other.

A cell is cut into runs of tiles that follow each other, one for each part. Those left over when all runs are of one
length are dealt like cards, one a part, on from where those of the cell before ended: so parts are of one size.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """The `number`-th of some parts, counted from 1."""

    number: int
    of: int


def named(text: str) -> Part:
    """A part as it is written, 3/10, or a ValueError."""
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(f"got {text!r}; it takes which part of how many, from 1/N to N/N, as 3/10")
    return Part(int(found[1]), int(found[2]))


def shares(counts: Sequence[int], part: Part | None) -> list[Sequence[int]]:
    """Which of the tiles of cells that have so many are a part's; all of them where there are no parts."""
    if part is None:
        return [range(count) for count in counts]
    found, dealt, mine = list[Sequence[int]](), 0, part.number - 1
    for count in counts:
        each, more = divmod(count, part.of)
        start, end = (each * number + _dealt_below(number, dealt, more, part.of) for number in (mine, mine + 1))
        found.append(range(start, end))
        dealt = (dealt + more) % part.of
    return found


def _dealt_below(number: int, first: int, more: int, of: int) -> int:
    """How many of the parts below a number get a card, if so many are dealt from the first of them on."""
    end = first + more
    return min(max(number, first), end) - first + min(number, max(end - of, 0))
