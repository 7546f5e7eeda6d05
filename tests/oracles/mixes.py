"""Minimisers of the ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] in NumPy, on gaps and gains of shape [..., K].

A solver returns two actions and the weight on the second. Two actions suffice (Lemma 4), and for two the best weight
is Δ₀/(Δ₁−Δ₀) − 2g₀/(g₁−g₀), clipped to [0, 1], where the one that costs more also tells more.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

__all__ = ["exact", "pairs", "single"]

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


def exact(gap: np.ndarray, gain: np.ndarray) -> Mix:
    """The same for one trial in a few passes over [K], by the dual max_t min_k 2tΔ_k − t²g_k (`ratio.exact`)."""
    gain = np.maximum(gain, LEAST_GAIN)
    rising = falling = int(np.argmin(gap**2 / gain))
    t, mixed = gap[rising] / gain[rising], gap[rising]
    for _ in range(64):
        below = gap / (mixed + t * gain)
        least = int(np.argmin(below))
        if not below[least] < 0.5 - 1e-15:
            break
        rising, falling = (least, falling) if gap[least] > t * gain[least] else (rising, least)
        t, mixed = _maximum(gap[rising], gain[rising], gap[falling], gain[falling])
    rise = gap[falling] - gap[rising]
    weight = (mixed - gap[rising]) / rise if rise else 0.0
    return np.asarray(rising), np.asarray(falling), np.asarray(weight)


def _maximum(gap0: float, gain0: float, gap1: float, gain1: float) -> tuple[float, float]:
    """Where the lower of a rising and a falling parabola is largest, and the gap of the mix that attains it."""
    first, last = gap1 / gain1, gap0 / gain0
    crossing = 2 * (gap1 - gap0) / (gain1 - gain0) if gain1 > gain0 else np.inf
    if crossing <= first:
        return first, gap1
    return (last, gap0) if crossing >= last else (crossing, 2 * gap0 - crossing * gain0)


@cache
def _upper_triangle(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size)
