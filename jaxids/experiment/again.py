"""Trials of a cell once more: the instances they met, and what a policy knew in one of them, at every point.

A trial depends on its key alone, so what is drawn or simulated again is what the stored regret came from.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import workers
from jaxids.experiment import build, kernel_problems
from jaxids.experiment.keys import Table
from jaxids.problems import Instance
from jaxids.tiles import Step, band_of, trial_keys

__all__ = ["Watched", "instances", "watch"]


def instances(setting: Table, trials: np.ndarray) -> Instance:
    """The instances that trials of a setting met, trials on the first axis."""
    problem = build.problem_of(setting["problem"])
    of_instance, *_ = trial_keys(jax.random.key(setting["seed"]), jnp.asarray(trials, jnp.uint32))
    return jax.device_get(jax.jit(jax.vmap(problem.draw))(of_instance))


@dataclass(frozen=True)
class Watched:
    """The points [K, p], the function and its noise [K], and what was known before each of some steps [S, K]."""

    points: np.ndarray
    values: np.ndarray
    rho: np.ndarray
    steps: np.ndarray  # [S]
    action: np.ndarray  # [S]: what was played
    mean: np.ndarray
    radius: np.ndarray  # β_t σ_t
    gap: np.ndarray
    gain: np.ndarray | None  # of the IDS family, as is the rest
    ends: np.ndarray | None  # [S, 2]: the two actions of the mix
    weight: np.ndarray | None  # [S]: of the second
    ratio: np.ndarray | None  # [S]: Ψ of the mix


def watch(setting: Table, trial: int, steps: list[int]) -> Watched:
    """Look at a trial of a setting on points, at those of the steps that it has."""
    problem, policy = build.problem_of(setting["problem"]), build.policy_of(setting)
    at = np.array([step for step in steps if step <= setting["steps"]] or [setting["steps"]], np.int32)

    def known(step: Step) -> Any:
        band = band_of(problem, policy, step.instance, step.state)
        mix = step.choice.mix
        mixed = None if mix is None else (jnp.stack([mix.first, mix.second]), mix.weight, mix.value)
        means = (step.instance.mean, step.instance.rho)
        return means, step.choice.action, (band.mean, band.radius, band.gap), step.choice.gain, mixed

    width = build.width_of(problem)
    index, lane = divmod(trial, width)
    key, trials = jax.random.key(setting["seed"]), (index + 1) * width
    (tile,) = workers.run(problem, policy, key=key, trials=trials, at=at, record=known, indices=[index])
    (values, rho), action, (mean, radius, gap), gain, mixed = jax.tree.map(lambda leaf: leaf[..., lane], tile.recorded)
    points = kernel_problems.points_of(setting["problem"])
    return Watched(points, values[0], rho[0], at, action, mean, radius, gap, gain, *(mixed or (None, None, None)))
