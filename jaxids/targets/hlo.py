"""Reads the text of a program as XLA compiled it: its loops, and where they stop at the host.

A loop whose count is known runs through. One that ends by what it computes, and a conditional, stop a GPU at the host
in every pass; a TPU decides by itself.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Instruction", "Module", "cycles", "inside", "main", "parse", "stops", "trips"]

HOST = {"send", "recv", "infeed", "outfeed"}


class Instruction(NamedTuple):
    """A line of a computation."""

    name: str
    code: str
    size: int  # bytes of the result
    operands: tuple[str, ...]
    rest: str  # what follows the operands
    given: str  # between the parentheses, as written

    def called(self, role: str) -> str:
        """The computation in a role, as `body`, or nothing."""
        found = re.search(rf"\b{role}=%?([\w.\-]+)", self.rest)
        return found[1] if found else ""


class Module(NamedTuple):
    """Computations by name, their instructions in the order in which they run."""

    computations: dict[str, list[Instruction]]
    entry: str


def parse(text: str) -> Module:
    """The computations of a module."""
    computations, entry, current = dict[str, list[Instruction]](), "", list[Instruction]()
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line):
            current = computations.setdefault(head[2], [])
            entry = head[2] if head[1] else entry
        elif begun := re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = ", line):
            current.append(_instruction(begun[1], line[begun.end() :]))
    return Module(computations, entry)


def _instruction(name: str, text: str) -> Instruction:
    end = _closing(text, 0) if text.startswith("(") else text.index(" ")
    opening = text.index("(", end)
    closing = _closing(text, opening)
    given = text[opening + 1 : closing - 1]
    operands = tuple(re.findall(r"%([\w.\-]+)", given))
    return Instruction(name, text[end:opening].strip(), _bytes(text[:end]), operands, text[closing:], given)


def _closing(text: str, start: int) -> int:
    """Behind the parenthesis that closes the one at the start."""
    depth = 0
    for place in re.finditer(r"[()]", text[start:]):
        depth += 1 if place[0] == "(" else -1
        if depth == 0:
            return start + place.end()
    raise ValueError(f"text: got {text[:80]!r}; it takes parentheses that close")


def _bytes(shape: str) -> int:
    total = 0.0
    for kind, sides in re.findall(r"\b([a-z]+\d*)\w*\[([\d,]*)\]", shape):
        width = re.search(r"\d+", kind)
        number = 1
        for side in filter(None, sides.split(",")):
            number *= int(side)
        total += number * (int(width[0]) / 8 if width else 1 if kind == "pred" else 0)
    return int(total)


def main(module: Module) -> Instruction | None:
    """The last loop of the entry, which is that over steps or recorded points; a single turn of it is written out."""
    return next((each for each in reversed(module.computations[module.entry]) if each.code == "while"), None)


def trips(module: Module, loop: Instruction) -> int | None:
    """How often a loop turns, if the compiler knows, or if it counts up from 0 to a constant."""
    if known := re.search(r'"known_trip_count":\{"n":"(\d+)"', loop.rest):
        return int(known[1])
    body = module.computations[loop.called("condition")]
    constants = {each.name: each.given for each in body if each.code == "constant"}
    last = body[-1]
    if last.code == "compare" and "direction=LT" in last.rest and last.operands[-1] in constants:
        return int(constants[last.operands[-1]])
    return None


def inside(module: Module, computation: str, times: int = 1) -> Iterator[tuple[Instruction, int]]:
    """What a computation runs, in order, and how often; a loop of unknown count once, of a conditional all."""
    for each in module.computations[computation]:
        yield each, times
        if each.code == "while":
            yield from inside(module, each.called("body"), times * (trips(module, each) or 1))
        elif each.code == "conditional":
            branches = re.search(r"branch_computations=\{([^}]*)\}", each.rest)
            names = re.findall(r"[\w.\-]+", branches[1]) if branches else [each.called("true_computation")]
            for name in names if branches else [*names, each.called("false_computation")]:
                yield from inside(module, name, times)
        elif each.code == "call":
            yield from inside(module, each.called("to_apply"), times)


def stops(module: Module, loop: Instruction, platform: str) -> int:
    """Stops at the host in one turn of a loop, each pass of unknown count once."""
    by_itself = platform == "tpu"
    unknown = [(loop, 1), *inside(module, loop.called("body"))]
    return sum(times for each, times in unknown if each.code in HOST or (not by_itself and _decides(each)))


def _decides(each: Instruction) -> bool:
    return each.code == "conditional" or (each.code == "while" and "known_trip_count" not in each.rest)


def cycles(module: Module, computation: str) -> int | None:
    """A TPU's cycles by its compiler, `estimated_cycles` of all that has them, or None where nothing has."""
    found = [(re.search(r'"estimated_cycles":"(\d+)"', e.rest), times) for e, times in inside(module, computation)]
    given = [int(match[1]) * times for match, times in found if match]
    return sum(given) if given else None
