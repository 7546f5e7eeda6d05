"""Decisions on several hypotheses together."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Decide which hypotheses Holm's method rejects.

    Args:
        p_values: One for each hypothesis; they may depend on each other.
        level: The probability that any true hypothesis is rejected is at most this.

    Returns:
        Whether each hypothesis is rejected, in the order of the p-values.
    """
    rejected, left = [False] * len(p_values), len(p_values)
    for index in np.argsort(p_values, kind="stable"):
        if p_values[index] > level / left:
            break
        rejected[index] = True
        left -= 1
    return rejected
