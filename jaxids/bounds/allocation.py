"""γ_T of finitely many points, bounded from above by a relaxation whose optimum is certified.

After n_k observations of point k, Σ log(1 + σ²/ρ²) = log det(I + K diag(n/ρ²)/λ), whatever their order. With n = T w it
is a concave function F of the shares w, so that over the simplex, whole numbers of observations included,

    γ_T ≤ max_w F(w) ≤ F(v) + max_k ∂_k F(v) − Σ_k v_k ∂_k F(v)   for any v,   ∂_k F(v) = T σ_v(k)²/ρ_k².

The steps v_k ← v_k ∂_k F(v) / Σ v ∂F(v), those of the multiplicative algorithm for D-optimal designs, bring the two
sides together; each gives a bound, the least of which is kept.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from jaxids import checks
from jaxids.bounds.arguments import Amount, at_least, numbers

ROUNDING = 1e-4  # share of the largest that an entry may be off, and an eigenvalue below 0


def gamma_gram(
    gram: Float[Array, "K K"], rho: Amount | Float[Array, "K"], steps: Amount, *, lam: Amount, rounds: int = 100
) -> Float[Array, ""]:
    """An upper bound of γ_T at points with this Gram matrix and noise bounds, up to rounding.

    Single precision is enough where T k(x, x)/(λρ²) is below about 10⁴.
    """
    gram = _matrix(gram)
    at_least("steps", steps, 1)
    checks.positive("lam", lam)
    checks.noise_bounds("rho", rho)
    rounds = checks.count("rounds", rounds)
    rho, steps, lam, _ = numbers(rho=rho, steps=steps, lam=lam, gram=jnp.diagonal(gram))
    if steps.ndim or rho.ndim > 1:
        name, array = ("steps", steps) if steps.ndim else ("rho", rho)
        raise ValueError(f"{name}: got shape {list(array.shape)}; it takes a number, one call or vmap for each")
    return _certified(_root(gram) / (rho * jnp.sqrt(lam)), steps, jnp.asarray(rounds))


def _matrix(gram: Any) -> Float[Array, "K K"]:
    gram = checks.floats("gram", gram, ("K", "K"))
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"gram: got shape {list(gram.shape)}; it takes [K, K]")
    if checks.concrete(gram):
        _semidefinite(np.asarray(gram, float))
    return gram


def _semidefinite(gram: np.ndarray) -> None:
    """A ValueError for what is no Gram matrix, up to rounding in single precision."""
    takes = "a symmetric matrix without negative eigenvalues"
    apart = np.abs(gram - gram.T)
    if np.any(apart > ROUNDING * np.max(np.abs(gram))):
        i, j = np.unravel_index(np.argmax(apart), apart.shape)
        raise ValueError(f"gram: got {gram[i, j]:g} at [{i}, {j}] and {gram[j, i]:g} at [{j}, {i}]; it takes {takes}")
    values = np.linalg.eigvalsh(gram)
    if values[0] < -ROUNDING * max(values[-1], 0):
        raise ValueError(f"gram: got one with an eigenvalue of {values[0]:g}; it takes {takes}")


def _root(gram: Float[Array, "K K"]) -> Float[Array, "r K"]:
    values, vectors = jnp.linalg.eigh(gram)
    return jnp.sqrt(jnp.maximum(values, 0))[:, None] * vectors.T


@jax.jit
def _certified(features: Float[Array, "r K"], steps: Float[Array, ""], rounds: Int[Array, ""]) -> Float[Array, ""]:
    """The least bound on the way from even shares."""
    count = features.shape[1]

    def turn(_: Int[Array, ""], at: tuple[Array, Array]) -> tuple[Array, Array]:
        shares, least = at
        value, slope = _gain(features, steps * shares)
        slope = steps * slope
        mean = jnp.sum(shares * slope)
        some = mean > 0
        moved = jnp.where(some, shares * (slope / jnp.where(some, mean, 1)), shares)
        return moved / jnp.sum(moved), jnp.minimum(least, value + jnp.max(slope) - mean)

    shares = jnp.full(count, 1 / count, features.dtype)
    return lax.fori_loop(0, rounds, turn, (shares, jnp.asarray(jnp.inf, features.dtype)))[1]


def _gain(features: Float[Array, "r K"], counts: Float[Array, "K"]) -> tuple[Array, Array]:
    """log det(I + Φ diag(n) Φᵀ) and its derivatives φ_kᵀ(I + Φ diag(n) Φᵀ)⁻¹φ_k."""
    precision = jnp.eye(features.shape[0], dtype=features.dtype) + (features * counts) @ features.T
    factor = jax.lax.linalg.cholesky(precision)
    half = solve_triangular(factor, features, lower=True)
    return 2 * jnp.sum(jnp.log(jnp.diagonal(factor))), jnp.sum(half**2, axis=0)
