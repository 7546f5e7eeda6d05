"""Concentration inequalities against their formulas, exact probabilities, and simulated violations.

False alarms: an inequality that fails with probability exactly δ is refused with probability 1e-6; there are ten, all
seeds fixed.
"""

import inspect
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxids import bounds

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-12}
STEPS = np.unique(np.concatenate([np.arange(1, 5000), np.geomspace(1, 1e15, 20_000).astype(np.int64)])).astype(float)


@pytest.mark.parametrize("delta", [0.5, 1e-6])
@pytest.mark.parametrize("layers", ["tight", "printed", "one_sided"])
def test_freedman(delta, layers, dtype):
    variances, steps = np.array([[0.0], [1.0], [900.0]]), np.array([1, 30, 10_000])
    options = {} if layers == "tight" else {layers: True}
    got = bounds.freedman(jnp.asarray(variances), 0.5, jnp.asarray(steps), delta, **options)
    count = {"tight": 2 * np.log(steps) + 2, "printed": 2 * steps + 2, "one_sided": 4 * np.log(steps) + 2}[layers]
    log = np.log(count / delta)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, np.maximum(2 * log, 2 * np.sqrt(variances * log)), rtol=TOLERANCE[dtype])


def test_the_layers_of_the_proof_are_no_more_than_the_constants():
    """⌈log T/log β⌉ + 1 ≤ 2 log T + 2 with β = 5/3 at every T ≥ 1; with twice the logarithm, 4 log T + 2 ≤ 2T + 2."""
    layers = np.log(STEPS) / np.log(5 / 3)
    assert np.all(np.ceil(layers) + 1 <= 2 * np.log(STEPS) + 2)
    assert np.all(np.ceil(2 * layers) + 1 <= 4 * np.log(STEPS) + 2)
    assert np.any(np.ceil(2 * layers) + 1 > 2 * np.log(STEPS) + 2)  # so the smaller one does not cover both
    assert np.all(4 * np.log(STEPS) + 2 <= 2 * STEPS + 2)
    later = STEPS[STEPS >= 2]
    assert np.all(2 * np.sqrt(np.log(np.ceil(np.log(later) / np.log(5 / 3)) + 1)) >= 1)  # λ ≥ 1 for any δ
    assert 4 * np.log(2) >= 1  # at T = 1 the bound is above b


def test_freedman_follows_from_its_tail(x64):
    """With β = 5/3 and λ = 2√log(c/δ) the tail is at most δ."""
    for steps, delta in itertools.product([1, 2, 3, 100, 10**6], [0.9, 0.1, 1e-6]):
        lam = 2 * np.sqrt(np.log((2 * np.log(steps) + 2) / delta))
        assert bounds.freedman_tail(lam, steps) <= delta


@pytest.mark.parametrize("growth", [1.1, 5 / 3, 3.0])
def test_freedman_tail(growth, x64):
    """The formula where it says something, and above the probability for a walk of steps ±1, which is binomial."""
    for steps, lam in itertools.product([1, 5, 50, 400], [0.0, 0.5, 1.0, 2.5, 4.0, 6.0, 30.0]):
        got = float(bounds.freedman_tail(lam, steps, growth))
        printed = float(bounds.freedman_tail(lam, steps, growth, printed=True))
        if lam > 0:
            layers = math.ceil(math.log(steps / lam**2) / math.log(growth)) + 1
            tail = layers * math.exp(-(lam**2) / (2 * growth + 2 / 3))
            np.testing.assert_allclose(printed, tail, rtol=1e-9)
            assert lam**2 < growth**2 * steps or printed < 0
            np.testing.assert_allclose(got, min(1, max(tail, 0)), rtol=1e-9)
        ups = math.ceil((lam * max(lam, math.sqrt(steps)) + steps) / 2 - 1e-9)
        assert stats.binom.sf(ups - 1, steps, 0.5) <= got


def test_spread(dtype):
    second, most = np.array([0.0, 0.5, 1.0, 4.0, 9.0]), np.array([[0.0], [1.0], [2.0]])
    got = bounds.spread(jnp.asarray(second), jnp.asarray(most))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(second >= most**2, second, (most + second / most) ** 2 / 4)
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype])
    assert np.all(got >= second * (1 - 1e-6))
    assert np.all(np.isfinite(jax.vmap(jax.grad(bounds.spread, argnums=(0, 1)))(jnp.zeros(2), jnp.asarray([0.0, 1.0]))))


def test_spread_bounds_the_moments_of_two_points(x64, rng):
    """E exp(λξ) ≤ exp(λ²C²/2), on which the anytime bound rests, for ξ = U with probability p and else below 0."""
    chance, most = rng.uniform(1e-3, 1 - 1e-3, 4000), rng.uniform(0.1, 3, 4000)
    lam = 10 ** rng.uniform(-3, 1.3, 4000)
    low = -most * chance / (1 - chance)
    second = chance * most**2 + (1 - chance) * low**2
    spread = np.asarray(bounds.spread(jnp.asarray(second), jnp.asarray(most)))
    moment = np.logaddexp(np.log(chance) + lam * most, np.log1p(-chance) + lam * low)
    assert np.all(moment <= lam**2 * spread / 2 + 1e-12)
    assert np.any(moment > 0.9 * lam**2 * spread / 2)


@pytest.mark.parametrize("delta", [0.5, 1e-6])
def test_anytime_bounds(delta, dtype):
    variances, offset = np.array([0.0, 1e-6, 3.0, 1e6]), np.array([[0.1], [10.0]])
    total = variances + offset
    expected = np.sqrt(2 * total * np.log(np.sqrt(total / offset) / delta))
    close = {"rtol": TOLERANCE[dtype]}
    np.testing.assert_allclose(
        bounds.supermartingale(jnp.asarray(variances), delta, jnp.asarray(offset)), expected, **close
    )
    got = bounds.conditional_means(jnp.asarray(variances) / 4, 4.0, delta, jnp.asarray(offset))
    np.testing.assert_allclose(got, expected, **close)
    for bound in (1.0, 7.5):
        got = bounds.conditional_sum(jnp.asarray(variances), bound, delta)
        expected = 2 * variances + 4 * bound * np.log(1 / delta) + 8 * bound * np.log(4 * bound) + 1
        np.testing.assert_allclose(got, expected, **close)


def test_the_second_form_follows_from_the_first_with_one_offset(x64):
    """M − ΣX ≤ √(2(bM + 1) log(…)) gives M ≤ 2ΣX + …: for every b ≥ 1, M and δ, so for bounds b_t that grow too."""
    means, bound = np.concatenate([[0.0], np.geomspace(1e-6, 1e9, 3000)]), np.geomspace(1, 1e6, 25)[:, None]
    for delta in (1 - 1e-9, 0.5, 1e-3, 1e-12):
        apart = np.asarray(bounds.conditional_means(jnp.asarray(means), jnp.asarray(bound), delta, 1.0))
        values = np.maximum(means - apart, 0)  # the least that the first form leaves
        assert np.all(means <= bounds.conditional_sum(jnp.asarray(values), jnp.asarray(bound), delta))


def test_no_bound_does_without_the_level():
    """The counter-example: after 25 zeros, of probability 2⁻²⁵, the means are 12.5 and the bound at δ → 1 is below.

    So for δ < 2⁻²⁵ the inequality at δ = 1 fails too often, while the right one is only violated after 2 · 85 zeros.
    """
    without = float(bounds.conditional_sum(0.0, 1.0, 1 - 1e-7))
    zeros = math.floor(2 * without) + 1
    assert zeros == 25
    delta = 1e-8
    assert 2.0**-zeros > delta
    assert 2.0 ** -(2 * float(bounds.conditional_sum(0.0, 1.0, delta))) < delta


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_violations(delta):
    """Every inequality that is proven fails in at most δ of the trials; the controls fail in more."""
    trials = 4000
    rows = bounds.violations(key=jax.random.key(11), delta=delta, trials=trials, steps=600)
    allowed = stats.binom.ppf(1 - 1e-6, trials, delta)
    assert [(row.inequality, row.process) for row in rows] == [
        (case.claim.__name__, case.process.__name__) for case in bounds.CASES
    ]
    for row in rows:
        assert row.trials == trials
        assert row.delta == delta
        assert row.low <= row.rate == row.violations / trials <= row.high
        if row.proven:
            assert row.violations <= allowed, row
            assert row.slack > 0
    by_name = {(row.inequality, row.process): row for row in rows}
    assert by_name["supermartingale", "walk"].violations > 0  # the processes come near the bounds
    no_constants = by_name["no_constants", "counterexample"].violations
    assert abs(no_constants - trials / 8) < 5 * math.sqrt(trials * 7 / 64)  # exactly where three zeros come first
    if delta == 0.05:
        assert all(row.violations > allowed for row in rows if not row.proven)


def test_violations_by_name_are_the_same_trials():
    key, small = jax.random.key(2), {"trials": 64, "steps": 30, "cases": bounds.CASES[1:4]}
    every = bounds.violations(key=key, **small)
    chosen = bounds.violations("supermartingale", key=key, **small)
    assert [row.inequality for row in every] == ["freedman", "supermartingale", "supermartingale"]
    assert chosen == every[1:]
    with pytest.raises(ValueError, match=r"^inequalities: got 'azuma'; it takes names of freedman, supermartingale, "):
        bounds.violations("azuma", key=key)
    for cases in ("a", (1,), None):
        with pytest.raises(ValueError, match=r"^cases: got .*; it takes a tuple of bounds.Case, as bounds.CASES"):
            inspect.unwrap(bounds.violations)(key=key, cases=cases)


def test_violations_see_a_claim_that_fails_at_one_step_only():
    def before(sums, step, delta):
        return jnp.where(step == 3, 1.0, 0.0) + 0 * sums.value, 0.5 + 0 * sums.value

    walk = next(case.process for case in bounds.CASES if case.process.__name__ == "walk")
    cases = (bounds.Case(before, walk), bounds.Case(before, walk, anytime=False))
    rows = bounds.violations(key=jax.random.key(0), trials=10, steps=5, cases=cases)
    assert [row.violations for row in rows] == [10, 0]
    assert [row.slack for row in rows] == [0.5, 0.5]


@pytest.mark.parametrize(("count", "trials"), [(0, 1), (1, 1), (0, 50), (3, 50), (50, 50), (137, 10_000)])
@pytest.mark.parametrize("level", [0.5, 0.99])
def test_interval(count, trials, level):
    exact = stats.binomtest(count, trials).proportion_ci(level, method="exact")
    np.testing.assert_allclose(bounds.interval(count, trials, level), (exact.low, exact.high), rtol=1e-7, atol=1e-15)


def test_under_jit_vmap_and_grad():
    values = jnp.asarray([0.0, 0.5, 40.0])
    for function in (
        lambda v, d: bounds.freedman(v, 1.0, 20, d),
        lambda v, d: bounds.freedman_tail(v, 20),
        lambda v, d: bounds.spread(v, v / 2),
        lambda v, d: bounds.supermartingale(v, d, 2.0),
        lambda v, d: bounds.conditional_means(v, 3.0, d, 2.0),
        lambda v, d: bounds.conditional_sum(v, 3.0, d),
    ):
        plain = function(values, 0.1)
        np.testing.assert_allclose(jax.jit(function)(values, 0.1), plain, rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(function)(values, jnp.full(3, 0.1)), plain, rtol=1e-6)
        assert np.all(np.isfinite(jax.vmap(jax.grad(function, argnums=(0, 1)))(values, jnp.full(3, 0.1))))


GOOD = [
    (bounds.freedman, {"variances": 1.0, "bound": 1.0, "steps": 3, "delta": 0.1}),
    (bounds.freedman_tail, {"lam": 1.0, "steps": 3, "growth": 2.0}),
    (bounds.spread, {"second_moments": 1.0, "bounds": 1.0}),
    (bounds.supermartingale, {"variances": 1.0, "delta": 0.1, "offset": 1.0}),
    (bounds.conditional_means, {"means": 1.0, "bound": 1.0, "delta": 0.1, "offset": 1.0}),
    (bounds.conditional_sum, {"values": 1.0, "bound": 1.0, "delta": 0.1}),
    (bounds.interval, {"count": 1, "trials": 3, "level": 0.5}),
    (bounds.violations, {"key": jax.random.key(0), "delta": 0.1, "trials": 3, "steps": 3, "cases": bounds.CASES[:1]}),
]
LEAST = {"steps": [0], "growth": [1.0], "offset": [0.0], "delta": [0, 1, 2.0]}


@pytest.mark.parametrize(("function", "good"), GOOD, ids=[function.__name__ for function, _ in GOOD])
def test_a_wrong_argument_is_named(function, good):
    function = inspect.unwrap(function)
    function(**good)
    bad = [
        (name, value)
        for name in good.keys() - {"cases"}
        for value in ("a", np.nan, [None], -1.0, 1j, *LEAST.get(name, []))
    ]
    for name, value in bad:
        with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
            function(**good | {name: value})


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(
        ValueError, match=r"^variances, steps: got shapes \[2\] and \[3\]; they take shapes that broadcast"
    ):
        bounds.freedman(jnp.ones(2), 1.0, jnp.ones(3), 0.1)
    with pytest.raises(ValueError, match=r"^bound: got 0.5; it takes numbers ≥ 1$"):
        bounds.conditional_sum(1.0, 0.5, 0.1)
