"""The kernel belief on a continuous domain against the direct formulas, and what happens when its history is full."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import kernels
from jaxids.beliefs import history

KERNELS = [kernels.rbf(0.3), kernels.matern52(0.4), kernels.matern12(0.2) + 0.5]


def observed(rng, count, dim=2):
    return rng.random((count, dim)), rng.normal(size=count), rng.uniform(0.1, 0.6, count)


def folded(kernel, points, rewards, rho, capacity, lam=1.0):
    def step(state, seen):
        return history.update(state, history.look(state, seen[0]), *seen[1:]), None

    start = history.init(kernel, points.shape[1], capacity, lam)
    seen = tuple(jnp.asarray(part, jnp.result_type(float)) for part in (points, rewards, rho**2))
    return jax.jit(lambda: jax.lax.scan(step, start, seen)[0])()


def direct(kernel, points, rewards, rho, queries, lam):
    """Mean, covariance at the queries, and log determinant, by the paper's formulas in double precision."""
    with jax.enable_x64(True):
        gram, cross, own = (
            np.asarray(kernels.gram(kernel, jnp.asarray(a), jnp.asarray(b)))
            for a, b in ((points, points), (queries, points), (queries, queries))
        )
    noisy = gram + lam * np.diag(rho**2)
    cov = (own - cross @ np.linalg.solve(noisy, cross.T)) / lam
    log_det = np.linalg.slogdet(np.eye(len(rho)) + gram / lam / rho[:, None] ** 2)[1]
    return cross @ np.linalg.solve(noisy, rewards), cov, log_det


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lam", at_scale([0.5, 2.0], [0.5]))
def test_the_posterior_is_the_paper_s_with_room_to_spare(kernel, lam, dtype, rng):
    points, rewards, rho = observed(rng, 25)
    queries = rng.random((6, 2))
    state = folded(kernel, points, rewards, rho, capacity=40, lam=lam)
    mean, cov, log_det = direct(kernel, points, rewards, rho, queries, lam)
    close = {"rtol": 1e-8, "atol": 1e-8} if dtype == np.float64 else {"rtol": 1e-3, "atol": 2e-4}
    asked = jnp.asarray(queries, dtype).T
    assert np.allclose(history.mean(state, asked), mean, **close)
    assert np.allclose(history.cov(state, asked, asked), cov, **close)
    assert np.allclose(history.var(state, asked), np.diag(cov), **close)
    one = history.look(state, asked[:, 2])
    assert np.allclose(history.cov_with(state, asked, one), cov[2], **close)
    assert np.allclose(history.var_of(state, one), cov[2, 2], **close)
    assert np.allclose(history.log_det(state), log_det, **close)
    assert state.inverse.dtype == dtype


def test_when_full_the_first_observations_stay(x64, rng):
    points, rewards, rho = observed(rng, 30)
    kernel = KERNELS[0]
    state = folded(kernel, points, rewards, rho, capacity=12)
    first = folded(kernel, points[:12], rewards[:12], rho[:12], capacity=12)
    assert bool(history.full(state))
    assert int(state.filled) == 12
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(first), strict=True):
        assert np.array_equal(one, other)


def test_no_observation_is_the_prior():
    state = history.init(KERNELS[1], 2, 5, lam=4.0)
    x = jnp.array([[0.3], [0.2]])
    assert history.mean(state, x)[0] == 0
    assert history.var(state, x)[0] == pytest.approx(0.25)
    assert not bool(history.full(state))


@pytest.mark.parametrize("rho", [1e-3, 1e3])
@pytest.mark.parametrize("kernel", [kernels.rbf(1e-3), kernels.rbf(5.0), kernels.matern12(0.2)])
def test_single_precision_bears_repeated_points_and_extreme_noise(kernel, rho, rng):
    """80 observations at 8 points: finite, variances not negative, within 1e-3 of double precision's."""
    points = rng.random((8, 1))[rng.integers(0, 8, 80)]
    rewards, bounds = np.sin(5 * points[:, 0]) + rho * rng.normal(size=80), np.full(80, rho)
    state = folded(kernel, points, rewards, bounds, capacity=80)
    queries = np.concatenate([points[:8], rng.random((8, 1))])
    _, cov, _ = direct(kernel, points, rewards, bounds, queries, 1.0)
    found = history.var(state, jnp.asarray(queries, jnp.float32).T)
    assert np.all(np.isfinite(found))
    assert np.all(np.asarray(found) >= 0)
    assert np.allclose(found, np.diag(cov), atol=1e-3)


def test_predictions_have_derivatives(x64, rng):
    points, rewards, rho = observed(rng, 10)
    state = folded(KERNELS[0], points, rewards, rho, capacity=16)
    x, eps = jnp.array([0.4, 0.6]), 1e-6
    for moment in (history.mean, history.var):

        def at(x, moment=moment):
            return moment(state, x[:, None])[0]

        slope = jax.grad(at)(x)
        finite = [(at(x + eps * e) - at(x - eps * e)) / (2 * eps) for e in jnp.eye(2)]
        assert np.allclose(slope, finite, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((kernels.rbf(1.0), 0, 5), "dim: got 0"),
        ((kernels.rbf(1.0), 1, 0), "capacity: got 0"),
        (("x", 1, 5), "kernel: got 'x'"),
    ],
)
def test_bad_histories_are_refused(arguments, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        history.init(*arguments)


@pytest.mark.parametrize(
    ("name", "bad"),
    [("state", None), ("point", [0.5]), ("point", "a"), ("point", np.ones((1, 2))), ("reward", [1.0]), ("rho2", 0)],
)
def test_a_bad_observation_is_refused(name, bad):
    good = {"state": history.init(kernels.rbf(1.0), 2, 3), "point": np.ones(2), "reward": 1, "rho2": 2**31}

    def update(state, point, reward, rho2):  # the tests' check of types would be quicker
        seen = inspect.unwrap(history.look)(state, point)
        return inspect.unwrap(history.update)(state, seen, reward, rho2)

    assert np.isfinite(update(**good).innovations[0])
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
        update(**good | {name: bad})


def test_variances_at_points_seen_often_are_exact_to_rounding_of_the_prior_s():
    """800 rewards at five points: in single precision off by at most 30 ε of the prior's variance, 1."""
    sites = np.array([0.1, 0.3, 0.5, 0.55, 0.9], np.float32)
    played, asked = np.random.default_rng(0).integers(0, 5, 800), np.concatenate([sites, np.linspace(0, 1, 21)])
    state, rho2 = history.init(kernels.rbf(0.2), 1, 800), np.float32(0.02) ** 2

    def step(state, x):
        return history.update(state, history.look(state, x), jnp.float32(0), jnp.float32(rho2)), None

    state = jax.jit(lambda s: jax.lax.scan(step, s, jnp.asarray(sites[played, None]))[0])(state)
    found = np.asarray(history.var(state, jnp.asarray(asked[None], jnp.float32)), float)
    gram = np.exp(-0.5 * ((np.asarray(asked, np.float32).astype(float)[:, None] - sites.astype(float)) / 0.2) ** 2)
    noisy = gram[:5] + np.diag(float(rho2) / np.bincount(played))  # the means at the points say as much
    expected = 1 - np.sum(gram * np.linalg.solve(noisy, gram.T).T, axis=1)
    assert np.max(np.abs(found - expected)) < 30 * np.finfo(np.float32).eps
    assert np.max(expected[:5]) < 3e-6
