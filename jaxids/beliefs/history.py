"""Kernel least squares on a continuous domain: a history of fixed capacity, usable inside jit and scan.

The state keeps the observed points and the Cholesky factor L of K_t + λΣ, grown by one row for every observation (rows
of places not yet filled are those of the identity). With k_t(x) the kernel of x with the observed points (0 for places
not filled), w(x) = L⁻¹k_t(x) and the innovations z = L⁻¹y,

    mean(x) = w(x) · z,      cov(x, y) = (k(x, y) − w(x) · w(y)) / λ.

The new row for a point x is (w(x), s) with s² = k(x, x) + λρ² − |w(x)|², never below λρ². It costs O(N²), as do
predictions. So that K_t + λΣ stays positive definite after rounding, λρ² counts as at least N ε k(x, x), with ε that of
the precision: in float32 with room for 100, ρ as at least 0.0035 of the prior's deviation. A larger bound is still one.
When the capacity is full, further observations are left out: the estimate and its confidence stay those of the first
ones, valid but no sharper. `full` tells.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, kernels
from jaxids.confidence import Number

Point = Float[Array, "p"]


class State(NamedTuple):
    """The observed points, the whitened rewards, and what predictions need; one trial (vmap for more)."""

    kernel: Any
    lam: Float[Array, ""]
    points: Float[Array, "N p"]
    factor: Float[Array, "N N"]
    innovations: Float[Array, "N"]
    filled: Int[Array, ""]  # how many places are
    log_det: Float[Array, ""]


def init(kernel: Any, dim: int, capacity: int, lam: Number = 1.0) -> State:
    """No observation yet, room for `capacity` of them at points [dim]."""
    dim, capacity = checks.count("dim", dim), checks.count("capacity", capacity)
    checks.positive("lam", lam)
    dtype = jnp.result_type(float)
    return State(
        kernels.check(kernel, dim),
        jnp.asarray(lam, dtype),
        jnp.zeros((capacity, dim), dtype),
        jnp.eye(capacity, dtype=dtype),
        jnp.zeros(capacity, dtype),
        jnp.int32(0),
        jnp.zeros((), dtype),
    )


def update(state: State, point: Point, reward: Float[Array, ""], rho2: Float[Array, ""]) -> State:
    """The estimate after one reward at a point whose noise has the bound ρ²; unchanged when full."""
    if not isinstance(state, State):
        raise ValueError(f"state: got {checks.shown(state)}; it takes one of beliefs.history.init")
    point = checks.floats("point", point, ("p",))
    if point.shape != state.points.shape[1:]:
        raise ValueError(f"point: got shape {list(point.shape)}; it takes {list(state.points.shape[1:])}")
    checks.positive("rho2", rho2)
    reward, rho2 = checks.real("reward", reward, "a number"), checks.real("rho2", rho2, "a number > 0")
    if reward.shape:
        raise ValueError(f"reward: got shape {list(reward.shape)}; it takes a number")
    whitened = _whitened(state, point)
    prior = state.kernel(point, point)
    left = jnp.maximum(prior - whitened @ whitened, 0)  # λσ_t(x)²
    rho2 = jnp.maximum(rho2, len(whitened) * jnp.finfo(prior.dtype).eps * prior / state.lam)
    scale = jnp.sqrt(left + state.lam * rho2)
    row = whitened.at[state.filled].set(scale, mode="drop")
    after = State(
        state.kernel,
        state.lam,
        state.points.at[state.filled].set(point, mode="drop"),
        state.factor.at[state.filled].set(row, mode="drop"),
        state.innovations.at[state.filled].set((reward - whitened @ state.innovations) / scale, mode="drop"),
        state.filled + 1,
        state.log_det + jnp.log1p(left / (state.lam * rho2)),
    )
    return jax.tree.map(lambda old, new: jnp.where(full(state), old, new), state, after)


def full(state: State) -> Bool[Array, ""]:
    """Whether further observations will be left out."""
    return state.filled >= state.points.shape[0]


def mean(state: State, point: Point) -> Float[Array, ""]:
    """The estimate of f at a point."""
    return _whitened(state, point) @ state.innovations


def var(state: State, point: Point) -> Float[Array, ""]:
    """σ_t(x)² at a point."""
    return jnp.maximum(cov(state, point, point), 0)


def cov(state: State, point: Point, other: Point) -> Float[Array, ""]:
    """The posterior covariance of f at two points."""
    explained = _whitened(state, point) @ _whitened(state, other)
    return (state.kernel(point, other) - explained) / state.lam


def log_det(state: State) -> Float[Array, ""]:
    """Log det(I + Σ⁻¹K/λ) of the observed points."""
    return state.log_det


def _whitened(state: State, point: Point) -> Float[Array, "N"]:
    """w(x) = L⁻¹k_t(x)."""
    seen = jnp.arange(state.points.shape[0]) < state.filled
    cross = jnp.where(seen, jax.vmap(lambda other: state.kernel(other, point))(state.points), 0)
    return solve_triangular(state.factor, cross, lower=True)
