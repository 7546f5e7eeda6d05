"""The same trials run every way there is here: on the accelerator and on the CPU.

A way that cannot be compiled or run is a finding: what it raised is kept in place of its outcome.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxids import loops, policies, problems, tiles, ways, widths
from jaxids.agreement import Outcome
from jaxids.doctor.machine import one_line
from jaxids.names import THIRTEEN
from jaxids.workers import cores, placed

__all__ = [
    "CPU",
    "FIRST",
    "Place",
    "Ran",
    "Setup",
    "accelerator",
    "attempt",
    "cpu",
    "places",
    "program",
]

CPU = "cpu"
FIRST = 10  # steps after which trials are compared
LANES = 1024  # of a tile of an accelerator's program on the CPU
REPEATS = 3  # runs, of which the fastest counts
STEPS = {True: 1000, False: 200}  # by default, with an accelerator and without


@dataclass(frozen=True)
class Setup:
    """What to run: names of policies, by default all, and the number of trials and steps."""

    policies: Sequence[str] | None = None
    trials: int = 1024
    steps: int | None = None

    @property
    def names(self) -> list[str]:
        """The policies, each once."""
        return list(dict.fromkeys(self.policies or THIRTEEN))

    @property
    def length(self) -> int:
        """The steps, as asked for or as the devices have it."""
        return self.steps or STEPS[accelerator() is not None]

    @property
    def at(self) -> np.ndarray:
        """The steps to record: the end of the first ones, and the last."""
        return np.unique([min(FIRST, self.length), self.length]).astype(np.int32)


class Place(NamedTuple):
    """Where a tile runs, and which way."""

    name: str
    device: Any
    way: loops.Way
    width: int
    policies: tuple[str, ...]
    timed: bool = True


@dataclass(frozen=True)
class Ran:
    """What became of one policy at one place: its outcome and times, or why there is none."""

    place: str
    policy: str
    outcome: Outcome | None = None
    microseconds: float | None = None  # for one step of one trial
    compiling: float | None = None  # seconds
    trouble: str = ""


def accelerator() -> Any:
    """The first device of the default platform, unless that is the CPU."""
    device = jax.local_devices()[0]
    return None if device.platform == CPU else device


def cpu() -> Any:
    """The CPU, if JAX may use it."""
    try:
        return jax.local_devices(backend=CPU)[0]
    except RuntimeError:
        return None


def places(setup: Setup) -> list[Place]:
    """Every way to run here, first what the others are compared with."""
    device, host, names = accelerator(), cpu(), tuple(setup.names)
    problem = problems.unit_ball(30, 3)
    width = widths.tile_width(problem, CPU)
    found = [] if host is None else [Place(CPU, host, loops.Way(), width, names)]
    if device is None:
        way = ways.chosen(problem, "gpu", setup.length)
        return [*found, Place("gpu layout", host, way, LANES, names, timed=False)]
    way = ways.chosen(problem, device.platform, setup.length)
    return [*found, Place(f"{device.platform} loop", device, way, loops.ACCELERATOR_LANES, names)]


def attempt(setup: Setup, place: Place, name: str) -> Callable[[], Ran]:
    """One policy at one place, compiled; what is returned runs it. Neither raises."""
    ran = partial(Ran, place.name, name)
    try:
        start = time.perf_counter()
        tile = program(setup, place, policies.PAPER[name])
        seconds = time.perf_counter() - start
    except Exception as error:
        return partial(ran, trouble=f"does not compile: {one_line(error)}")

    def run() -> Ran:
        try:
            outcome, microseconds = _timed(setup, place, tile)
        except Exception as error:
            return ran(compiling=seconds, trouble=f"does not run: {one_line(error)}")
        return ran(outcome, microseconds, seconds)

    return run


def program(setup: Setup, place: Place, policy: policies.Policy) -> Callable[[int], Any]:
    """The tile whose first trial has a given number."""
    arguments = placed((problems.unit_ball(30, 3), policy, jax.random.key(0)), place.device)
    jitted: Any = tiles.compiled(place.device.platform)
    static = {"width": place.width, "series": (), "record": None, "total": None, "way": place.way}
    tile = jitted.lower(*arguments, np.uint32(0), setup.at, **static).compile()
    return lambda first: jax.device_get(tile(*arguments, np.uint32(first), setup.at))


def _timed(setup: Setup, place: Place, tile: Callable[[int], Any]) -> tuple[Outcome, float | None]:
    """The trials, and the µs for one step of one of them where that is of interest."""
    firsts, times, found = range(0, setup.trials, place.width), [], []
    with ThreadPoolExecutor(cores() if place.device.platform == CPU else 1) as pool:
        for _ in range(REPEATS if place.timed else 1):
            start = time.perf_counter()
            found = list(pool.map(tile, firsts))
            times.append(time.perf_counter() - start)
    regret = np.concatenate([series["regret"] for series, *_ in found], axis=-1)[:, : setup.trials]
    kinds = np.concatenate([np.asarray(fault.kind) for *_, fault in found])[: setup.trials]
    spent = min(times) * 1e6 / (len(firsts) * place.width * setup.length)
    return Outcome(regret[0], regret[-1], kinds), spent if place.timed else None
