"""The confidence band against its formulas."""

import inspect
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest

from jaxids import confidence, information, ratio
from jaxids.beliefs import kernel, linear

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-10}


@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-6])
@pytest.mark.parametrize("lam", [0.1, 4.0])
@pytest.mark.parametrize("norm_bound", [0.0, 2.0])
def test_beta(delta, lam, norm_bound, dtype):
    got = confidence.beta(jnp.asarray([0.0, 3.0, 40.0]), delta, lam, norm_bound)
    expected = np.sqrt(2 * np.log(1 / delta) + np.array([0.0, 3.0, 40.0])) + np.sqrt(lam) * norm_bound
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype])


def test_the_band_is_what_its_formulas_say(dtype, rng):
    for _ in range(5):
        trial = oracles.trial(rng, lam=2.0)
        band = oracles.band(trial, delta=0.05, lam=2.0, norm_bound=3.0)
        cov = oracles.covariance(trial.truth.precision, trial.features)
        mean = trial.truth.theta @ np.asarray(trial.features, float)
        beta = np.sqrt(2 * np.log(20) + trial.truth.log_det) + np.sqrt(2) * 3
        upper, lower = mean + beta * np.sqrt(np.diag(cov)), mean - beta * np.sqrt(np.diag(cov))
        close = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
        np.testing.assert_allclose(band.mean, mean, **close)
        np.testing.assert_allclose(band.var, np.diag(cov), **close)
        np.testing.assert_allclose(band.beta, beta, **close)
        np.testing.assert_allclose(band.radius, beta * np.sqrt(np.diag(cov)), **close)
        np.testing.assert_allclose(band.gap, upper.max() - lower, **close)
        np.testing.assert_allclose(band.top.value, upper.max(), **close)
        np.testing.assert_allclose(band.cov_with(jnp.int32(3)), cov[3], **close)
        assert int(band.ucb) == int(band.top.action) == int(np.argmax(upper))
        assert np.all(band.gap > 0)


def test_each_quantity_is_computed_once(rng):
    band = oracles.band(oracles.trial(rng))
    assert band.gap is band.gap
    assert band.var is band.var


@pytest.mark.parametrize("gain", [information.f, information.ucb])
def test_the_ratio_of_the_ucb_action(gain, x64, rng):
    """Δ⁺(x_UCB) = 2βσ and Ψ(x_UCB) = 4β²σ²/log(1 + σ²/ρ²), not the 8β²σ² of the paper's lemma."""
    for _ in range(5):
        trial = oracles.trial(rng)
        band = oracles.band(trial)
        top = int(band.ucb)
        beta = np.sqrt(2 * np.log(100) + trial.truth.log_det) + 1
        var = np.diag(oracles.covariance(trial.truth.precision, trial.features))[top]
        np.testing.assert_allclose(band.gap[top], 2 * beta * np.sqrt(var), rtol=1e-9)
        psi = ratio.quotient(band.gap, gain(band, oracles.streams(rng)))[top]
        np.testing.assert_allclose(psi, 4 * beta**2 * var / np.log1p(var / trial.rho[top] ** 2), rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "good"),
    [
        (confidence.beta, {"log_det": 2**31, "delta": 0.1, "lam": 2**31, "norm_bound": 2**31}),
        (linear.init, {"actions": np.ones((2, 3)), "lam": 2**31}),
        (kernel.init, {"features": np.ones((2, 3)), "lam": 2**31}),
    ],
)
def test_a_wrong_argument_is_named(function, good):
    function = inspect.unwrap(function)  # the tests' check of types would be quicker
    assert np.all(np.isfinite(jax.tree.leaves(function(**good))[0]))
    for name, bad in itertools.product(good, ("a", None, np.nan, [None], -1.0, 1j)):
        with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
            function(**good | {name: bad})


def test_one_bound_for_all_is_the_textbook_s_estimator_with_another_lambda(x64, rng):
    """V̄ = λR²I + XᵀX with the radius R√(2 log(1/δ) + log det V̄ − log det V̄_0) + √(λR²) S gives the same band."""
    actions, scale, lam, delta, norm = rng.normal(size=(5, 3)), 2.5, 0.7, 0.05, 1.3
    played, rewards = rng.integers(0, 5, 30), rng.normal(size=30)
    state = linear.init(jnp.asarray(actions.T), lam)
    for k, reward in zip(played, rewards, strict=True):
        state = linear.update(state, jnp.asarray(actions[k]), jnp.asarray(reward), jnp.asarray(scale**2))
    band = confidence.Band(linear, state, jnp.asarray(actions.T), jnp.full(5, scale), delta, lam, norm)
    design, start = actions[played], lam * scale**2 * np.eye(3)
    matrix = start + design.T @ design
    growth = np.linalg.slogdet(matrix)[1] - np.linalg.slogdet(start)[1]
    radius = scale * np.sqrt(2 * np.log(1 / delta) + growth) + np.sqrt(lam * scale**2) * norm
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(band.mean, actions @ inverse @ design.T @ rewards, rtol=1e-9)
    np.testing.assert_allclose(scale * band.beta, radius, rtol=1e-9)
    widths = radius * np.sqrt(np.einsum("kd,de,ke->k", actions, inverse, actions))
    np.testing.assert_allclose(band.radius, widths, rtol=1e-9)
