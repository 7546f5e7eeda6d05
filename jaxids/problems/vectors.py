"""Linear bandits: one fixed instance, or actions drawn in the unit ball for every trial."""

from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxids import beliefs, checks, nodes
from jaxids.problems.instance import Instance
from jaxids.problems.noise import Noise, check_noise, gaussian
from jaxids.types import Number

register = nodes.register


@partial(register, data_fields=("instance",), meta_fields=("noise", "kind"))
@dataclass(frozen=True)
class Fixed:
    """The same instance in every trial."""

    instance: Instance
    noise: Noise = gaussian
    kind: ModuleType = beliefs.linear  # of belief; in which form is a question of shape

    @property
    def belief(self) -> Any:
        """The belief that suits the shape."""
        return beliefs.suited(self.kind, getattr(self.instance.features, "shape", ()), same=True)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The instance, whatever the key."""
        return self.instance

    def check(self) -> None:
        """Noise bounds are positive, and one bound covers them."""
        check_noise(self.noise)
        checks.noise_bounds("rho", self.instance.rho)
        checks.noise_bounds("rho_bound", self.instance.rho_bound, scalar=True)
        if not checks.concrete(self.instance):
            return
        bound, most = np.asarray(self.instance.rho_bound), np.max(np.asarray(self.instance.rho))
        if np.any(bound < most):
            raise ValueError(f"rho_bound: got {bound:g}; it takes a number ≥ max(rho) = {most:g}")


def linear(actions: Any, theta: Any, rho: Any, *, rho_bound: float | None = None, noise: Noise = gaussian) -> Fixed:
    """One fixed linear bandit: actions [K, d], theta [d], rho [K] or one number; `rho_bound` is max(rho) by default."""
    actions = checks.shape("actions", actions, ("K", "d"))
    theta = checks.shape("theta", theta, (actions.shape[1],))
    rho = checks.each("rho", rho, len(actions))
    bound = checks.number("rho_bound", np.max(rho) if rho_bound is None else rho_bound, "a number ≥ max(rho)")
    with np.errstate(over="ignore", under="ignore"):  # what does not fit the working precision is refused below
        values = [value.astype(jnp.result_type(float)) for value in (actions.T, actions @ theta, rho, bound)]
    instance = Instance(*map(jnp.asarray, values))
    checks.shape("actions", instance.features.T, actions.shape)  # finite in the working precision too
    checks.shape("theta", instance.mean, (len(actions),))
    problem = Fixed(instance, noise)
    problem.check()
    return problem


@partial(register, data_fields=("rho", "theta"), meta_fields=("actions", "noise"))
@dataclass(frozen=True)
class UnitBall:
    """A fresh linear bandit for every trial: actions uniform in the unit ball, noise bounds uniform in a range."""

    actions: int
    rho: tuple[Number, Number]
    theta: Float[Array, "d"]
    noise: Noise = gaussian

    @property
    def belief(self) -> Any:
        """The belief that suits the shape."""
        return beliefs.suited(beliefs.linear, (self.theta.shape[0], self.actions), same=False)

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
        check_noise(self.noise)
        checks.noise_bounds("rho", self.rho)
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
    num_actions, dim = checks.count("num_actions", num_actions), checks.count("dim", dim)
    low, high = checks.each("rho", rho, 2)
    theta = np.ones(dim) / np.sqrt(dim) if theta is None else checks.shape("theta", theta, (dim,))
    with np.errstate(over="ignore", under="ignore"):  # what does not fit the working precision is refused
        theta = checks.shape("theta", theta.astype(jnp.result_type(float)), (dim,))
    problem = UnitBall(num_actions, (float(low), float(high)), jnp.asarray(theta, jnp.result_type(float)), noise)
    problem.check()
    return problem
