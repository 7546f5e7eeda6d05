"""The ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] as arrays: over pairs of actions, the simplex of three, and pairs of points."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxids import checks, information, ratio
from jaxids.fields import Field
from jaxids.ratio.mixes import Scalar, vectors
from jaxids.surfaces.known import gap_and_gain
from jaxids.types import PerAction

PER_SIDE = 61  # points on a side of the simplex


class Simplex(NamedTuple):
    """Distributions on three actions, each a row, and Ψ of each."""

    points: Float[Array, "n 3"]
    value: Float[Array, "n"]
    actions: tuple[int, int, int] = (0, 1, 2)  # which three they are


class Between(NamedTuple):
    """For every pair of two points the least Ψ of their mixes, and the weight on the second at which it is."""

    value: Float[Array, "n m"]
    weight: Float[Array, "n m"]


def pairs(gap: PerAction, gain: PerAction, weights: Any = None) -> Float[Array, "K K W ..."]:
    """Ψ of every mix of two actions: entry [i, j, w] plays j with probability weights[w], else i.

    Gaps and gains are [K, …]; the weights [W] are from 0 to 1, by default 21 of them.

    >>> pairs([1.0, 2.0], [1.0, 8.0], [0.0, 0.5, 1.0])[0, 1]
    Array([1. , 0.5, 0.5], dtype=float32)
    """
    gap, gain = vectors(gap, gain)
    weights = checks.real("weights", np.linspace(0, 1, 21) if weights is None else weights, "numbers from 0 to 1")
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"weights: got shape {list(weights.shape)}; it takes [W], numbers from 0 to 1")
    if checks.concrete(weights) and not jnp.all(inside := (weights >= 0) & (weights <= 1)):
        raise ValueError(f"weights: got {weights[~inside][0]:g}; it takes numbers from 0 to 1")
    weights = weights.astype(gap.dtype).reshape((-1,) + (1,) * (gap.ndim - 1))
    mixed = (ratio.blend(weights, v[:, None, None], v[None, :, None]) for v in (gap, gain))
    return ratio.quotient(*mixed)


def simplex(gap: PerAction, gain: PerAction, *, per_side: int = PER_SIDE, actions: Any = None) -> Simplex:
    """Ψ over the distributions on three actions, at a triangular grid of `per_side` points on each side.

    Gaps and gains are [3], or [K] with `actions`, the three of them by number.
    """
    gap, gain = vectors(gap, gain)
    chosen = np.arange(3)
    if actions is not None:
        chosen = _three(actions, gap.shape[0])
        gap, gain = gap[chosen], gain[chosen]
    if gap.shape != (3,):
        raise ValueError(f"gap, gain: got shape {list(gap.shape)}; they take [3], or [K] with three `actions`")
    if checks.count("per_side", per_side) < 2:
        raise ValueError(f"per_side: got {per_side}; it takes a whole number from 2 on")
    last = per_side - 1
    grid = np.array([(i, j, last - i - j) for i in range(per_side) for j in range(per_side - i)]) / last
    points = jnp.asarray(grid, gap.dtype)
    values = ratio.psi(points.T, jnp.outer(gap, _ones(points)), jnp.outer(gain, _ones(points)))
    first, second, third = map(int, chosen)
    return Simplex(points, values, (first, second, third))


def _ones(points: Float[Array, "n 3"]) -> Float[Array, "n"]:
    return jnp.ones(points.shape[0], points.dtype)


def _three(actions: Any, count: int) -> np.ndarray:
    """Three actions by number, or a ValueError."""
    takes = f"three whole numbers from 0 to {count - 1}"
    given = checks.indices("actions", actions, count, takes)
    if given.shape != (3,):
        raise ValueError(f"actions: got shape {list(given.shape)}; it takes {takes}")
    return given


def between(
    field: Field,
    points: Any,
    others: Any = None,
    *,
    information: information.Information = information.ucb,
    key: Key[Array, ""] | None = None,
) -> Between:
    """The least Ψ over the weight, for each of some points [n, p] of a box or ball with each of others [m, p].

    `others` are the same points by default. The information function must give at a point what does not depend on the
    band's others, as for a policy; one that draws does it with `key`.
    """
    if not isinstance(field, Field):
        raise ValueError(f"field: got {checks.shown(field)}; it takes one of jaxids.fields, as of fields.fit")
    places = _inside(field, "points", points)
    second = places if others is None else _inside(field, "others", others)
    gap, gain = gap_and_gain(field.at(jnp.concatenate([places, second]).T), information, key=key)
    rows, columns = slice(None, len(places)), slice(len(places), None)
    return _least(gap[rows, None], gain[rows, None], gap[None, columns], gain[None, columns])


@jax.jit
def _least(gap0: Scalar, gain0: Scalar, gap1: Scalar, gain1: Scalar) -> Between:
    """The best mix of two, whichever of them has less gain, which `best_weight` takes first."""
    weight = jnp.where(
        gain0 <= gain1,
        ratio.best_weight(gap0, gain0, gap1, gain1),
        1 - ratio.best_weight(gap1, gain1, gap0, gain0),
    )
    return Between(ratio.quotient(ratio.blend(weight, gap0, gap1), ratio.blend(weight, gain0, gain1)), weight)


def _inside(field: Field, name: str, points: Any) -> Float[Array, "n p"]:
    """Points of a field's domain, or a ValueError."""
    given = checks.shape(name, points, ("n", field.domain.size.shape[0]))
    try:
        field.domain.check(given)
    except ValueError as error:
        raise ValueError(str(error).replace("points:", f"{name}:", 1)) from None
    return jnp.asarray(given, field.features.dtype)
