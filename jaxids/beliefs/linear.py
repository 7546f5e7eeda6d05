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
from jaxids.types import Number

__all__ = [
    "Learnt",
    "State",
    "at",
    "cov_with",
    "draw",
    "drawn",
    "init",
    "learn",
    "log_det",
    "look",
    "mean",
    "sample",
    "update",
    "var",
    "var_given",
    "var_of",
]


class State(NamedTuple):
    """The estimate; the actions it is asked about may change from step to step."""

    theta: lanes.Sum  # [d, …]
    root: lanes.Sum  # [d, d, …]: M with V⁻¹ = M Mᵀ
    log_det: lanes.Sum  # […]: log det V_t − log det V_0


def init(actions: Float[Array, "d K ..."], lam: Number) -> State:
    """The estimate before any observation: θ̂ = 0, V_0 = λI."""
    actions = checks.floats("actions", actions, ("d", "K", "…"))
    checks.positive("lam", lam)
    dim, _, *trials = actions.shape
    identity = jnp.eye(dim, dtype=actions.dtype).reshape(dim, dim, *(1 for _ in trials))
    root = jnp.broadcast_to(identity / jnp.sqrt(jnp.asarray(lam, actions.dtype)), (dim, dim, *trials)).astype(
        actions.dtype
    )
    zeros = jnp.zeros_like(root[0])
    return State(lanes.sum_from(zeros), lanes.sum_from(root), lanes.sum_from(zeros[0]))


def at(actions: Float[Array, "d K ..."], action: Int[Array, "..."]) -> Float[Array, "d ..."]:
    """The features of one action, by its index."""
    return lanes.pick(actions, action)


def look(state: State, x: Float[Array, "d ..."]) -> Float[Array, "d ..."]:
    """A point of a box or ball is its own features."""
    return x


class Learnt(NamedTuple):
    """What one observation brought: w = V⁻¹x and σ² before it, ρ² + σ², and what w is added to θ̂ with."""

    direction: Float[Array, "d ..."]
    var: Float[Array, "..."]
    total: Float[Array, "..."]
    weight: Float[Array, "..."]


def update(state: State, x: Float[Array, "d ..."], reward: Float[Array, "..."], rho2: Float[Array, "..."]) -> State:
    """The estimate after one reward of an action x whose noise has the bound ρ² (Sherman–Morrison on the root)."""
    return learn(state, x, reward, rho2)[0]


def learn(
    state: State, x: Float[Array, "d ..."], reward: Float[Array, "..."], rho2: Float[Array, "..."]
) -> tuple[State, Learnt]:
    """The same, and what brought it there."""
    x = lanes.shared(x)
    b, w = _project(state, x)
    sigma2 = lanes.dot(b, b)
    total = lanes.shared(rho2 + sigma2)
    weight = (reward - lanes.dot(x, state.theta.value)) / total
    theta = lanes.add(state.theta, w * weight)
    root = lanes.add(state.root, (w / -(total + jnp.sqrt(rho2 * total)))[:, None] * b[None])
    log_det = lanes.add(state.log_det, jnp.log1p(sigma2 / rho2))
    return State(theta, root, log_det), Learnt(w, sigma2, total, weight)


def mean(state: State, actions: Float[Array, "d K ..."]) -> Float[Array, "K ..."]:
    """x·θ̂ of every action."""
    return lanes.dot(state.theta.value, actions)


def var(state: State, actions: Float[Array, "d K ..."]) -> Float[Array, "K ..."]:
    """σ_t(x)² = xᵀ V⁻¹ x = |Mᵀx|² of every action."""
    b = lanes.dot(state.root.value[:, :, None], actions[:, None])
    return lanes.dot(b, b)


def var_of(state: State, x: Float[Array, "d ..."]) -> Float[Array, "..."]:
    """σ_t(x)² of one action."""
    b, _ = _project(state, x)
    return lanes.dot(b, b)


def cov_with(state: State, actions: Float[Array, "d K ..."], x: Float[Array, "d ..."]) -> Float[Array, "K ..."]:
    """yᵀ V⁻¹ x of every action y."""
    _, w = _project(state, x)
    return lanes.dot(w, actions)


def var_given(state: State, actions: Float[Array, "d K ..."], x: Float[Array, "d ..."]) -> Float[Array, "K ..."]:
    """σ_t² of every action if f(x) were known: of its Mᵀy, what is orthogonal to Mᵀx."""
    b = lanes.matvec(jnp.swapaxes(state.root.value, 0, 1), x)
    return lanes.orthogonal(lanes.dot(state.root.value[:, :, None], actions[:, None]), b)


def _project(state: State, x: Float[Array, "d ..."]) -> tuple[Float[Array, "d ..."], Float[Array, "d ..."]]:
    """b = Mᵀx and w = M b = V⁻¹x."""
    b = lanes.matvec(jnp.swapaxes(state.root.value, 0, 1), x)
    return b, lanes.matvec(state.root.value, b)


def sample(
    state: State, actions: Float[Array, "d K ..."], source: draws.Stream, scale: Number = 1.0
) -> Float[Array, "K ..."]:
    """Every action's mean under one draw θ̃ = θ̂ + scale · M η, η standard normal."""
    return drawn(state, draw(state, None, source, scale), actions)


def draw(state: State, basis: None, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "d ..."]:
    """θ̃ = θ̂ + scale · M η, η standard normal: a draw of the whole function."""
    eta = draws.normal(source, state.theta.value.shape[0])
    return state.theta.value + scale * lanes.matvec(state.root.value, eta)


def drawn(state: State, theta: Float[Array, "d ..."], actions: Float[Array, "d K ..."]) -> Float[Array, "K ..."]:
    """Every action's mean under a draw."""
    return lanes.dot(lanes.shared(theta), actions)


def log_det(state: State) -> Float[Array, "..."]:
    """log det V_t − log det V_0."""
    return state.log_det.value
