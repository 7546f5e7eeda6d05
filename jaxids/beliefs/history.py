"""Kernel least squares on a continuous domain: a history of fixed capacity, usable inside jit and scan.

The state keeps the observed points, the Cholesky factor L of K_t + λΣ and its inverse, each grown by one row for every
observation (rows of places not yet filled are those of the identity). With k_t(x) the kernel of x with the observed
points (0 for places not filled), w(x) = L⁻¹k_t(x) and the innovations z = L⁻¹y,

    mean(x) = w(x) · z,      cov(x, y) = (k(x, y) − w(x) · w(y)) / λ.

The new row of L for a point x is (w(x), s) with s² = k(x, x) + λρ² − |w(x)|², never below λρ², that of L⁻¹ is
(−w(x)ᵀL⁻¹, 1)/s. It costs O(N²), as does a prediction, in products only. Both rows are refined once by what they are
off, so that errors do not grow from row to row. So that K_t + λΣ stays positive definite after rounding, λρ² counts as
at least N ε k(x, x), with ε that of the precision: in float32 with room for 100, ρ as at least 0.0035 of the prior's
deviation. A larger bound is still one. A variance is a difference, exact to about 30 ε of the prior's, not of its own:
in float32, after 800 rewards at five points with ρ = 0.02, the σ² there, 2.5e-6 of the prior's, is off by up to a third
(JAX_ENABLE_X64=1 mends it). When the capacity is full, further observations are left out: the estimate and its
confidence stay those of the first ones, valid but no sharper. `full` tells.

A state is of one trial (vmap for more). Points are [p, n], features first, as those of a finite set are.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, draws, kernels
from jaxids.types import Number, Point

__all__ = [
    "Draw",
    "Seen",
    "State",
    "cov",
    "cov_with",
    "draw",
    "drawn",
    "full",
    "init",
    "log_det",
    "look",
    "mean",
    "update",
    "var",
    "var_of",
]

Points = Float[Array, "p n"]


class State(NamedTuple):
    """The observed points, the whitened rewards, and what predictions need."""

    kernel: Any
    lam: Float[Array, ""]
    points: Float[Array, "N p"]
    factor: Float[Array, "N N"]  # L
    inverse: Float[Array, "N N"]  # L⁻¹
    innovations: Float[Array, "N"]
    rho2: Float[Array, "N"]  # the bounds of the noise
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
        jnp.eye(capacity, dtype=dtype),
        jnp.zeros(capacity, dtype),
        jnp.zeros(capacity, dtype),
        jnp.int32(0),
        jnp.zeros((), dtype),
    )


class Seen(NamedTuple):
    """One point as predictions need it."""

    point: Point
    whitened: Float[Array, "N"]  # w(x)


def look(state: State, point: Point) -> Seen:
    """What the belief sees of one point, computed once."""
    if not isinstance(state, State):
        raise ValueError(f"state: got {checks.shown(state)}; it takes one of beliefs.history.init")
    point = checks.floats("point", point, ("p",))
    if point.shape != state.points.shape[1:]:
        raise ValueError(f"point: got shape {list(point.shape)}; it takes {list(state.points.shape[1:])}")
    prior = _covariances(state, point[:, None])[:, 0]
    whitened = state.inverse @ prior
    return Seen(point, whitened + state.inverse @ (prior - state.factor @ whitened))


def update(state: State, seen: Seen, reward: Float[Array, ""], rho2: Float[Array, ""]) -> State:
    """The estimate after one reward at a point whose noise has the bound ρ²; unchanged when full."""
    point, whitened = seen
    checks.positive("rho2", rho2)
    reward, rho2 = checks.real("reward", reward, "a number"), checks.real("rho2", rho2, "a number > 0")
    if reward.shape:
        raise ValueError(f"reward: got shape {list(reward.shape)}; it takes a number")
    prior = state.kernel(point, point)
    left = jnp.maximum(prior - whitened @ whitened, 0)  # λσ_t(x)²
    rho2 = jnp.maximum(rho2, len(whitened) * jnp.finfo(prior.dtype).eps * prior / state.lam)
    scale = jnp.sqrt(left + state.lam * rho2)
    factor = state.factor.at[state.filled].set(whitened.at[state.filled].set(scale, mode="drop"), mode="drop")
    after = State(
        state.kernel,
        state.lam,
        state.points.at[state.filled].set(point, mode="drop"),
        factor,
        _inverted(state, factor, whitened, scale),
        state.innovations.at[state.filled].set((reward - whitened @ state.innovations) / scale, mode="drop"),
        state.rho2.at[state.filled].set(rho2, mode="drop"),
        state.filled + 1,
        state.log_det + jnp.log1p(left / (state.lam * rho2)),
    )
    return jax.tree.map(lambda old, new: jnp.where(full(state), old, new), state, after)


def _inverted(
    state: State, factor: Float[Array, "N N"], whitened: Float[Array, "N"], scale: Float[Array, ""]
) -> Float[Array, "N N"]:
    """The inverse with one row more, that of a factor."""
    row = (-whitened @ state.inverse).at[state.filled].set(1, mode="drop") / scale
    inverse = state.inverse.at[state.filled].set(row, mode="drop")
    off = jnp.zeros_like(row).at[state.filled].set(1, mode="drop") - row @ factor
    return inverse.at[state.filled].add(off @ inverse, mode="drop")


def full(state: State) -> Bool[Array, ""]:
    """Whether further observations will be left out."""
    return state.filled >= state.points.shape[0]


def mean(state: State, points: Points) -> Float[Array, "n"]:
    """The estimate of f at points."""
    return state.innovations @ _whitened(state, points)


def var(state: State, points: Points) -> Float[Array, "n"]:
    """σ_t(x)² at points."""
    left = _prior(state, points) - jnp.sum(_whitened(state, points) ** 2, axis=0)
    return jnp.maximum(left, 0) / state.lam


def var_of(state: State, seen: Seen) -> Float[Array, ""]:
    """σ_t(x)² at one point."""
    return jnp.maximum(state.kernel(seen.point, seen.point) - seen.whitened @ seen.whitened, 0) / state.lam


def cov_with(state: State, points: Points, seen: Seen) -> Float[Array, "n"]:
    """The posterior covariance of f at points with f at one."""
    prior = _cross(state, seen.point[:, None], points)[0]
    return (prior - seen.whitened @ _whitened(state, points)) / state.lam


def cov(state: State, points: Points, others: Float[Array, "p m"]) -> Float[Array, "n m"]:
    """The posterior covariance of f at points with f at others."""
    explained = _whitened(state, points).T @ _whitened(state, others)
    return (_cross(state, points, others) - explained) / state.lam


class Draw(NamedTuple):
    """A function drawn from the posterior: a draw of the prior, moved to where the rewards are (Matheron's rule)."""

    basis: kernels.Basis
    weights: Float[Array, "m"]  # of the kernel at the basis points
    residual: Float[Array, "N"]  # L⁻¹ (prior draw + noise) at the observed points


def draw(state: State, basis: kernels.Basis, source: draws.Stream, scale: Number = 1.0) -> Draw:
    """f(x) − k_t(x)ᵀ(K_t + λΣ)⁻¹(f(x_i) + ε_i) has the posterior's covariance if f has the prior's and ε the noise's.

    The prior's draw is joint at the basis points, elsewhere its mean given those values. So between points that are far
    apart for the kernel it varies too little; a field of such a kernel draws in another way, where it looks.
    """
    rank, count = basis.root.shape[1], state.points.shape[0]
    eta = draws.normal(source, rank + count)
    weights = scale * basis.root @ eta[:rank] / jnp.sqrt(state.lam)
    there = weights @ _cross(state, basis.points, state.points.T) + scale * jnp.sqrt(state.rho2) * eta[rank:]
    seen = jnp.arange(count) < state.filled
    return Draw(basis, weights, state.inverse @ jnp.where(seen, there, 0))


def drawn(state: State, function: Draw, points: Points) -> Float[Array, "n"]:
    """The values of a draw at points."""
    prior = function.weights @ _cross(state, function.basis.points, points)
    return prior + (state.innovations - function.residual) @ _whitened(state, points)


def log_det(state: State) -> Float[Array, ""]:
    """log det(I + Σ⁻¹K/λ) of the observed points."""
    return state.log_det


def _whitened(state: State, points: Points) -> Float[Array, "N n"]:
    """w(x) = L⁻¹k_t(x) of points."""
    return state.inverse @ _covariances(state, points)


def _covariances(state: State, points: Points) -> Float[Array, "N n"]:
    """k_t(x) of points."""
    seen = jnp.arange(state.points.shape[0]) < state.filled
    return jnp.where(seen[:, None], _cross(state, state.points.T, points), 0)


def _cross(state: State, points: Points, others: Float[Array, "p m"]) -> Float[Array, "n m"]:
    return jax.vmap(lambda x: jax.vmap(lambda y: state.kernel(x, y))(others.T))(points.T)


def _prior(state: State, points: Points) -> Float[Array, "n"]:
    return jax.vmap(lambda x: state.kernel(x, x))(points.T)
