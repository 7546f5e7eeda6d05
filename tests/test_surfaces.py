"""Surfaces: the beliefs' own moments at any point, draws with the posterior's covariance, and data that cannot be.

False alarms: covariances of draws are compared at 5 standard errors in 36 places: 2e-5.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import beliefs, continuous, domains, draws, kernels, problems
from jaxids.beliefs import history

BOX = domains.box([0.0, 0.0], [1.0, 1.0])


def rho(x):
    return 0.1 + 0.2 * jnp.sum(x)


def fitted(rng, count=20, lam=1.0, capacity=None, kernel=None):
    points, rewards = rng.random((count, 2)), rng.normal(size=count)
    bounds = np.asarray(jax.vmap(rho)(jnp.asarray(points)))
    kernel = kernel or kernels.matern52(0.4)
    return continuous.fit(BOX, kernel, points, rewards, bounds, lam=lam, capacity=capacity)


@pytest.mark.parametrize("lam", [0.5, 2.0])
@pytest.mark.parametrize("capacity", [None, 33])
def test_a_surface_is_its_history(lam, capacity, dtype, rng):
    state = fitted(rng, lam=lam, capacity=capacity)
    surface = continuous.of_history(state, 3.0, rho)
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    points = jnp.asarray(rng.random((5, 2)), dtype)
    cov = surface.cov_with(points)
    for x in points:
        assert np.allclose(surface.mean(x), history.mean(state, x), **close)
        assert np.allclose(surface.var(x), history.var(state, x), **close)
        assert np.allclose(cov(x), [history.cov(state, y, x) for y in points], **close)
        assert np.allclose(surface.upper(x), surface.mean(x) + 3 * jnp.sqrt(surface.var(x)), **close)


@pytest.mark.parametrize("bound", [1e-3, 1e3])
def test_single_precision_bears_repeated_points_and_extreme_noise(bound, rng):
    points = rng.random((8, 2))[rng.integers(0, 8, 60)]
    state = continuous.fit(BOX, kernels.rbf(0.5), points, np.sin(points[:, 0]), bound)
    surface, queries = continuous.of_history(state, 1.0, rho), jnp.asarray(rng.random((20, 2)), jnp.float32)
    var = jax.vmap(surface.var)(queries)
    assert np.all(np.isfinite(jax.vmap(surface.mean)(queries)))
    assert np.all(np.asarray(var) >= 0)
    assert np.allclose(var, jax.vmap(lambda x: history.var(state, x))(queries), atol=1e-3)


@pytest.mark.parametrize(("count", "bound"), [(60, 1e-3), (300, 1e-3), (300, 1e-2)])
def test_single_precision_bears_clustered_points_of_little_noise(count, bound, rng):
    """Finite, the mean within a tenth of float64's deviation and the deviation within 0.2 % of the prior's.

    Both with ρ as no less than what single precision can tell, as the belief has it.
    """
    points = np.clip(0.5 + 0.05 * rng.normal(size=(count, 2)), 0, 1)
    rewards, floor = np.sin(5 * points[:, 0]), np.sqrt(count * np.finfo(np.float32).eps)
    queries = rng.random((20, 2))

    def predicted():
        state = continuous.fit(BOX, kernels.rbf(0.3), points, rewards, max(bound, floor))
        surface, at = continuous.of_history(state, 1.0, rho), jnp.asarray(queries, jnp.result_type(float))
        return np.asarray(jax.vmap(surface.mean)(at)), np.sqrt(np.asarray(jax.vmap(surface.var)(at)))

    state = continuous.fit(BOX, kernels.rbf(0.3), points, rewards, bound)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(state))
    found = predicted()
    with jax.enable_x64(True):
        exact = predicted()
    assert np.max(np.abs(found[0] - exact[0]) / exact[1]) < 0.1
    assert np.allclose(found[1], exact[1], rtol=0, atol=2e-3)


def linear_state(rng):
    points, state = rng.normal(size=(12, 2)), beliefs.linear.init(jnp.zeros((2, 1)), 0.5)
    for x in points:
        one = state._replace(actions=jnp.asarray(x, state.theta.value.dtype)[:, None])
        state = beliefs.linear.update(one, jnp.int32(0), jnp.asarray(x.sum(), one.actions.dtype), jnp.float32(0.3))
    return state, 0.5 * np.eye(2) + points.T @ points / 0.3


def test_a_linear_surface_is_least_squares(rng):
    state, precision = linear_state(rng)
    surface, x, y = continuous.of_linear(state, 1.0, rho), jnp.array([0.3, -0.2]), jnp.array([1.0, 0.5])
    assert np.allclose(surface.var(x), x @ np.linalg.solve(precision, x), rtol=1e-4)
    assert np.allclose(surface.cov_with(x[None])(y), x @ np.linalg.solve(precision, y), rtol=1e-4)


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_draws_have_the_posterior_s_moments_between_the_points_too(kind, rng):
    state = fitted(rng, count=6, kernel=kernels.rbf(0.4)) if kind == "kernel" else linear_state(rng)[0]
    surface = (continuous.of_history if kind == "kernel" else continuous.of_linear)(state, 1.0, rho)
    queries, count = jnp.asarray(rng.random((8, 2)), jnp.float32), 4000
    words = jax.random.bits(jax.random.key(1), (count, 2), jnp.uint32)

    def drawn(word):
        source = draws.Stream(word, jnp.uint32(0))
        return jax.vmap(surface.sample(BOX.spread(256), source, 2.0))(queries)

    found = np.asarray(jax.jit(jax.vmap(drawn))(words), float)
    cov = 4 * np.asarray(jax.vmap(surface.cov_with(queries))(queries), float)
    spread = np.sqrt(np.diag(cov))
    assert np.all(np.abs(found.mean(axis=0) - jax.vmap(surface.mean)(queries)) < 5 * spread / np.sqrt(count))
    error = np.sqrt((cov**2 + np.outer(spread, spread) ** 2) / count)
    assert np.all(np.abs(np.cov(found.T) - cov) < 5 * error + 1e-4)


def test_gains_are_those_of_the_belief_on_points(rng):
    """I^F, and I about one target or the mean about several, at the points of a finite belief with the same rewards."""
    points, played, rewards = rng.random((9, 2)), rng.integers(0, 9, 25), rng.normal(size=25)
    finite = problems.rkhs(points, np.zeros(9), rho, kernels.matern52(0.4))
    seen = jnp.asarray(played), jnp.asarray(rewards, jnp.float32), finite.instance.rho[played] ** 2
    prior = beliefs.kernel.init(finite.instance.features, 1.0)
    state = jax.lax.scan(lambda s, one: (beliefs.kernel.update(s, *one), None), prior, seen)[0]
    var, bound = np.asarray(beliefs.kernel.var(state)), np.asarray(finite.instance.rho)
    about = [
        -np.log1p(-(np.asarray(beliefs.kernel.cov_with(state, jnp.int32(k))) ** 2) / var[k] / (bound**2 + var))
        for k in (2, 5)
    ]
    fit = continuous.fit(BOX, kernels.matern52(0.4), points[played], rewards, bound[played])
    surface, at = continuous.of_history(fit, 1.0, rho), jnp.asarray(points, jnp.float32)
    assert np.allclose(jax.vmap(continuous.f(surface, at[0]))(at), np.log1p(var / bound**2), rtol=2e-3, atol=1e-4)
    assert np.allclose(jax.vmap(continuous.about_ucb(surface, at[2]))(at), about[0], rtol=2e-3, atol=1e-4)
    both = jax.vmap(continuous.about(surface, at[jnp.array([2, 5])]))(at)
    assert np.allclose(both, np.mean(about, axis=0), rtol=2e-3, atol=1e-4)


def test_a_number_serves_as_noise_and_a_key_as_a_stream(rng):
    state = continuous.fit(BOX, kernels.rbf(0.3), rng.random((5, 2)), np.ones(5), rho)
    surface = continuous.of_history(state, 2.0, 0.2)
    assert float(surface.rho(jnp.zeros(2))) == pytest.approx(0.2)
    one, other = (continuous.thompson(surface, BOX, jax.random.key(i)) for i in (1, 2))
    assert not np.array_equal(one, other)
    assert np.all((np.stack([one, other]) >= 0) & (np.stack([one, other]) <= 1))


def test_a_search_compiles_once_for_beliefs_of_one_shape(rng, caplog):
    for beta in (1.0, 2.0):
        caplog.clear()
        with jax.log_compiles(True):
            state = continuous.fit(BOX, kernels.rbf(0.1 + 0.1 * beta), rng.random((5, 2)), rng.normal(size=5), rho)
            surface = continuous.of_history(state, beta, 0.1 * beta)
            continuous.ucb(surface, BOX)
            continuous.thompson(surface, domains.box([-beta, 0.0], [1.0, 1.0]), jax.random.key(int(beta)))
        compiled = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Compiling")]
        assert bool(compiled) == (beta == 1.0), compiled


class Noise:
    """Noise of one's own, with a number that may change."""

    level = 0.1

    def __call__(self, x):
        return self.level + 0.1 * x[0]

    def bound(self, x):
        return self(x)


def test_a_search_sees_a_noise_function_as_it_is_now(rng):
    state, noise = fitted(rng, count=5), Noise()
    before = [continuous.dids(continuous.of_history(state, 2.0, rho), BOX).value for rho in (noise, noise.bound)]
    noise.level = 3.0
    after = [continuous.dids(continuous.of_history(state, 2.0, rho), BOX).value for rho in (noise, noise.bound)]
    fresh = continuous.dids(continuous.of_history(state, 2.0, lambda x: 3.0 + 0.1 * x[0]), BOX).value
    assert np.allclose(after, fresh, rtol=1e-5)
    assert np.all(np.array(before) < 0.5 * fresh)


def test_a_surface_of_own_functions_serves():
    noise, seen = jnp.full(2, 0.5), jnp.zeros((1, 2))
    own = continuous.Surface(
        lambda x: -jnp.sum((x - 0.3) ** 2),
        lambda x: jnp.sum(noise),
        lambda points: lambda x: points @ x,
        seen,
        jnp.sum,
        0.0,
        rho,
    )
    assert np.allclose(continuous.ucb(own, BOX), 0.3, atol=1e-3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: continuous.of_history(s, float("nan"), 0.1), "beta: got nan"),
        (lambda s: continuous.of_history(s, -1.0, 0.1), "beta: got -1; it takes a number ≥ 0"),
        (lambda s: continuous.of_history(s, 1.0, 0.0), "rho: got 0; it takes a number > 0"),
        (lambda s: continuous.ucb(s, BOX), "surface: got State.*; it takes a Surface"),
        (lambda s: continuous.ids(continuous.of_history(s, 1.0, 0.1), 3), "domain: got 3"),
        (lambda s: continuous.ids(continuous.of_history(s, 1.0, lambda x: x[0] - 0.5), BOX), "rho: got -0"),
        (lambda s: continuous.ucb(continuous.of_history(s, 1.0, 0.1), domains.ball([0.0])), "domain: got one of dim"),
        (lambda s: history.update(s, jnp.zeros(2), jnp.array(1.0), jnp.array(0.0)), "rho2: got 0; it takes a number"),
        (lambda s: history.update(s, jnp.zeros(2), jnp.array(jnp.nan), jnp.array(0.1)), "reward: got nan"),
    ],
)
def test_surfaces_that_cannot_be_are_refused(call, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        call(history.init(kernels.rbf(0.3), 2, 4))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"points": [[0.5, 1.5]]},
            r"points: got \[0.5, 1.5\] at 0, outside; it takes points from \[0, 0",
        ),
        ({"points": [[0.5]]}, r"points: got shape \[1, 1\]; it takes an array of shape \[n, 2\]"),
        ({"points": [[0.5, np.nan]]}, "points: got nan"),
        ({"rewards": [1.0, 2.0]}, r"rewards: got shape \[2\]; it takes an array of shape \[1\]"),
        ({"rewards": [np.inf]}, "rewards: got inf"),
        ({"rho": 0.0}, "rho: got 0; it takes numbers > 0"),
        ({"rho": [0.1, 0.2]}, r"rho: got shape \[2\]"),
        ({"rho": [-0.1]}, "rho: got -0.1; it takes numbers > 0"),
        ({"kernel": "x"}, "kernel: got 'x'"),
        ({"kernel": lambda x, y: x}, r"kernel: got one that returns shape \[2\]"),
        ({"kernel": lambda x: x}, "kernel: got .*, which fails: .*argument"),
        ({"kernel": kernels.rbf}, "kernel: got .*, which fails"),
        ({"kernel": lambda x, y: -jnp.dot(x, y)}, "kernel: got one with eigenvalue -"),
        ({"kernel": kernels.rbf([1.0, 2.0, 3.0])}, r"scale: got shape \[3\]; it takes one number, or 2"),
        ({"lam": 0.0}, "lam: got 0"),
        ({"domain": [0, 1]}, r"domain: got \[0, 1\]; it takes domains.box or domains.ball"),
        ({"capacity": 0}, "capacity: got 0"),
    ],
)
def test_data_that_cannot_be_are_refused(change, said):
    given = {"kernel": kernels.rbf(0.3), "points": [[0.5, 0.5]], "rewards": [1.0], "rho": 0.1} | change
    with pytest.raises(ValueError, match=rf"^{said}"):
        continuous.fit(given.pop("domain", BOX), **given)
