"""Quantiles, tails and paired differences against naive formulas and scipy, and where they must be silent.

False alarms, all seeds fixed: the coverage of intervals is bounded at 1e-6 each, 4e-6 for this file.
"""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jaxids import statistics

WRONG = 1e-6


def naive_quantile(values, chance):
    """The least value with a share of the sample at or below it, in exact arithmetic."""
    ordered = sorted(values)
    return next(x for x in ordered if Fraction(sum(y <= x for y in values), len(values)) >= Fraction(str(chance)))


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=60), st.sampled_from([0.01, 0.07, 0.1, 0.29, 0.5, 0.7, 0.9, 0.99])
)
def test_the_quantile_is_the_inverse_of_the_empirical_distribution(values, chance):
    found = statistics.quantiles(np.array(values, np.float32), [chance])[0].value
    assert found == naive_quantile(values, chance)


def test_whole_ranks_are_not_missed_by_rounding():
    assert 0.07 * 100 > 7
    assert statistics.quantiles(np.arange(1, 101), [0.07])[0].value == 7


@pytest.mark.parametrize(("count", "chance"), [(500, 0.5), (1000, 0.9), (3000, 0.99), (400, 0.1), (100_000, 0.99)])
def test_its_errors_are_order_statistics_of_binomial_ranks(rng, count, chance):
    values = rng.lognormal(0, 1, count)
    ordered, off = np.sort(values), np.sqrt(chance * (1 - chance) / count)
    found = statistics.quantiles(values, [chance], 0.9)[0]
    low, high = (ordered[math.ceil(count * (chance + side * off)) - 1] for side in (-1, 1))
    assert found.stderr == (high - low) / 2
    ranks = np.arange(count + 1)
    below = stats.binom.cdf(ranks - 1, count, chance)  # P(B < l)
    assert found.low == ordered[ranks[below <= 0.05].max() - 1]
    assert found.high == ordered[ranks[1 - below <= 0.05].min() - 1]


def test_one_call_is_that_of_each(rng):
    values = rng.normal(size=777)
    assert statistics.quantiles(values, (0.5, 0.9)) == [statistics.quantiles(values, [p])[0] for p in (0.5, 0.9)]


def test_where_trials_are_too_few_errors_are_not_known_and_intervals_have_no_end(rng):
    values = rng.normal(size=2000)
    for count, chance in ((36, 0.9), (36, 0.1), (396, 0.99), (1, 0.5), (4, 0.5)):
        assert math.isnan(statistics.quantiles(values[:count], [chance])[0].stderr)
        assert math.isfinite(statistics.quantiles(values[: count + 1], [chance])[0].stderr) == (count > 1)
    assert 0.99**367 > 0.025 > 0.99**368
    assert statistics.quantiles(values[:367], [0.99])[0].high == math.inf
    assert statistics.quantiles(values[:368], [0.99])[0].high == values[:368].max()
    assert statistics.quantiles(values[:367], [0.01])[0].low == -math.inf
    assert statistics.quantiles([3.0], [0.5])[0][2:] == (-math.inf, math.inf)


def test_infinite_values_leave_the_error_unknown():
    found = statistics.quantiles([0.0] * 50 + [math.inf] * 50, [0.9])[0]
    assert found.value == found.high == math.inf
    assert math.isnan(found.stderr)


@pytest.mark.parametrize("draw", ["lognormal", "poisson"])
def test_the_interval_holds_the_quantile_as_often_as_it_says(rng, draw):
    """Exactly so for a continuous distribution, more often with ties; one narrower by half does not."""
    law = {"lognormal": stats.lognorm(1), "poisson": stats.poisson(3)}[draw]
    truth, held, narrow = law.ppf(0.9), 0, 0
    for _ in range(1000):
        _, _, low, high = statistics.quantiles(law.rvs(200, random_state=rng), [0.9])[0]
        held += low <= truth <= high
        narrow += low + (high - low) / 4 <= truth <= high - (high - low) / 4
    assert held >= stats.binom.ppf(WRONG, 1000, 0.95)
    assert narrow < stats.binom.ppf(WRONG, 1000, 0.95) or draw == "poisson"


def test_the_standard_error_is_that_of_the_quantile(rng):
    """Of exponential samples, √(p(1 − p)/n) over the density at the quantile, 1 − p; the mean of 300 within 10 %."""
    found = np.array([statistics.quantiles(rng.exponential(size=4000), [0.9])[0] for _ in range(300)])
    assert found[:, 1].mean() == pytest.approx(np.sqrt(0.9 * 0.1 / 4000) / 0.1, rel=0.1)


@pytest.mark.parametrize(("count", "trials"), [(0, 1), (0, 50), (50, 50), (3, 50), (1, 2), (12_345, 10_000_000)])
def test_shares_have_the_interval_of_clopper_and_pearson(count, trials):
    found = statistics.share(count, trials, 0.9)
    exact = stats.binomtest(count, trials).proportion_ci(0.9, "exact")
    np.testing.assert_allclose(found[2:], (exact.low, exact.high), rtol=1e-9)
    assert found.value == count / trials
    assert math.isnan(found.stderr) == (count in (0, trials))


def test_a_tail_is_the_share_above(rng):
    values = rng.exponential(size=1000).astype(np.float32)
    found = statistics.tail(values, 1.5)
    indicator = (values > 1.5).astype(float)
    assert found == statistics.share(int(indicator.sum()), 1000)
    assert found.stderr == pytest.approx(indicator.std(ddof=1) / np.sqrt(1000))
    assert statistics.tail(np.ones(5, np.float32), 1.0).value == 0
    assert statistics.tail(np.full(5, 0.1, np.float32), 0.1).value == 1  # that of float32 is above


def test_paired_differences(rng):
    common = rng.exponential(10, 200_000)
    one, other = (common + rng.normal(0, 1, 200_000) for _ in range(2))
    one, other = one.astype(np.float32), (other + 3).astype(np.float32)
    found = statistics.difference(one, other)
    a, b = one.astype(float), other.astype(float)
    assert found.trials == 200_000
    assert found.mean == pytest.approx(np.mean(a - b), rel=1e-12)
    assert found.stderr == pytest.approx(np.std(a - b, ddof=1) / np.sqrt(200_000), rel=1e-12)
    assert found.unpaired == pytest.approx(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 200_000), rel=1e-12)
    assert found.correlation == pytest.approx(np.corrcoef(a, b)[0, 1], rel=1e-9)
    assert found.stderr < found.unpaired / 5


def test_differences_where_little_is_known():
    assert statistics.difference([3.0], [1.0])[:4:3] == (2.0, 1)
    assert all(map(math.isnan, statistics.difference([3.0], [1.0])[1:3]))
    same = statistics.difference([1.0, 2.0], [1.0, 2.0])
    assert (same.mean, same.stderr, same.correlation) == (0.0, 0.0, pytest.approx(1.0))
    assert math.isnan(statistics.difference([1.0, 1.0], [1.0, 2.0]).correlation)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: statistics.quantiles([], [0.5]), r"sample: got \[\]; it takes numbers \[n\], one or more"),
        (lambda: statistics.quantiles([[1.0]], [0.5]), "sample: got .* it takes numbers"),
        (lambda: statistics.quantiles(["a"], [0.5]), "sample: got .* it takes numbers"),
        (lambda: statistics.quantiles([1.0, math.nan], [0.5]), "sample: got NaN among its numbers; it takes none"),
        (lambda: statistics.quantiles([1.0], [1]), r"chances: got 1; it takes a number in \(0, 1\)"),
        (lambda: statistics.quantiles([1.0], [0.5], 95), r"level: got 95; it takes a number in \(0, 1\)"),
        (lambda: statistics.tail([1.0], math.nan), "above: got nan; it takes a number"),
        (lambda: statistics.share(3, 2), "count: got 3; it takes at most trials, 2"),
        (lambda: statistics.share(-1, 2), "count: got -1; it takes a whole number from 0 on"),
        (lambda: statistics.share(0, 0), "trials: got 0; it takes a whole number from 1 on"),
        (lambda: statistics.difference([1.0], [1.0, 2.0]), "other: got 2 trials; it takes those of `one`, 1"),
        (lambda: statistics.Stop(0.0), "stderr: got 0.0; it takes a number > 0"),
        (lambda: statistics.Stop(math.nan), "stderr: got nan; it takes a number > 0"),
        (lambda: statistics.Stop(1.0, 0), "least: got 0; it takes a whole number from 1 on"),
    ],
)
def test_mistakes_name_the_argument(call, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        call()


def test_jax_is_not_imported():
    code = "import sys; import jaxids.statistics as s; s.quantiles([1.0, 2.0], [0.5]); sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
