"""Times policies, in µs for one step of one trial, on every core that the process may use.

The first call, which compiles, is timed apart; of the others the fastest counts.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import outputs, policies, problems, ratio
from jaxids.bench.table import COLUMNS, Row, cells, line, progress
from jaxids.names import THIRTEEN
from jaxids.simulator import simulate
from jaxids.workers import cores

Bandit = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # actions, theta, rho, rho_bound


@dataclasses.dataclass(frozen=True)
class Setup:
    """What to measure: names of policies, the size of a run, and how often it is repeated."""

    policies: Sequence[str] = tuple(THIRTEEN)
    trials: int = 2048
    steps: int = 2000
    actions: int = 30
    dim: int = 3
    repeats: int = 3


def run(setup: Setup, json_file: str | None = None) -> list[Row]:
    """Measure, print the table a row at a time, and write it as JSON where asked."""
    about, rows = machine(), []
    with outputs.printed_beside(json_file):
        print(headline(setup, about))
        print(line(COLUMNS), flush=True)
        for name in setup.policies:
            rows.append(measure(name, setup))
            progress("")
            print(line(cells(rows[-1])), flush=True)
    if json_file:
        content = {"setup": dataclasses.asdict(setup), "machine": about, "rows": [dataclasses.asdict(r) for r in rows]}
        outputs.write(json_file, json.dumps(content, indent=2) + "\n")
    return rows


def measure(name: str, setup: Setup) -> Row:
    """Time one policy, and with every pair tried where it mixes two actions."""
    bandit, policy = instance(setup.actions, setup.dim), policies.PAPER[name]
    progress(name)
    microseconds, compiling = time_jaxids(policy, bandit, setup)
    row = Row(name, microseconds, None, compiling)
    if isinstance(policy.rule, policies.Directed) and policy.rule.solver is ratio.exact:
        progress(f"{name}: every pair")
        rule = dataclasses.replace(policy.rule, solver=ratio.pairs)
        by_pairs, _ = time_jaxids(dataclasses.replace(policy, rule=rule), bandit, setup)
        row = dataclasses.replace(row, pairs=by_pairs)
    return row


def time_jaxids(policy: policies.Policy, bandit: Bandit, setup: Setup) -> tuple[float, float]:
    """µs for one step of one trial, and the seconds of a first call of a single step, nearly all of them compiling."""
    *fixed, rho_bound = bandit
    problem = problems.linear(*fixed, rho_bound=rho_bound)

    def call(trials: int, steps: int) -> None:
        simulate(problem, policy, key=jax.random.key(0), trials=trials, steps=steps, at=[steps])

    compiling = fastest(lambda: call(1, 1), repeats=1)
    seconds = fastest(lambda: call(setup.trials, setup.steps), setup.repeats)
    return seconds * 1e6 / (setup.trials * setup.steps), compiling


def fastest(call: Callable[[], object], repeats: int) -> float:
    """The seconds of the fastest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def instance(num_actions: int, dim: int) -> Bandit:
    """The paper's experiment: actions [K, d] uniform in the unit ball, θ* = (1, …, 1)/√d, ρ in [0.1, 1], R = 1."""
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((num_actions, dim))
    radius = rng.random((num_actions, 1)) ** (1 / dim)
    actions = direction / np.linalg.norm(direction, axis=1, keepdims=True) * radius
    return actions, np.full(dim, dim**-0.5), rng.uniform(0.1, 1, num_actions), 1.0


def machine() -> dict[str, str | int]:
    """What the times depend on besides the setup."""
    device, precision = jax.local_devices()[0].device_kind, str(jnp.zeros(()).dtype)
    return {"cores": cores(), "jax": jax.__version__, "precision": precision, "device": device}


def headline(setup: Setup, about: dict[str, str | int]) -> str:
    """The line above the table."""
    size = {"K": setup.actions, "d": setup.dim, "trials": setup.trials, "steps": setup.steps}
    return " ".join(f"{name}={value}" for name, value in (size | about).items())
