"""Bandits on a box or ball: a function of a point, its noise, and the belief that suits it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxids import beliefs, checks, domains, fields, nodes, search
from jaxids.domains import Domain
from jaxids.fields import Field
from jaxids.problems.noise import Noise, check_noise, gaussian
from jaxids.programs import by_identity
from jaxids.types import Number, Point

Function = Callable[[Point], Float[Array, ""]]
SLACK = 1e-4  # of the range of values
register = nodes.register


@partial(
    register,
    data_fields=("domain", "function", "rho", "kernel", "basis", "rho_bound", "top", "bottom"),
    meta_fields=("capacity",),
)
@dataclass(frozen=True)
class Landscape:
    """One bandit on a box or ball; an action is a point [p]."""

    domain: Any
    function: Any
    rho: Any
    kernel: Any
    basis: Any  # of draws of the kernel's prior
    rho_bound: Float[Array, ""]
    top: Float[Array, ""]  # the largest value of the function
    bottom: Float[Array, ""]  # the least
    capacity: int  # observations the kernel belief holds

    def prior(self, belief: Any, lam: Number) -> Any:
        """The belief's state before any observation."""
        dim = self.domain.size.shape[0]
        if self.kernel is None:
            return belief.init(jnp.zeros((dim, 1), self.domain.size.dtype), lam)
        return belief.init(self.kernel, dim, self.capacity, lam)

    def band(self, belief: Any, state: Any, bounds: Callable[[Any, Array], Array], *numbers: Number) -> Field:
        """What is known on the domain, with the noise bounds that are assumed of it, δ, λ and the norm bound."""
        return fields.of(belief, state, self.domain, lambda x: bounds(x, self.rho(x)), self.basis, *numbers)

    def mean_of(self, action: Point) -> Float[Array, ""]:
        """The mean reward at a point."""
        return self.function(action)

    def rho_of(self, action: Point) -> Float[Array, ""]:
        """The noise bound at a point."""
        return self.rho(action)

    def losses(self) -> Float[Array, ""]:
        """The largest value."""
        return self.top

    def lost(self, losses: Float[Array, ""], action: Point) -> Float[Array, ""]:
        """The regret at a point; negative where the largest value was missed, by more than the slack."""
        short = losses - self.function(action)
        return jnp.where(short < -self.slack, short, jnp.maximum(short, 0))

    def above(self, action: Point) -> Bool[Array, ""]:
        """Whether a point is better than the largest value, which then is not that."""
        return self.lost(self.top, action) < 0

    @property
    def slack(self) -> Float[Array, ""]:
        """By how much a value above the largest is taken for rounding, of the search or of numbers."""
        return SLACK * self.most_lost() + 10 * jnp.finfo(self.top.dtype).eps * jnp.abs(self.top)

    def most_lost(self) -> Float[Array, ""]:
        """S: the largest regret."""
        return self.top - self.bottom

    def sound(self) -> Bool[Array, ""]:
        """Whether the largest value and noise bound are finite."""
        return jnp.isfinite(self.top) & jnp.isfinite(self.rho_bound) & (self.rho_bound > 0)


@partial(register, data_fields=("landscape",), meta_fields=("noise",))
@dataclass(frozen=True)
class Continuous:
    """The same function on a box or ball in every trial."""

    landscape: Landscape
    noise: Noise = gaussian

    @property
    def belief(self) -> Any:
        """Linear, or with a kernel a history of points."""
        return beliefs.linear if self.landscape.kernel is None else beliefs.history

    def draw(self, key: Key[Array, ""]) -> Landscape:
        """The function, whatever the key."""
        return self.landscape

    def check(self) -> None:
        """All was looked at when it was made."""
        check_noise(self.noise)

    def sized(self, steps: int) -> "Continuous":
        """With room for the observations of so many steps, if it was not said for how many."""
        if self.landscape.capacity:
            return self
        return replace(self, landscape=replace(self.landscape, capacity=steps))


def continuous(
    domain: Domain,
    function: Function,
    rho: Function | float,
    kernel: Any = None,
    *,
    rho_bound: float | None = None,
    maximum: float | None = None,
    noise: Noise = gaussian,
    capacity: int | None = None,
) -> Continuous:
    """A bandit on a box or ball; the function and rho take a point [p] and give a number, rho may be one number.

    Functions are compared by identity, and arrays that they close over must not change in place: a problem of a new
    function compiles anew, one of `jax.tree_util.Partial(function, array)` with other arrays does not.
    Without a kernel the belief is linear, so the function should be. The function's maximum is searched for from many
    starts, if it is not given; a run ends with an error when a policy plays a point that is better, by more than 1e-4
    of the range of values. `rho_bound`, for the policies with one bound for all, is the largest of rho found in the
    same way. The kernel belief holds as many observations as there are steps, or as `capacity` says. Thompson's draws
    and the least noise that counts depend on that room, so a run of 100 steps begins one of 200 only if `capacity` is
    given.
    """
    domains.check(domain)
    check_noise(noise)
    noise_of = fields.noise_function(rho)
    points = domain.spread(search.SPREAD)
    for name, given in {"function": function, "rho": noise_of}.items():
        checks.function(name, given)
        with checks.naming(name, given, "a function of a point that gives a number"):
            shape = jax.eval_shape(given, points[0]).shape
        if shape != ():
            raise ValueError(f"{name}: got one that returns shape {list(shape)}; it takes a point and gives a number")
        checks.number(name, jax.vmap(given)(points), "a function that gives numbers")
    checks.noise_bounds("rho", jax.vmap(noise_of)(points))
    function, noise_of = map(by_identity, (function, noise_of))
    found = _largest(noise_of, domain)
    checks.noise_bounds("rho_bound", found if rho_bound is None else rho_bound, scalar=True)
    bound = found if rho_bound is None else jnp.asarray(rho_bound, found.dtype)
    if bound < found * (1 - 1e-6):
        raise ValueError(f"rho_bound: got {float(bound):g}; it takes a number ≥ {float(found):g}, the largest rho")
    room = 0 if capacity is None else checks.count("capacity", capacity)
    known = (None, None) if kernel is None else fields.kernel_on(domain, kernel)
    found = Landscape(
        domain, function, noise_of, *known, bound, _largest(function, domain), _least(function, domain), room
    )
    return Continuous(found if maximum is None else _with_top(found, maximum), noise)


def _with_top(found: Landscape, maximum: Any) -> Landscape:
    """With a largest value that is given, or a ValueError if the one found is above."""
    takes = f"a number ≥ {float(found.top):.6g}, which was found"
    top = jnp.asarray(checks.working("maximum", checks.number("maximum", maximum, takes)))
    if top.ndim or top < found.top - found.slack:
        raise ValueError(f"maximum: got {checks.shown(maximum)}; it takes {takes}")
    return replace(found, top=top)


def _largest(function: Any, domain: Domain) -> Float[Array, ""]:
    return -_least(function, domain, -1.0)


@nodes.jitted
def _least(function: Any, domain: Domain, sign: Number = 1.0) -> Float[Array, ""]:
    return search.thorough(lambda x: sign * function(x), domain)
