"""Information gains against their definition, with σ²(x'|x) from a second posterior."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest

from jaxids import domains, draws, fields, information, kernels, problems
from jaxids.beliefs import kernel, linear
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


def exact_about(root, rho, target):
    """log(1 + e/(ρ² + l)) in double precision, of the columns of a root of the posterior covariance."""
    columns, rho = np.asarray(root, float), np.asarray(rho, float)
    one = columns[:, target] / np.linalg.norm(columns[:, target])
    rest = columns - np.outer(one, one @ columns)
    return np.log1p((one @ columns) ** 2 / (rho**2 + np.sum((rest - np.outer(one, one @ rest)) ** 2, axis=0)))


def neighbours(rng, dim):
    """Actions [d, 20]: any, and the first's equal, opposite, multiples, and near ones, from 1e-1 to 1e-6 away."""
    some = rng.uniform(-1, 1, (dim, 8))
    first, away = some[:, :1], rng.uniform(-1, 1, (dim, 6))
    near = first + away * 10.0 ** -np.arange(1, 7)
    return np.concatenate([some, first, -first, 0.3 * first, 1.1 * first, near, 0.5 * near[:, :2]], axis=1)


def checked_about(belief, state, features, root):
    """Every gain about some actions is exact, that about itself as that about all, for noise down to 1e-6."""
    about = jax.jit(lambda rho, k: information.about(Band(belief, state, features, rho, 0.01, 1.0, 1.0), k))
    for rho in (0.3, 1e-2, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6):
        bounds = jnp.full(features.shape[1], rho, jnp.float32)
        whole = np.log1p(np.sum(root**2, axis=0) / np.asarray(bounds, float) ** 2)
        slack = 2e-3 + (1e-7 / rho) ** 2  # a root is rounded itself
        for target in (0, 1, 13, 17):
            got = np.asarray(about(bounds, jnp.int32(target)))
            np.testing.assert_allclose(got, exact_about(root, bounds, target), rtol=2e-4, atol=slack)
            np.testing.assert_allclose(got[target], whole[target], rtol=1e-4)


@pytest.mark.parametrize("steps", [0, 20])
@pytest.mark.parametrize("dim", [1, 3, 12])
def test_gains_about_an_action_are_exact_however_small_the_noise(dim, steps, rng):
    features = jnp.asarray(neighbours(rng, dim), jnp.float32)
    seen = features[:, rng.integers(0, 8, steps)].T, jnp.zeros(steps), jnp.full(steps, 0.25)
    state = jax.lax.scan(lambda s, one: (linear.update(s, *one), None), linear.init(features, 1.0), seen)[0]
    root = np.asarray(state.root.value, float).T @ np.asarray(features, float)
    checked_about(linear, state, features, root)


def test_gains_about_a_point_are_exact_however_small_the_noise():
    points = np.concatenate([np.linspace(0, 1, 12), 0.5 + 10.0 ** -np.arange(2, 7), [0.5, 0.5]])[:, None]
    features = problems.rkhs(points, np.zeros(19), 0.5, kernels.rbf(0.3)).instance.features
    seen = jnp.array([0, 3, 11, 3]), jnp.zeros(4), jnp.full(4, 0.25)
    state = jax.lax.scan(lambda s, one: (kernel.update(s, *one), None), kernel.init(features, 1.0), seen)[0]
    checked_about(kernel, state, features, np.asarray(state.root, float))


@pytest.mark.parametrize("rho", [0.3, 1e-3, 1e-6])
@pytest.mark.parametrize("k", [None, kernels.rbf(0.3)], ids=["linear", "kernel"])
def test_gains_about_a_point_of_a_box_are_exact_there_and_never_above_the_whole(k, rho, rng):
    field = fields.fit(domains.box([0.0, 0.0], [1.0, 1.0]), rng.random((5, 2)), np.zeros(5), 0.5, k)
    field = replace(field, noise=lambda x: rho + 0 * x[0])
    points = np.concatenate([rng.random((2, 9)), np.array([[0.3], [0.8]]) + 10.0 ** -np.arange(1, 8)], axis=1)
    there, source = field.at(jnp.asarray(np.clip(points, 0, 1), jnp.float32)), oracles.streams(rng)
    whole = np.asarray(information.f(there, source))
    for i in (0, 9, 14):
        got = np.asarray(information.about(there, there.features[:, i]))
        np.testing.assert_allclose(got[i], whole[i], rtol=1e-6)
        assert np.all((got >= 0) & (got <= whole * (1 + 1e-5)))


@pytest.mark.parametrize("rho", [0.3, 1e-3, 1e-6])
def test_gains_have_finite_slopes_however_small_the_noise(rho, rng):
    features = jnp.asarray(neighbours(rng, 3), jnp.float32)

    def gain(features, rho, target):
        band = Band(linear, linear.init(features, 1.0), features, rho * jnp.ones(20), 0.01, 1.0, 1.0)
        return information.about(band, target)

    for target in (0, 13):
        slopes = jax.jit(jax.jacrev(gain, (0, 1)))(features, jnp.float32(rho), jnp.int32(target))
        assert all(np.all(np.isfinite(slope)) for slope in slopes)
        others = jax.jit(jax.jacfwd(gain, 1))(features, jnp.float32(rho), jnp.int32(target))
        np.testing.assert_allclose(others, slopes[1], rtol=1e-3, atol=1e-3 / rho)
