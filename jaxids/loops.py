"""How a tile gets from step to step and from one recorded point to the next.

- On a CPU, by points: a loop up to each of them. One program serves every number of steps.
- On a GPU or TPU, by steps: one loop whose count the compiler knows, because any other stops at the host in every turn.
  What each step leaves is written to the place of the next recorded point.
- By a kernel: all steps up to the next recorded point in one launch (`fused`), where the step can be taken apart.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from jaxids import layouts

__all__ = ["ACCELERATOR_LANES", "FEWEST", "MEMORY", "Way", "fold", "run", "unfold"]

ACCELERATOR_LANES, FEWEST = 16384, 128  # of a tile: the most (of more, XLA fuses less of a step), and the fewest
MEMORY = 2**25  # numbers in the states of one tile on an accelerator
TURN, LONG = 4, 1000  # steps written out in a turn of the loop: fewer launches, longer to compile; and from how many on
ROW = 128  # lanes of the last of two axes


class Way(NamedTuple):
    """The kind of device, and how the steps are run there."""

    platform: str = "cpu"
    steps: int | None = None  # all of them, where they are one loop
    kernel: bool = False
    interpreted: bool = False  # the kernel, operation by operation, on any device
    folded: bool = False  # lanes on two axes
    turn: int = TURN  # steps written out in a turn of a long loop

    @property
    def layout(self) -> layouts.Layout:
        """What is good for the device."""
        return layouts.of_platform(self.platform)


Step = Callable[[Int[Array, ""], Any, Any], Any]  # number of the step, trials, carry → carry


def run(
    way: Way, step: Step, trials: Any, carry: Any, at: Int[Array, "R"], kept: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """The carry at the end, and what is kept of it at every recorded point, points first."""
    if way.steps is not None:
        return _by_steps(step, trials, carry, at, kept, way.steps, way.turn if way.steps >= LONG else 1)
    if way.kernel:
        return _by_kernel(step, trials, carry, at, kept, way)

    def until(state: Any, target: Int[Array, ""]) -> tuple[Any, Any]:
        now, carry = lax.fori_loop(state[0], target, lambda _, s: (s[0] + 1, step(s[0], trials, s[1])), state)
        return (now, carry), kept(carry)

    (_, end), all_kept = lax.scan(until, (jnp.int32(0), carry), at)
    return end, all_kept


def _by_kernel(
    step: Step, trials: Any, carry: Any, at: Int[Array, "R"], kept: Callable[[Any], Any], way: Way
) -> tuple[Any, Any]:
    from jaxids import fused  # imports Pallas, which a CPU does without

    kernel = fused.kernel(step, trials._replace(contexts=()), carry, way.platform, way.interpreted)

    def until(state: Any, target: Int[Array, ""]) -> tuple[Any, Any]:
        now, before = state
        after = kernel.advance(now, before, target)
        return (target, after), kept(kernel.carry(after))

    (_, end), all_kept = lax.scan(until, (jnp.int32(0), kernel.start), at)
    return kernel.carry(end), all_kept


def _by_steps(
    step: Step, trials: Any, carry: Any, at: Int[Array, "R"], kept: Callable[[Any], Any], steps: int, turn: int
) -> tuple[Any, Any]:
    places = jnp.searchsorted(at, jnp.arange(1, steps + 1), method="compare_all").astype(jnp.int32)

    def one(now: Int[Array, ""], state: tuple[Any, Any]) -> tuple[Any, Any]:
        carry = step(now, trials, state[0])
        write = partial(lax.dynamic_update_index_in_dim, index=places[now], axis=0)
        return carry, jax.tree.map(write, state[1], kept(carry))

    empty = jax.tree.map(lambda leaf: jnp.zeros((len(at), *leaf.shape), leaf.dtype), kept(carry))
    return lax.fori_loop(0, steps, one, (carry, empty), unroll=turn)


def fold(tree: Any) -> Any:
    """Lanes on two axes, which is how a TPU has them."""
    return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-1], -1, ROW), tree)


def unfold(tree: Any) -> Any:
    """Lanes on one axis again."""
    return jax.tree.map(lambda leaf: leaf.reshape(*leaf.shape[:-2], -1), tree)
