"""The exact minimum of Ψ in a few passes over the actions, by the dual max_t min_k 2tΔ_k − t²g_k.

φ(t) = min_k 2tΔ_k − t²g_k is concave, so two parabolas bracket its maximum: one that still rises at t and one that
already falls. The pair's mix has the gap D and the gain D/t; action k lies below it where Δ_k / (D + t g_k) < ½, a
quotient of positive numbers that rounding cannot turn. Each pass finds the least of these, which replaces the parabola
of its own side, and moves t to the maximum of the new pair: their crossing, or the apex of one, which is lower each
time. Where no action lies below, the pair is the answer. Passes are O(K), as many as the slowest lane needs, about 4.
On a CPU the same walk is made of fewer and larger loops (`passes`); an accelerator would repeat them in each other.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxids import lanes, layouts
from jaxids.ratio import passes
from jaxids.ratio.mixes import Mix, Scalar, Vector, best_single, mix, ordered, vectors
from jaxids.ratio.passes import Vertex, apex, vertex_at

__all__ = ["Bracket", "either", "exact"]


class Bracket(NamedTuple):
    """The rising and the falling parabola, t and the gap D at their maximum, and whether any action may lie below."""

    rising: Vertex
    falling: Vertex
    t: Scalar
    gap: Scalar
    open: Bool[Array, "..."]


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
    rising, falling = passes.ends(*fixed, start) if layouts.current().barriers else _ends(*fixed, start)
    level = (rising.gain == falling.gain) & (rising.action > falling.action)  # then the lower index is first
    ends = rising.action, falling.action
    later = (rising.gain > falling.gain) | level
    return ordered(gap, gain, jnp.where(later, *ends[::-1]), jnp.where(later, *ends))


def _ends(gap: Vector, gain: Vector, start: Int[Array, "..."]) -> tuple[Vertex, Vertex]:
    """The two parabolas at whose maximum no action lies below them, where there are no barriers."""
    vertex = vertex_at(gap, gain, start)
    bracket = Bracket(vertex, vertex, apex(vertex), vertex.gap, (vertex.gap > 0) & (vertex.gain > 0))
    bracket = lanes.settled(lambda bracket: _narrow(bracket, gap, gain), lambda bracket: bracket.open, bracket)
    return bracket.rising, bracket.falling


def _narrow(bracket: Bracket, gap: Vector, gain: Vector) -> Bracket:
    rising, falling, t, mixed, still = bracket
    least = lanes.first_min(gap / (mixed + t * gain))
    found = vertex_at(gap, gain, least.arg)
    below = still & (found.gap / (mixed + t * found.gain) < 0.5 - 4 * jnp.finfo(gap.dtype).eps)
    right = found.gap > t * found.gain
    rising, falling = _where(below & right, found, rising), _where(below & ~right, found, falling)
    t, mixed = _maximum(rising, falling)
    return Bracket(rising, falling, t, mixed, below)


def _maximum(rising: Vertex, falling: Vertex) -> tuple[Scalar, Scalar]:
    """Where the lower of two parabolas is largest, and the gap of the mix that attains it."""
    more = falling.gain - rising.gain
    crossing = 2 * (falling.gap - rising.gap) / jnp.where(more > 0, more, 1)
    crossing = jnp.where(more > 0, crossing, jnp.inf)
    first, last = apex(falling), apex(rising)
    between = 2 * rising.gap - crossing * rising.gain
    mixed = jnp.where(crossing <= first, falling.gap, jnp.where(crossing >= last, rising.gap, between))
    return jnp.clip(crossing, first, last), mixed


def _where(condition: Bool[Array, "..."], new: Vertex, old: Vertex) -> Vertex:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)
