"""Problems: how an instance is drawn, its mean rewards and its noise.

A problem draws one `Instance` from a key; a fixed problem ignores the key. Rewards are mean + ρ · noise, where the
noise is 1-subgaussian and tight: no smaller constant would do for any of the three kinds here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxids import beliefs, checks, draws

Noise = Callable[[draws.Stream], Float[Array, "..."]]
register = jax.tree_util.register_dataclass


class Instance(NamedTuple):
    """One bandit: what the belief sees of its actions, their means, noise bounds, and one bound for all."""

    features: Float[Array, "d K"]
    mean: Float[Array, "K"]
    rho: Float[Array, "K"]
    rho_bound: Float[Array, ""]


class Problem(Protocol):
    """What the simulator asks of a problem."""

    noise: Noise
    belief: ModuleType

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The instance of one trial."""
        ...

    def check(self) -> None:
        """Raise a ValueError that names an argument out of its range."""
        ...


def gaussian(source: draws.Stream) -> Float[Array, "..."]:
    """Standard normal noise."""
    return draws.normal(source, 1)[0]


def rademacher(source: draws.Stream) -> Float[Array, "..."]:
    """A fair sign."""
    return jnp.sign(draws.centred(source, 1)[0])


def uniform(source: draws.Stream) -> Float[Array, "..."]:
    """Uniform on [−√3, √3], whose variance and best subgaussian constant are both 1."""
    draw = draws.centred(source, 1)[0]
    return jnp.asarray(3.0**0.5, draw.dtype) * draw


@partial(register, data_fields=("instance",), meta_fields=("noise", "belief"))
@dataclass(frozen=True)
class Fixed:
    """The same instance in every trial."""

    instance: Instance
    noise: Noise = gaussian
    belief: ModuleType = beliefs.linear

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The instance, whatever the key."""
        return self.instance

    def check(self) -> None:
        """Noise bounds are positive, and one bound covers them."""
        checks.positive("rho", self.instance.rho)
        checks.positive("rho_bound", self.instance.rho_bound)
        if checks.concrete(self.instance) and np.any(self.instance.rho_bound < np.max(self.instance.rho)):
            raise ValueError(
                f"rho_bound: got {self.instance.rho_bound:g}; it takes a number ≥ max(rho) = {np.max(self.instance.rho):g}"
            )


def linear(
    actions: Any, theta: Any, rho: Any, *, rho_bound: float | None = None, noise: Noise = gaussian
) -> Fixed:
    """One fixed linear bandit: actions [K, d], theta [d], rho [K] or one number; `rho_bound` is max(rho) if not given."""
    actions = checks.shape("actions", actions, ("K", "d"))
    theta = checks.shape("theta", theta, (actions.shape[1],))
    if np.ndim(rho) == 0:
        rho = np.full(len(actions), rho)
    rho = checks.shape("rho", rho, (len(actions),))
    bound = np.max(rho) if rho_bound is None else rho_bound
    instance = Instance(*map(jnp.asarray, (actions.T, actions @ theta, rho, bound)))
    instance = jax.tree.map(lambda leaf: leaf.astype(jnp.result_type(float)), instance)
    problem = Fixed(instance, noise)
    problem.check()
    return problem


@partial(register, data_fields=("rho", "theta"), meta_fields=("actions", "noise", "belief"))
@dataclass(frozen=True)
class UnitBall:
    """A fresh linear bandit for every trial: actions uniform in the unit ball, noise bounds uniform in a range."""

    actions: int
    rho: tuple[float, float]
    theta: Float[Array, "d"]
    noise: Noise = gaussian
    belief: ModuleType = beliefs.linear

    def draw(self, key: Key[Array, ""]) -> Instance:
        """Actions are a normal direction times u^(1/d)."""
        of_direction, of_radius, of_rho = jax.random.split(key, 3)
        dim = self.theta.shape[0]
        direction = jax.random.normal(of_direction, (dim, self.actions))
        radius = jax.random.uniform(of_radius, (self.actions,)) ** (1 / dim)
        features = direction * (radius / jnp.linalg.norm(direction, axis=0))
        low, high = map(jnp.asarray, self.rho)
        rho = low + (high - low) * jax.random.uniform(of_rho, (self.actions,))
        return Instance(features, jnp.asarray(self.theta) @ features, rho, high.astype(rho.dtype))

    def check(self) -> None:
        """The range of noise bounds is positive and in order."""
        checks.positive("rho", self.rho)
        if checks.concrete(self.rho) and self.rho[0] > self.rho[1]:
            raise ValueError(f"rho: got {tuple(self.rho)}; it takes (low, high) with low ≤ high")


def unit_ball(
    num_actions: int = 30,
    dim: int = 3,
    rho: float | tuple[float, float] = (0.1, 1.0),
    *,
    theta: Any = None,
    noise: Noise = gaussian,
) -> UnitBall:
    """The paper's experiment, with a fresh instance for every trial; theta is (1, …, 1)/√d if not given."""
    checks.count("num_actions", num_actions)
    checks.count("dim", dim)
    low, high = checks.shape("rho", np.broadcast_to(rho, (2,)) if np.ndim(rho) == 0 else rho, (2,))
    theta = np.ones(dim) / np.sqrt(dim) if theta is None else checks.shape("theta", theta, (dim,))
    problem = UnitBall(num_actions, (float(low), float(high)), jnp.asarray(theta, jnp.result_type(float)), noise)
    problem.check()
    return problem


@partial(register, data_fields=("base", "low", "high"), meta_fields=())
@dataclass(frozen=True)
class LowHigh:
    """Example 1: every action of another problem twice, first all with low noise and then all with high."""

    base: Any
    low: float
    high: float

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.base.belief)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """Copies k and K + k share features and mean."""
        one = self.base.draw(key)
        rho = jnp.concatenate([jnp.full_like(one.rho, self.low), jnp.full_like(one.rho, self.high)])
        features = jnp.concatenate([one.features, one.features], axis=-1)
        return Instance(features, jnp.concatenate([one.mean, one.mean]), rho, jnp.asarray(self.high, rho.dtype))

    def check(self) -> None:
        """Both noise bounds are positive and in order."""
        self.base.check()
        checks.positive("low", self.low)
        checks.positive("high", self.high)
        if checks.concrete((self.low, self.high)) and self.low > self.high:
            raise ValueError(f"low: got {self.low:g}; it takes a number ≤ high = {self.high:g}")


def low_high(base: Problem, low: float = 0.5, high: float = 1.0) -> LowHigh:
    """Example 1 on any problem: each action once with noise bound `low` and once with `high`."""
    problem = LowHigh(base, low, high)
    problem.check()
    return problem


@partial(register, data_fields=("base", "rho", "scale"), meta_fields=())
@dataclass(frozen=True)
class Probes:
    """The extreme example: d more actions, scaled basis vectors of almost no noise, none of them optimal."""

    base: Any
    rho: float
    scale: float

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.base.belief)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The probes come last; their means are at most `scale` times the best (which must be positive)."""
        one = self.base.draw(key)
        theta = self.base.theta
        basis = jnp.eye(len(theta), dtype=one.features.dtype) * (self.scale * jnp.max(one.mean) / jnp.max(jnp.abs(theta)))
        rho = jnp.concatenate([one.rho, jnp.full(len(theta), self.rho, one.rho.dtype)])
        mean = jnp.concatenate([one.mean, theta @ basis])
        return Instance(jnp.concatenate([one.features, basis], axis=1), mean, rho, one.rho_bound)

    def check(self) -> None:
        """A positive noise bound and a scale that keeps the probes from being optimal."""
        self.base.check()
        checks.positive("rho", self.rho)
        checks.within("scale", self.scale, 0, 1)


def probes(base: UnitBall, rho: float = 1e-3, scale: float = 0.5) -> Probes:
    """The extreme example on fresh unit-ball instances."""
    problem = Probes(base, rho, scale)
    problem.check()
    return problem
