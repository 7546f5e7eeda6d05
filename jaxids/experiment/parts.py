"""Parts of a sweep: which tiles are whose, so that several runs make one store without talking to each other.

A cell of as many tiles as there are parts, or more, is cut into runs of tiles that follow each other, one for each
part. The tiles of smaller cells are dealt like cards, on from where those of the cell before ended.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Part", "named", "shares"]


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
        if count >= part.of:
            found.append(range(mine * count // part.of, (mine + 1) * count // part.of))
        else:
            found.append([index for index in range(count) if (dealt + index) % part.of == mine])
            dealt += count
    return found
