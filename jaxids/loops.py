"""The loop of a tile over its steps, and from one recorded point to the next.

- On a CPU, by points: a loop up to each of them. One program serves every number of steps.
- On a GPU or TPU, by steps: one loop whose count the compiler knows, because any other synchronizes with the host in
  every iteration. What each step leaves is written to the place of the next recorded point.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from jaxids import layouts

ACCELERATOR_LANES, FEWEST = 16384, 128  # of a tile: the most (of more, XLA fuses less of a step), and the fewest
MEMORY = 2**25  # numbers in the states of one tile on an accelerator
TURN, LONG = 4, 1000  # steps unrolled in an iteration: fewer launches, longer to compile; and from how many steps on


class Way(NamedTuple):
    """The plan of a loop.

    Attributes:
        platform: JAX's name of the kind of device.
        steps: All steps of the run where they are one loop, else None.
        turn: Steps unrolled in an iteration of that loop.
    """

    platform: str = "cpu"
    steps: int | None = None
    turn: int = 1

    @property
    def layout(self) -> layouts.Layout:
        """The layout of the platform."""
        return layouts.of_platform(self.platform)


Step = Callable[[Int[Array, ""], Any, Any], Any]  # number of the step, trials, carry → carry


def run(
    way: Way, step: Step, trials: Any, carry: Any, at: Int[Array, "R"], kept: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Run all steps.

    Args:
        way: The plan of the loop.
        step: A function of the step's number, the trials and the carry that returns the next carry.
        trials: The constants of the trials.
        carry: The carry before the first step.
        at: Numbers of the steps to record, increasing; the last one ends the run.
        kept: A function of the carry that returns what is recorded.

    Returns:
        The carry at the end, and what is recorded, with points on the first axis.
    """
    if way.steps is not None:
        return _by_steps(way.steps, way.turn, step, trials, carry, at, kept)

    def until(state: Any, target: Int[Array, ""]) -> tuple[Any, Any]:
        now, carry = lax.fori_loop(state[0], target, lambda _, s: (s[0] + 1, step(s[0], trials, s[1])), state)
        return (now, carry), kept(carry)

    (_, end), all_kept = lax.scan(until, (jnp.int32(0), carry), at)
    return end, all_kept


def _by_steps(
    steps: int, turn: int, step: Step, trials: Any, carry: Any, at: Int[Array, "R"], kept: Callable[[Any], Any]
) -> tuple[Any, Any]:
    places = jnp.searchsorted(at, jnp.arange(1, steps + 1), method="compare_all").astype(jnp.int32)

    def one(now: Int[Array, ""], state: tuple[Any, Any]) -> tuple[Any, Any]:
        carry = step(now, trials, state[0])
        write = partial(lax.dynamic_update_index_in_dim, index=places[now], axis=0)
        return carry, jax.tree.map(write, state[1], kept(carry))

    empty = jax.tree.map(lambda leaf: jnp.zeros((len(at), *leaf.shape), leaf.dtype), kept(carry))
    return lax.fori_loop(0, steps, one, (carry, empty), unroll=turn)
