"""The walk of `bracket` in the form that is fast on a CPU: a pass is eight loops, and only one is over all actions.

Action k lies below the pair's mix, of gap D, where 2Δ_k − t g_k < D by more than the rounding of its own gap. D is
2Δ − tg of the rising one, a difference that is at least its Δ, or the gap of the falling one if t is at its apex. What
is compared along the actions and what decides are the same number, so that no action is the lowest and not below while
another is.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int

from jaxids import lanes
from jaxids.ratio.mixes import Scalar, Vector

__all__ = ["Vertex", "apex", "ends", "vertex_at"]

MARGIN = 16  # units of rounding of a gap within which an action does not count as below


class Vertex(NamedTuple):
    """An action's point (Δ, g), which is also the parabola 2tΔ − t²g with its apex at t = Δ/g."""

    action: Int[Array, "..."]
    gap: Scalar
    gain: Scalar


def vertex_at(gap: Vector, gain: Vector, action: Int[Array, "..."]) -> Vertex:
    """The point of an action."""
    return Vertex(action, lanes.pick(gap, action), lanes.pick(gain, action))


def apex(vertex: Vertex) -> Scalar:
    """Where a parabola is largest."""
    return jnp.where(vertex.gain > 0, vertex.gap / jnp.where(vertex.gain > 0, vertex.gain, 1), jnp.inf)


class _Pair(NamedTuple):
    """The rising parabola and the falling one, t at the maximum of the lower, and the passes that a lane may take."""

    both: Vertex  # [2, …]
    t: Scalar
    left: Int[Array, "..."]  # none, or fewer, where the pair is the answer


def ends(gap: Vector, gain: Vector, start: Int[Array, "..."]) -> tuple[Vertex, Vertex]:
    """The two parabolas at whose maximum no action lies below them."""
    both = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (2, *leaf.shape)), vertex_at(gap, gain, start))
    pair = _Pair(both, _highest(both), jnp.full(start.shape, lanes.MOST, jnp.int32))
    return _apart(lax.while_loop(lambda pair: jnp.any(pair.left > 0), partial(_pass, gap, gain), pair).both)


def _pass(gap: Vector, gain: Vector, pair: _Pair) -> _Pair:
    both, t, left = pair
    (rising, falling), two = _apart(both), 2 + MARGIN * float(jnp.finfo(t.dtype).eps)
    tilt = t / two
    found = vertex_at(gap, gain, lanes.least_of(lambda gap, gain: gap - tilt * gain, gap, gain).arg)
    mixed = jnp.minimum(2 * rising.gap - t * rising.gain, falling.gap)
    left = lanes.shared(jnp.where(two * (found.gap - tilt * found.gain) < mixed, left - 1, 0))
    side = jnp.arange(2).reshape(2, *(1 for _ in t.shape)) == (found.gap <= t * found.gain)
    both = lanes.shared(jax.tree.map(partial(lanes.replaced, (left > 0) & side), found, both))
    return _Pair(both, _highest(both), left)


def _highest(both: Vertex) -> Scalar:
    """Where the lower of two parabolas is largest: at their crossing, or at the apex of one."""
    rising, falling = _apart(both)
    more = falling.gain - rising.gain
    crossing = 2 * (falling.gap - rising.gap) / jnp.where(more > 0, more, 1)
    return jnp.clip(jnp.where(more > 0, crossing, jnp.inf), apex(falling), apex(rising))


def _apart(both: Vertex) -> tuple[Vertex, Vertex]:
    return Vertex(*(leaf[0] for leaf in both)), Vertex(*(leaf[1] for leaf in both))
