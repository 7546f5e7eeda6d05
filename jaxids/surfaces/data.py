"""From data to the least ratio Ψ*, a function with first and second derivatives in everything that goes in.

After rewards y of actions x, with V = λI + Σ xxᵀ/ρ² and θ̂ = V⁻¹ Σ xy/ρ², the band gives gaps Δ⁺ and gains, and these
Ψ*. Observations of one action count together, so that the cost does not grow with their number but for one sum.

Noise bounds mean two things. `rho` is that of the next observation, in the gains; and past observations are weighted by
theirs: `past`, one for each of them, or, where it is not given, `rho` of the action. So with `past` the derivative in
`rho` is (i) that of the next observation with the belief held fixed, and without (ii) that of both.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int, Key, Real

from jaxids import checks, information, kernels, lanes, names, nodes
from jaxids.beliefs import linear
from jaxids.confidence import Band
from jaxids.surfaces import dense
from jaxids.surfaces.derivatives import least
from jaxids.surfaces.known import of_band
from jaxids.types import Number, PerAction

PerObservation = Real[Array, "n"] | Real[np.ndarray, "n"] | Sequence[Any]


class DataSlopes(NamedTuple):
    """A quantity, and its derivatives with respect to all it was computed from, each in the shape that was given.

    That of a noise bound for all actions or observations is one number; `past` is None if it was not given.
    """

    value: Float[Array, ""]
    actions: Float[Array, "K d"]
    rewards: Float[Array, "n"]
    rho: Float[Array, "K"] | Float[Array, ""]
    past: Float[Array, "n"] | Float[Array, ""] | None
    lam: Float[Array, ""]
    delta: Float[Array, ""]
    norm_bound: Float[Array, ""]


def band_after(
    actions: PerAction,
    played: PerObservation,
    rewards: PerObservation,
    rho: PerAction | Number,
    kernel: Any = None,
    *,
    past: PerObservation | Number | None = None,
    lam: Number = names.LAM,
    delta: Number = names.DELTA,
    norm_bound: Number = names.NORM_BOUND,
) -> Band:
    """What is known of actions [K, d] after rewards [n] of those `played` [n], by number; there may be none.

    `rho` is [K] or one number for all, `past` [n] or one number. With a kernel the actions are points; without one the
    belief is linear. Of one trial; vmap makes many.
    """
    checks.positive("lam", lam)
    checks.within("delta", delta, 0, 1)
    checks.not_negative("norm_bound", norm_bound)
    actions = checks.floats("actions", actions, ("K", "d"))
    count, dtype = actions.shape[0], actions.dtype
    played, rewards = _observed(played, rewards, count, dtype)
    rho = _bounds("rho", rho, count, dtype)
    bounds = rho[played] if past is None else _bounds("past", past, len(played), dtype)
    kernel = None if kernel is None else kernels.check(kernel, actions.shape[1])
    state = _after(kernel, actions, played, rewards, bounds, jnp.asarray(lam, dtype))
    return Band(linear if kernel is None else dense, state, actions.T, rho, delta, lam, norm_bound)


@nodes.jitted
def _after(
    kernel: Any,
    actions: Float[Array, "K d"],
    played: Int[Array, "n"],
    rewards: Float[Array, "n"],
    bounds: Float[Array, "n"],
    lam: Float[Array, ""],
) -> Any:
    """The belief, observations of one action counted together."""
    none = jnp.zeros(actions.shape[0], actions.dtype)
    weights, weighted = none.at[played].add(1 / bounds**2), none.at[played].add(rewards / bounds**2)
    if kernel is not None:
        return dense.after(kernels.gram(kernel, actions) / lam, weights, weighted)
    return _linear(actions, weights, weighted, lam)


def _linear(
    actions: Float[Array, "K d"], weights: Float[Array, "K"], weighted: Float[Array, "K"], lam: Float[Array, ""]
) -> linear.State:
    """The estimate by Cholesky's factor of V/λ."""
    identity = jnp.eye(actions.shape[1], dtype=actions.dtype)
    factor = jnp.linalg.cholesky(identity + (actions.T * (weights / lam)) @ actions)
    root = solve_triangular(factor, identity, lower=True).T / jnp.sqrt(lam)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    return linear.State(*map(lanes.sum_from, (root @ (root.T @ (actions.T @ weighted)), root, log_det)))


def _observed(played: Any, rewards: Any, count: int, dtype: Any) -> tuple[Int[Array, "n"], Float[Array, "n"]]:
    """The actions played by number, and their rewards, or a ValueError."""
    takes = f"whole numbers from 0 to {count - 1}, of shape [n]"
    if checks.concrete(played):
        played = checks.indices("played", played, count, takes)
    played = jnp.asarray(played)
    if played.ndim != 1:
        raise ValueError(f"played: got shape {list(played.shape)}; it takes {takes}")
    rewards = checks.real("rewards", rewards, f"numbers of shape [{len(played)}]")
    if rewards.shape != played.shape:
        raise ValueError(f"rewards: got shape {list(rewards.shape)}; it takes [{len(played)}], one for each played")
    return played, rewards.astype(dtype)


def _bounds(name: str, given: Any, count: int, dtype: Any) -> Float[Array, "n"]:
    """Noise bounds [n], given as such or as one for all, or a ValueError."""
    checks.noise_bounds(name, given)
    bounds = checks.real(name, given, "numbers > 0")
    if bounds.shape not in ((), (count,)):
        raise ValueError(f"{name}: got shape {list(bounds.shape)}; it takes a number > 0, or [{count}] of them")
    return jnp.broadcast_to(bounds.astype(dtype), (count,))


def of_data(
    actions: PerAction,
    played: PerObservation,
    rewards: PerObservation,
    rho: PerAction | Number,
    kernel: Any = None,
    *,
    information: information.Information = information.ucb,
    key: Key[Array, ""] | None = None,
    of: Any = least,
    **numbers: Any,
) -> Float[Array, ""]:
    """Ψ* after data, to be differentiated; `of=weight` for the minimiser's weight.

    Shapes, and what else it takes, are those of `band_after`: actions [K, d], played and rewards [n], rho [K] or one.

    >>> actions, rho = jnp.eye(2), jnp.array([0.5, 1.0])
    >>> jax.grad(of_data, argnums=3)(actions, [0, 1], [1.0, 0.2], rho)  # noise of the next observation and of the past
    Array([-20.4..., 167.0...], dtype=float32)
    """
    band = band_after(actions, played, rewards, rho, kernel, **numbers)
    return of_band(band, information, key=key, of=of)


def data_slopes(
    actions: PerAction,
    played: PerObservation,
    rewards: PerObservation,
    rho: PerAction | Number,
    kernel: Any = None,
    *,
    past: PerObservation | Number | None = None,
    lam: Number = names.LAM,
    delta: Number = names.DELTA,
    norm_bound: Number = names.NORM_BOUND,
    **how: Any,
) -> DataSlopes:
    """Ψ* after data and its gradient in all of them, in shapes as of `band_after`; `how` is what else `of_data` takes.

    `.rho` has both meanings of noise or, if `past` is given, that of the next observation, and `.past` the other.
    """
    band_after(actions, played, rewards, rho, kernel, past=past, lam=lam, delta=delta, norm_bound=norm_bound)  # checks
    dtype = checks.floats("actions", actions, ("K", "d")).dtype
    given = [x if x is None else jnp.asarray(x, dtype) for x in (actions, rewards, rho, past, lam, delta, norm_bound)]

    def value(actions: Any, rewards: Any, rho: Any, past: Any, lam: Any, delta: Any, norm_bound: Any) -> Array:
        more = {"past": past, "lam": lam, "delta": delta, "norm_bound": norm_bound, **how}
        return of_data(actions, played, rewards, rho, kernel, **more)

    found, gradient = jax.value_and_grad(value, range(len(given)))(*given)
    return DataSlopes(found, *gradient)
