"""A belief as the whole posterior at K points, mean and covariance, after all observations at once (Section 4.2).

With C₀ = k(x, y)/λ at the points, p the weights Σ 1/ρ² of the observations of each and b the weighted rewards Σ y/ρ²,

    B = I + SC₀S,   S = diag(√p),   C = C₀ − C₀S B⁻¹ SC₀,   mean = C₀S B⁻¹ S⁻¹b,   log det = log det B.

B has no eigenvalue below 1, so all of it has derivatives, in the points and the kernel too, however nearly singular the
Gram matrix: unlike its root, with which `beliefs.kernel` begins. A variance is exact to rounding of the prior's.
Posterior draws are held fixed when what follows from them is differentiated.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from jaxids import draws, lanes
from jaxids.types import Number


class State(NamedTuple):
    """The posterior at the points, of one trial; vmap makes many."""

    mean: Float[Array, "K"]
    cov: Float[Array, "K K"]
    log_det: Float[Array, ""]


def after(prior: Float[Array, "K K"], weights: Float[Array, "K"], rewards: Float[Array, "K"]) -> State:
    """The posterior, given that of no observation, and for each point its weight and its weighted rewards."""
    root = lanes.root(weights)  # a point never observed has no weight, whatever ρ is: derivative 0
    seen = root > 0
    factor = jnp.linalg.cholesky(jnp.eye(len(prior), dtype=prior.dtype) + root[:, None] * prior * root)
    white = solve_triangular(factor, root[:, None] * prior, lower=True)
    innovations = solve_triangular(factor, jnp.where(seen, rewards / jnp.where(seen, root, 1), 0), lower=True)
    return State(innovations @ white, prior - white.T @ white, 2 * jnp.sum(jnp.log(jnp.diagonal(factor))))


def at(features: Any, action: Int[Array, ""]) -> Int[Array, ""]:
    """A point is known by its index."""
    return action


def mean(state: State, features: Any = None) -> Float[Array, "K"]:
    """The posterior mean at every point."""
    return state.mean


def var(state: State, features: Any = None) -> Float[Array, "K"]:
    """σ_t(x)² at every point."""
    return jnp.maximum(jnp.diagonal(state.cov), 0)


def cov_with(state: State, features: Any, action: Int[Array, ""]) -> Float[Array, "K"]:
    """The posterior covariance of every point with one."""
    return state.cov[action]


def sample(state: State, features: Any, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K"]:
    """One joint draw at all points, a constant to derivatives."""
    mean, cov = lax.stop_gradient((state.mean, state.cov))
    values, vectors = jnp.linalg.eigh(cov)
    return mean + scale * (vectors @ (jnp.sqrt(jnp.maximum(values, 0)) * draws.normal(source, len(mean))))


def log_det(state: State) -> Float[Array, ""]:
    """log det(I + Σ⁻¹K/λ) of the observed points."""
    return state.log_det
