"""How many trials a tile holds, by the shape of a problem's belief and the platform."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import loops, nodes
from jaxids.problems import Instance, Problem

CACHE = 32768  # numbers in the states of one tile on a CPU
SEARCHED = 8  # trials of a tile on a box or ball, where a step is a search


def _prior(problem: Problem, trials: int) -> Any:
    """The shapes of the belief's state of some trials."""
    keys = jax.ShapeDtypeStruct((trials,), jax.random.key(0).dtype)
    return jax.eval_shape(lambda k: jax.vmap(problem.draw, out_axes=-1)(k).prior(problem.belief, 1.0), keys)


@nodes.cached_by_shape
def tile_width(problem: Problem, platform: str) -> int:
    """How many trials a tile holds: on a CPU as many as keep its state in cache, but enough to be worth a loop.

    On an accelerator, as many as keep it busy and fit in its memory. It is asked of every call, and found once for
    problems of one structure and shape.
    """
    instance = jax.eval_shape(problem.draw, jax.random.key(0))
    if not isinstance(instance, Instance):
        return SEARCHED
    states = [_prior(problem, count) for count in (1, 2)]
    seen = jax.eval_shape(problem.belief.at, instance.features, jax.ShapeDtypeStruct((), jnp.int32))
    apart = instance.features.size if seen.shape else 0  # a belief that knows an action by its index has all inside
    one, two = (sum(leaf.size for leaf in jax.tree.leaves(state)) for state in states)
    numbers = apart + two - one  # of one trial more: what all share does not count
    if platform != "cpu":
        return int(np.clip(2 ** int(np.log2(max(loops.MEMORY // numbers, 1))), loops.FEWEST, loops.ACCELERATOR_LANES))
    fit, least = (2 ** int(np.log2(max(room // numbers, 1))) for room in (CACHE, 32 * CACHE))
    return int(np.clip(fit, np.clip(least, 8, 64), 256))
