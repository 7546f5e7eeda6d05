"""The simulator: many independent trials of one policy on one problem, and their regret."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxids import checks, policies
from jaxids.problems import Problem
from jaxids.tiles import Record, tiles

POINTS = 200  # steps recorded when the caller names none


@dataclass(frozen=True)
class Result:
    """Regret over trials: its mean and standard error at `steps`, and every trial's regret at the last."""

    steps: np.ndarray
    mean: np.ndarray
    stderr: np.ndarray
    final: np.ndarray
    recorded: Any = None


def simulate(
    problem: Problem,
    policy: policies.Policy,
    *,
    key: Key[Array, ""],
    trials: int,
    steps: int,
    at: Any = None,
    record: Record | None = None,
    devices: Sequence[Any] | None = None,
) -> Result:
    """Play a policy on a problem in many independent trials."""
    trials, steps = checks.count("trials", trials), checks.count("steps", steps)
    checks.key("key", key)
    problem.check()
    policies.check(policy)
    at = recorded_steps(steps, at)
    count, mean, square, final, kept = 0, np.zeros(len(at)), np.zeros(len(at)), [], []
    for tile in tiles(problem, policy, key=key, trials=trials, at=at, record=record, devices=devices):
        regret = tile.regret.astype(float)
        n = regret.shape[1]
        shift = regret.mean(axis=1) - mean
        square += regret.var(axis=1) * n + shift**2 * count * n / (count + n)
        mean += shift * n / (count + n)
        count += n
        final.append(tile.regret[-1])
        kept.append(tile.recorded)
    recorded = jax.tree.map(lambda *parts: np.moveaxis(np.concatenate(parts, axis=-1), -1, 0), *kept)
    stderr = np.sqrt(square / (count - 1) / count) if count > 1 else np.full(len(at), np.nan)
    return Result(at, mean, stderr, np.concatenate(final), recorded)


def recorded_steps(steps: int, at: Any = None) -> np.ndarray:
    """The steps to record: those given, or `POINTS` spread evenly up to the last."""
    if at is None:
        return np.unique(np.linspace(0, steps, min(steps, POINTS) + 1).round().astype(np.int32)[1:])
    takes = f"increasing whole numbers from 1 to steps = {steps}"
    given = checks.number("at", list(at) if isinstance(at, range) else at, takes)
    if given.ndim != 1 or given.size == 0 or np.any(np.diff(given, prepend=0) < 1) or given[-1] > steps:
        raise ValueError(f"at: got {at!r}; it takes {takes}")
    if np.any(given != given.round()):
        raise ValueError(f"at: got {given[given != given.round()][0]:g}; it takes {takes}")
    return given.astype(np.int32)
