"""What a compiled tile says of itself, and what it is asked for."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = ["Program", "Refused", "Request", "WayName"]

WayName = Literal["loop", "kernel"]


class Request(NamedTuple):
    """Tiles to compile, one for each of the paper's policies by name: plain data, as it goes to another process."""

    target: str
    policies: Sequence[str]
    actions: int
    dim: int
    way: WayName  # one loop over steps through XLA, or many steps in one kernel
    lanes: int
    steps: int
    every: int  # a recorded point
    belief: Literal["linear", "kernel"] = "linear"  # of actions with features, or of points with a kernel
    code: bool = True  # whether machine code is read, which makes a TPU's compiler ten times slower


class Program(NamedTuple):
    """A compiled tile. A turn is that of the loop over steps, or all steps up to the next recorded point."""

    policy: str
    turn: float  # steps of one
    launches: float  # for a step
    stops: float  # at the host, for a step
    kernels: int  # of many steps, launched in a turn
    moved: float  # bytes, for a lane and step
    temporaries: int  # bytes
    registers: int | None  # of a thread of the kernel, where there is one and ptxas
    spilled: int | None  # bytes of them
    instructions: int | None  # for a step of the kernel: PTX, or bundles of a TPU
    cycles: float | None  # for a step of what XLA made, by the compiler of a TPU
    seconds: float  # to compile


class Refused(NamedTuple):
    """A step that cannot be a kernel, and why."""

    policy: str
    reason: str
