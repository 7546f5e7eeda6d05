"""The gap, the gain and the least ratio of what is known: of a band, as policies see it, by an information function."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, UInt32

from jaxids import checks, draws, information, nodes
from jaxids.confidence import Band
from jaxids.policies.policy import checked
from jaxids.programs import as_tree
from jaxids.surfaces.derivatives import least

TAKES = "a function of a band and a stream"
OF = "a function of gaps and gains, as surfaces.least or surfaces.weight"


def gap_and_gain(
    band: Band, information: information.Information = information.ucb, *, key: Key[Array, ""] | None = None
) -> tuple[Float[Array, "K ..."], Float[Array, "K ..."]]:
    """Δ⁺ and the gain of every action of a band, lane by lane; if the information function draws, with `key`."""
    _check(band)
    checks.function("information", information, TAKES)
    if key is None:
        key = jax.random.key(0)
    checks.key("key", key)
    words = jax.random.bits(key, (2, *band.rho.shape[1:]), jnp.uint32)
    gap, gain = _seen(as_tree(information), band, words)
    checks.not_negatives("information", gain)
    return gap, gain


def _check(band: Any) -> None:
    if not isinstance(band, Band):
        raise ValueError(f"band: got {checks.shown(band)}; it takes one of jaxids.confidence or jaxids.fields")


@nodes.jitted
def _seen(
    information: Any, band: Band, words: UInt32[Array, "2 ..."]
) -> tuple[Float[Array, "K ..."], Float[Array, "K ..."]]:
    """The gap first: what belongs to the whole set is then known outside any loop of the information function."""
    gap = band.gap
    with checks.naming("information", information, TAKES):
        gain = information(band, draws.child(draws.Stream(words, jnp.uint32(0)), 1))
    return gap, checked("information", gain, band)


def of_band(
    band: Band,
    information: information.Information = information.ucb,
    *,
    rho: Any = None,
    key: Key[Array, ""] | None = None,
    of: Any = least,
) -> Float[Array, "..."]:
    """Ψ* of a band, to be differentiated with respect to anything in it; `of=weight` for the minimiser's weight.

    `rho` are noise bounds of the next observation in place of the band's: the belief, and with it the weights of past
    observations, stay what they are.
    """
    _check(band)
    checks.function("of", of, OF)
    if rho is not None:
        checks.noise_bounds("rho", rho)
        rho = checks.real("rho", rho, "numbers > 0")
        if rho.shape not in ((), band.rho.shape[:1], band.rho.shape):
            raise ValueError(f"rho: got shape {list(rho.shape)}; it takes {list(band.rho.shape)}")
        rho = rho.reshape(rho.shape + (1,) * (band.rho.ndim - rho.ndim)) if rho.ndim else rho
        band = replace(band, rho=jnp.broadcast_to(rho.astype(band.rho.dtype), band.rho.shape))
    both = gap_and_gain(band, information, key=key)
    with checks.naming("of", of, OF):
        return of(*both)
