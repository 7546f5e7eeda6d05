"""Bandits on points with a kernel (Section 4.2): one given function, or a fresh one for every trial.

Points enter through a root of their Gram matrix, ΦᵀΦ = k(x, y): `features` [r, K]. The function with values Φᵀw at the
points has the RKHS norm |w|, so norms are known by construction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxids import beliefs, checks, nodes
from jaxids.kernels import noise_at, root_of_gram
from jaxids.problems.instance import Instance
from jaxids.problems.noise import Noise, gaussian
from jaxids.problems.vectors import Fixed
from jaxids.types import Number

Weights = Callable[[Key[Array, ""], Float[Array, "r K"]], Float[Array, "r"]]


def rkhs(
    points: Any, values: Any, rho: Any, kernel: Any, *, rho_bound: float | None = None, noise: Noise = gaussian
) -> Fixed:
    """One function with the given values [K] at points [K, p]; rho [K], one number, or a function of a point."""
    points, features = root_of_gram(points, kernel)
    values = checks.shape("values", values, (len(points),))
    rho, bound = _noise(points, rho, rho_bound)
    problem = Fixed(_instance(features, values, rho, bound), noise, beliefs.kernel)
    problem.check()
    return problem


def norm(problem: Fixed) -> float:
    """The RKHS norm of a problem's function: the least among all functions with its values at the points.

    It is infinite where no function of the kernel has these values, up to 1e-4 of the largest.
    """
    if not isinstance(problem, Fixed):
        raise ValueError(
            f"problem: got {checks.shown(problem)}; it takes one whose function is the same in every trial"
        )
    features, values = (np.asarray(part, float) for part in (problem.instance.features, problem.instance.mean))
    weights, *_ = np.linalg.lstsq(features.T, values, rcond=None)
    missed = np.max(np.abs(weights @ features - values)) > 1e-4 * np.max(np.abs(values))
    return float("inf") if missed else float(np.linalg.norm(weights))


@partial(
    nodes.register,
    data_fields=("features", "rho", "rho_bound"),
    meta_fields=("weights", "noise", "belief"),
)
@dataclass(frozen=True)
class Functions:
    """A fresh function for every trial, Φᵀw with random w."""

    features: Float[Array, "r K"]
    rho: Float[Array, "K"]
    rho_bound: Number
    weights: Weights
    noise: Noise = gaussian
    belief: ModuleType = beliefs.kernel

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The points, noise bounds and kernel are those of every trial."""
        mean = self.weights(key, self.features) @ self.features
        return Instance(self.features, mean, self.rho, jnp.asarray(self.rho_bound, self.rho.dtype))

    def check(self) -> None:
        """Noise bounds are positive, and one bound covers them."""
        Fixed(Instance(self.features, self.rho, self.rho, jnp.asarray(self.rho_bound)), self.noise).check()


@dataclass(frozen=True)
class Expansion:
    """Weights of a kernel expansion Σ aⱼ k(zⱼ, ·) at random points zⱼ with normal aⱼ, scaled to a norm."""

    norm: float
    centres: int

    def __call__(self, key: Key[Array, ""], features: Float[Array, "r K"]) -> Float[Array, "r"]:
        """The weights of one function."""
        of_points, of_coefficients = jax.random.split(key)
        chosen = jax.random.choice(of_points, features.shape[1], (self.centres,), replace=False)
        weights = features[:, chosen] @ jax.random.normal(of_coefficients, (self.centres,))
        return self.norm * weights / jnp.maximum(jnp.linalg.norm(weights), jnp.finfo(weights.dtype).tiny)


def _prior(key: Key[Array, ""], features: Float[Array, "r K"]) -> Float[Array, "r"]:
    return jax.random.normal(key, features.shape[:1])


def expansions(
    points: Any,
    kernel: Any,
    rho: Any,
    *,
    norm: float = 1.0,
    centres: int = 10,
    rho_bound: Any = None,
    noise: Noise = gaussian,
) -> Functions:
    """A random kernel expansion of known RKHS norm for every trial."""
    checks.positive("norm", norm)
    points = checks.shape("points", points, ("K", "p"))
    if checks.count("centres", centres) > len(points):
        raise ValueError(f"centres: got {centres}; it takes at most the {len(points)} points")
    return _functions(points, kernel, rho, Expansion(float(norm), centres), rho_bound, noise)


def gp(points: Any, kernel: Any, rho: Any, *, rho_bound: Any = None, noise: Noise = gaussian) -> Functions:
    """A sample of the Gaussian process with this kernel for every trial."""
    return _functions(points, kernel, rho, _prior, rho_bound, noise)


def _functions(points: Any, kernel: Any, rho: Any, weights: Weights, rho_bound: Any, noise: Noise) -> Functions:
    points, features = root_of_gram(points, kernel)
    rho, bound = _noise(points, rho, rho_bound)
    instance = _instance(features, np.zeros(len(points)), rho, bound)
    Fixed(instance, noise).check()
    return Functions(instance.features, instance.rho, instance.rho_bound, weights, noise)


def _instance(features: Any, values: Any, rho: Any, bound: Any) -> Instance:
    named = {"kernel": features, "values": values, "rho": rho, "rho_bound": bound}
    return Instance(*(jnp.asarray(checks.working(name, part)) for name, part in named.items()))


def _noise(points: np.ndarray, rho: Any, rho_bound: Any) -> tuple[np.ndarray, np.ndarray]:
    """Noise bounds at the points, and one bound for all."""
    rho = noise_at(points, rho)
    return rho, checks.number("rho_bound", np.max(rho) if rho_bound is None else rho_bound, "a number ≥ max(rho)")
