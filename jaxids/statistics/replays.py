"""What a stopping rule does to an estimate, measured: the rule played again and again on a known population.

It stops a little too early where the variance so far is too small, and the mean of regrets, skewed to the right, is
then too small too. To first order the bias is −γ/√n standard errors with the skewness γ of a trial, after n trials: the
covariance of mean and variance is γσ³/n, and the n at which it stops goes with the variance. Where it stops after few
tiles k and hangs on one of them it is up to 0.4 c/(k + 1) standard errors, with c the correlation of mean and variance.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxids.statistics.samples import sample_of
from jaxids.statistics.stopping import Stop, Watch
from jaxids.words import shown

__all__ = ["Replay", "replay"]

SURE = 1.96  # standard errors of an interval of 95 %


class Replay(NamedTuple):
    """What came of a stopping rule on random trials of a population whose mean is known."""

    tiles: float  # after which it stopped, on average
    bias: float  # of the mean, in units of the target
    bias_stderr: float  # how well it is known
    relative: float  # the bias as a share of the population's mean
    coverage: float  # how often mean ± 1.96 standard errors holds the population's mean
    stderr_ratio: float  # of the standard error that is told to the standard deviation of the mean that it is told of


def replay(stop: Stop, population: Any, width: int = 256, times: int = 2000, seed: int = 0) -> Replay:
    """Play the rule so many times, each on trials of its own from a population [n], in tiles of a width.

    They are drawn with replacement: the population's mean is the truth, and every play is like a cell of new trials.
    The mean of a number of tiles that is fixed beforehand has no bias. What that of the same trials is off by is
    subtracted, so that the bias is known many times better than from the means alone.
    """
    for name, value, least in (("width", width, 1), ("times", times, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}: got {shown(value)}; it takes a whole number from {least} on")
    values, rng = sample_of("population", population), np.random.default_rng(seed)
    truth, needed = float(values.mean(dtype=float)), (values.std(dtype=float) / stop.stderr) ** 2
    fixed = math.ceil(max(stop.least, needed) / width)
    target, plays = float(stop.stderr), np.array([_play(stop, values, width, fixed, rng) for _ in range(times)])
    tiles, mean, stderr, beside = plays.T
    off = mean - beside
    bias, spread = float(off.mean()), float(np.std(mean, ddof=1))
    return Replay(
        float(tiles.mean()),
        bias / target,
        float(off.std(ddof=1)) / math.sqrt(times) / target,
        bias / truth if truth else math.nan,
        float(np.mean(np.abs(mean - truth) <= SURE * stderr)),
        float(stderr.mean()) / spread if spread else math.nan,
    )


def _play(
    stop: Stop, values: np.ndarray, width: int, fixed: int, rng: np.random.Generator
) -> tuple[int, float, float, float]:
    """After how many tiles the rule stopped, mean and standard error then, and the mean of a fixed number of tiles."""
    watch, means = Watch(stop), list[float]()
    while not watch.done or len(means) < fixed:
        tile = values[rng.integers(0, len(values), width)]
        watch.add(len(means), tile)
        means.append(float(tile.mean(dtype=float)))
    return watch.tiles, watch.mean, watch.stderr, math.fsum(means[:fixed]) / fixed
