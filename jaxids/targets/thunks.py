"""Reads the list of launches that XLA makes of a GPU's program (`thunk_sequence_after_thunk_passes.txt`).

Kernels and copies are launches. What holds others, as a command buffer or a loop, is none itself, and the condition of
a loop does not run where its count is known.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Node", "launches", "main", "parse"]

HOLD = {"kCommandBuffer", "kWhile", "kConditional", "kSequential", "kDynamicSliceFusion"}


@dataclass
class Node:
    """A line of the list, with those that are inside."""

    kind: str
    indent: int = -1
    label: str = ""  # of a kernel, its name
    body: list["Node"] = field(default_factory=list)
    condition: list["Node"] = field(default_factory=list)
    deciding: bool = False  # whether the lines that follow are the condition


def parse(text: str) -> list[Node]:
    """The lines of the list, as a tree."""
    stack = [Node("kSequential")]
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.strip() == "condition:":
            stack[-1].deciding = True
        elif line.strip() == "body:":
            _leave(stack, indent)
            stack[-1].deciding = False
        elif found := re.match(r" *\d+: (k\w+) *\[[^\]]*\] ?(\S*)", line):
            _leave(stack, indent)
            node = Node(found[1], indent, found[2])
            (stack[-1].condition if stack[-1].deciding else stack[-1].body).append(node)
            stack.append(node)
    return stack[0].body


def _leave(stack: list[Node], indent: int) -> None:
    while stack[-1].indent >= indent:
        stack.pop()


def main(nodes: list[Node]) -> Node | None:
    """The last loop at the top."""
    return next((node for node in reversed(nodes) if node.kind == "kWhile"), None)


def launches(nodes: list[Node], trips: Iterator[int]) -> int:
    """Launches of one run; how often each loop inside turns is told in the order in which they come."""
    total = 0
    for node in nodes:
        if node.kind == "kWhile":
            turns = next(trips)
            total += turns * launches(node.body, trips)
        else:
            total += launches(node.body, trips) if node.kind in HOLD else 1
    return total
