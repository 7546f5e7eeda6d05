"""The simulator: many independent trials of one policy on one problem, and their regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxids import checks, moments, policies, workers
from jaxids.problems import Problem
from jaxids.tiles import Hook

POINTS = 200  # steps recorded when the caller names none


@dataclass(frozen=True)
class Result:
    """Regret over trials: its mean and standard error at `steps`, and every trial's regret at the last."""

    steps: np.ndarray
    mean: np.ndarray
    stderr: np.ndarray
    final: np.ndarray
    recorded: Any = None
    totals: Any = None


def simulate(
    problem: Problem,
    policy: policies.Policy,
    *,
    key: Key[Array, ""],
    trials: int,
    steps: int,
    at: Any = None,
    record: Hook | None = None,
    total: Hook | None = None,
    devices: Sequence[Any] | None = None,
) -> Result:
    """Play a policy on a problem in many independent trials.

    `at` are the steps to record (by default 200, evenly spread up to the last). `record` is called at every step with a
    `jaxids.tiles.Step`, whose arrays have trials on the last axis; what it returns is kept at the steps of `at` and
    comes back as `result.recorded` with axes [trials, at, …]. What `total` returns is summed over all steps, as
    `result.totals` [trials, …]. `devices` are all of the default platform's; on a CPU tiles run on as many threads as
    there are cores. With one trial the standard error is NaN.
    """
    checks.untraced("simulate", problem=problem, policy=policy, key=key)
    trials, steps = checks.count("trials", trials), checks.count("steps", steps)
    checks.key("key", key)
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem: got {checks.shown(problem)}; it takes one of jaxids.problems, as problems.unit_ball()"
        )
    problem.check()
    policies.check(policy)
    for name, hook in {"record": record, "total": total}.items():
        if hook is not None:
            checks.function(name, hook)
    if devices is not None and not (isinstance(devices, Sequence) and all(isinstance(d, jax.Device) for d in devices)):
        raise ValueError(f"devices: got {checks.shown(devices)}; it takes a list of them, as of jax.devices()")
    at = recorded_steps(steps, at)
    until = at if at[-1] == steps else np.append(at, np.int32(steps))
    regret, final, kept, sums = moments.empty(len(at)), [], [], []
    run = partial(workers.run, problem, policy, key=key, trials=trials, at=until, devices=devices)
    for tile in run(record=record, total=total):
        regret = moments.merge(regret, tile.regret[: len(at)])
        final.append(tile.regret[-1])
        kept.append(jax.tree.map(lambda leaf: leaf[: len(at)], tile.recorded))
        sums.append(tile.totals)
    recorded, totals = (jax.tree.map(lambda *parts: _joined(parts), *trees) for trees in (kept, sums))
    return Result(at, regret.mean, regret.stderr, np.concatenate(final), recorded, totals)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The trials of all tiles, moved to the first axis."""
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 0)


def recorded_steps(steps: int, at: Any = None) -> np.ndarray:
    """The steps to record: those given, or `POINTS` spread evenly up to the last."""
    if at is None:
        return np.unique(np.linspace(0, steps, min(steps, POINTS) + 1).round().astype(np.int32)[1:])
    takes = f"increasing whole numbers from 1 to steps = {steps}"
    given = checks.number("at", list(at) if isinstance(at, range) else at, takes)
    if given.ndim != 1 or given.size == 0 or np.any(np.diff(given, prepend=0) < 1) or given[-1] > steps:
        raise ValueError(f"at: got {checks.shown(at)}; it takes {takes}")
    if np.any(given != given.round()):
        raise ValueError(f"at: got {given[given != given.round()][0]:g}; it takes {takes}")
    return given.astype(np.int32)
