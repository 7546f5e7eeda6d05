"""Trials of a cell once more: the instances they met, and what a policy knew in one of them, at every point.

A trial depends on its key alone, so what is drawn or simulated again is what the stored regret came from.
"""

import operator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import agents, draws, problems, workers
from jaxids.experiment import build
from jaxids.experiment.keys import Table
from jaxids.experiment.schema import CONTINUOUS
from jaxids.problems import Instance, functions
from jaxids.tiles import Hook, Step, instance_keys, trial_keys

PER_SIDE = {1: 200, 2: 40}  # points of a grid on a domain, by its dimensions


def instances(setting: Table, trials: np.ndarray) -> Instance:
    """The instances that trials of a setting met, trials on the first axis."""
    problem = build.problem_of(setting["problem"])
    of_instance = instance_keys(problem, build.key_of(setting["seed"]), jnp.asarray(trials, jnp.uint32))
    return jax.device_get(jax.jit(jax.vmap(problem.draw))(of_instance))


@dataclass(frozen=True)
class Watched:
    """The points [K, p], the function and its noise [K], and what was known before each of some steps [S, K]."""

    points: np.ndarray
    values: np.ndarray
    rho: np.ndarray
    steps: np.ndarray  # [S]
    mean: np.ndarray
    radius: np.ndarray  # β_t σ_t
    gap: np.ndarray
    gain: np.ndarray | None  # of the IDS family
    action: np.ndarray  # [S]: what was played
    ends: np.ndarray | None  # [S, 2]: of the IDS family, the two actions of the mix
    weight: np.ndarray | None  # [S]: of the second
    ratio: np.ndarray | None  # [S]: Ψ of the mix


def watch(setting: Table, trial: int, steps: list[int]) -> Watched:
    """Look at a trial of a setting on points or a domain, at those of the steps that it has."""
    at = np.array([step for step in steps if step <= setting["steps"]] or [setting["steps"]], np.int32)
    if setting["problem"]["kind"] in CONTINUOUS:
        return _on_domain(setting, trial, at)

    def known(step: Step) -> Any:
        means, band = (step.instance.mean, step.instance.rho), step.band
        gap = band.gap if step.choice.gap is None else step.choice.gap
        return means, (band.mean, band.radius, gap), step.choice.gain, _played(step)

    (values, rho), (mean, radius, gap), gain, played = _recorded(setting, trial, at, known)
    return Watched(build.points_of(setting["problem"]), values[0], rho[0], at, mean, radius, gap, gain, *played)


def _played(step: Step) -> tuple[Any, ...]:
    """The action, and of a mix its two ends, the weight of the second and Ψ."""
    mix = step.choice.mix
    if mix is None:
        return step.choice.action, None, None, None
    return step.choice.action, jnp.stack([mix.first, mix.second]), mix.weight, mix.value


def _recorded(setting: Table, trial: int, at: np.ndarray, known: Hook) -> Any:
    """What a function of a step gives in one trial, for each of some steps."""
    problem, policy = build.problem_of(setting["problem"]), build.policy_of(setting)
    problem = problems.sized(problem, setting["steps"])  # as it was in the run
    width = build.width_of(setting["problem"])
    index, lane = divmod(trial, width)
    key, trials = build.key_of(setting["seed"]), (index + 1) * width
    (tile,) = workers.run(problem, policy, key=key, trials=trials, at=at, record=known, indices=[index])
    return jax.tree.map(lambda leaf: leaf[..., lane], tile.recorded)


def _on_domain(setting: Table, trial: int, at: np.ndarray) -> Watched:
    """What was known on a grid of a box or ball; what was played is shown at the nearest point of it."""
    problem, policy = build.problem_of(setting["problem"]), build.policy_of(setting)
    keys = trial_keys(build.key_of(setting["seed"]), jnp.array([trial], jnp.uint32))
    instance, words, points = problem.draw(keys[0][0]), draws.stream(keys[2][0]), _grid(setting["problem"])

    @jax.jit
    def known(agent: Any, step: Any) -> Any:
        band: Any = agents.band_of(problem.belief, policy, instance, agent)
        band = band.at(jnp.asarray(points.T))
        surfaces = getattr(policy.rule, "surfaces", lambda band, _: (band.gap, None))
        gap, gain = surfaces(band, draws.Stream(words, step))
        return band.mean, band.radius, gap, gain

    there, (action, ends, weight, ratio) = _recorded(setting, trial, at, lambda step: (step.agent, _played(step)))
    seen = [known(jax.tree.map(operator.itemgetter(i), there), jnp.uint32(step - 1)) for i, step in enumerate(at)]
    mean, radius, gap, gain = jax.tree.map(lambda *parts: np.stack(parts), *seen)
    values, rho = (np.asarray(jax.vmap(f)(jnp.asarray(points))) for f in (instance.mean_of, instance.rho_of))
    ends = None if ends is None else _nearest(points, ends)
    return Watched(points, values, rho, at, mean, radius, gap, gain, _nearest(points, action), ends, weight, ratio)


def _grid(table: Table) -> np.ndarray:
    """Points [K, p] that fill a box or ball of one or two dimensions."""
    low, high = build.corners_of(table)
    points = low + (high - low) * functions.grid(len(low), PER_SIDE[len(low)])
    inside = np.linalg.norm(points - (low + high) / 2, axis=1) <= (high - low)[0] / 2 * (1 + 1e-6)
    return points[inside] if table["kind"] == "ball" else points


def _nearest(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The indices of the points nearest to places […, p]."""
    return np.argmin(np.sum((places[..., None, :] - points) ** 2, axis=-1), axis=-1)
