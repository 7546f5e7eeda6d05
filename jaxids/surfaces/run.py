"""The cloud of gaps and gains at steps of a run, and what IDS made of it."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxids import checks, policies, ratio
from jaxids.problems import Problem
from jaxids.tiles import Step


class Along(NamedTuple):
    """Gaps and gains of all actions at some steps, the minimising mix, and the action that was played.

    With several trials each has an axis of them first. On a box or ball actions are points; gaps and gains are those of
    the mix's two points and of the candidates, so the mix is of 0 and 1.
    """

    steps: Int[np.ndarray, "R"]
    gap: Float[np.ndarray, "... R K"]
    gain: Float[np.ndarray, "... R K"]
    mix: ratio.Mix
    action: Int[np.ndarray, "... R"] | Float[np.ndarray, "... R p"]


def along(
    problem: Problem,
    policy: policies.Policy,
    key: Key[Array, ""],
    at: Any,
    *,
    trials: int = 1,
    steps: int | None = None,
) -> Along:
    """Play an IDS policy and keep gap, gain, mix and action at the steps `at`, counted from 1; one trial, or more.

    The run ends with the last of them, or after `steps`.
    """
    from jaxids.simulator import recorded_steps, simulate  # the one place that knows it

    policies.check(policy)
    if not isinstance(policy.rule, policies.Directed):
        raise ValueError(f"policy: got {checks.shown(policy.rule)}; it takes one of policies.ids, which has a ratio")
    last = int(np.max(checks.number("at", at, "increasing whole numbers from 1 on"), initial=1))
    steps = max(last, 1) if steps is None else checks.count("steps", steps)
    kept = recorded_steps(steps, np.atleast_1d(np.asarray(at)))
    seen = simulate(problem, policy, key=key, trials=trials, steps=steps, at=kept, record=_seen).recorded
    gap, gain, action, *mix = (part[0] if trials == 1 else part for part in seen)
    return Along(kept, gap, gain, ratio.Mix(*mix), action)


def _seen(step: Step) -> tuple[Array, ...]:
    """What a step of IDS decided by."""
    choice = step.choice
    assert choice.mix is not None
    assert choice.gap is not None
    assert choice.gain is not None
    first, second, weight, value = choice.mix
    if jnp.issubdtype(first.dtype, jnp.floating):  # points of a box: the first two of the cloud
        first, second = jnp.zeros(weight.shape, jnp.int32), jnp.ones(weight.shape, jnp.int32)
    return choice.gap, choice.gain, choice.action, first, second, weight, value
