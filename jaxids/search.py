"""The least value of a function of points of a box or ball, by gradient steps from many starts.

What varies over less than the distance of the points a search starts from (a thousandth of an interval, a thirtieth of
a square's side) may be missed. What is returned is never worse than any of the starts.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float

from jaxids.domains import Domain, even
from jaxids.types import Point

SPREAD = 1024  # quasi-random points
STARTS = 8  # the best points, from which small gradient steps go on, and as many from everywhere with large ones
STEPS = 50
REFINED = 4  # that go on in a second round, with steps a tenth as large
SHORT = 1e-3  # step that tells where the domain ends
RATE = 0.05  # of a large step, in sizes of the domain; steps fall to nothing
MANY = 16 * SPREAD  # points, and
MORE = 64  # starts of each kind of a search that is done once
AROUND = 256  # points ever nearer to the best, in
ROUNDS = 48
NEARER = 0.7  # times the distance of the round before

Scalar = Float[Array, ""]


def least(
    value: Callable[[Point], Scalar], domain: Domain, points: Float[Array, "n p"], known: Float[Array, "n"]
) -> tuple[Point, Scalar]:
    """The least value found, from the best of some points on, at which it is known."""
    best = lax.top_k(-known, STARTS)[1]
    starts = jnp.concatenate([points[best], points[: SPREAD : SPREAD // STARTS]])
    return descended(value, domain.project, domain.size, starts, jnp.repeat(rates(domain), STARTS))


def thorough(value: Callable[[Point], Scalar], domain: Domain) -> Scalar:
    """The least value found with the effort of what is done once: more starts, and at the end no slopes, for cusps."""
    points = domain.spread(MANY)
    known = _numbers(lax.map(value, points, batch_size=SPREAD))
    starts = jnp.concatenate([points[lax.top_k(-known, MORE)[1]], points[:: MANY // MORE]])
    found = descended(value, domain.project, domain.size, starts, jnp.repeat(rates(domain), MORE))
    offsets = RATE * domain.size * jnp.asarray(2 * even(AROUND, points.shape[1]) - 1, points.dtype)

    def closer(i: Array, found: tuple[Point, Scalar]) -> tuple[Point, Scalar]:
        here, lowest = found
        near = jax.vmap(domain.project)(here + NEARER**i * offsets)
        values = _numbers(jax.vmap(value)(near))
        best = jnp.argmin(values)
        return jnp.where(values[best] < lowest, near[best], here), jnp.minimum(values[best], lowest)

    return lax.fori_loop(0, ROUNDS, closer, found)[1]


def _numbers(values: Array) -> Array:
    return jnp.where(jnp.isnan(values), jnp.inf, values)


def rates(domain: Domain) -> Float[Array, "2"]:
    """The rates of small and of large steps in sizes of the domain: a small one is half the distance of points."""
    large = jnp.asarray(RATE, domain.size.dtype)
    return jnp.stack([jnp.minimum(0.5 * SPREAD ** (-1 / domain.size.shape[0]), large), large])


def descended(
    value: Callable[[Array], Scalar],
    project: Callable[[Array], Array],
    size: Array,
    starts: Float[Array, "n ..."],
    rates: Float[Array, "n"],
) -> tuple[Array, Scalar]:
    """The least value met on the way of Adam from every start, and where; rates are in sizes of the domain."""
    found, values = jax.vmap(lambda start, rate: _way(value, project, size, start, rate))(starts, rates)
    best = lax.top_k(-values, REFINED)[1]
    fine = jnp.asarray(0.1 * RATE, rates.dtype)
    found, values = jax.vmap(lambda start: _way(value, project, size, start, fine))(found[best])
    return found[jnp.argmin(values)], jnp.min(values)


def _way(
    value: Callable[[Array], Scalar], project: Callable[[Array], Array], size: Array, start: Array, rate: Scalar
) -> tuple[Array, Scalar]:
    """The best place on the way from one start, and its value."""

    def inward(here: Array, raw: Array) -> Array:
        """The slope less what points out of the domain, found by a short step: at a boundary Adam's own is no guide."""
        slope = raw * size
        length = jnp.sqrt(jnp.maximum(jnp.sum(slope**2), jnp.finfo(slope.dtype).tiny))
        return (here - project(here - SHORT * size * slope / length)) / size * (length / SHORT)

    def move(here: Array, change: Array) -> Array:
        return project(here + rate * size * change)

    return adam(value, start, jnp.asarray(jnp.inf, start.dtype), STEPS, slope=inward, move=move)


def adam(
    value: Callable[[Array], Scalar],
    start: Array,
    lowest: Scalar,
    steps: int,
    rate: float = 1.0,
    *,
    slope: Callable[[Array, Array], Array] = lambda here, raw: raw,
    move: Callable[[Array, Array], Array] = jnp.add,
) -> tuple[Array, Scalar]:
    """Return the best point that Adam evaluates, and its value.

    Args:
        value: The function to minimize.
        start: The first point, which is returned unless a value is below `lowest`.
        lowest: The value at the start, or +∞.
        steps: How many points are evaluated, the start among them.
        rate: The first step size, which falls to 0 along a cosine.
        slope: Maps a point and its gradient, 0 where that is not finite, to what Adam is given.
        move: Maps a point and Adam's update to the next point.

    Returns:
        The best point and its value, or the start and `lowest`.
    """
    optimizer = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def step(carry: Any, _: None) -> tuple[Any, None]:
        here, state, best, lowest = carry
        now, raw = jax.value_and_grad(value)(here)
        better = now < lowest
        change, state = optimizer.update(slope(here, jnp.where(jnp.isfinite(raw), raw, 0)), state)
        after = move(here, jnp.asarray(change))
        return (after, state, jnp.where(better, here, best), jnp.where(better, now, lowest)), None

    (_, _, best, lowest), _ = lax.scan(step, (start, optimizer.init(start), start, lowest), None, steps)
    return best, lowest
