"""What the derivatives of the ratio are good for: whose noise matters, and where to measure with care."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxids import checks, information, search
from jaxids.confidence import Band
from jaxids.surfaces.known import gap_and_gain, of_band
from jaxids.types import Number


def helps_most(
    band: Band, information: information.Information = information.ucb, *, key: Key[Array, ""] | None = None
) -> Float[Array, "K ..."]:
    """−∂Ψ*/∂log(1/ρ(x)) ≥ 0 of every action, lane by lane: how much the ratio falls as that action's noise does.

    The noise is that of the next observation, with the belief as it is, so only actions of the mix count. Where the
    information draws, as I^TS does, `key` says from what; without one it is always the same draw.

    >>> band = surfaces.band_after(jnp.eye(3), [0, 1, 2], [1.0, 0.9, 0.0], 0.5)
    >>> helps_most(band, information.f).argmax()
    Array(0, dtype=int32)
    """
    gap_and_gain(band, information, key=key)  # a ValueError here names what is wrong

    def total(log_rho: Float[Array, "K ..."]) -> Float[Array, ""]:
        return jnp.sum(of_band(band, information, rho=jnp.exp(log_rho), key=key))

    return jax.grad(total)(jnp.log(band.rho))


class Effort(NamedTuple):
    """A split of effort over the actions, the noise bounds that it gives, and the ratio of an even split and of it."""

    split: Float[Array, "K"]
    rho: Float[Array, "K"]
    before: Float[Array, ""]
    after: Float[Array, ""]


def effort(
    band: Band,
    information: information.Information = information.ucb,
    *,
    budget: Number | None = None,
    least: float = 0.1,
    steps: int = 300,
    rate: float = 0.1,
    key: Key[Array, ""] | None = None,
) -> Effort:
    """Split a budget of measurements over actions, ρ_k² → ρ_k²/n_k with Σ n_k = budget, so that Ψ* is small.

    The budget is one for each action by default, so that an even split leaves the noise as it is. Every action keeps
    the share `least` of an even split. Gradient steps (Adam) begin there, and the best on their way is what comes back:
    never worse than an even split. A band with lanes counts as many beliefs, of which the geometric mean of Ψ* is to be
    small, as those of a run.

    >>> band = surfaces.band_after(jnp.eye(3), [0, 1, 2], [1.0, 0.9, 0.0], 0.5)
    >>> found = effort(band, information.f)
    >>> bool(found.after < found.before)
    True
    """
    gap_and_gain(band, information, key=key)
    count = band.rho.shape[0]
    budget = count if budget is None else budget
    checks.positive("budget", budget)
    checks.positive("rate", rate)
    share = checks.number("least", least, "a number from 0 to 1")
    if share.ndim or not 0 <= share <= 1:
        raise ValueError(f"least: got {checks.shown(least)}; it takes a number from 0 to 1")
    even = jnp.asarray(budget, band.rho.dtype) / count

    def split(logits: Float[Array, "K"]) -> Float[Array, "K"]:
        return even * (least + (1 - least) * count * jax.nn.softmax(logits))

    def log_ratio(logits: Float[Array, "K"]) -> Float[Array, ""]:
        times = jnp.sqrt(split(logits)).reshape((-1,) + (1,) * (band.rho.ndim - 1))
        return jnp.mean(jnp.log(of_band(band, information, rho=band.rho / times, key=key)))

    steps = checks.count("steps", steps)

    @jax.jit
    def descend(start: Float[Array, "K"]) -> tuple[Float[Array, "K"], Float[Array, ""], Float[Array, ""]]:
        before = log_ratio(start)
        best, after = search.adam(log_ratio, start, before, steps, rate)
        return best, before, after

    logits, before, after = descend(jnp.zeros(count, band.rho.dtype))
    rho = jnp.mean(band.rho.reshape(count, -1), axis=1) / jnp.sqrt(split(logits))
    return Effort(split(logits), rho, jnp.exp(before), jnp.exp(after))
