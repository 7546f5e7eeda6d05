"""The plane of gap and gain, where one sees why two actions suffice.

Every distribution μ is a point (E[g], E[Δ]) of the hull of the actions' points. What is better than Ψ lies on the inner
side of the parabola g = Δ²/Ψ, a convex set that grows with Ψ. It first touches the hull at Ψ*, and a line parts the
two, 2tΔ − t²g = Ψ* with t = E[Δ]/E[g]: it meets the hull in a vertex, one action, or along an edge, two.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxids import checks, ratio
from jaxids.ratio.mixes import vectors
from jaxids.surfaces.derivatives import mixed
from jaxids.types import PerAction

CURVE = 201  # points of the parabola


class Plane(NamedTuple):
    """The actions' points, the hull's vertices towards little gap and much gain, the optimum, and its parabola."""

    gap: Float[Array, "K"]
    gain: Float[Array, "K"]
    hull: Int[np.ndarray, "h"]  # actions, from the least gap to the largest gain
    mix: ratio.Mix
    point: Float[Array, "2"]  # E[Δ], E[g] of the mix
    curve: Float[Array, "2 n"]  # gaps and gains with Δ²/g = Ψ*, from 0 to the largest gain there is


def plane(gap: PerAction, gain: PerAction) -> Plane:
    """The picture of one step: gaps and gains [K], numbers that can be looked at."""
    checks.untraced("plane", gap=gap, gain=gain)
    gap, gain = vectors(gap, gain)
    if gap.ndim != 1:
        raise ValueError(f"gap, gain: got shape {list(gap.shape)}; they take [K], those of one trial and step")
    mix = mixed(gap, gain)
    point = jnp.stack([ratio.blend(mix.weight, v[mix.first], v[mix.second]) for v in (gap, gain)])
    return Plane(gap, gain, hull(np.asarray(gap, float), np.asarray(gain, float)), mix, point, _curve(gap, gain, mix))


def _curve(gap: Float[Array, "K"], gain: Float[Array, "K"], mix: ratio.Mix) -> Float[Array, "2 n"]:
    """Where Δ²/g = Ψ*: the axis of no gap if Ψ* is 0, that of no gain if it is +∞."""
    share = jnp.linspace(0, 1, CURVE, dtype=gap.dtype)
    if jnp.isinf(mix.value):
        return jnp.stack([share * jnp.max(gap), 0 * share])
    reach = jnp.max(gain)
    return jnp.stack([share * jnp.sqrt(mix.value * reach), share**2 * reach])


def hull(gap: np.ndarray, gain: np.ndarray) -> Int[np.ndarray, "h"]:
    """The vertices of the hull towards little gap and much gain, in order of both; of equal points the lowest index."""
    chain: list[int] = []
    for k in np.lexsort((np.arange(len(gap)), gap, gain)):  # by gain, then by gap
        while chain and (gap[k] <= gap[chain[-1]] and (gap[k], gain[k]) != (gap[chain[-1]], gain[chain[-1]])):
            chain.pop()  # with as much gain it has no more gap
        if chain and gain[k] == gain[chain[-1]]:
            continue
        while len(chain) > 1 and _turn(gap, gain, chain[-2], chain[-1], int(k)) <= 0:
            chain.pop()
        chain.append(int(k))
    return np.array(chain)


def _turn(gap: np.ndarray, gain: np.ndarray, a: int, b: int, c: int) -> float:
    """Above 0 where the gap rises faster from b to c than from a to b."""
    return (gain[b] - gain[a]) * (gap[c] - gap[b]) - (gap[b] - gap[a]) * (gain[c] - gain[b])
