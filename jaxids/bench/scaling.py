"""Times of jaxids over dimensions d and numbers of actions K: seconds to compile, and processor time of a step.

Processor time is that of all cores together, for one step of one trial, the drawing of instances apart. K actions in d
dimensions are the same in all trials, as in `problems.linear`, or new in each, as in `problems.unit_ball`. Every size
is run for about as many steps as take `SECONDS`.
"""

import dataclasses
import json
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxids import outputs, policies, problems, widths
from jaxids.bench.measure import instance, machine
from jaxids.bench.table import line, number, progress
from jaxids.simulator import simulate
from jaxids.workers import cores

POLICIES = ("W-UCB", "W-TS", "IDS-UCB")
DIMS, ACTIONS = (2, 5, 12, 13, 30, 60, 100, 200), (10, 100, 1000, 10_000, 100_000)  # 12 and 13: two forms of belief
AT = 1000, 60  # K where d grows, and d where K grows
SECONDS = 0.5  # that a timed run takes, roughly
MEMORY = 8e9  # bytes that a size may need
COLUMNS, WIDTHS = ("policy", "d", "K", "width", "step µs", "compile s"), (8, 4, 7, 6, 9, 9)


@dataclasses.dataclass(frozen=True)
class Setup:
    """What to measure: names of policies, and sizes (d, K)."""

    policies: Sequence[str] = POLICIES
    sizes: Sequence[tuple[int, int]] = ()
    fresh: bool = False
    repeats: int = 3


@dataclasses.dataclass(frozen=True)
class Row:
    """One policy at one size: trials of a tile, µs for one step of one trial, and seconds to compile."""

    policy: str
    dim: int
    actions: int
    width: int
    step: float
    compile: float


def sizes() -> list[tuple[int, int]]:
    """Every d at one K, and every K at one d."""
    return [(d, AT[0]) for d in DIMS] + [(AT[1], count) for count in ACTIONS if count != AT[0]]


def run(setup: Setup, plot: str, json_file: str | None = None) -> list[Row]:
    """Measure, print a row at a time, draw, and write the numbers as JSON where asked."""
    from jaxids.bench import curves  # Matplotlib, which nothing else here needs

    about, rows, skipped = machine(), [], []
    with outputs.printed_beside(json_file):
        print(" ".join(f"{name}={value}" for name, value in ({"fresh": setup.fresh} | about).items()))
        print(line(COLUMNS, WIDTHS), flush=True)
        for dim, actions in setup.sizes or sizes():
            if (bytes_ := needed(dim, actions, setup.fresh)) > MEMORY:
                skipped.append({"d": dim, "K": actions, "bytes": bytes_})
                print(f"d = {dim}, K = {actions} is left out: it takes about {bytes_ / 1e9:.0f} GB", flush=True)
                continue
            for name in setup.policies:
                progress(f"{name}: d = {dim}, K = {actions}")
                rows.append(measure(name, dim, actions, setup))
                progress("")
                print(line(cells(rows[-1]), WIDTHS), flush=True)
        curves.draw(rows, plot, about)
        print(f"drawn: {plot}")
    if json_file:
        content = {"setup": dataclasses.asdict(setup), "machine": about, "skipped": skipped}
        outputs.write(json_file, json.dumps(content | {"rows": [dataclasses.asdict(r) for r in rows]}, indent=2) + "\n")
    return rows


def cells(row: Row) -> list[str]:
    """A row as text."""
    numbers = [str(row.dim), str(row.actions), str(row.width)]
    return [row.policy, *numbers, number(row.step), f"{row.compile:.1f}"]


def needed(dim: int, actions: int, fresh: bool) -> float:
    """Bytes of all tiles under way: actions, with what it takes to draw or spread them, and what is known of each."""
    width = widths.tile_width(problems.unit_ball(actions, dim), "cpu")
    numbers = (4 if fresh else 2) * dim * actions + 2 * dim**2 + 20 * actions
    return jnp.zeros(()).dtype.itemsize * cores() * width * numbers


def measure(name: str, dim: int, actions: int, setup: Setup) -> Row:
    """Time one policy at one size."""
    problem, policy = _problem(dim, actions, setup.fresh), policies.PAPER[name]
    width = widths.tile_width(problem, "cpu")

    def seconds(steps: int) -> float:
        start = time.process_time()
        simulate(problem, policy, key=jax.random.key(0), trials=width * cores(), steps=steps, at=[steps])
        return time.process_time() - start

    start = time.perf_counter()
    simulate(problem, policy, key=jax.random.key(0), trials=1, steps=1, at=[1])
    compiling = time.perf_counter() - start
    steps = _steps(seconds)
    taken = min(seconds(1 + steps) - seconds(1) for _ in range(setup.repeats))
    return Row(name, dim, actions, width, max(taken, 1e-9) * 1e6 / (width * cores() * steps), compiling)


def _steps(seconds: Any) -> int:
    """How many steps take about `SECONDS`, of 5 to 10 000."""
    start, few = seconds(1), 6
    each = max(seconds(1 + few) - start, 1e-6) / few
    return int(min(max(SECONDS / each, 5), 10_000))


def _problem(dim: int, actions: int, fresh: bool) -> Any:
    if fresh:
        return problems.unit_ball(actions, dim)
    *fixed, rho_bound = instance(actions, dim)
    return problems.linear(*fixed, rho_bound=rho_bound)
