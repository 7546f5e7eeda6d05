"""Mean and variance of trials that come in parts, merged without loss (Chan, Golub and LeVeque)."""

from typing import NamedTuple

import numpy as np

__all__ = ["Moments", "Series", "empty", "joined", "merge", "of"]


class Series(NamedTuple):
    """One quantity over trials: its mean and standard error at the recorded steps [R], every trial's at the last."""

    mean: np.ndarray
    stderr: np.ndarray  # NaN below two trials
    final: np.ndarray  # [trials]


class Moments(NamedTuple):
    """How many trials there were, their mean, and the sum of squared distances from it."""

    trials: int
    mean: np.ndarray
    square: np.ndarray

    @property
    def stderr(self) -> np.ndarray:
        """The standard error of the mean; NaN below two trials."""
        if self.trials < 2:
            return np.full(self.mean.shape, np.nan)
        return np.sqrt(self.square / (self.trials - 1) / self.trials)


def empty(points: int) -> Moments:
    """Of no trials."""
    return Moments(0, np.zeros(points), np.zeros(points))


def of(values: np.ndarray) -> Moments:
    """Of trials on the last axis of [points, n]."""
    values = values.astype(float)
    with np.errstate(invalid="ignore"):
        return Moments(values.shape[1], values.mean(axis=1), values.var(axis=1) * values.shape[1])


def joined(moments: Moments, more: Moments) -> Moments:
    """Of the trials of both. Where one is infinite the mean is, and its error NaN."""
    n, total = more.trials, moments.trials + more.trials
    with np.errstate(invalid="ignore"):
        shift = more.mean - moments.mean
        square = moments.square + more.square + shift**2 * moments.trials * n / total
        mean = np.where(np.isinf(moments.mean), moments.mean, moments.mean + shift * n / total)
    return Moments(total, mean, square)


def merge(moments: Moments, values: np.ndarray) -> Moments:
    """With more trials, on the last axis of [points, n]."""
    return joined(moments, of(values))
