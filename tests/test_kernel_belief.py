"""The kernel belief on points: the direct formulas, other libraries, ill-conditioned kernels, and joint samples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as theirs
from tinygp import GaussianProcess

from jaxids import beliefs, draws, kernels, policies, problems, simulate
from jaxids.beliefs import kernel as belief

FALSE_ALARM = 1e-6


def direct(gram, rho, played, rewards, lam):
    """Mean, covariance and log determinant by the paper's formulas, in double precision, from all observations."""
    k_t = gram[:, played]
    noisy = gram[np.ix_(played, played)] + lam * np.diag(rho[played] ** 2)
    cov = (gram - k_t @ np.linalg.solve(noisy, k_t.T)) / lam
    log_det = np.linalg.slogdet(np.eye(len(played)) + gram[np.ix_(played, played)] / lam / rho[played] ** 2)[1]
    return k_t @ np.linalg.solve(noisy, rewards), cov, log_det


def folded(problem, played, rewards, lam):
    """The state after observations, one at a time."""
    instance = problem.instance

    def step(state, observed):
        return belief.update(state, *observed, instance.rho[observed[0]] ** 2), None

    state = belief.init(instance.features, lam)
    return jax.lax.scan(step, state, (jnp.asarray(played), jnp.asarray(rewards, instance.mean.dtype)))[0]


def covariance(state):
    return np.stack([belief.cov_with(state, None, jnp.asarray(k)) for k in range(state.root.shape[1])])


@pytest.mark.parametrize("lam", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(
    "kernel", [kernels.rbf(0.2), kernels.matern12(0.3), kernels.linear() + 0.1, kernels.polynomial(2)]
)
def test_the_posterior_is_the_paper_s(kernel, lam, dtype, rng):
    points, rho = rng.uniform(-1, 1, (12, 2)), rng.uniform(0.2, 1.0, 12)
    problem = problems.rkhs(points, np.zeros(12), rho, kernel)
    played, rewards = rng.integers(0, 12, 60), rng.normal(size=60)
    state = folded(problem, played, rewards, lam)
    with jax.enable_x64(True):
        gram = np.asarray(kernels.gram(kernel, jnp.asarray(points)))
    mean, cov, log_det = direct(gram, rho, played, rewards, lam)
    tolerance = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 2e-4, "atol": 2e-5}
    assert np.allclose(belief.mean(state), mean, **tolerance)
    assert np.allclose(belief.var(state), np.diag(cov), **tolerance)
    assert np.allclose(covariance(state), cov, **tolerance)
    assert np.allclose(belief.log_det(state), log_det, **tolerance)
    assert belief.mean(state).dtype == belief.var(state).dtype == dtype


def test_the_posterior_is_that_of_scikit_learn_and_tinygp(x64, rng):
    """With noise of its own for every observation; with λ = 1 the paper's posterior is the Gaussian process's."""
    points, rho = rng.uniform(0, 1, (9, 2)), rng.uniform(0.1, 0.5, 9)
    played, rewards = rng.integers(0, 9, 40), rng.normal(size=40)
    state = folded(problems.rkhs(points, np.zeros(9), rho, kernels.matern52(0.4)), played, rewards, 1.0)
    model = GaussianProcessRegressor(theirs.Matern(0.4, nu=2.5), alpha=rho[played] ** 2, optimizer=None)
    mean, cov = model.fit(points[played], rewards).predict(points, return_cov=True)
    assert np.allclose(belief.mean(state), mean, atol=1e-8)
    assert np.allclose(covariance(state), cov, atol=1e-8)
    ours = problems.rkhs(points, np.zeros(9), rho, kernels.rbf(0.4))
    process = GaussianProcess(_tinygp_rbf(0.4), jnp.asarray(points[played]), diag=jnp.asarray(rho[played] ** 2))
    there = process.condition(jnp.asarray(rewards), jnp.asarray(points)).gp
    state = folded(ours, played, rewards, 1.0)
    assert np.allclose(belief.mean(state), there.loc, atol=1e-8)
    assert np.allclose(belief.var(state), there.variance, atol=1e-8)


def _tinygp_rbf(scale):
    from tinygp import kernels as tinygp_kernels

    return tinygp_kernels.ExpSquared(scale)


POINTS = {
    "grid": np.linspace(0, 1, 60)[:, None],
    "duplicates": np.repeat(np.linspace(0, 1, 20), 3)[:, None],
}


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("kernel", [kernels.rbf(0.2), kernels.rbf(1e-4), kernels.matern12(0.2), kernels.rbf(10.0)])
@pytest.mark.parametrize("spread", ["1e-3 to 1e3", "1e-3"])
def test_single_precision_bears_ill_conditioned_kernels(points, kernel, spread, rng):
    """3000 steps, most on one point, against float64: variances within 0.1 %, means within 1e-4 of the prior's."""
    x = POINTS[points]
    rho = rng.permutation(np.logspace(-3, 3, 60)) if spread == "1e-3 to 1e3" else np.full(60, 1e-3)
    played = np.where(rng.random(3000) < 0.8, rng.integers(60), rng.integers(0, 60, 3000))
    rewards = np.sin(5 * x[played, 0]) + rho[played] * rng.normal(size=3000)
    problem = problems.rkhs(x, np.zeros(60), rho, kernel)
    found = jax.jit(lambda: folded(problem, played, rewards, 1.0))()
    with jax.enable_x64(True):
        features = np.asarray(problems.rkhs(x, np.zeros(60), rho, kernel).instance.features)
    weight = np.bincount(played, 1 / rho[played] ** 2, 60)
    precision = np.eye(len(features)) + (features * weight) @ features.T
    solved = np.linalg.solve(precision, features)
    var = np.sum(features * solved, axis=0)
    mean = solved.T @ (features @ np.bincount(played, rewards / rho[played] ** 2, 60))
    assert np.all(np.isfinite(belief.mean(found)))
    assert np.all(np.asarray(belief.var(found)) >= 0)
    assert np.allclose(belief.var(found), var, rtol=1e-3, atol=0)
    assert np.allclose(belief.mean(found), mean, rtol=0, atol=1e-4)


def test_joint_samples_have_the_posterior_s_moments(rng):
    """4000 joint draws with a singular covariance (K > d): means and covariances, each by a z-test.

    False alarms: 1e-6 for all together, by Bonferroni.
    """
    points, rho = rng.uniform(-1, 1, (8, 2)), np.full(8, 0.5)
    played, rewards = rng.integers(0, 8, 5), rng.normal(size=5)
    state = folded(problems.rkhs(points, np.zeros(8), rho, kernels.linear()), played, rewards, 1.0)
    assert state.root.shape == (2, 8)
    count = 4000
    words = jax.vmap(draws.stream, out_axes=-1)(jax.random.split(jax.random.key(3), count))
    lanes = jax.tree.map(lambda leaf: jnp.repeat(leaf[..., None], count, -1), state)
    sample = np.asarray(belief.sample(lanes, None, draws.Stream(words, jnp.uint32(1))), float)
    cov, mean = covariance(state), np.asarray(belief.mean(state))
    sd = np.sqrt(np.diag(cov))
    scores = (sample.mean(axis=1) - mean) / sd * np.sqrt(count)
    spread = np.sqrt((np.outer(sd**2, sd**2) + cov**2) / count)
    pairs = (np.cov(sample) - cov) / spread
    most = stats.norm.isf(FALSE_ALARM / 2 / (8 + 64))
    assert np.max(np.abs(scores)) < most
    assert np.max(np.abs(pairs)) < most
    assert np.allclose(belief.sample(lanes, None, draws.Stream(words, jnp.uint32(1)), 0.0), mean[:, None])


def linear_pair(rng, actions=9, dim=3):
    points, theta = rng.uniform(-1, 1, (actions, dim)), rng.normal(size=dim)
    theta /= np.linalg.norm(theta)
    rho = rng.uniform(0.2, 0.8, actions)
    kernel = problems.rkhs(points, points @ theta, rho, kernels.linear())
    return problems.linear(points, theta, rho), kernel


@pytest.mark.parametrize(
    "name",
    [
        "IDS-UCB",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("UCB", "W-UCB", "IDS-F", "DIDS-F", "DIDS-UCB")),
    ],
)
def test_a_linear_kernel_takes_the_actions_of_the_linear_belief(name, x64, rng):
    on_features, on_points = linear_pair(rng)
    assert on_points.belief is beliefs.kernel
    taken = [
        simulate(
            problem,
            policies.PAPER[name],
            key=jax.random.key(2),
            trials=64,
            steps=300,
            at=range(1, 301),
            record=lambda step: step.choice.action,
        ).recorded
        for problem in (on_features, on_points)
    ]
    assert np.array_equal(*taken)


@pytest.mark.parametrize(
    "name",
    [
        "W-TS",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("TS", "FW-TS", "IDS-TS", "DIDS-TS", "IDS-E", "DIDS-E")
        ),
    ],
)
def test_with_a_linear_kernel_thompson_sampling_agrees_in_distribution(name, rng):
    """Final regrets of 1024 trials by a Kolmogorov–Smirnov test; false alarms 1e-6 for each policy."""
    finals = [
        simulate(problem, policies.PAPER[name], key=jax.random.key(i), trials=1024, steps=200, at=[200]).final
        for i, problem in enumerate(linear_pair(rng))
    ]
    assert stats.ks_2samp(*finals).pvalue > FALSE_ALARM


@pytest.mark.parametrize("kernel", [kernels.rbf(0.2), pytest.param(kernels.matern32(0.3), marks=pytest.mark.slow)])
def test_the_band_covers_functions_of_known_norm(kernel):
    """β_t of the RKHS lemma: f leaves the band in at most a share δ of the trials at any of the steps.

    The lemma bounds the chance by δ = 0.1; more than 0.1 + 5 √(0.09/1000) of 1000 trials has probability below 1e-6.
    """
    problem = problems.expansions(np.linspace(0, 1, 40)[:, None], kernel, lambda x: 0.1 + 0.4 * x[0], norm=2.0)
    policy = policies.ids(lambda band, _: jnp.log1p(band.var / band.rho**2), delta=0.1, norm_bound=2.0)

    def outside(step):
        band = step.band
        return jnp.any(jnp.abs(band.mean - step.instance.mean) > band.radius * (1 + 1e-5), axis=0).astype(jnp.int32)

    total = simulate(problem, policy, key=jax.random.key(0), trials=1000, steps=200, total=outside).totals
    assert np.mean(total > 0) < 0.1 + 5 * np.sqrt(0.09 / 1000)


def test_norms_are_those_asked_for(x64):
    points = np.linspace(0, 1, 30)[:, None]
    problem = problems.expansions(points, kernels.matern32(0.3), 0.5, norm=3.0, centres=5)
    instance = problem.draw(jax.random.key(4))
    fixed = problems.rkhs(points, np.asarray(instance.mean), 0.5, kernels.matern32(0.3))
    assert problems.norm(fixed) == pytest.approx(3.0, rel=1e-6)


def test_samples_of_the_process_have_its_covariance():
    """4000 functions; false alarms 1e-6 for all entries together."""
    points = np.linspace(0, 1, 6)[:, None]
    problem = problems.gp(points, kernels.rbf(0.3), 0.5)
    draw = jax.vmap(lambda key: problem.draw(key).mean)
    values = np.asarray(draw(jax.random.split(jax.random.key(0), 4000)), float)
    gram = np.asarray(kernels.gram(kernels.rbf(0.3), jnp.asarray(points)), float)
    scores = (values.T @ values / 4000 - gram) / np.sqrt((1 + gram**2) / 4000)
    assert np.max(np.abs(scores)) < stats.norm.isf(FALSE_ALARM / 2 / 36)


GOOD = {"points": np.linspace(0, 1, 5)[:, None], "values": np.zeros(5), "rho": 0.5, "kernel": kernels.rbf(0.3)}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"kernel": lambda x, y: x * y},
            r"kernel: got one that returns shape \[1\]; it takes a function of two points",
        ),
        ({"kernel": lambda x, y: x[0] - y[0]}, "kernel: got one that is not symmetric"),
        ({"kernel": lambda x, y: -jnp.exp(-((x[0] - y[0]) ** 2))}, "kernel: got one with eigenvalue"),
        ({"kernel": lambda x, y: jnp.nan * x[0]}, "kernel: got nan"),
        ({"kernel": lambda x, y: 0 * x[0]}, "kernel: got one with eigenvalue 0"),
        ({"kernel": 7j}, "kernel: got 7j; it takes a function"),
        ({"points": [0.0, 1.0]}, r"points: got shape \[2\]; it takes an array of shape \[K, p\]"),
        ({"points": [[np.nan]] * 5}, "points: got nan"),
        ({"values": np.zeros(4)}, r"values: got shape \[4\]; it takes an array of shape \[5\]"),
        ({"values": [0, 0, 0, 0, np.inf]}, "values: got inf"),
        ({"rho": 0.0}, "rho: got 0; it takes numbers > 0"),
        ({"rho": lambda x: x[0]}, "rho: got 0; it takes numbers > 0"),
        ({"rho": np.ones(3)}, r"rho: got shape \[3\]"),
        ({"rho_bound": 0.1}, r"rho_bound: got 0\.1; it takes a number ≥ max\(rho\) = 0\.5"),
    ],
)
def test_bad_problems_are_refused(changed, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        problems.rkhs(**(GOOD | changed))


def test_more_centres_than_points_are_refused():
    with pytest.raises(ValueError, match=r"^centres: got 9; it takes at most the 5 points"):
        problems.expansions(GOOD["points"], GOOD["kernel"], 0.5, centres=9)
    with pytest.raises(ValueError, match=r"^norm: got 0; it takes a number > 0"):
        problems.expansions(GOOD["points"], GOOD["kernel"], 0.5, norm=0.0)


@pytest.mark.parametrize(("steps", "bound"), [(1000, 1e-5), (10**4, 2e-4), (10**5, 2e-3), (10**6, 1e-2)])
def test_variances_drift_no_further_than_said(steps, bound):
    """One point is observed over and over, in single precision."""
    sites = np.array([0.1, 0.3, 0.5, 0.55, 0.9])
    gram = np.exp(-0.5 * ((sites[:, None] - sites) / 0.2) ** 2)
    state = belief.init(jnp.asarray(np.linalg.cholesky(gram).T, jnp.float32), 1.0)
    seen = jnp.int32(1), jnp.float32(0), jnp.float32(0.25)
    state = jax.jit(lambda s: jax.lax.fori_loop(0, steps, lambda _, s: belief.update(s, *seen), s))(state)
    expected = 1 - gram[1] ** 2 / (1 + 0.25 / steps)
    assert np.max(np.abs(np.asarray(belief.var(state), float) / expected - 1)) < bound
