"""Kernel least squares on finitely many points (Section 4.2): the posterior of f at all of them, in O(K r) a step.

The state holds the mean at the K points and a square root of their posterior covariance, C = Rᵀ R with R [r, K], which
begins as a root of the Gram matrix over √λ (`features`: Gram = ΦᵀΦ, of rank r ≤ K). One observation with noise bound ρ²
at point k is the Schur complement

    C ← C − c cᵀ / (ρ² + σ²),      c = C[:, k],   σ² = C[k, k],

and on the root, with b = R[:, k] (so that c = Rᵀ b and σ² = b·b),

    R ← R − b cᵀ / (ρ² + σ² + ρ √(ρ² + σ²)).

So σ_t(x)² = (k(x, x) − k_tᵀ(K_t + λΣ)⁻¹k_t)/λ is a sum of squares, never negative, however ill-conditioned the kernel,
and a joint posterior sample is mean + Rᵀη without a factorisation, singular covariances included. R only shrinks, so it
is kept as it is, not as a compensated sum, which would double what a step reads and writes. In float32 variances then
drift slowly where one point is observed over and over: by about 1e-4 of themselves in 10⁴ steps, 1e-3 in 10⁵, and less
than 1e-2 in 10⁶. What verbs take as features is not looked at: the state holds it.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import checks, draws, lanes
from jaxids.types import Number

__all__ = ["State", "at", "cov_with", "init", "log_det", "mean", "sample", "update", "var", "var_given"]


class State(NamedTuple):
    """The posterior at the points."""

    mean: lanes.Sum  # [K, …]
    root: Float[Array, "r K ..."]
    log_det: lanes.Sum  # […]: log det(I + Σ⁻¹K/λ)


def init(features: Float[Array, "r K ..."], lam: Number) -> State:
    """The prior: mean 0, covariance k(x, y)/λ."""
    features = checks.floats("features", features, ("r", "K", "…"))
    checks.positive("lam", lam)
    root = features / jnp.sqrt(jnp.asarray(lam, features.dtype))
    zeros = jnp.zeros_like(root[0])
    return State(lanes.sum_from(zeros), root, lanes.sum_from(zeros[0]))


def at(features: Any, action: Int[Array, "..."]) -> Int[Array, "..."]:
    """A point is known by its index: the state holds what is known at every one."""
    return action


def update(state: State, action: Int[Array, "..."], reward: Float[Array, "..."], rho2: Float[Array, "..."]) -> State:
    """The posterior after one reward at one point whose noise has the bound ρ²."""
    b = lanes.shared(lanes.pick(state.root, action))
    c = lanes.shared(lanes.dot(b, state.root))
    sigma2 = lanes.dot(b, b)
    total = lanes.shared(rho2 + sigma2)
    mean = lanes.add(state.mean, c * ((reward - lanes.pick(state.mean.value, action)) / total))
    root = state.root - lanes.shared(b / (total + jnp.sqrt(rho2 * total)))[:, None] * c[None]
    return State(mean, root, lanes.add(state.log_det, jnp.log1p(sigma2 / rho2)))


def mean(state: State, features: Any = None) -> Float[Array, "K ..."]:
    """The posterior mean at every point."""
    return state.mean.value


def var(state: State, features: Any = None) -> Float[Array, "K ..."]:
    """σ_t(x)² at every point."""
    return lanes.dot(state.root, state.root)


def cov_with(state: State, features: Any, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
    """The posterior covariance of every point with one."""
    return lanes.dot(lanes.shared(lanes.pick(state.root, action)), state.root)


def var_given(state: State, features: Any, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
    """σ_t² at every point if f were known at one: of its column of R, what is orthogonal to that of the one."""
    return lanes.orthogonal(state.root, lanes.shared(lanes.pick(state.root, action)))


def sample(state: State, features: Any, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K ..."]:
    """One joint draw at all points: mean + scale · Rᵀη, η standard normal."""
    eta = lanes.shared(draws.normal(source, state.root.shape[0]))
    return state.mean.value + scale * lanes.dot(eta, state.root)


def log_det(state: State) -> Float[Array, "..."]:
    """log det(I + Σ⁻¹K/λ) of the observed points."""
    return state.log_det.value
