"""Differences of two policies on the same trials: trial i of both meets the same instance and the same noise.

The variance of a difference is s₁² + s₂² − 2 c s₁ s₂ with the correlation c of the two over trials. What they share is
subtracted with it, so the paired standard error is below the unpaired one, √(s₁² + s₂²)/√n, where c > 0.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxids import moments
from jaxids.statistics.samples import sample_of

CHUNK = 1 << 16  # trials in float64 at a time, always the same, whatever tiles they came in


class Difference(NamedTuple):
    """The mean of one less that of the other, over the trials of both."""

    mean: float
    stderr: float  # of the paired differences; NaN below two trials
    unpaired: float  # as if the two had met trials of their own
    trials: int
    correlation: float  # over trials; NaN where one of the two is constant


def difference(one: Any, other: Any) -> Difference:
    """One less the other, both [trials] with trial i in the same place.

    Sums are in float64, over parts of a fixed size merged in order (as of `jaxids.moments`): the same bits whatever the
    tiles were, and no copy of the whole.
    """
    mine, theirs = sample_of("one", one), sample_of("other", other)
    if mine.shape != theirs.shape:
        raise ValueError(f"other: got {len(theirs)} trials; it takes those of `one`, {len(mine)}")
    found = moments.empty(3)
    with np.errstate(invalid="ignore"):  # a ratio may be infinite
        for first in range(0, len(mine), CHUNK):
            part = np.array([each[first : first + CHUNK] for each in (mine, theirs)], float)
            found = moments.merge(found, np.vstack([part, part[0] - part[1]]))
        errors, squares = found.stderr, found.square.tolist()
        unpaired, mean = float(np.hypot(errors[0], errors[1])), float(found.mean[2])
    return Difference(mean, float(errors[2]), unpaired, found.trials, _correlation(*squares))


def _correlation(one: float, other: float, both: float) -> float:
    """From the sums of squares of two and of their difference."""
    scale = math.sqrt(one) * math.sqrt(other)
    return min(1.0, max(-1.0, (one + other - both) / 2 / scale)) if 0 < scale < math.inf else math.nan
