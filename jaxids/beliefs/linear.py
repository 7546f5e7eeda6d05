"""Weighted least squares on features (Section 4.1): V_t = λI + Σ x xᵀ/ρ², θ̂_t = V_t⁻¹ Σ x y/ρ².

The state holds a square root of V⁻¹ = M Mᵀ rather than V⁻¹ itself. The Sherman–Morrison step

    V⁻¹ ← V⁻¹ − w wᵀ / (ρ² + σ²),      w = V⁻¹ x,   σ² = xᵀ V⁻¹ x

then reads, with b = Mᵀx (so that w = M b and σ² = b·b),

    M ← M − w bᵀ / (ρ² + σ² + ρ √(ρ² + σ²))

(Potter's form). Variances are sums of squares, never negative, and a posterior sample is θ̂ + M η without a
factorisation. Kept as compensated sums, θ̂, M and log det V do not drift in single precision.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import checks, draws, lanes


class State(NamedTuple):
    """The estimate, and the actions it is asked about."""

    actions: Float[Array, "d K ..."]
    theta: lanes.Sum  # [d, …]
    root: lanes.Sum  # [d, d, …]: M with V⁻¹ = M Mᵀ
    log_det: lanes.Sum  # […]: log det V_t − log det V_0


def init(actions: Float[Array, "d K ..."], lam: Float[Array, ""] | float) -> State:
    """The estimate before any observation: θ̂ = 0, V_0 = λI."""
    actions = checks.floats("actions", actions, ("d", "K", "…"))
    checks.positive("lam", lam)
    dim, _, *trials = actions.shape
    identity = jnp.eye(dim, dtype=actions.dtype).reshape(dim, dim, *(1 for _ in trials))
    root = jnp.broadcast_to(identity / jnp.sqrt(jnp.asarray(lam, actions.dtype)), (dim, dim, *trials)).astype(
        actions.dtype
    )
    zeros = jnp.zeros_like(root[0])
    return State(actions, lanes.sum_from(zeros), lanes.sum_from(root), lanes.sum_from(zeros[0]))


def update(state: State, action: Int[Array, "..."], reward: Float[Array, "..."], rho2: Float[Array, "..."]) -> State:
    """The estimate after one reward of one action whose noise has the bound ρ² (Sherman–Morrison on the root)."""
    x = lanes.shared(lanes.pick(state.actions, action))
    b, w = _project(state, x)
    sigma2 = lanes.dot(b, b)
    total = lanes.shared(rho2 + sigma2)
    theta = lanes.add(state.theta, w * ((reward - lanes.dot(x, state.theta.value)) / total))
    root = lanes.add(state.root, (w / -(total + jnp.sqrt(rho2 * total)))[:, None] * b[None])
    log_det = lanes.add(state.log_det, jnp.log1p(sigma2 / rho2))
    return State(state.actions, theta, root, log_det)


def mean(state: State) -> Float[Array, "K ..."]:
    """x·θ̂ of every action."""
    return lanes.dot(state.theta.value, state.actions)


def var(state: State) -> Float[Array, "K ..."]:
    """σ_t(x)² = xᵀ V⁻¹ x = |Mᵀx|² of every action."""
    b = lanes.dot(state.root.value[:, :, None], state.actions[:, None])
    return lanes.dot(b, b)


def cov_with(state: State, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
    """xᵀ V⁻¹ x_action of every action x."""
    _, w = _project(state, lanes.pick(state.actions, action))
    return lanes.dot(w, state.actions)


def _project(state: State, x: Float[Array, "d ..."]) -> tuple[Float[Array, "d ..."], Float[Array, "d ..."]]:
    """B = Mᵀx and w = M b = V⁻¹x."""
    b = lanes.matvec(jnp.swapaxes(state.root.value, 0, 1), x)
    return b, lanes.matvec(state.root.value, b)


def sample(state: State, source: draws.Stream, scale: Float[Array, "..."] | float = 1.0) -> Float[Array, "K ..."]:
    """Every action's mean under one draw θ̃ = θ̂ + scale · M η, η standard normal."""
    eta = draws.normal(source, state.theta.value.shape[0])
    theta = state.theta.value + scale * lanes.matvec(state.root.value, eta)
    return lanes.dot(lanes.shared(theta), state.actions)


def log_det(state: State) -> Float[Array, "..."]:
    """Log det V_t − log det V_0."""
    return state.log_det.value
