"""The regret-information ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] and its minimisers over distributions on the actions.

Ψ is convex in μ and has a minimiser on at most two actions (Lemma 4), so a solver returns a `Mix` of two. Since
D²/G = max_t 2tD − t²G, the minimum is also

    min_μ Ψ(μ) = max_t min_k 2tΔ_k − t²g_k,

a one-dimensional concave problem whose answer is a vertex or an edge of the hull of the points (Δ_k, g_k).
Conventions: Ψ is 0 where the gap is 0 (even if the gain is), +∞ where only the gain is; the lowest index wins a tie.

Solvers differentiate by the envelope theorem: the two actions are found on constants, and the weight and the value
are closed forms of their gaps and gains.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxids import checks, lanes

ROWS_AT_ONCE = 4  # rows of pairs between two turns of the loop
ROUNDING = 1e-4  # within which probabilities sum to one
Vector = Float[Array, "K ..."]
Scalar = Float[Array, "..."]


class Mix(NamedTuple):
    """Play `second` with probability `weight`, else `first`; `value` is Ψ of that."""

    first: Int[Array, "..."]
    second: Int[Array, "..."]
    weight: Scalar
    value: Scalar


class _Pair(NamedTuple):
    first: Int[Array, "..."]
    second: Int[Array, "..."]
    value: Scalar


def vectors(gap: Any, gain: Any) -> tuple[Vector, Vector]:
    """Gap and gain as float arrays of one shape, or a ValueError; values that can be looked at must be ≥ 0."""
    gap, gain = (checks.real(name, given, "numbers ≥ 0") for name, given in {"gap": gap, "gain": gain}.items())
    if gap.ndim == 0 or gap.shape != gain.shape or 0 in gap.shape:
        shapes = f"{list(gap.shape)} and {list(gain.shape)}"
        raise ValueError(f"gap, gain: got shapes {shapes}; they take one shape [K, …] with K ≥ 1")
    for name, given in {"gap": gap, "gain": gain}.items():
        if checks.concrete(given) and not jnp.all(given >= 0):
            raise ValueError(f"{name}: got {given[~(given >= 0)][0]:g}; it takes numbers ≥ 0")
    kind = jnp.result_type(gap, gain)
    kind = kind if jnp.issubdtype(kind, jnp.floating) else jnp.result_type(float)
    return gap.astype(kind), gain.astype(kind)


def quotient(gap: Scalar, gain: Scalar) -> Scalar:
    """gap² / gain with the conventions for zeros, and derivatives that are finite wherever the value is."""
    some = gain > 0
    value = gap * (gap / jnp.where(some, gain, 1))
    return jnp.where(gap == 0, gap * 0, jnp.where(some, value, jnp.inf))


def psi(probs: Any, gap: Any, gain: Any) -> Scalar:
    """Ψ of any distribution on the actions: probs [K], the same for all lanes, or one for each [K, …]."""
    gap, gain = vectors(gap, gain)
    probs = _distribution(probs, gap.shape).astype(gap.dtype)
    return quotient(jnp.sum(probs * gap, axis=0), jnp.sum(probs * gain, axis=0))


def _distribution(probs: Any, shape: tuple[int, ...]) -> Array:
    """Probabilities of the actions with an axis for every one of the gaps', or a ValueError."""
    probs = checks.real("probs", probs, "numbers ≥ 0 that sum to 1 over the actions")
    if probs.ndim == 0 or probs.shape != shape[: probs.ndim]:
        raise ValueError(f"probs: got shape {list(probs.shape)}; it takes [{shape[0]}] or {list(shape)}")
    if checks.concrete(probs):
        sums = jnp.sum(probs, axis=0)
        if not jnp.all((probs >= 0) & (jnp.abs(sums - 1) < ROUNDING)):
            got = f"{jnp.min(probs):g} as the least and sums from {jnp.min(sums):g} to {jnp.max(sums):g}"
            raise ValueError(f"probs: got {got}; it takes numbers ≥ 0 that sum to 1 over the actions")
    return probs.reshape(probs.shape + (1,) * (len(shape) - probs.ndim))


def best_weight(gap0: Scalar, gain0: Scalar, gap1: Scalar, gain1: Scalar) -> Scalar:
    """The weight on the second of two actions that minimises Ψ of their mix.

    Where the second costs more and tells more, Ψ is stationary at Δ₀/(Δ₁−Δ₀) − 2g₀/(g₁−g₀), clipped to [0, 1];
    otherwise one of them is best alone. Callers put the action of less gain first: then a small weight on the other
    keeps its precision.
    """
    rise, more = gap1 - gap0, gain1 - gain0
    trade = (rise > 0) & (more > 0)
    stationary = gap0 / jnp.where(trade, rise, 1) - 2 * (gain0 / jnp.where(trade, more, 1))
    return jnp.where(trade, jnp.clip(stationary, 0, 1), jnp.where((rise < 0) | (more > 0), 1.0, 0.0))


def blend(weight: Scalar, first: Scalar, second: Scalar) -> Scalar:
    """The mean of two numbers under a weight on the second, exact at both ends."""
    return (1 - weight) * first + weight * second


def mix(gap: Vector, gain: Vector, first: Int[Array, "..."], second: Int[Array, "..."]) -> Mix:
    """The best mix of two given actions, the one of less gain (of two equals, the lower index) first."""
    swap = lanes.pick(gain, first) > lanes.pick(gain, second)
    return ordered(gap, gain, jnp.where(swap, second, first), jnp.where(swap, first, second))


def ordered(gap: Vector, gain: Vector, first: Int[Array, "..."], second: Int[Array, "..."]) -> Mix:
    """The best mix of two actions of which the first is known to be the one of less gain."""
    gap0, gain0, gap1, gain1 = (lanes.pick(v, k) for k in (first, second) for v in (gap, gain))
    weight = best_weight(gap0, gain0, gap1, gain1)
    return Mix(first, second, weight, quotient(blend(weight, gap0, gap1), blend(weight, gain0, gain1)))


def edge(gap0: Scalar, gain0: Scalar, gap1: Scalar, gain1: Scalar) -> Scalar:
    """Ψ of the best mix of two actions where it needs both, +∞ where one of them alone is as good.

    On the line of slope s = (Δ₁−Δ₀)/(g₁−g₀) through the two points, the minimum is 4s(Δ₀ − s g₀); it lies between
    them where Δ₀ > 2s g₀ and Δ₁ < 2s g₁. The first must be the action of less gain, else the value is +∞ too.
    """
    rise, more = gap1 - gap0, gain1 - gain0
    slope = rise / jnp.where(more > 0, more, 1)
    inside = (rise > 0) & (more > 0) & (gap0 > 2 * slope * gain0) & (gap1 < 2 * slope * gain1)
    return jnp.where(inside, 4 * slope * (gap0 - slope * gain0), jnp.inf)


def single(gap: Any, gain: Any) -> Mix:
    """The best single action (DIDS) by gaps and gains [K, …], as a mix that never plays anything else."""
    gap, gain = vectors(gap, gain)
    best = best_single(gap, gain)
    return ordered(gap, gain, best, best)


def best_single(gap: Vector, gain: Vector) -> Int[Array, "..."]:
    """The action of the least ratio, of those alone."""
    return lanes.first_min(lanes.shared(quotient(*map(lax.stop_gradient, (gap, gain))))).arg


def never_mixes(solver: Any) -> bool:
    """Whether a solver is known to play one action alone, so that there is no need to look for a second."""
    return solver is single


def pairs(gap: Any, gain: Any) -> Mix:
    """The minimum over every pair of actions, as in the paper, from gaps and gains [K, …]: O(K²)."""
    gap, gain = vectors(gap, gain)
    fixed_gap, fixed_gain = map(lax.stop_gradient, (gap, gain))

    def try_first(best: _Pair, row: tuple[Int[Array, ""], Scalar, Scalar]) -> tuple[_Pair, None]:
        first, gap0, gain0 = row
        values = lanes.shared(jax.vmap(edge, (None, None, 0, 0))(gap0, gain0, fixed_gap, fixed_gain))
        second, value = lanes.first_min(values)
        better = value < best.value
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), _Pair(first, second, value), best), None

    alone = lanes.first_min(lanes.shared(quotient(fixed_gap, fixed_gain)))
    rows = (jnp.arange(gap.shape[0], dtype=jnp.int32), fixed_gap, fixed_gain)
    best, _ = lax.scan(try_first, _Pair(alone.arg, alone.arg, alone.value), rows, unroll=ROWS_AT_ONCE)
    return mix(gap, gain, jnp.minimum(best.first, best.second), jnp.maximum(best.first, best.second))
