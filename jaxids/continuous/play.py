"""The simulator on a continuous action set: many trials of one policy, and their regret.

One step costs a search, milliseconds rather than microseconds, so trials run a few at a time.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Key

from jaxids import beliefs, checks, confidence, draws, faults, moments, policies
from jaxids.continuous.bandit import Problem
from jaxids.continuous.choices import choose
from jaxids.continuous.surface import Function, Point, Scalar, Surface, noise_function, of_history, of_linear
from jaxids.simulator import Result
from jaxids.tiles import trial_keys

WIDTH = 8  # trials run together; always as many, so that a trial's bits do not depend on how many there are


def simulate(
    problem: Problem, policy: policies.Policy, *, key: Key[Array, ""], trials: int, steps: int, progress: Any = None
) -> Result:
    """Play a policy in independent trials; `result.recorded` are the points played [trials, steps, p].

    Trials of one key meet the same noise whatever the policy. `progress`, a function, is told how many are finished.
    """
    checks.untraced("simulate", problem=problem, policy=policy, key=key)
    trials, steps = checks.count("trials", trials), checks.count("steps", steps)
    checks.key("key", key)
    if not isinstance(problem, Problem):
        raise ValueError(f"problem: got {checks.shown(problem)}; it takes one of continuous.problem")
    policies.check(policy)
    regret, points = [], []
    for first in range(0, trials, WIDTH):
        batch = first + jnp.arange(WIDTH, dtype=jnp.uint32)
        gaps, played, *seen = jax.device_get(_run(problem, policy, key, batch, steps=steps))
        asked = {"regret": gaps, "reward": seen[0], "upper bound": seen[1]}
        for name, values in ((name, part[: trials - first]) for name, part in asked.items()):
            if not np.all(np.isfinite(values)):
                trial, step = np.argwhere(~np.isfinite(values))[0]
                where = f"at step {step + 1} of trial {first + trial}"
                takes = faults.RANGE.format(precision=gaps.dtype)
                raise ValueError(f"problem: a {name} is NaN or infinite, {where}; it takes {takes}")
        regret.append(np.cumsum(gaps, axis=1, dtype=float))
        points.append(played)
        if progress is not None:
            progress(min(first + WIDTH, trials))
    every = np.concatenate(regret)[:trials]
    found = moments.merge(moments.empty(steps), every.T)
    at = np.arange(1, steps + 1, dtype=np.int32)
    return Result(at, {"regret": moments.Series(found.mean, found.stderr, every[:, -1])}, np.concatenate(points)[:trials])


@partial(jax.jit, static_argnames="steps")
def _run(problem: Problem, policy: policies.Policy, key: Array, trials: Array, *, steps: int) -> tuple[Array, ...]:
    """Of some trials [n, steps]: regret of every step, points [n, steps, p], rewards, upper bounds there."""
    _, of_noise, of_policy = trial_keys(key, trials)
    rho = problem.rho if policy.weighted else noise_function(problem.rho_bound)
    start, see, update = _belief(problem, policy, steps)

    def one(noise: Array, own: Array) -> tuple[Array, ...]:
        def step(state: Any, t: Array) -> tuple[Any, tuple[Any, ...]]:
            surface = see(state, rho)
            x = choose(policy, surface, problem.domain, draws.Stream(own, t))
            mean = problem.function(x)
            reward = mean + problem.rho(x) * problem.noise(draws.Stream(noise, t))
            return update(state, x, reward, rho(x) ** 2), (
                jnp.maximum(problem.top - mean, 0),
                x,
                reward,
                surface.upper(x),
            )

        return lax.scan(step, start, jnp.arange(steps, dtype=jnp.uint32))[1]

    return jax.vmap(one)(jax.vmap(draws.stream)(of_noise), jax.vmap(draws.stream)(of_policy))


def _belief(
    problem: Problem, policy: policies.Policy, steps: int
) -> tuple[Any, Callable[[Any, Function], Surface], Callable[..., Any]]:
    """The belief before the first step, its surface, and its update at a point."""
    dim, numbers = problem.domain.size.shape[0], (policy.delta, policy.lam, policy.norm_bound)
    if problem.kernel is None:
        belief, of, update = beliefs.linear, of_linear, _update_linear
        start: Any = belief.init(jnp.zeros((dim, 1)), policy.lam)
    else:
        belief, of, update = beliefs.history, of_history, beliefs.history.update
        start = belief.init(problem.kernel, dim, problem.capacity or steps, policy.lam)

    def see(state: Any, rho: Function) -> Surface:
        return of(state, confidence.beta(belief.log_det(state), *numbers), rho)

    return start, see, update


def _update_linear(state: beliefs.linear.State, x: Point, reward: Scalar, rho2: Scalar) -> beliefs.linear.State:
    """As if x were the only action."""
    return beliefs.linear.update(state._replace(actions=x[:, None]), jnp.int32(0), reward, rho2)
