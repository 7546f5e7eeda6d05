"""Information gains against their definition, with σ²(x'|x) from a second posterior."""

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest

from jaxids import draws, information
from jaxids.beliefs import linear
from jaxids.confidence import Band

GAINS = {"f": information.f, "ucb": information.ucb, "ts": information.ts, "e": information.e}


def proposal(trial, source) -> int:
    """The best action of the posterior draw θ̂ + M η."""
    root, eta = np.asarray(trial.state.root.value, float), np.asarray(draws.normal(source, 3), float)
    return int(np.argmax((trial.truth.theta + root @ eta) @ np.asarray(trial.features, float)))


def about(trial, target):
    return oracles.gain_about(trial.truth.precision, trial.features, trial.rho, target)


def test_f_is_the_growth_of_the_determinant(x64, rng):
    trial = oracles.trial(rng)
    precision, x = trial.truth.precision, np.asarray(trial.features)
    expected = [
        np.linalg.slogdet(precision + np.outer(x[:, k], x[:, k]) / trial.rho[k] ** 2)[1]
        - np.linalg.slogdet(precision)[1]
        for k in range(x.shape[1])
    ]
    np.testing.assert_allclose(information.f(oracles.band(trial), oracles.streams(rng)), expected, rtol=1e-8)


def test_ucb_and_ts_are_the_gain_about_their_action(x64, rng):
    for _ in range(8):
        trial, source = oracles.trial(rng), oracles.streams(rng)
        band = oracles.band(trial)
        np.testing.assert_allclose(information.ucb(band, source), about(trial, int(band.ucb)), rtol=1e-8, atol=1e-13)
        expected = about(trial, proposal(trial, source))
        np.testing.assert_allclose(information.ts(band, source), expected, rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("proposals", [1, 3, 10])
def test_averaged_is_the_mean_over_its_proposals(proposals, x64, rng):
    trial, source = oracles.trial(rng, steps=5), oracles.streams(rng)
    proposed = [proposal(trial, draws.child(source, i + 1)) for i in range(proposals)]
    assert proposals == 1 or len(set(proposed)) > 1
    expected = np.mean([about(trial, target) for target in proposed], axis=0)
    got = information.Averaged(proposals)(oracles.band(trial), source)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-13)


def test_e_averages_ten_proposals():
    assert information.e == information.Averaged(10)


@pytest.mark.parametrize("proposals", [0, 256, True])
def test_averaged_refuses_a_number_it_cannot_use(proposals):
    with pytest.raises(ValueError, match=f"proposals: got {proposals}"):
        information.Averaged(proposals)


def test_an_action_tells_no_more_about_another_than_about_all(dtype, rng):
    for _ in range(2):
        band, source = oracles.band(oracles.trial(rng)), oracles.streams(rng)
        slack = 1 + 20 * np.finfo(dtype).eps
        whole = np.asarray(information.f(band, source))
        for gain in (information.ucb, information.ts, information.e):
            assert np.all(gain(band, source) <= whole * slack)
        top = int(band.ucb)
        np.testing.assert_allclose(information.ucb(band, source)[top], whole[top], rtol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS)
def test_zero_features_give_zero_gains(gain, dtype, rng):
    trial = oracles.trial(rng)
    trial = trial._replace(features=trial.features.at[:, 0].set(0))
    got = np.asarray(gain(oracles.band(trial), oracles.streams(rng)))
    assert np.all(np.isfinite(got))
    assert got[0] == 0
    nothing = trial._replace(features=jnp.zeros((3, 8), dtype))
    np.testing.assert_array_equal(gain(oracles.band(nothing), oracles.streams(rng)), 0)


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS)
@pytest.mark.parametrize("rho", [1e-4, 1e-8])
def test_hardly_any_noise_gives_finite_gains(gain, rho, dtype, rng):
    source = oracles.streams(rng)
    gains = jax.jit(lambda state, features, rho: gain(Band(linear, state, features, rho, 0.01, 1.0, 1.0), source))
    for steps in (0, 1, 200):
        trial = oracles.trial(rng, steps=steps, rho=(rho, 1.01 * rho))
        got = np.asarray(gains(trial.state, trial.features, trial.rho))
        assert np.all(np.isfinite(got) & (got >= 0))
