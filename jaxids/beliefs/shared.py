"""As `kept`, for actions that all trials share: the state holds them once, so that a step reads them from cache.

Else a step at K = 1000, d = 60 reads 240 kB for each trial, twice with a gain about one action, and waits for memory.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids.beliefs import kept
from jaxids.beliefs.kept import State, at, cov_with, log_det, mean, sample, update, var, var_given  # noqa: F401
from jaxids.types import Number

__all__ = ["init"]  # all else is that of `kept`


def init(actions: Float[Array, "d K ..."], lam: Number) -> State:
    """The estimate before any observation; the actions are those of the first trial."""
    first = (slice(None),) * 2 + (slice(1),) * (jnp.ndim(actions) - 2)
    return kept.init(actions, lam)._replace(actions=actions[first])
