"""UCB, Thompson sampling, DIDS and IDS on a continuous action set, by gradient steps from many starts.

A search compiles once for all surfaces of one shape, noise and information function, and works inside jit and vmap.
Two actions suffice for IDS (Lemma 4), so it is a search over (x₁, x₂), the weight between them being known in closed
form. It starts from the best pair among quasi-random points, the UCB point and the best single action, found exactly,
and from others near them; what it returns is never worse than any of its starts. What varies over less than the
distance of those points (a thousandth of an interval, a thirtieth of a square's side) may be missed. Posterior draws
are joint at a quarter of them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, Key

from jaxids import checks, domains, draws, ratio
from jaxids.continuous.surface import Function, Information, Point, Scalar, Surface, about_ucb, as_program, as_tree
from jaxids.domains import Domain

SPREAD = 1024  # quasi-random points
JOINT = 256  # of them at which a posterior draw is joint
STARTS = 16  # the best points, from which small gradient steps go on, and as many from everywhere with large ones
PAIRS = 8  # that a search for two actions starts from, besides the best
STEPS = 100
REFINED = 8  # that go on in a second round, with steps a tenth as large
SHORT = 1e-3  # step that tells where the domain ends
RATE = 0.05  # of a large step, in sizes of the domain; steps fall to nothing


class Pair(NamedTuple):
    """Two actions, the weight of the second, and the ratio Ψ of playing them so."""

    first: Point
    second: Point
    weight: Scalar
    value: Scalar


def ucb(surface: Surface, domain: Domain) -> Point:
    """The point of the largest upper confidence bound."""
    return _ucb(_checked(surface, domain), domain)


def thompson(
    surface: Surface, domain: Domain, source: draws.Stream | Key[Array, ""], scale: Scalar | float = 1.0
) -> Point:
    """The best point of one posterior draw, with a key or a stream."""
    stream = source if isinstance(source, draws.Stream) else draws.Stream(draws.stream(source), jnp.uint32(0))
    return _thompson(_checked(surface, domain), domain, stream, scale)


def dids(surface: Surface, domain: Domain, information: Information = about_ucb) -> Pair:
    """The single action of the least ratio."""
    return _dids(_checked(surface, domain), domain, as_tree(information))


def ids(surface: Surface, domain: Domain, information: Information = about_ucb) -> Pair:
    """The mix of two actions of the least ratio."""
    return _ids(_checked(surface, domain), domain, as_tree(information))


def _checked(surface: Surface, domain: Domain) -> Surface:
    """The surface as a compiled search takes it, or a ValueError if it is none on this domain."""
    domains.check(domain)
    if not isinstance(surface, Surface):
        takes = "a Surface, as of continuous.of_history"
        raise ValueError(f"surface: got {checks.shown(surface)}; it takes {takes}")
    points = domain.spread(SPREAD)
    if surface.seen.shape[1] != points.shape[1]:
        raise ValueError(f"domain: got one of dimension {points.shape[1]}; the surface has {surface.seen.shape[1]}")
    checks.noise_bounds("rho", jax.vmap(surface.rho)(points))
    functions = {name: as_tree(part) for name, part in surface._asdict().items() if callable(part)}
    return surface._replace(**functions | {"rho": as_program(surface.rho, points.shape[1])})


@jax.jit
def _ucb(surface: Surface, domain: Domain) -> Point:
    return least(lambda x: -surface.upper(x), domain, _candidates(surface, domain))[0]


@jax.jit
def _thompson(surface: Surface, domain: Domain, stream: draws.Stream, scale: Scalar) -> Point:
    drawn = surface.sample(domain.spread(JOINT), stream, scale)
    return least(lambda x: -drawn(x), domain, _candidates(surface, domain))[0]


@jax.jit
def _dids(surface: Surface, domain: Domain, information: Information) -> Pair:
    return _single(domain, *_prepared(surface, domain, information))


@jax.jit
def _ids(surface: Surface, domain: Domain, information: Information) -> Pair:
    points, gap, gain = _prepared(surface, domain, information)
    points = jnp.concatenate([_single(domain, points, gap, gain).first[None], points])

    def value(pair: Float[Array, "2 p"]) -> Scalar:
        return jnp.log(_mixed(pair, gap, gain).value)

    starts = points[_pairs(jax.vmap(gap)(points), jax.vmap(gain)(points))]
    rates = jnp.repeat(jnp.stack([_small(domain), RATE]), len(starts))
    pair, _ = _descended(value, jax.vmap(domain.project), domain.size, jnp.concatenate([starts, starts]), rates)
    mixed = _mixed(pair, gap, gain)
    return Pair(pair[mixed.first], pair[mixed.second], mixed.weight, mixed.value)


def _candidates(surface: Surface, domain: Domain) -> Float[Array, "n p"]:
    """Points that fill the domain evenly, and those observed, where some kernels have their peaks."""
    return jnp.concatenate([domain.spread(SPREAD), jax.vmap(domain.project)(surface.seen)])


def _pairs(gaps: Float[Array, "n"], gains: Float[Array, "n"]) -> Int[Array, "m 2"]:
    """The best pair of all points, the first alone, and the best pairs of the first two with every PAIRS-th other."""
    best, first = ratio.exact(gaps, gains), jnp.tile(jnp.arange(2)[:, None], PAIRS)
    parts = jnp.concatenate([first, jnp.arange(2, 2 + SPREAD).reshape(-1, PAIRS)])
    others = ratio.exact(gaps[parts], gains[parts])
    chosen = [parts[part, jnp.arange(PAIRS)] for part in (others.first, others.second)]
    return jnp.concatenate([jnp.array([[best.first, best.second], [0, 0]]), jnp.stack(chosen, axis=1)])


def _prepared(surface: Surface, domain: Domain, information: Information) -> tuple[Array, Function, Function]:
    """Points to start from with the UCB point first, and the gap and gain as functions."""
    best = _ucb(surface, domain)
    top, gain = surface.upper(best), information(surface, best)
    points = jnp.concatenate([best[None], _candidates(surface, domain)])
    floor = jnp.sqrt(jnp.finfo(best.dtype).tiny)
    return (
        points,
        lambda x: jnp.maximum(top - surface.mean(x) + surface.radius(x), floor),
        lambda x: jnp.maximum(gain(x), floor),
    )


def _single(domain: Domain, points: Array, gap: Function, gain: Function) -> Pair:
    point, value = least(lambda x: 2 * jnp.log(gap(x)) - jnp.log(gain(x)), domain, points)
    return Pair(point, point, jnp.zeros_like(value), jnp.exp(value))


def _mixed(pair: Float[Array, "2 p"], gap: Function, gain: Function) -> ratio.Mix:
    return ratio.pairs(jax.vmap(gap)(pair), jax.vmap(gain)(pair))


def least(value: Function, domain: Domain, points: Float[Array, "n p"]) -> tuple[Point, Scalar]:
    """The least value found, from the best of some points on."""
    best = lax.top_k(-jax.vmap(value)(points), STARTS)[1]
    starts, rates = jnp.concatenate([points[best], points[:STARTS]]), jnp.stack([_small(domain), RATE])
    return _descended(value, domain.project, domain.size, starts, jnp.repeat(rates, STARTS))


def _small(domain: Domain) -> Scalar:
    """The rate of small steps: half the distance of quasi-random points, in sizes of the domain."""
    return jnp.minimum(0.5 * SPREAD ** (-1 / domain.size.shape[0]), jnp.asarray(RATE, domain.size.dtype))


def _descended(
    value: Callable[[Array], Scalar],
    project: Callable[[Array], Array],
    size: Array,
    starts: Float[Array, "n ..."],
    rates: Float[Array, "n"],
) -> tuple[Array, Scalar]:
    """The least value met on the way of Adam from every start, and where; rates are in sizes of the domain."""
    optimizer = optax.adam(optax.cosine_decay_schedule(1.0, STEPS))

    def inward(here: Array, slope: Array) -> Array:
        """The slope less what points out of the domain, found by a short step: at a boundary Adam's own is no guide."""
        length = jnp.sqrt(jnp.maximum(jnp.sum(slope**2), jnp.finfo(slope.dtype).tiny))
        return (here - project(here - SHORT * size * slope / length)) / size * (length / SHORT)

    def descend(start: Array, rate: Scalar) -> tuple[Array, Scalar]:
        def step(carry: Any, _: None) -> tuple[Any, None]:
            here, state, best, lowest = carry
            now, slope = jax.value_and_grad(value)(here)
            better = now < lowest
            change, state = optimizer.update(inward(here, jnp.where(jnp.isfinite(slope), slope, 0) * size), state)
            after = project(here + rate * size * jnp.asarray(change))
            return (after, state, jnp.where(better, here, best), jnp.where(better, now, lowest)), None

        begin = (start, optimizer.init(start), start, jnp.asarray(jnp.inf, start.dtype))
        (_, _, best, lowest), _ = lax.scan(step, begin, None, STEPS)
        return best, lowest

    found, values = jax.vmap(descend)(starts, rates)
    best = lax.top_k(-values, REFINED)[1]
    found, values = jax.vmap(descend)(found[best], jnp.full(REFINED, 0.1 * RATE, rates.dtype))
    return found[jnp.argmin(values)], jnp.min(values)
