"""UCB, Thompson sampling, DIDS and IDS on a continuous action set, by gradient steps from many starts, inside jit.

Two actions suffice for IDS (Lemma 4), so it is a search over (x₁, x₂), the weight between them being known in closed
form. It starts from the best pair among quasi-random points, the UCB point and the best single action, found exactly,
and from others near them; what it returns is never worse than any of its starts.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float

from jaxids import draws, ratio
from jaxids.continuous.surface import Information, Point, Scalar, Surface, about_ucb
from jaxids.domains import Domain

SPREAD = 256  # quasi-random points
STARTS = 32  # from which gradient steps go on
PAIRS = 8  # that a search for two actions starts from, besides the best
STEPS = 150
RATE = 0.05  # of a step, in sizes of the domain; it falls to nothing


class Pair(NamedTuple):
    """Two actions, the weight of the second, and the ratio Ψ of playing them so."""

    first: Point
    second: Point
    weight: Scalar
    value: Scalar


def ucb(surface: Surface, domain: Domain) -> Point:
    """The point of the largest upper confidence bound."""
    return least(lambda x: -surface.upper(x), domain, domain.spread(SPREAD))[0]


def thompson(surface: Surface, domain: Domain, source: draws.Stream, scale: Scalar | float = 1.0) -> Point:
    """The best point of one posterior draw."""
    points = domain.spread(SPREAD)
    drawn = surface.sample(points, source, scale)
    return least(lambda x: -drawn(x), domain, points)[0]


def dids(surface: Surface, domain: Domain, information: Information = about_ucb) -> Pair:
    """The single action of the least ratio."""
    return _single(*_prepared(surface, domain, information))


def ids(surface: Surface, domain: Domain, information: Information = about_ucb) -> Pair:
    """The mix of two actions of the least ratio."""
    domain, points, gap, gain = _prepared(surface, domain, information)
    single = _single(domain, points, gap, gain)
    points = jnp.concatenate([single.first[None], points])
    gaps, gains = jax.vmap(gap)(points), jax.vmap(gain)(points)
    best = ratio.exact(gaps, gains)
    parts = jnp.concatenate([jnp.tile(jnp.arange(2)[:, None], PAIRS), jnp.arange(2, len(points)).reshape(-1, PAIRS)])
    others = ratio.exact(
        gaps[parts], gains[parts]
    )  # the best pair of every PAIRS-th point, with the single and the UCB
    ends = [
        jnp.concatenate([jnp.stack([whole, jnp.zeros_like(whole)]), parts[part, jnp.arange(PAIRS)]])
        for whole, part in ((best.first, others.first), (best.second, others.second))
    ]

    def value(pair: Float[Array, "2 p"]) -> Scalar:
        return jnp.log(_mixed(pair, gap, gain).value)

    pair, _ = _descended(value, jax.vmap(domain.project), domain.size, points[jnp.stack(ends, axis=1)])
    mixed = _mixed(pair, gap, gain)
    return Pair(pair[mixed.first], pair[mixed.second], mixed.weight, mixed.value)


def _prepared(surface: Surface, domain: Domain, information: Information) -> tuple[Any, ...]:
    """The domain, points to start from with the UCB point first, and the gap and gain as functions."""
    best = ucb(surface, domain)
    top, gain = surface.upper(best), information(surface, best)
    points = jnp.concatenate([best[None], domain.spread(SPREAD)])
    least = jnp.sqrt(jnp.finfo(best.dtype).tiny)
    return (
        domain,
        points,
        lambda x: jnp.maximum(top - surface.mean(x) + surface.radius(x), least),
        lambda x: jnp.maximum(gain(x), least),
    )


def _single(domain: Domain, points: Array, gap: Callable[..., Scalar], gain: Callable[..., Scalar]) -> Pair:
    point, value = least(lambda x: 2 * jnp.log(gap(x)) - jnp.log(gain(x)), domain, points)
    return Pair(point, point, jnp.zeros_like(value), jnp.exp(value))


def _mixed(pair: Float[Array, "2 p"], gap: Callable[..., Scalar], gain: Callable[..., Scalar]) -> ratio.Mix:
    return ratio.pairs(jax.vmap(gap)(pair), jax.vmap(gain)(pair))


def least(value: Callable[[Point], Scalar], domain: Domain, points: Float[Array, "n p"]) -> tuple[Point, Scalar]:
    """The least value found, from the best of some points on."""
    best = lax.top_k(-jax.vmap(value)(points), STARTS // 2)[1]
    starts = jnp.concatenate([points[best], points[: STARTS // 2]])  # the best, and as many from everywhere
    return _descended(value, domain.project, domain.size, starts)


def _descended(
    value: Callable[[Array], Scalar], project: Callable[[Array], Array], size: Array, starts: Float[Array, "n ..."]
) -> tuple[Array, Scalar]:
    """The least value met on the way of Adam from every start, and where; units are sizes of the domain."""
    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))

    def descend(start: Array) -> tuple[Array, Scalar]:
        def step(carry: Any, _: None) -> tuple[Any, None]:
            here, state, best, least = carry
            now, slope = jax.value_and_grad(value)(here)
            better = now < least
            change, state = optimizer.update(jnp.where(jnp.isfinite(slope), slope, 0) * size, state)
            after = project(here + size * jnp.asarray(change))
            return (after, state, jnp.where(better, here, best), jnp.where(better, now, least)), None

        begin = (start, optimizer.init(start), start, jnp.asarray(jnp.inf, start.dtype))
        (_, _, best, least), _ = lax.scan(step, begin, None, STEPS)
        return best, least

    found, values = jax.vmap(descend)(starts)
    return found[jnp.argmin(values)], jnp.min(values)
