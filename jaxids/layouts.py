"""What is good for a kind of device: the same step, told a few things while it is traced.

A CPU wants barriers, else it computes a value in each of its consumers; gathers, which are one load; and loops that end
when the slowest lane is done. A GPU or TPU wants one long chain of arithmetic without any of them: every barrier or
gather is a kernel of its own, and a loop whose end depends on data stops at the host in every pass. `tiles` sets the
layout; `lanes` asks for it, and the few others whose form depends on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Layout(NamedTuple):
    """What the primitives of `lanes` are made of."""

    barriers: bool  # `shared` is one, else nothing
    selects: int  # rows up to which `pick` is a chain of selects; from more it loads by index
    flat: bool  # whether it loads by one number, the place in memory, else by one for each axis
    loops: bool  # whether loops may end when the slowest lane is done, and rare work be left out; else all is done
    turns: int = 0  # passes of the exact solver where they may not


CPU = Layout(barriers=True, selects=0, flat=True, loops=True)
ACCELERATOR = Layout(barriers=False, selects=32, flat=False, loops=False, turns=5)  # enough: tests/test_ratio.py
_CURRENT: ContextVar[Layout] = ContextVar("layout", default=CPU)


def current() -> Layout:
    """The layout that is traced for."""
    return _CURRENT.get()


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    """What is traced inside is traced for a layout; whoever compiles it keeps it apart from that of another."""
    token = _CURRENT.set(layout)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def of_platform(platform: str) -> Layout:
    """The layout of XLA's programs for a platform, by JAX's name of it."""
    return CPU if platform == "cpu" else ACCELERATOR
