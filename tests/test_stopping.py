"""The rule that stops a cell at a standard error, and what it does to the estimate.

Stopping looks at the variance so far, which goes with the mean: it is biased. Measured on the final regrets of 2¹⁵
trials of W-TS (skewness 1.8), the rule played 2000 times. False alarms, all seeds fixed: 4.5 standard errors or 7e-6
for each of four bounds on a bias, 1e-6 for each of two on the coverage, 3e-5 for this file.
"""

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from jaxids import moments, policies, problems, simulate, statistics
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
    found = statistics.replay(stop, final, WIDTH, times=2000)
    assert 5 <= found.tiles <= 6
    assert found.bias < 0
    assert -found.bias <= skewness / np.sqrt(needed) + SIGMAS * found.bias_stderr <= 0.1
    assert found.coverage >= stats.binom.ppf(1e-6, 2000, 0.94) / 2000


def test_looking_after_every_16_trials_has_several_times_the_bias(regrets):
    """The control: a rule that looks early stops where the variance is too small by chance."""
    final, _ = regrets
    stop = Stop(final.std(dtype=float) / np.sqrt(64), least=16)
    found = statistics.replay(stop, final, 16, times=2000)
    assert found.bias < -0.1 - SIGMAS * found.bias_stderr
    assert found.coverage < stats.binom.ppf(1e-6, 2000, 0.95) / 2000
    assert found.stderr_ratio < 0.95


def test_the_bias_is_known_better_than_by_the_means_alone_and_agrees_with_them(rng):
    """On a population of two values, where few trials say it all."""
    final, stop = np.array([0.0] * 9 + [1.0]), Stop(0.05, 8)
    found = statistics.replay(stop, final, 8, times=4000)
    means = []
    for _ in range(4000):
        watch = Watch(stop)
        next(i for i in itertools.count() if watch.add(i, rng.choice(final, 8)))
        means.append(watch.mean)
    error = np.std(means, ddof=1) / np.sqrt(4000) / stop.stderr
    assert abs(found.bias - (np.mean(means) - 0.1) / stop.stderr) < SIGMAS * np.hypot(error, found.bias_stderr)
    assert found.bias < -10 * found.bias_stderr


def test_a_population_without_spread_stops_at_once_and_has_no_bias():
    found = statistics.replay(statistics.Stop(0.5, least=10), np.zeros(100), width=5, times=3)
    assert (found.tiles, found.bias, found.coverage) == (2, 0, 1)
    assert np.isnan(found.stderr_ratio)


@pytest.mark.parametrize(("given", "said"), [({"width": 0}, "width: got 0"), ({"times": 1}, "times: got 1")])
def test_a_replay_of_nothing_is_refused(given, said):
    with pytest.raises(ValueError, match=f"^{said}; it takes a whole number from [12] on"):
        statistics.replay(statistics.Stop(0.5), np.arange(10.0), **given)
