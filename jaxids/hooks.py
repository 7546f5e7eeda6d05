"""What `simulate` may keep or sum besides regret, as functions of a step: `record=hooks.simple_regret`."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import lanes
from jaxids.tiles import Step


def pulls(step: Step) -> Int[Array, "K ..."]:
    """1 for the action played, 0 for the others: to be summed over steps."""
    return (jnp.arange(step.instance.rho.shape[0])[:, None] == step.choice.action).astype(jnp.int32)


def simple_regret(step: Step) -> Float[Array, "..."]:
    """How far the mean of the action that would be recommended after the step is below the best."""
    return jnp.max(step.instance.mean, axis=0) - lanes.pick(step.instance.mean, step.recommended)
