"""The rule that stops a cell at a standard error, and what it does to the estimate.

Stopping looks at the variance so far, which goes with the mean: it is biased. Measured on the final regrets of 2¹⁵
trials of W-TS (skewness 1.8), the rule played 2000 times. False alarms, all seeds fixed: 4.5 standard errors or 7e-6
for each of four bounds on a bias, 1e-6 for each of two on the coverage, 3e-5 for this file.
"""

import itertools
import math
from typing import NamedTuple

import jax
import numpy as np
import pytest
from scipy import stats

from jaxids import moments, policies, problems, simulate
from jaxids.statistics import Stop, Watch, stopped

SIGMAS = 4.5
WIDTH = 256


def naive(tiles, target, least):
    """After how many tiles the standard error of all trials so far is low enough."""
    for count in range(1, len(tiles) + 1):
        values = np.concatenate(tiles[:count]).astype(float)
        if len(values) >= max(least, 2) and np.std(values, ddof=1) / np.sqrt(len(values)) <= target:
            return count
    return None


@pytest.fixture
def tiles(rng):
    return list(rng.exponential(10.0, (40, 64)).astype(np.float32))


@pytest.mark.parametrize("least", [1, 64, 65, 640, 5000])
@pytest.mark.parametrize("target", [0.1, 0.3, 0.5, 2.0])
def test_it_stops_where_a_naive_formula_does(tiles, target, least):
    assert stopped(Stop(target, least), tiles) == naive(tiles, target, least)


def test_it_looks_at_no_more_tiles_than_it_needs(tiles):
    given = iter(tiles)
    assert stopped(Stop(0.5, 1), given) == naive(tiles, 0.5, 1)
    assert len(list(given)) == len(tiles) - naive(tiles, 0.5, 1)


def test_the_order_in_which_tiles_come_changes_no_bit(tiles, rng):
    ordered = Watch(Stop(0.5, 1))
    ends = [ordered.add(index, tile) for index, tile in enumerate(tiles)]
    assert sum(not end for end in ends) + 1 == ordered.tiles == naive(tiles, 0.5, 1)
    for _ in range(20):
        other = Watch(Stop(0.5, 1))
        for index in rng.permutation(len(tiles)):
            other.add(int(index), tiles[index])
            other.add(int(index), tiles[0])  # once more, and another: it changes nothing
        assert (other.done, other.tiles, other.trials, other.mean, other.stderr) == (
            (True, ordered.tiles, ordered.trials, ordered.mean, ordered.stderr)
        )


def test_it_waits_for_a_tile_that_is_missing(tiles):
    watch = Watch(Stop(0.5, 1))
    assert not any(watch.add(index, tile) for index, tile in enumerate(tiles) if index != 1)
    assert (watch.tiles, watch.trials) == (1, 64)
    assert watch.add(1, tiles[1])
    assert watch.tiles == naive(tiles, 0.5, 1)


def test_its_standard_error_is_to_the_bit_the_last_of_a_curve_s(tiles, rng):
    """Which is merged over all recorded steps at once."""
    watch, found = Watch(Stop(1e-9)), moments.empty(7)
    for index, tile in enumerate(tiles):
        watch.add(index, tile)
        found = moments.merge(found, np.vstack([rng.exponential(1.0, (6, 64)).astype(np.float32), tile]))
    assert (watch.mean, watch.stderr) == (found.mean[-1], found.stderr[-1])


class Replay(NamedTuple):
    """What came of a stopping rule on random trials of a population whose mean is known."""

    tiles: float  # after which it stopped, on average
    bias: float  # of the mean, in units of the target
    bias_stderr: float
    coverage: float  # how often mean ± 1.96 standard errors holds the population's mean
    stderr_ratio: float  # of the standard error that is told to the standard deviation of the mean


def replay(stop, population, width, times):
    """Play the rule so many times, each on trials drawn with replacement from a population [n], in tiles of a width.

    It stops a little too early where the variance so far is too small, and the mean of regrets, skewed to the right, is
    then too small too. To first order the bias is −γ/√n standard errors with the skewness γ of a trial, after n trials:
    the covariance of mean and variance is γσ³/n, and the n at which it stops goes with the variance. The mean of a
    fixed number of tiles has no bias. What that of the same trials is off by is subtracted, so that the bias is known
    many times better than from the means alone.
    """
    values, rng = np.asarray(population), np.random.default_rng(0)
    truth, needed = float(values.mean(dtype=float)), (values.std(dtype=float) / stop.stderr) ** 2
    fixed = math.ceil(max(stop.least, needed) / width)
    tiles, mean, stderr, beside = np.array([played(stop, values, width, fixed, rng) for _ in range(times)]).T
    off, spread = mean - beside, float(np.std(mean, ddof=1))
    return Replay(
        float(tiles.mean()),
        float(off.mean()) / stop.stderr,
        float(off.std(ddof=1)) / math.sqrt(times) / stop.stderr,
        float(np.mean(np.abs(mean - truth) <= 1.96 * stderr)),
        float(stderr.mean()) / spread if spread else math.nan,
    )


def played(stop, values, width, fixed, rng):
    """After how many tiles the rule stopped, mean and standard error then, and the mean of a fixed number of tiles."""
    watch, means = Watch(stop), []
    while not watch.done or len(means) < fixed:
        tile = values[rng.integers(0, len(values), width)]
        watch.add(len(means), tile)
        means.append(float(tile.mean(dtype=float)))
    return watch.tiles, watch.mean, watch.stderr, math.fsum(means[:fixed]) / fixed


@pytest.fixture(scope="module")
def regrets():
    """Final regrets of W-TS on fresh instances, and their skewness."""
    size = {"trials": 2**15, "steps": 300, "at": [300]}
    final = simulate(problems.unit_ball(30, 3), policies.PAPER["W-TS"], key=jax.random.key(2024), **size).final
    return np.asarray(final), float(stats.skew(final.astype(float)))


def test_the_bias_at_the_default_is_below_a_tenth_of_a_standard_error(regrets):
    """Where it stops first, just after `least` trials: γ/√n standard errors, and the interval holds as it says."""
    final, skewness = regrets
    needed = 5 * WIDTH  # a target that is met on average where a tile ends, which is the worst
    stop = Stop(final.std(dtype=float) / np.sqrt(needed))
    found = replay(stop, final, WIDTH, times=2000)
    assert 5 <= found.tiles <= 6
    assert found.bias < 0
    assert -found.bias <= skewness / np.sqrt(needed) + SIGMAS * found.bias_stderr <= 0.1
    assert found.coverage >= stats.binom.ppf(1e-6, 2000, 0.94) / 2000


def test_looking_after_every_16_trials_has_several_times_the_bias(regrets):
    """The control: a rule that looks early stops where the variance is too small by chance."""
    final, _ = regrets
    stop = Stop(final.std(dtype=float) / np.sqrt(64), least=16)
    found = replay(stop, final, 16, times=2000)
    assert found.bias < -0.1 - SIGMAS * found.bias_stderr
    assert found.coverage < stats.binom.ppf(1e-6, 2000, 0.95) / 2000
    assert found.stderr_ratio < 0.95


def test_the_bias_is_known_better_than_by_the_means_alone_and_agrees_with_them(rng):
    """On a population of two values, where few trials say it all."""
    final, stop = np.array([0.0] * 9 + [1.0]), Stop(0.05, 8)
    found = replay(stop, final, 8, times=4000)
    means = []
    for _ in range(4000):
        watch = Watch(stop)
        next(i for i in itertools.count() if watch.add(i, rng.choice(final, 8)))
        means.append(watch.mean)
    error = np.std(means, ddof=1) / np.sqrt(4000) / stop.stderr
    assert abs(found.bias - (np.mean(means) - 0.1) / stop.stderr) < SIGMAS * np.hypot(error, found.bias_stderr)
    assert found.bias < -10 * found.bias_stderr


def test_a_population_without_spread_stops_at_once_and_has_no_bias():
    found = replay(Stop(0.5, least=10), np.zeros(100), width=5, times=3)
    assert (found.tiles, found.bias, found.coverage) == (2, 0, 1)
    assert np.isnan(found.stderr_ratio)
