"""Minimisers of the ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] in NumPy, on gaps and gains of shape [..., K].

A solver returns two actions and the weight on the second. Two actions suffice (Lemma 4), and for two the best weight
is Δ₀/(Δ₁−Δ₀) − 2g₀/(g₁−g₀), clipped to [0, 1], where the one that costs more also tells more.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

Mix = tuple[np.ndarray, np.ndarray, np.ndarray]
Solver = Callable[[np.ndarray, np.ndarray], Mix]

LEAST_GAIN = np.sqrt(np.finfo(float).tiny)  # so that where no action tells anything the least gap decides


def single(gap: np.ndarray, gain: np.ndarray) -> Mix:
    """The best single action (DIDS)."""
    best = np.argmin(gap**2 / np.maximum(gain, LEAST_GAIN), axis=-1)
    return best, best, np.zeros(best.shape)


def pairs(gap: np.ndarray, gain: np.ndarray) -> Mix:
    """The best mix of any two actions i ≤ j, tried all at once: O(K²) numbers for each trial."""
    gain = np.maximum(gain, LEAST_GAIN)
    i, j = _upper_triangle(gap.shape[-1])
    gap0, gain0 = gap.take(i, axis=-1), gain.take(i, axis=-1)
    rise, more = gap.take(j, axis=-1) - gap0, gain.take(j, axis=-1) - gain0
    trade = rise * more > 0  # else one of them is best alone, which is the pair of it with itself
    with np.errstate(all="ignore"):
        weight = np.where(trade, np.clip(gap0 / rise - 2 * (gain0 / more), 0, 1), 0)
    ratio = (gap0 + weight * rise) ** 2 / (gain0 + weight * more)
    best = np.argmin(ratio, axis=-1)
    return i[best], j[best], np.take_along_axis(weight, best[..., None], axis=-1)[..., 0]


@cache
def _upper_triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size)
