"""The linear belief against the normal equations.

The statistical test has a fixed seed and three checks at a false-alarm rate of 1e-4 each.
"""

from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from hypothesis import given
from jax import lax
from scipy import stats

from jaxids import compiler
from jaxids.beliefs import linear

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-11}
FALSE_ALARM = 1e-4


@pytest.mark.parametrize(("dim", "lam"), [(1, 1.0), (3, 0.1), (8, 2.0)])
def test_the_state_solves_the_normal_equations(dim, lam, dtype, rng):
    state, actions, _, truth = oracles.trial(rng, dim, steps=60, lam=lam)
    cov = oracles.covariance(truth.precision, actions)
    tolerance = TOLERANCE[dtype]
    assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {dtype}
    root = np.asarray(state.root.value, float)
    np.testing.assert_allclose(root @ root.T @ truth.precision, np.eye(dim), atol=50 * tolerance)
    np.testing.assert_allclose(state.theta.value, truth.theta, rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(linear.log_det(state), truth.log_det, rtol=tolerance)
    np.testing.assert_allclose(linear.mean(state, actions), truth.theta @ actions, rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(linear.var(state, actions), np.diag(cov), rtol=tolerance)
    for action in range(cov.shape[0]):
        with_action = linear.cov_with(state, actions, linear.at(actions, jnp.int32(action)))
        np.testing.assert_allclose(with_action, cov[action], rtol=tolerance, atol=tolerance * cov.max())
        np.testing.assert_allclose(with_action[action], linear.var(state, actions)[action], rtol=tolerance)


def test_before_any_observation(dtype, rng):
    actions = jnp.asarray(rng.normal(size=(3, 5)).astype(dtype))
    state = linear.init(actions, 4.0)
    np.testing.assert_array_equal(linear.mean(state, actions), 0)
    np.testing.assert_allclose(linear.var(state, actions), np.sum(actions**2, axis=0) / 4, rtol=TOLERANCE[dtype])
    assert float(linear.log_det(state)) == 0


def test_lanes_are_independent_trials(rng):
    trials = [oracles.trial(rng)[:2] for _ in range(3)]
    together, actions = jax.tree.map(lambda *leaves: jnp.stack(leaves, -1), *trials)
    played, reward, rho2 = jnp.asarray([2, 0, 7]), jnp.asarray([0.3, -1.0, 2.0]), jnp.asarray([0.1, 0.5, 1.0])
    update = jax.jit(linear.update)
    after = update(together, linear.at(actions, played), reward, rho2)
    for lane, (state, own) in enumerate(trials):
        alone = update(state, linear.at(own, played[lane]), reward[lane], rho2[lane])
        for moment in (linear.mean, linear.var):
            np.testing.assert_allclose(moment(after, actions)[..., lane], moment(alone, own), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(linear.log_det(after)[lane], linear.log_det(alone), rtol=1e-6, atol=1e-6)


ACTIONS = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, (3, 5)).astype(np.float32))
OBSERVATION = st.tuples(st.integers(0, 4), st.floats(-2, 2, width=32), st.sampled_from([0.1, 0.5, 1.0]))


@given(st.lists(OBSERVATION, min_size=8, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(observations, random):
    shuffled = random.sample(observations, len(observations))
    one, other = (_observed(*map(np.asarray, zip(*seen, strict=True))) for seen in (observations, shuffled))
    np.testing.assert_allclose(linear.var(one, ACTIONS), linear.var(other, ACTIONS), rtol=1e-4)
    np.testing.assert_allclose(linear.mean(one, ACTIONS), linear.mean(other, ACTIONS), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(linear.log_det(one), linear.log_det(other), rtol=1e-5)


@jax.jit
def _observed(played, rewards, rho):
    def step(state, seen):
        return linear.update(state, linear.at(ACTIONS, seen[0]), seen[1], seen[2] ** 2), None

    seen = played, rewards.astype(jnp.float32), rho.astype(jnp.float32)
    return lax.scan(step, linear.init(ACTIONS, 1.0), seen)[0]


def test_a_variance_is_never_negative(rng):
    """Ten thousand nearly noiseless rewards of two nearly parallel actions leave no variance, and no less."""
    actions = jnp.asarray([[1.0, 1.0, 0.0], [0.0, 1e-4, 0.0]], jnp.float32)
    played = jnp.asarray(rng.integers(0, 2, 10_000), jnp.int32)

    def step(state, action):
        state = linear.update(state, linear.at(actions, action), jnp.float32(0), jnp.float32(1e-8))
        return state, linear.var(state, actions)

    variances = np.asarray(jax.jit(lambda: lax.scan(step, linear.init(actions, 1.0), played))()[1])
    assert np.all(np.isfinite(variances) & (variances >= 0))
    np.testing.assert_array_equal(variances[:, 2], 0)  # the zero vector
    assert variances[-1, 0] < 1e-8


def test_samples_have_the_posterior_mean_and_covariance(dtype, rng):
    state, actions, _, truth = oracles.trial(rng, 3, 3)
    count, scale = 20_000, 1.7
    lanes = oracles.spread((state, actions), count)
    draw = np.asarray(jax.jit(linear.sample)(*lanes, oracles.streams(rng, count), scale), float)
    root = np.linalg.cholesky(oracles.covariance(truth.precision, actions))
    white = np.linalg.solve(root, draw - (truth.theta @ actions)[:, None]) / scale  # standard normal, if right
    assert stats.chi2.sf(count * np.sum(white.mean(axis=1) ** 2), 3) > FALSE_ALARM
    assert min(stats.kstest(row, stats.norm.cdf).pvalue for row in white) > FALSE_ALARM / 3
    correlation = np.corrcoef(white)[np.triu_indices(3, 1)] * np.sqrt(count)
    assert np.max(np.abs(correlation)) < stats.norm.isf(FALSE_ALARM / 6)


def test_a_hundred_thousand_steps_do_not_drift_in_float32(rng):
    """Lanes: nine pulls in ten on one action, and that action alone after 500 steps; ρ of 1, 0.1 and 0.01."""
    dim, actions, steps = 20, 30, 100_000
    features = rng.normal(size=(dim, actions)).astype(np.float32)
    features /= np.linalg.norm(features, axis=0)
    explored = rng.integers(0, actions, steps)
    mostly = np.where(rng.random(steps) < 0.9, 0, explored)
    alone = np.where(np.arange(steps) < 500, explored, 0)
    played = np.stack([mostly, alone] * 3, axis=1).astype(np.int32)
    rho = np.repeat(np.float32([1, 0.1, 0.01]), 2)
    mean = rng.normal(size=dim) @ features / np.sqrt(dim)
    rewards = (mean[played] + rho * rng.normal(size=played.shape)).astype(np.float32)

    @partial(jax.jit, compiler_options=compiler.options("cpu"))
    def run(played, rewards):  # compiled as tiles are, six times as fast
        def step(state, seen):
            return linear.update(state, linear.at(actions, seen[0]), seen[1], jnp.asarray(rho) ** 2), None

        actions = oracles.spread(jnp.asarray(features), 6)
        start = linear.init(actions, 1.0)
        state = lax.scan(step, start, (played, rewards))[0]
        return linear.mean(state, actions), linear.var(state, actions), linear.log_det(state)

    means, variances, log_dets = run(played, rewards)
    for lane in range(6):
        truth = oracles.posterior(features, played[:, lane], rewards[:, lane], float(rho[lane]), 1.0)
        exact = np.diag(oracles.covariance(truth.precision, features))
        np.testing.assert_allclose(variances[:, lane], exact, rtol=1e-4)
        np.testing.assert_allclose(log_dets[lane], truth.log_det, rtol=1e-6)
        # the estimate is off by a small part of its own uncertainty, or by a few roundings of the mean
        error = np.abs(means[:, lane] - truth.theta @ features)
        assert np.all(error < 0.01 * np.sqrt(exact) + 1e-6)
