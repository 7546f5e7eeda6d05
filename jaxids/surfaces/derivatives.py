"""First and second derivatives of the least ratio Ψ* and of its minimiser, with respect to gaps and gains.

Of the two actions that `ratio.exact` finds, that of less gain first, let s = (Δ₁ − Δ₀)/(g₁ − g₀). If both are played,

    Ψ* = 4s(Δ₀ − s g₀),   weight = Δ₀/(Δ₁ − Δ₀) − 2g₀/(g₁ − g₀),

else Ψ* = Δ²/g of the one that is. Nothing cancels there, since Δ₀ > 2s g₀. By the envelope theorem the gradient is 2tμ
in the gaps and −t²μ in the gains, with t = E[Δ]/E[g]: an action that is not played does not count.

Ψ* is smooth but for some places, where these are derivatives from one side, all of them finite. Of several minimising
mixes (ties, duplicates) they are those of the one that `ratio.exact` gives. Where a weight just reaches 0 or 1, and Ψ*
has a gradient but no Hessian, they are those of the side on which one action is played. With a gap of 0 they are those
in gaps ≥ 0. Where Ψ* is +∞ they are 0. So they are where both gap and gain of what is played are 0, but that is a
convention: with gaps (ε, 1) and gains (0, 1), Ψ* = 4ε(1 − ε).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxids import lanes, ratio
from jaxids.ratio.mixes import Scalar, Vector, vectors
from jaxids.types import PerAction

Square = Float[Array, "K K ..."]


class Slopes(NamedTuple):
    """A quantity, and its derivatives with respect to every gap and every gain."""

    value: Scalar
    gap: Vector
    gain: Vector


class Curvature(NamedTuple):
    """The Hessian, in blocks: `gap_gain[i, j]` is the derivative with respect to gap i and gain j."""

    gap_gap: Square
    gap_gain: Square
    gain_gain: Square


class _Ends(NamedTuple):
    """The gaps and gains of the two actions of a mix."""

    gap0: Scalar
    gain0: Scalar
    gap1: Scalar
    gain1: Scalar


def mixed(gap: PerAction, gain: PerAction) -> ratio.Mix:
    """The mix […] of `ratio.exact` for gaps and gains [K, …], whose weight and value may be differentiated twice."""
    return _mixed(*vectors(gap, gain))


@jax.jit
def _mixed(gap: Vector, gain: Vector) -> ratio.Mix:
    found, ends = _found(gap, gain)
    return ratio.Mix(found.first, found.second, _weight(ends, found.weight), _value(ends, found.weight))


def least(gap: PerAction, gain: PerAction) -> Scalar:
    """Ψ*, the least ratio over all distributions: [K, …] to […]."""
    return mixed(gap, gain).value


def weight(gap: PerAction, gain: PerAction) -> Scalar:
    """The weight of the minimiser on its second action, that of more gain: [K, …] to […]."""
    return mixed(gap, gain).weight


def slopes(gap: PerAction, gain: PerAction) -> Slopes:
    """Ψ* […] and its gradient [K, …] in gaps and gains [K, …], lane by lane.

    >>> slopes([1.0, 2.0], [1.0, 1.5]).gap  # only the first is played: 2Δ/g
    Array([2., 0.], dtype=float32)
    """
    return _sloped("value", *vectors(gap, gain))


def weight_slopes(gap: PerAction, gain: PerAction) -> Slopes:
    """The minimiser's weight […] and its gradient [K, …], which is 0 where one action is played alone."""
    return _sloped("weight", *vectors(gap, gain))


@partial(jax.jit, static_argnums=0)
def _sloped(part: str, gap: Vector, gain: Vector) -> Slopes:
    value, back = jax.vjp(lambda *both: getattr(_mixed(*both), part), gap, gain)
    return Slopes(value, *back(jnp.ones_like(value)))


def curvature(gap: PerAction, gain: PerAction) -> Curvature:
    """The Hessian of Ψ* in gaps and gains [K, …], blocks [K, K, …], at most four by four of it other than 0."""
    return _curved(*vectors(gap, gain))


@jax.jit
def _curved(gap: Vector, gain: Vector) -> Curvature:
    found, ends = _found(gap, gain)
    ones, numbers = jnp.ones_like(found.weight), tuple(ends)

    def sloped(*numbers: Scalar) -> tuple[Scalar, ...]:
        return jax.vjp(lambda *four: _value(_Ends(*four), found.weight), *numbers)[1](ones)

    def along(row: int) -> tuple[Scalar, ...]:
        ahead = tuple(ones if column == row else 0 * ones for column in range(4))
        return jax.jvp(sloped, numbers, ahead)[1]

    second = [along(row) for row in range(4)]
    every = jnp.arange(gap.shape[0]).reshape((-1,) + (1,) * found.first.ndim)
    marks = [(every == action).astype(gap.dtype) for action in (found.first, found.second)]

    def block(row: int, column: int) -> Square:
        """The rows and columns of the gaps (0) or the gains (1) of the two actions, in their places among all."""
        parts = [(i, j, second[2 * i + row][2 * j + column]) for i in (0, 1) for j in (0, 1)]
        return jnp.sum(jnp.stack([part * marks[i][:, None] * marks[j][None] for i, j, part in parts]), axis=0)

    return Curvature(block(0, 0), block(0, 1), block(1, 1))


def _found(gap: Vector, gain: Vector) -> tuple[ratio.Mix, _Ends]:
    """The minimiser, found on constants, and its gaps and gains, to be differentiated."""
    found = lanes.shared(ratio.exact(lax.stop_gradient(gap), lax.stop_gradient(gain)))
    return found, _Ends(*(lanes.pick(v, k) for k in (found.first, found.second) for v in (gap, gain)))


def _both(played: Scalar) -> Bool[Array, "..."]:
    return (played > 0) & (played < 1)


def _steps(ends: _Ends, played: Scalar) -> tuple[Scalar, Scalar]:
    """From the first to the second action, in gap and gain; 1 where not both are played."""
    both = _both(played)
    return jnp.where(both, ends.gap1 - ends.gap0, 1), jnp.where(both, ends.gain1 - ends.gain0, 1)


def _weight(ends: _Ends, played: Scalar) -> Scalar:
    rise, more = _steps(ends, played)
    return jnp.where(_both(played), ends.gap0 / rise - 2 * (ends.gain0 / more), played)


def _value(ends: _Ends, played: Scalar) -> Scalar:
    rise, more = _steps(ends, played)
    slope = rise / more
    second = played >= 1
    gap, gain = jnp.where(second, ends.gap1, ends.gap0), jnp.where(second, ends.gain1, ends.gain0)
    some = gain > 0
    alone = jnp.where(some, gap * (gap / jnp.where(some, gain, 1)), jnp.where(gap == 0, 0, jnp.inf))
    return jnp.where(_both(played), 4 * slope * (ends.gap0 - slope * ends.gain0), alone)
