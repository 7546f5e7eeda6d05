"""The band on a box or ball: what is known at any of its points, and the same verbs as on finitely many actions.

A `Field` stands at `features`, points [p, n], and `at` moves it to others. What belongs to the whole set is found once,
by gradient steps from many starts, and kept for all places: the UCB point, the best points of posterior draws. Two
actions suffice for IDS (Lemma 4), so its ratio is a search over pairs of points, each of them a band of two actions
whose mix the solver knows in closed form. A field is of one trial; vmap makes many.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, draws, nodes, ratio, search
from jaxids.confidence import Band, Most, Solver, Surfaces, floored, solved
from jaxids.fields import rough
from jaxids.programs import as_tree
from jaxids.types import Number, Point

PAIRS = 8  # that a search for two actions starts from, besides the best
ROUNDING = 1e-5  # of the largest gap or gain
FAR = 1e3  # how many times as far from the middle, to come out of the domain
INSIDE = 1e-5  # how far outside an action may lie by rounding, in sizes of the domain


class Target(NamedTuple):
    """A point that is asked about at many others: what the belief sees of it, and its variance, computed once."""

    point: Point
    seen: Any
    var: Float[Array, ""]


@partial(
    nodes.register,
    data_fields=(
        "state",
        "features",
        "rho",
        "delta",
        "lam",
        "norm_bound",
        "scale",
        "domain",
        "noise",
        "visited",
        "basis",
    ),
    meta_fields=("belief",),
)
@dataclass(frozen=True)
class Field(Band):
    """What is known on a domain, at the points that are its features."""

    domain: Any = None
    noise: Any = None  # the noise bound assumed at a point
    visited: Any = None  # points [n, p] worth a look besides those that fill the domain
    basis: Any = None  # of draws of the prior, if there is a kernel; a rough.Grid if it varies too much between points
    found: list[Any] = field(default_factory=list, init=False, compare=False, repr=False)  # shared by `at`, see `_kept`

    def at(self, points: Float[Array, "p n"]) -> "Field":
        """The same knowledge at other points."""
        there = replace(self, features=points, rho=jax.vmap(self.noise)(points.T))
        vars(there)["found"] = self.found
        return there

    @cached_property
    def candidates(self) -> Float[Array, "n p"]:
        """Points that fill the domain evenly, and those observed, where some kernels have their peaks."""
        spread = self.domain.spread(search.SPREAD)
        return (
            spread if self.visited is None else jnp.concatenate([spread, jax.vmap(self.domain.project)(self.visited)])
        )

    @property
    def everywhere(self) -> "Field":
        """The field at points that fill the domain, and at as many on its boundary."""
        inside = self.domain.spread(search.SPREAD)
        middle = jnp.mean(inside, axis=0)
        outside = jax.vmap(self.domain.project)(middle + FAR * (inside - middle))
        return self.at(jnp.concatenate([inside, outside]).T)

    def _kept(self, name: str, find: Callable[[], Any], *asked: Any) -> Any:
        """What belongs to the whole set, found when it is first asked for with these arguments."""
        for known, others, result in self.found:
            if known == name and all(map(_is_same, others, asked)):
                return result
        result = find()
        if checks.concrete(result) or not checks.concrete(self.state):  # what a passing trace computed goes with it
            self.found.append((name, asked, result))
        return result

    @cached_property
    def beta(self) -> Float[Array, ""]:
        """β_t."""
        return self._kept("beta", lambda: Band.beta.func(self))

    def most(self, surface: Callable[[Band], Array]) -> Most:
        """The point at which a quantity, a function of a band, is largest, and its values at the candidates."""
        points = self.candidates
        values = surface(self.at(points.T))
        point, value = search.least(lambda x: -surface(self.at(x[:, None]))[0], self.domain, points, -values)
        return Most(point, -value, values)

    @cached_property
    def top(self) -> Most:
        """The UCB point and the largest upper bound."""
        return self._kept("top", lambda: self.most(lambda band: band.upper))

    @cached_property
    def leader(self) -> Most:
        """The point of the highest estimate."""
        return self._kept("leader", lambda: self.most(lambda band: band.mean))

    def uniform(self, source: draws.Stream) -> Point:
        """Any point, each as likely."""
        return self.domain.uniform(draws.uniform(source, self.features.shape[0] + 1))

    @property
    def handle(self) -> tuple[tuple[int, ...], Any, str]:
        """The shape and kind of an action, and both in words."""
        shape = self.features.shape[:1]
        return shape, jnp.floating, f"a point, floats of shape {list(shape)}"

    def fits(self, action: Point) -> Bool[Array, ""]:
        """Whether a point lies in the domain."""
        return jnp.all(jnp.abs(self.domain.project(action) - action) <= INSIDE * self.domain.size)

    def seen(self, action: Point | Target) -> Any:
        """What the belief sees of one point."""
        return self._target(action).seen

    def var_of(self, action: Point | Target) -> Float[Array, ""]:
        """σ_t² at one point."""
        return self._target(action).var

    def _target(self, action: Point | Target) -> Target:
        if isinstance(action, Target):
            return action
        if checks.concrete(action):
            return self._looked(jnp.asarray(action, self.rho.dtype))
        return self._kept("target", lambda: self._looked(action), action)

    def _looked(self, point: Point) -> Target:
        seen = self.belief.look(self.state, point)
        return Target(point, seen, self.belief.var_of(self.state, seen))

    def same(self, action: Point | Target) -> Bool[Array, "n"]:
        """Which of the field's points is this one."""
        return jnp.all(self.features == _point(action)[:, None], axis=0)

    def mean_of(self, action: Point | Target) -> Float[Array, ""]:
        """The estimate at one point."""
        return self.belief.mean(self.state, _point(action)[:, None])[0]

    def rho_of(self, action: Point | Target) -> Float[Array, ""]:
        """The noise bound at one point."""
        return self.noise(_point(action))

    def gap_of(self, action: Point | Target) -> Float[Array, ""]:
        """Δ_t⁺ at one point."""
        return self.at(_point(action)[:, None]).gap[0]

    def sample(self, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "n"]:
        """The values of one posterior draw: joint at some points, elsewhere the mean given these.

        The points fill the domain. Where that leaves much to chance, as with rough kernels, they are also those
        observed and some around the draw's best.
        """
        drawn = self._kept("draw", lambda: self._draw(source, scale), *_parts(source), scale)
        if isinstance(drawn, rough.Draw):
            return rough.drawn(drawn, self.features)
        return self.belief.drawn(self.state, drawn, self.features)

    def peak(self, source: draws.Stream, scale: Number = 1.0) -> Most:
        """The best point of one posterior draw, its value there, and those at other points."""
        if isinstance(self.basis, rough.Grid):
            return self._kept("draw", lambda: self._draw(source, scale), *_parts(source), scale).most
        return self.most(lambda band: band.sample(source, scale))

    def best(self, source: draws.Stream, scale: Number = 1.0) -> Point:
        """The best point of one posterior draw."""
        return self._kept("best", lambda: self._best(source, scale), *_parts(source), scale)

    def _draw(self, source: draws.Stream, scale: Number) -> Any:
        if isinstance(self.basis, rough.Grid):
            return rough.draw(self.state, self.domain, self.visited, self.basis, source, scale)
        return self.belief.draw(self.state, self.basis, source, scale)

    def _best(self, source: draws.Stream, scale: Number) -> Point:
        drawn = self._draw(source, scale)
        if isinstance(drawn, rough.Draw):
            return drawn.most.action
        return self.most(lambda band: band.belief.drawn(band.state, drawn, band.features)).action

    def average(self, source: draws.Stream, count: int, gain: Callable[[Target], Array]) -> Float[Array, "n"]:
        """The mean of gain(best point of a draw) over several draws."""

        def find() -> Target:
            sites = jnp.arange(1, count + 1)
            return jax.vmap(lambda i: self._looked(self._best(draws.child(source, i), 1.0)))(sites)

        return jnp.mean(jax.vmap(gain)(self._kept("several", find, *_parts(source), count)), axis=0)

    def least_ratio(self, surfaces: Surfaces, solver: Solver) -> tuple[ratio.Mix, Array, Array]:
        """The mix of two points that minimises the ratio, and the gap and gain at these two and at the candidates."""
        points = jnp.concatenate([self.top.action[None], self.candidates])
        gap, gain = surfaces(self.at(points.T))  # here what belongs to the whole set is found, outside any loop

        def at(some: Float[Array, "k p"]) -> tuple[Array, Array]:
            return jax.tree.map(floored, surfaces(self.at(some.T)))

        def alone(x: Point) -> Float[Array, ""]:
            return jnp.log(ratio.quotient(*at(x[None]))[0])

        known = floored(gap), floored(gain)
        single, _ = search.least(alone, self.domain, points, jnp.log(ratio.quotient(*known)))
        pair = jnp.stack([single, single])
        if not ratio.never_mixes(solver):
            own = at(single[None])
            starts = jnp.concatenate([single[None], points])[_pairs(*(map(_after, own, known)))]
            pair = self._descend(lambda pair: jnp.log(solved(solver, *at(pair)).value), starts)
        mixed = solved(solver, *at(pair))
        mix = ratio.Mix(pair[mixed.first], pair[mixed.second], mixed.weight, mixed.value)
        there = surfaces(self.at(jnp.stack([mix.first, mix.second]).T))
        return mix, _rounded(_after(there[0], gap)), _rounded(_after(there[1], gain))

    def _descend(self, value: Callable[[Array], Array], starts: Float[Array, "m 2 p"]) -> Float[Array, "2 p"]:
        """The best pair of points from pairs on, with small and with large steps."""
        rates = jnp.repeat(search.rates(self.domain), len(starts))
        both = jnp.concatenate([starts, starts])
        return search.descended(value, jax.vmap(self.domain.project), self.domain.size, both, rates)[0]

    def played(self, values: Float[Array, "n"], mix: ratio.Mix, action: Point) -> Float[Array, ""]:
        """What a quantity as `least_ratio` gives it is at the point that was played from a mix."""
        return jnp.where(jnp.all(action == mix.first), values[0], values[1])

    def at_ucb(self, values: Float[Array, "n"]) -> Float[Array, ""]:
        """What it is at the UCB point, which comes after the mix's two."""
        return values[2]

    def expected(self, values: Float[Array, "n"], mix: ratio.Mix) -> Float[Array, ""]:
        """The mean under a mix of a quantity as `least_ratio` gives it, that of the mix's two points first."""
        return ratio.blend(mix.weight, values[0], values[1])


def _point(action: Point | Target) -> Point:
    return action.point if isinstance(action, Target) else action


def _rounded(values: Float[Array, "n"]) -> Float[Array, "n"]:
    """Without what rounding took below 0."""
    small = jnp.abs(values) < ROUNDING * jnp.max(jnp.abs(values))
    return jnp.where((values < 0) & small, 0, values)


def _parts(source: draws.Stream) -> tuple[Any, ...]:
    """What tells a stream from others, though it be another object."""
    return source.words, source.step, source.site, source.depth


def _is_same(first: Any, second: Any) -> bool:
    """Whether two arguments are one array, or equal numbers."""
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return first is second or (numbers and first == second)


def _after(first: Array, others: Array) -> Array:
    return jnp.concatenate([first, others])


def _pairs(gaps: Float[Array, "n"], gains: Float[Array, "n"]) -> Int[Array, "m 2"]:
    """Pairs to start from: the best of all points, the first alone, and the best of each of some parts of them.

    Every part has the first two points, and every `PAIRS`-th of those that fill the domain.
    """

    def best(part: Int[Array, "k"]) -> Int[Array, "2"]:
        mix = ratio.exact(gaps[part], gains[part])
        return part[jnp.stack([mix.first, mix.second])]

    parts = jnp.arange(2, 2 + search.SPREAD).reshape(-1, PAIRS).T
    parts = jnp.concatenate([jnp.tile(jnp.arange(2), (PAIRS, 1)), parts], axis=1)
    alone = jnp.zeros((1, 2), parts.dtype)
    return jnp.concatenate([best(jnp.arange(len(gaps)))[None], alone, jax.vmap(best)(parts)])


def _visited(state: Any, domain: Any) -> Float[Array, "N p"]:
    """The observed points; places that are not filled yet have others that fill the domain."""
    room = len(state.points)
    more = domain.spread(search.SPREAD + room)[search.SPREAD :]
    return jnp.where(jnp.arange(room)[:, None] < state.filled, state.points, more)


def of(belief: Any, state: Any, domain: Any, noise: Any, basis: Any, *numbers: Any) -> Field:
    """What a belief knows on a domain, with the noise bound that is assumed at a point, δ, λ and the norm bound."""
    points = domain.spread(search.SPREAD)
    visited = _visited(state, domain) if hasattr(state, "points") else None
    noise, rho = as_tree(noise), jax.vmap(noise)(points)
    more: Any = {"domain": domain, "noise": noise, "visited": visited, "basis": basis}
    return Field(belief, state, points.T, rho, *numbers, **more)
