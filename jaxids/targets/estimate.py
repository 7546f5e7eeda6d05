"""Estimates of the time of one step of one trial, from a compiled program and what a target's maker names.

With n lanes, on a GPU through XLA:

    (max(launches · 1.3 µs, n · bytes / bandwidth) + stops · 10 µs + 5 µs / turn) / n

where a turn of the loop is one launch of a graph. In a kernel of many steps

    instructions · ⌈n / (cores · width)⌉ / (clock · n)

is added, as if every core began an instruction for its width in lanes, its arithmetic units, in each cycle, and the
formula above is that of all that is launched between two recorded points. On a TPU it is
(bundles · ⌈n / 1024⌉ + cycles) / (clock · n): cycles are `estimated_cycles`, by the compiler, of all that XLA made, and
bundles are the instructions of the kernel, one for 1024 lanes in a cycle. Loops inside a kernel count once. Latency is
left out, and what happens before the first step.
"""

import math

from jaxids.targets.devices import Target
from jaxids.targets.program import Program

__all__ = ["FORMULAS", "GRAPH", "NODE", "STOP", "microseconds"]

NODE, GRAPH, STOP = 1.3, 5.0, 10.0  # µs of a launch inside a graph, of a graph, of a stop at the host
FORMULAS = {
    "gpu": (
        "est. XLA µs = (max(kernels · 1.3 µs, n · bytes / bandwidth) + syncs · 10 µs + 5 µs / steps of a turn) / n;",
        "est. kernel µs = instructions · ⌈n / (cores · width)⌉ / (clock · n) + the same for all that is launched.",
    ),
    "tpu": (
        "est. XLA µs = estimated_cycles, by the compiler, / (clock · n);",
        "est. kernel µs = (bundles · ⌈n / 1024⌉ + estimated_cycles of what packs and unpacks) / (clock · n).",
    ),
}


def microseconds(program: Program, target: Target, lanes: int) -> float | None:
    """The estimate, or None where the program does not say enough."""
    if program.kernels and program.instructions is None:
        return None
    waves = math.ceil(lanes / (target.cores * target.issued))
    stepping = (program.instructions or 0) * waves / target.clock * 1e6
    if target.platform == "tpu":
        return None if program.cycles is None else (stepping + program.cycles / target.clock * 1e6) / lanes
    moving = lanes * program.moved / target.bandwidth * 1e6
    launching = max(program.launches * NODE, moving) + program.stops * STOP + GRAPH / program.turn
    return (stepping + launching) / lanes
