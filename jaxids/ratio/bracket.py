"""The exact minimum of Ψ in a few passes over the actions, by the dual max_t min_k 2tΔ_k − t²g_k.

φ(t) = min_k 2tΔ_k − t²g_k is concave, so two parabolas bracket its maximum: one that still rises at t and one that
already falls. The pair's mix has the gap D and the gain D/t, and action k lies below it where 2Δ_k − t g_k < D, by more
than the rounding of its own gap. D is 2Δ − tg of the rising one, a difference that is at least Δ. Each pass finds the
lowest action, which replaces the parabola of its own side, and moves t to the maximum of the new pair: their crossing,
or the apex of one, which is lower each time. Where no action lies below, the pair is the answer. Passes are O(K), as
many as the slowest lane needs, about 4.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxids import lanes
from jaxids.ratio.mixes import Mix, Scalar, Vector, best_single, mix, ordered, vectors

MARGIN = 16  # units of rounding of a gap within which an action does not count as below
MOST = 64  # turns, should rounding go in circles

__all__ = ["Bracket", "Vertex", "either", "exact"]


class Vertex(NamedTuple):
    """An action's point (Δ, g), which is also the parabola 2tΔ − t²g with its apex at t = Δ/g."""

    action: Int[Array, "..."]
    gap: Scalar
    gain: Scalar


class Bracket(NamedTuple):
    """The rising parabola and the falling one, t at the maximum of the lower, and the turns a lane may still take."""

    ends: Vertex  # [2, …]
    t: Scalar
    left: Int[Array, "..."]  # 0 where no action lies below


def exact(gap: Any, gain: Any) -> Mix:
    """The mix of two actions that minimises Ψ over all distributions, from gaps and gains [K, …], in a few O(K) passes.

    >>> ratio.exact([1.0, 2.0, 3.0], [0.1, 1.0, 4.0]).weight  # on action 2, else action 0
    Array(0.44871795, dtype=float32)
    """
    gap, gain = vectors(gap, gain)
    return _widened(gap, gain, best_single(gap, gain))


def either(gap: Any, gain: Any, mixed: Bool[Array, ""]) -> Mix:
    """`exact` if `mixed`, else `single`, in one program."""
    gap, gain = vectors(gap, gain)
    start = best_single(gap, gain)
    return lax.cond(mixed, lambda: _widened(gap, gain, start), lambda: ordered(gap, gain, start, start))


def _widened(gap: Vector, gain: Vector, start: Int[Array, "..."]) -> Mix:
    """The best mix, from the best single action on."""
    if gap.shape[0] <= 2:  # the closed form
        first = jnp.zeros(gap.shape[1:], jnp.int32)
        return mix(gap, gain, first, first + gap.shape[0] - 1)
    fixed = lax.stop_gradient(gap), lax.stop_gradient(gain)
    ends = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (2, *leaf.shape)), _vertex(*fixed, start))
    bracket = Bracket(ends, _highest(ends), jnp.full(start.shape, MOST, jnp.int32))
    bracket = lanes.settled(lambda bracket: _narrow(bracket, *fixed), lambda bracket: bracket.left > 0, bracket)
    (rising, falling), _, (less, more) = bracket.ends
    later = (less > more) | ((less == more) & (rising > falling))  # of equal gains, the lower index is first
    return ordered(gap, gain, jnp.where(later, falling, rising), jnp.where(later, rising, falling))


def _narrow(bracket: Bracket, gap: Vector, gain: Vector) -> Bracket:
    ends, t, left = bracket
    (rising, falling), two = _apart(ends), 2 + MARGIN * float(jnp.finfo(t.dtype).eps)
    tilt = t / two
    lowest = lanes.least_of(lambda gap, gain: lax.sub(gap, lax.mul(tilt, gain)), gap, gain)
    found = _vertex(gap, gain, lowest.arg)
    mixed = jnp.minimum(2 * rising.gap - t * rising.gain, falling.gap)
    left = lanes.shared(jnp.where(two * found.gap - t * found.gain < mixed, left - 1, 0))
    side = jnp.arange(2).reshape(2, *(1 for _ in t.shape)) == (found.gap <= t * found.gain)
    ends = lanes.shared(jax.tree.map(partial(lanes.replaced, (left > 0) & side), found, ends))
    return Bracket(ends, _highest(ends), left)


def _highest(ends: Vertex) -> Scalar:
    """Where the lower of two parabolas is largest: at their crossing, or at the apex of one."""
    rising, falling = _apart(ends)
    more = falling.gain - rising.gain
    crossing = 2 * (falling.gap - rising.gap) / jnp.where(more > 0, more, 1)
    return jnp.clip(jnp.where(more > 0, crossing, jnp.inf), _apex(falling), _apex(rising))


def _apart(ends: Vertex) -> tuple[Vertex, Vertex]:
    return Vertex(*(leaf[0] for leaf in ends)), Vertex(*(leaf[1] for leaf in ends))


def _vertex(gap: Vector, gain: Vector, action: Int[Array, "..."]) -> Vertex:
    return Vertex(action, lanes.pick(gap, action), lanes.pick(gain, action))


def _apex(vertex: Vertex) -> Scalar:
    return jnp.where(vertex.gain > 0, vertex.gap / jnp.where(vertex.gain > 0, vertex.gain, 1), jnp.inf)
