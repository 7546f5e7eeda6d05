"""The examples of Section 2 on any linear problem: each action with low and high noise, and near-noiseless probes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxids import beliefs, checks, nodes
from jaxids.problems.instance import Changing, Instance, Problem, is_problem
from jaxids.problems.repeated import refuse_several
from jaxids.problems.vectors import Fixed
from jaxids.types import Number

register = nodes.register


def _checked(base: Any) -> Problem:
    if not is_problem(base):
        raise ValueError(f"base: got {checks.shown(base)}; it takes one of jaxids.problems, as problems.unit_ball()")
    if isinstance(base, Changing):
        raise ValueError("base: got one whose actions change; it takes one whose stay (contextual(base=…) comes last)")
    refuse_several(base)
    return base


@partial(register, data_fields=("base", "low", "high"), meta_fields=())
@dataclass(frozen=True)
class LowHigh:
    """Example 1: every action of another problem twice, first all with high noise and then all with low.

    Ties go to the lowest index, so a policy that does not look at noise takes the noisier copy.
    """

    base: Any
    low: Number
    high: Number

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.base.belief)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """Copies k and K + k share features and mean."""
        one = self.base.draw(key)
        rho = jnp.concatenate([jnp.full_like(one.rho, self.high), jnp.full_like(one.rho, self.low)])
        features = jnp.concatenate([one.features, one.features], axis=-1)
        return Instance(features, jnp.concatenate([one.mean, one.mean]), rho, jnp.asarray(self.high, rho.dtype))

    def check(self) -> None:
        """Both noise bounds are positive and in order."""
        self.base.check()
        checks.noise_bounds("low", self.low, scalar=True)
        checks.noise_bounds("high", self.high, scalar=True)
        if checks.concrete((self.low, self.high)) and self.low > self.high:
            raise ValueError(f"low: got {self.low:g}; it takes a number ≤ high = {self.high:g}")


def low_high(base: Problem, low: float = 0.5, high: float = 1.0) -> LowHigh:
    """Example 1 on any problem: each action first with noise bound `high`, and once more with `low`."""
    problem = LowHigh(_checked(base), low, high)
    problem.check()
    return problem


@partial(register, data_fields=("base", "rho", "scale"), meta_fields=())
@dataclass(frozen=True)
class Probes:
    """The extreme example: d more actions, scaled basis vectors of almost no noise, none of them optimal."""

    base: Any
    rho: Number
    scale: Number

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.base.belief)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The probes come last; their means are at most `scale` times a positive best, or a negative one over it."""
        one = self.base.draw(key)
        theta, best = jnp.linalg.lstsq(one.features.T, one.mean)[0], jnp.max(one.mean)
        size = jnp.where(best > 0, self.scale * best / jnp.max(jnp.abs(theta)), best / (self.scale * theta))
        basis = jnp.diag(size).astype(one.features.dtype)
        rho = jnp.concatenate([one.rho, jnp.full(len(theta), self.rho, one.rho.dtype)])
        mean = jnp.concatenate([one.mean, theta @ basis])
        return Instance(jnp.concatenate([one.features, basis], axis=1), mean, rho, one.rho_bound)

    def check(self) -> None:
        """A positive noise bound, at most the base's R, and a scale that keeps the probes from being optimal."""
        self.base.check()
        checks.noise_bounds("rho", self.rho, scalar=True)
        if checks.concrete(self):
            with checks.naming("base", self.base, "one whose draw takes a key and gives an Instance"):
                bound = _bound(self.base, jax.random.key(0))
            if jnp.asarray(self.rho, bound.dtype) > bound:
                raise ValueError(f"rho: got {self.rho:g}; it takes a number ≤ {bound:g}, the base's bound for all")
        checks.within("scale", self.scale, 0, 1)
        if isinstance(self.base, Fixed) and checks.concrete(self):
            mean, added = self.draw(jax.random.key(0)).mean, self.base.instance.features.shape[0]
            if not jnp.all(mean[-added:] < jnp.max(mean[:-added])):
                raise ValueError(
                    "base: got one whose basis vectors cannot be scaled below its best action; it takes others"
                )


@nodes.jitted
def _bound(base: Problem, key: Key[Array, ""]) -> Float[Array, ""]:
    """R, which problems have in common for all that they draw; compiled, so that the rest is not drawn."""
    return base.draw(key).rho_bound


def probes(base: Problem, rho: float = 1e-3, scale: float = 0.5) -> Probes:
    """The extreme example on any linear problem whose actions span its space; `rho` is at most the base's bound R."""
    if not beliefs.is_linear(_checked(base).belief):
        raise ValueError("base: got a problem on points with a kernel; it takes a linear one")
    problem = Probes(base, rho, scale)
    problem.check()
    return problem
