"""The confidence band of a belief and what follows from it: β_t, upper bounds, the UCB action, the surrogate gap.

β_t = √(2 log(1/δ) + log det V_t − log det V_0) + √λ · norm bound   (Lemmas on linear and on RKHS regression)

A band is what is known *at some actions*: `mean`, `var`, `gap`, … have one number for each. What concerns the *whole*
set is asked of it through verbs: the UCB action, the best action of a posterior draw, the least ratio. An action is an
opaque handle, to be had from a verb and given to another: an index where there are finitely many, a point of a box or
ball (`fields.Field`, the same verbs on those). So what is written on a band is written once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, draws, lanes, nodes, ratio
from jaxids.types import Number

__all__ = ["Action", "Band", "Most", "Solver", "Surfaces", "beta", "floored", "solved"]

QUIET = 1e-3  # of σ²: where ρ² is less, a difference would put gains off by more than about 1e-4
Action = Any  # a handle: an index [...], or a point [p, ...]
Surfaces = Callable[["Band"], tuple[Array, Array]]  # the gap and the gain at a band's actions
Solver = Callable[[Array, Array], ratio.Mix]  # of gaps and gains [K, …], as ratio.exact


def beta(log_det: Number, delta: Number, lam: Number, norm_bound: Number) -> Float[Array, "..."]:
    """β_t from the tracked determinant."""
    checks.within("delta", delta, 0, 1)
    checks.positive("lam", lam)
    checks.not_negative("norm_bound", norm_bound)
    checks.not_negatives("log_det", log_det)
    log_det = checks.real("log_det", log_det, "numbers ≥ 0")
    delta, lam, norm_bound = (jnp.asarray(number, log_det.dtype) for number in (delta, lam, norm_bound))
    return jnp.sqrt(log_det - 2 * jnp.log(delta)) + jnp.sqrt(lam) * norm_bound


def solved(solver: Solver, gap: Float[Array, "K ..."], gain: Float[Array, "K ..."]) -> ratio.Mix:
    """A solver's mix, or a ValueError if it gives none."""
    with checks.naming("solver", solver, "a function of gaps and gains"):
        mix = solver(gap, gain)
    if not isinstance(mix, ratio.Mix):
        raise ValueError(f"solver: got one that gives {checks.shown(mix)}; it takes one that gives a ratio.Mix")
    return mix


class Most(NamedTuple):
    """Where a quantity is largest: the action, its value there, and the values that were looked at."""

    action: Action
    value: Float[Array, "..."]
    values: Float[Array, "K ..."]


def floored(values: Float[Array, "K ..."]) -> Float[Array, "K ..."]:
    """Where no action tells anything, the least gap decides, not the lowest index."""
    return jnp.maximum(values, jnp.sqrt(jnp.finfo(values.dtype).tiny))


@partial(
    nodes.register,
    data_fields=("state", "features", "rho", "delta", "lam", "norm_bound", "scale"),
    meta_fields=("belief",),
)
@dataclass(frozen=True)
class Band:
    """What a policy knows at one step; each quantity is computed once, when it is first asked for.

    An information function with a loop of its own should ask before the loop, not first inside it: what is computed
    inside a traced loop cannot be kept for later.
    """

    belief: Any
    state: Any
    features: Float[Array, "d K ..."]
    rho: Float[Array, "K ..."]
    delta: Number
    lam: Number
    norm_bound: Number
    scale: Number | None = None  # of β_t; none is 1

    def scaled(self, scale: Number | None) -> "Band":
        """The band with β_t times a number."""
        return self if scale is None else replace(self, scale=scale)

    @cached_property
    def mean(self) -> Float[Array, "K ..."]:
        """The estimate of every action's mean."""
        return self.belief.mean(self.state, self.features)

    @cached_property
    def var(self) -> Float[Array, "K ..."]:
        """σ_t(x)² of every action."""
        return lanes.shared(self.belief.var(self.state, self.features))

    @cached_property
    def beta(self) -> Float[Array, "..."]:
        """β_t."""
        value = beta(self.belief.log_det(self.state), self.delta, self.lam, self.norm_bound)
        return value if self.scale is None else self.scale * value

    @cached_property
    def radius(self) -> Float[Array, "K ..."]:
        """β_t σ_t(x), half the width of the band."""
        return self.beta * lanes.root(self.var)

    @cached_property
    def upper(self) -> Float[Array, "K ..."]:
        """The upper confidence bound of every action."""
        return lanes.shared(self.mean + self.radius)

    @cached_property
    def gap(self) -> Float[Array, "K ..."]:
        """Δ_t⁺(x): the largest upper bound less the lower bound of x."""
        return self.top.value - self.mean + self.radius

    def seen(self, action: Action) -> Any:
        """What the belief sees of one action."""
        return self.belief.at(self.features, action)

    def cov_with(self, action: Action) -> Float[Array, "K ..."]:
        """The posterior covariance of every action with one."""
        return self.belief.cov_with(self.state, self.features, self.seen(action))

    @property
    def quiet(self) -> Bool[Array, "K ..."]:
        """Where ρ² is so small that rounding of σ² shows beside it."""
        return self.rho**2 < QUIET * self.var

    @cached_property
    def some_quiet(self) -> Bool[Array, ""]:
        """Whether that is so anywhere, in any trial."""
        rho2 = (self.rho**2 / QUIET).astype(self.var.dtype)
        return lanes.negative_anywhere(lax.sub, jnp.broadcast_to(rho2, self.var.shape), self.var)

    def left(
        self, action: Action, explained: Float[Array, "K ..."], then: Callable[[Array], Array]
    ) -> Float[Array, "K ..."]:
        """A function, `then`, of what is left of every σ² if f is known at an action, which explains the rest.

        A difference is off by rounding of σ². Only where that shows is the belief asked, and only if it shows anywhere,
        in any trial of the tile, does that take time.
        """

        def difference() -> Float[Array, "K ..."]:
            return jnp.maximum(self.var - explained, 0)

        if not hasattr(self.belief, "var_given"):
            return then(jnp.where(self.same(action), 0, difference()))

        def asked() -> Float[Array, "K ..."]:
            given = self.belief.var_given(self.state, self.features, self.seen(action))
            return jnp.where(self.quiet, given, difference())

        return lanes.seldom(self.some_quiet, asked, difference, then)

    def same(self, action: Action) -> Bool[Array, "K ..."]:
        """Which of the band's actions is this one."""
        return jnp.arange(self.rho.shape[0]).reshape(-1, *(1 for _ in action.shape)) == action

    # what concerns the whole set

    @property
    def everywhere(self) -> "Band":
        """The band at all actions, or at many points all over a domain."""
        return self

    def most(self, surface: Callable[["Band"], Array]) -> Most:
        """The action at which a quantity, a function of a band, is largest; the lowest index wins a tie."""
        values = surface(self)
        return Most(*lanes.first_max(values), values)

    @cached_property
    def top(self) -> Most:
        """The UCB action and the largest upper bound."""
        return self.most(lambda band: band.upper)

    @cached_property
    def ucb(self) -> Action:
        """The UCB action."""
        return self.top.action

    @cached_property
    def leader(self) -> Most:
        """The action of the highest estimate."""
        return self.most(lambda band: band.mean)

    def uniform(self, source: draws.Stream) -> Action:
        """Any action, each as likely."""
        return (draws.uniform(source, 1)[0] * self.rho.shape[0]).astype(jnp.int32)

    @property
    def handle(self) -> tuple[tuple[int, ...], Any, str]:
        """The shape and kind of an action, and both in words."""
        shape = self.rho.shape[1:]
        return shape, jnp.integer, f"whole numbers of shape {list(shape)}, one for each trial"

    def fits(self, action: Action) -> Bool[Array, "..."]:
        """Whether there is such an action."""
        return (action >= 0) & (action < self.rho.shape[0])

    def var_of(self, action: Action) -> Float[Array, "..."]:
        """σ_t² of one action."""
        return lanes.pick(self.var, action)

    def mean_of(self, action: Action) -> Float[Array, "..."]:
        """The estimate of one action's mean."""
        return lanes.pick(self.mean, action)

    def radius_of(self, action: Action) -> Float[Array, "..."]:
        """β_t σ_t of one action."""
        return self.beta * lanes.root(self.var_of(action))

    def rho_of(self, action: Action) -> Float[Array, "..."]:
        """The noise bound of one action."""
        return lanes.pick(self.rho, action)

    def gap_of(self, action: Action) -> Float[Array, "..."]:
        """Δ_t⁺ of one action."""
        return lanes.pick(self.gap, action)

    def sample(self, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K ..."]:
        """Every action's mean under one posterior draw."""
        return self.belief.sample(self.state, self.features, source, scale)

    def peak(self, source: draws.Stream, scale: Number = 1.0) -> Most:
        """The best action of one posterior draw, its value, and those of other actions."""
        return self.most(lambda band: band.sample(source, scale))

    def best(self, source: draws.Stream, scale: Number = 1.0) -> Action:
        """The best action of one posterior draw."""
        return self.peak(source, scale).action

    def average(self, source: draws.Stream, count: int, gain: Callable[[Action], Array]) -> Float[Array, "K ..."]:
        """The mean of gain(best action of a draw) over several draws."""
        nothing = jnp.zeros_like(self.var)

        def add(i: Int[Array, ""], total: Array) -> Array:
            return total + gain(self.best(draws.child(source, i + 1)))

        return lax.fori_loop(0, count, add, nothing) / count

    def least_ratio(self, surfaces: Surfaces, solver: Solver) -> tuple[ratio.Mix, Array, Array]:
        """The mix that minimises the ratio of a gap and a gain over the whole set, and both at the band's actions."""
        gap, gain = lanes.shared(surfaces(self))
        return solved(solver, gap, floored(gain)), gap, gain

    def played(self, values: Float[Array, "K ..."], mix: ratio.Mix, action: Action) -> Float[Array, "..."]:
        """What a quantity as `least_ratio` gives it is at the action that was played from a mix."""
        return lanes.pick(values, action)

    def at_ucb(self, values: Float[Array, "K ..."]) -> Float[Array, "..."]:
        """What it is at the UCB action."""
        return lanes.pick(values, self.ucb)

    def expected(self, values: Float[Array, "K ..."], mix: ratio.Mix) -> Float[Array, "..."]:
        """The mean under a mix of a quantity as `least_ratio` gives it: the gap or the gain."""
        return ratio.blend(mix.weight, lanes.pick(values, mix.first), lanes.pick(values, mix.second))
