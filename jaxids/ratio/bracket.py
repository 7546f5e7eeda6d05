"""The exact minimum of Ψ in a few passes over the actions, by the dual max_t min_k 2tΔ_k − t²g_k.

φ(t) = min_k 2tΔ_k − t²g_k is concave, so two parabolas bracket its maximum: one that still rises at t and one that
already falls. Each pass finds the action with the least 2Δ_k − t g_k, which replaces the parabola of its own side, and
moves t to the maximum of the new pair: their crossing, or the apex of one, which is lower each time. Where no action
lies below the pair, it is the answer. Passes are O(K), as many as the slowest lane needs, about 4.

Action k lies below the pair's mix, of gap D, where 2Δ_k − t g_k < D by more than the rounding of its own gap. D is
2Δ − tg of the rising one, a difference that is at least its Δ, or the gap of the falling one if t is at its apex. What
is compared along the actions and what decides are the same number, so that no action is the lowest and not below while
another is. A pass is eight loops on a CPU, and only one is over all actions.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxids import lanes, layouts
from jaxids.ratio.mixes import Mix, Scalar, Vector, best_single, mix, ordered, vectors

MARGIN = 16  # units of rounding of a gap within which an action does not count as below
MOST = 64  # passes, should rounding go in circles


class Vertex(NamedTuple):
    """An action's point (Δ, g), which is also the parabola 2tΔ − t²g with its apex at t = Δ/g."""

    action: Int[Array, "..."]
    gap: Scalar
    gain: Scalar


class _Pair(NamedTuple):
    """The rising parabola and the falling one, t at the maximum of the lower, and the passes that a lane may take."""

    both: Vertex  # [2, …]
    t: Scalar
    left: Int[Array, "..."]  # none, or fewer, where the pair is the answer


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
    rising, falling = _ends(lax.stop_gradient(gap), lax.stop_gradient(gain), start)
    level = (rising.gain == falling.gain) & (rising.action > falling.action)  # then the lower index is first
    ends = rising.action, falling.action
    later = (rising.gain > falling.gain) | level
    return ordered(gap, gain, jnp.where(later, *ends[::-1]), jnp.where(later, *ends))


def _ends(gap: Vector, gain: Vector, start: Int[Array, "..."]) -> tuple[Vertex, Vertex]:
    """Return the two parabolas at whose maximum no action lies below them."""
    vertex = Vertex(start, lanes.pick(gap, start), lanes.pick(gain, start))
    both = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (2, *leaf.shape)), vertex)
    pair = _Pair(both, _highest(both), jnp.full(start.shape, MOST, jnp.int32))
    one_pass = partial(_pass, gap, gain)
    if layouts.current().loops:
        return _apart(lax.while_loop(lambda pair: jnp.any(pair.left > 0), one_pass, pair).both)
    for _ in range(layouts.current().turns):
        pair = one_pass(pair)
    return _apart(pair.both)


def _pass(gap: Vector, gain: Vector, pair: _Pair) -> _Pair:
    both, t, left = pair
    (rising, falling), two = _apart(both), 2 + MARGIN * float(jnp.finfo(t.dtype).eps)
    tilt = t / two
    action = lanes.least_of(lambda gap, gain: gap - tilt * gain, gap, gain).arg
    found = Vertex(action, lanes.pick(gap, action), lanes.pick(gain, action))
    mixed = jnp.minimum(2 * rising.gap - t * rising.gain, falling.gap)
    left = lanes.shared(jnp.where(two * (found.gap - tilt * found.gain) < mixed, left - 1, 0))
    side = jnp.arange(2).reshape(2, *(1 for _ in t.shape)) == (found.gap <= t * found.gain)
    both = lanes.shared(jax.tree.map(partial(lanes.replaced, (left > 0) & side), found, both))
    return _Pair(both, _highest(both), left)


def _apex(vertex: Vertex) -> Scalar:
    """Where a parabola is largest."""
    return jnp.where(vertex.gain > 0, vertex.gap / jnp.where(vertex.gain > 0, vertex.gain, 1), jnp.inf)


def _highest(both: Vertex) -> Scalar:
    """Where the lower of two parabolas is largest: at their crossing, or at the apex of one."""
    rising, falling = _apart(both)
    more = falling.gain - rising.gain
    crossing = 2 * (falling.gap - rising.gap) / jnp.where(more > 0, more, 1)
    return jnp.clip(jnp.where(more > 0, crossing, jnp.inf), _apex(falling), _apex(rising))


def _apart(both: Vertex) -> tuple[Vertex, Vertex]:
    return Vertex(*(leaf[0] for leaf in both)), Vertex(*(leaf[1] for leaf in both))
