"""The regret-information ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] and its minimisers over distributions on the actions.

Ψ is convex in μ and has a minimiser on at most two actions (Lemma 4), so a solver returns a `Mix` of two. Since
D²/G = max_t 2tD − t²G, the minimum is also

    min_μ Ψ(μ) = max_t min_k 2tΔ_k − t²g_k,

a one-dimensional concave problem whose answer is a vertex or an edge of the lower hull of the points (Δ_k, g_k).
Conventions: Ψ is 0 where the gap is 0 (even if the gain is), +∞ where only the gain is; the lowest index wins a tie.

Solvers differentiate by the envelope theorem: the two actions are found on constants, and the weight and the value
are closed forms of their gaps and gains.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxids import lanes

Vector = Float[Array, "K ..."]
Scalar = Float[Array, "..."]


class Mix(NamedTuple):
    """Play `second` with probability `weight`, else `first`; `value` is Ψ of that."""

    first: Int[Array, "..."]
    second: Int[Array, "..."]
    weight: Scalar
    value: Scalar


def quotient(gap: Scalar, gain: Scalar) -> Scalar:
    """gap² / gain with the conventions for zeros, and derivatives that are finite wherever the value is."""
    some = gain > 0
    value = gap * (gap / jnp.where(some, gain, 1))
    return jnp.where(gap == 0, gap * 0, jnp.where(some, value, jnp.inf))


def psi(probs: Vector, gap: Vector, gain: Vector) -> Scalar:
    """Ψ of any distribution on the actions."""
    return quotient(jnp.sum(probs * gap, axis=0), jnp.sum(probs * gain, axis=0))


def best_weight(gap0: Scalar, gain0: Scalar, gap1: Scalar, gain1: Scalar) -> Scalar:
    """The weight on the second of two actions that minimises Ψ of their mix.

    Where the second costs more and tells more (or less and less), Ψ is stationary at Δ₀/(Δ₁−Δ₀) − 2g₀/(g₁−g₀),
    clipped to [0, 1]; otherwise one action dominates the other.
    """
    rise, more = gap1 - gap0, gain1 - gain0
    trade = ((rise > 0) & (more > 0)) | ((rise < 0) & (more < 0))
    stationary = gap0 / jnp.where(trade, rise, 1) - 2 * (gain0 / jnp.where(trade, more, 1))
    return jnp.where(trade, jnp.clip(stationary, 0, 1), jnp.where((rise < 0) | (more > 0), 1.0, 0.0))


def blend(weight: Scalar, first: Scalar, second: Scalar) -> Scalar:
    """The mean of two numbers under a weight on the second, exact at both ends."""
    return (1 - weight) * first + weight * second


def mix(gap: Vector, gain: Vector, first: Int[Array, "..."], second: Int[Array, "..."]) -> Mix:
    """The best mix of two given actions."""
    gap0, gain0, gap1, gain1 = (lanes.pick(v, k) for k in (first, second) for v in (gap, gain))
    weight = best_weight(gap0, gain0, gap1, gain1)
    return Mix(first, second, weight, quotient(blend(weight, gap0, gap1), blend(weight, gain0, gain1)))


def single(gap: Vector, gain: Vector) -> Mix:
    """The best single action (DIDS), as a mix that never plays anything else."""
    best = lanes.first_min(quotient(*map(lax.stop_gradient, (gap, gain)))).index
    return mix(gap, gain, best, best)


def pairs(gap: Vector, gain: Vector) -> Mix:
    """The minimum over every pair of actions, as in the paper: O(K²)."""
    fixed_gap, fixed_gain = map(lax.stop_gradient, (gap, gain))

    def value(gap0: Scalar, gain0: Scalar, gap1: Scalar, gain1: Scalar) -> Scalar:
        weight = best_weight(gap0, gain0, gap1, gain1)
        return quotient(blend(weight, gap0, gap1), blend(weight, gain0, gain1))

    def try_first(best: lanes.Best, row: tuple[Int[Array, ""], Scalar, Scalar]) -> tuple[lanes.Best, None]:
        first, gap0, gain0 = row
        values = jax.vmap(value, (None, None, 0, 0))(gap0, gain0, fixed_gap, fixed_gain)
        better = values < best.value
        return lanes.Best(jnp.where(better, first, best.index), jnp.where(better, values, best.value)), None

    worst = lanes.Best(jnp.zeros(gap.shape, jnp.int32), jnp.full_like(gap, jnp.inf))
    rows = (jnp.arange(gap.shape[0], dtype=jnp.int32), fixed_gap, fixed_gain)
    best_first, _ = lax.scan(try_first, worst, rows)
    second = lanes.first_min(best_first.value).index
    first = lanes.pick(best_first.index, second)
    return mix(gap, gain, jnp.minimum(first, second), jnp.maximum(first, second))


class _Walk(NamedTuple):
    first: Int[Array, "..."]
    second: Int[Array, "..."]
    gaps: tuple[Scalar, Scalar]
    gains: tuple[Scalar, Scalar]
    weight: Scalar
    value: Scalar


def exact(gap: Vector, gain: Vector) -> Mix:
    """The same minimum by a walk along the hull: a handful of O(K) passes.

    From the best single action, each pass finds the action j least in 2tΔ − t²g at t = D/G of the present mix,
    and moves to the better of the two edges that join j to it. A pass that does not lower Ψ proves the minimum.
    """
    fixed_gap, fixed_gain = map(lax.stop_gradient, (gap, gain))
    start = lanes.first_min(quotient(fixed_gap, fixed_gain))
    gap0, gain0 = lanes.pick(fixed_gap, start.index), lanes.pick(fixed_gain, start.index)
    walk = _Walk(start.index, start.index, (gap0, gap0), (gain0, gain0), jnp.zeros_like(start.value), start.value)
    walk, _ = lax.while_loop(lambda s: jnp.any(s[1]), lambda s: _pass(s[0], fixed_gap, fixed_gain), (walk, start.value > 0))
    return mix(gap, gain, jnp.minimum(walk.first, walk.second), jnp.maximum(walk.first, walk.second))


def _pass(walk: _Walk, gap: Vector, gain: Vector) -> tuple[_Walk, Array]:
    mixed_gain = blend(walk.weight, *walk.gains)
    t = blend(walk.weight, *walk.gaps) / jnp.where(mixed_gain > 0, mixed_gain, 1)
    j = lanes.first_min(2 * gap - t * gain).index
    gap1, gain1 = lanes.pick(gap, j), lanes.pick(gain, j)
    best = walk
    for end, gap0, gain0 in zip((walk.first, walk.second), walk.gaps, walk.gains, strict=True):
        weight = best_weight(gap0, gain0, gap1, gain1)
        value = quotient(blend(weight, gap0, gap1), blend(weight, gain0, gain1))
        edge = _Walk(end, j, (gap0, gap1), (gain0, gain1), weight, value)
        best = jax.tree.map(lambda new, old, lower=value < best.value: jnp.where(lower, new, old), edge, best)
    return best, best.value < walk.value
