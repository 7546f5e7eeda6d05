"""Problems: shapes, laws of what they draw, noise that is exactly 1-subgaussian, and errors that name the argument.

False alarms: every statistical assertion has a fixed seed and would fail a correct library with probability < 1e-5.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from jaxids import draws, policies, problems, simulate

ACTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, -0.3]])
THETA = np.array([0.5, 0.8])
RHO = np.array([0.2, 0.7, 0.4])
ALARM = 1e-6  # of one Kolmogorov–Smirnov test
SIGMAS = 5.0  # 6e-7 on both sides


def drawn(problem, count, seed=0):
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(problem.draw))(jax.random.split(jax.random.key(seed), count)))


def is_uniform(sample, low, high):
    return stats.kstest(np.asarray(sample, float).ravel(), stats.uniform(low, high - low).cdf).pvalue > ALARM


def test_linear_transposes_and_bounds():
    instance = problems.linear(ACTIONS, THETA, RHO).instance
    dtype = jnp.result_type(float)
    assert [leaf.dtype for leaf in instance] == [dtype] * 4
    np.testing.assert_array_equal(instance.features, ACTIONS.T.astype(dtype))
    np.testing.assert_allclose(instance.mean, [0.5, 0.8, 0.06], rtol=1e-6)
    np.testing.assert_array_equal(instance.rho, RHO.astype(dtype))
    assert instance.rho_bound == np.asarray(0.7, dtype)
    assert instance.rho_bound.shape == ()


def test_linear_takes_a_bound_and_one_rho():
    instance = problems.linear(ACTIONS.tolist(), THETA, 0.3, rho_bound=2).instance
    assert instance.rho_bound == 2
    np.testing.assert_array_equal(instance.rho, np.full(3, 0.3, instance.rho.dtype))


def test_fixed_ignores_the_key_and_fresh_does_not():
    fixed, fresh = drawn(problems.linear(ACTIONS, THETA, RHO), 3), drawn(problems.unit_ball(4, 2), 3)
    for leaf in fixed:
        np.testing.assert_array_equal(leaf, np.broadcast_to(leaf[0], leaf.shape))
    for leaf in (fresh.features, fresh.mean, fresh.rho):
        assert len(np.unique(leaf)) == leaf.size
    np.testing.assert_array_equal(drawn(problems.unit_ball(4, 2), 3).features, fresh.features)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_unit_ball_radius_to_the_d_is_uniform(dim):
    radius = np.linalg.norm(drawn(problems.unit_ball(5, dim), 2000, seed=dim).features, axis=1)
    assert radius.max() <= 1 + 1e-6
    assert is_uniform(radius.astype(float) ** dim, 0, 1)


def test_unit_ball_directions_are_isotropic():
    """On the sphere of three dimensions the projection on any axis is uniform (Archimedes)."""
    features = np.moveaxis(drawn(problems.unit_ball(5, 3), 2000).features, 1, -1).reshape(-1, 3)
    direction = features / np.linalg.norm(features, axis=1, keepdims=True)
    for axis in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, -1, 0], [0, 1, -2]]:
        assert is_uniform(direction @ axis / np.linalg.norm(axis), -1, 1)
    radius = np.linalg.norm(features, axis=1)
    assert is_uniform(radius**3, 0, 1)
    assert abs(np.corrcoef(radius, direction[:, 0] ** 2)[0, 1]) < SIGMAS / np.sqrt(len(radius))


def test_unit_ball_noise_bounds_and_means():
    instance = drawn(problems.unit_ball(5, 3, rho=(0.2, 0.6), theta=[1.0, -2.0, 0.5]), 2000)
    assert is_uniform(instance.rho, 0.2, 0.6)
    np.testing.assert_array_equal(instance.rho_bound, np.full(2000, 0.6, instance.rho.dtype))
    np.testing.assert_allclose(instance.mean, np.einsum("d,ndk->nk", [1.0, -2.0, 0.5], instance.features), atol=1e-5)


def test_unit_ball_defaults_are_those_of_the_paper():
    one = drawn(problems.unit_ball(), 1)
    assert one.features.shape == (1, 3, 30)
    assert one.rho_bound[0] == 1
    np.testing.assert_allclose(one.mean[0], one.features[0].sum(axis=0) / np.sqrt(3), atol=1e-6)
    equal = drawn(problems.unit_ball(rho=0.5), 2)
    np.testing.assert_array_equal(equal.rho, np.full((2, 30), 0.5, equal.rho.dtype))


@pytest.mark.parametrize(
    "base", [problems.linear(ACTIONS, THETA, RHO), problems.unit_ball(3, 2)], ids=["fixed", "fresh"]
)
def test_low_high_copies_every_action(base):
    one, both = drawn(base, 20), drawn(problems.low_high(base, 0.3, 1.5), 20)
    for copy, rho in ((slice(0, 3), 1.5), (slice(3, 6), 0.3)):
        np.testing.assert_array_equal(both.features[..., copy], one.features)
        np.testing.assert_array_equal(both.mean[:, copy], one.mean)
        np.testing.assert_array_equal(both.rho[:, copy], np.full((20, 3), rho, both.rho.dtype))
    np.testing.assert_array_equal(both.rho_bound, np.full(20, 1.5, both.rho.dtype))


@pytest.mark.parametrize("fresh", [False, True])
def test_probes_are_scaled_basis_vectors_and_never_optimal(fresh):
    theta = np.array([0.5, -0.8])
    base = problems.unit_ball(30, 2, theta=theta) if fresh else problems.linear(ACTIONS, theta, RHO)
    one, more = drawn(base, 50), drawn(problems.probes(base, rho=1e-3, scale=0.4), 50)
    count = one.mean.shape[1]
    np.testing.assert_array_equal(more.features[..., :count], one.features)
    np.testing.assert_array_equal(more.mean[:, :count], one.mean)
    np.testing.assert_array_equal(more.rho_bound, one.rho_bound)
    np.testing.assert_array_equal(more.rho[:, count:], np.full((50, 2), 1e-3, more.rho.dtype))
    size = more.features[:, 0, count]
    assert np.all(size > 0)
    np.testing.assert_array_equal(more.features[..., count:], size[:, None, None] * np.eye(2, dtype=size.dtype))
    np.testing.assert_allclose(more.mean[:, count:], size[:, None] * theta, rtol=1e-4)
    assert np.all(more.mean[:, count:].max(axis=1) <= 0.4001 * one.mean.max(axis=1))


BASES = {  # and the one bound R for all their actions
    "fixed": (problems.linear(ACTIONS, THETA, RHO), 0.7),
    "bounded": (problems.linear(ACTIONS, THETA, RHO, rho_bound=0.9), 0.9),
    "fresh": (problems.unit_ball(4, 2, rho=(0.1, 0.3)), 0.3),
    "copies": (problems.low_high(problems.unit_ball(4, 2), 0.2, 1.1), 1.1),
    "probed": (problems.probes(problems.unit_ball(4, 2, rho=(0.1, 0.3))), 0.3),
}


@pytest.mark.parametrize(("base", "bound"), BASES.values(), ids=BASES)
def test_probes_are_no_noisier_than_the_bound_for_all(base, bound, dtype):
    instance = problems.probes(base, rho=bound).draw(jax.random.key(0))
    assert instance.rho_bound == np.asarray(bound, instance.rho.dtype)
    with pytest.raises(ValueError, match=rf"^rho: got 2; it takes a number ≤ {bound}, the base's bound for all"):
        problems.probes(base, rho=2.0)
    with pytest.raises(ValueError, match=r"^rho: got .*; it takes a number ≤ "):
        problems.probes(base, rho=1.001 * bound)


def test_probes_are_not_optimal_where_every_mean_is_negative():
    base = problems.linear(np.abs(ACTIONS) + 0.1, [-0.6, -0.8], RHO)
    instance = problems.probes(base).draw(jax.random.key(0))
    means = np.asarray(instance.mean)
    assert np.all(means[:-2] < 0)
    assert np.all(means[-2:] < means[:-2].max())
    np.testing.assert_allclose(means[-2:], np.diag(instance.features[:, -2:]) * [-0.6, -0.8], rtol=1e-5)


GENERATING = {
    problems.gaussian: lambda x: np.exp(x**2 / 2),
    problems.rademacher: np.cosh,
    problems.uniform: lambda x: np.sinh(np.sqrt(3) * x) / (np.sqrt(3) * x),
}
LAWS = {problems.gaussian: stats.norm(), problems.uniform: stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))}
kinds = pytest.mark.parametrize("kind", GENERATING, ids=lambda kind: kind.__name__)


def noise_of(kind, lanes=1000, steps=200):
    words = jax.vmap(draws.stream, out_axes=-1)(jax.random.split(jax.random.key(7), lanes))
    return np.asarray(
        jax.jit(jax.vmap(lambda t: kind(draws.Stream(words, t))))(jnp.arange(steps, dtype=jnp.uint32)), float
    )


@kinds
def test_the_stated_law_is_subgaussian_with_constant_one_and_no_less(kind):
    size = np.array([1e-3, 0.1, 0.5, 1, 2, 5, 10])
    exponent = np.log(GENERATING[kind](size)) / (size**2 / 2)
    assert np.all(exponent <= 1 + 1e-8)
    assert exponent[0] > 1 - 1e-5  # so no smaller constant would do


@kinds
def test_noise_has_the_stated_law(kind):
    noise = noise_of(kind).ravel()
    moments = [noise, noise**2] + [np.exp(size * noise) for size in (-1.0, 0.5, 1.0)]
    expected = [0, 1, *GENERATING[kind](np.array([-1.0, 0.5, 1.0]))]
    for sample, mean in zip(moments, expected, strict=True):
        assert abs(sample.mean() - mean) <= SIGMAS * sample.std() / np.sqrt(noise.size)
    if kind in LAWS:
        assert stats.kstest(noise, LAWS[kind].cdf).pvalue > ALARM
    else:
        assert set(noise) == {-1.0, 1.0}


@kinds
def test_noise_is_independent_over_trials_and_steps(kind):
    noise = noise_of(kind)
    for shifted in (noise[1:] * noise[:-1], noise[:, 1:] * noise[:, :-1]):
        assert abs(shifted.mean()) < SIGMAS / np.sqrt(shifted.size)


NAN, INF = np.nan, np.inf
BASE = problems.linear(ACTIONS, THETA, RHO)
RUN = {"key": jax.random.key(0), "trials": 2, "steps": 3}
WORDS = ["much", None]
WRONG = [  # the argument, where it goes, and what it must not be
    ("actions", lambda bad: problems.linear(bad, THETA, RHO), [[1.0, 2.0], [ACTIONS], [[]], [[INF, 1]], [[1, 2], [3]]]),
    ("theta", lambda bad: problems.linear(ACTIONS, bad, RHO), [1.0, [1, 2, 3], [[1, 2]], [NAN, 1], [INF, 1]]),
    ("theta", lambda bad: problems.unit_ball(5, 3, theta=bad), [[1, 2], [[1, 2, 3]], [1, NAN, 2], ["a", "b", "c"]]),
    ("rho", lambda bad: problems.linear(ACTIONS, THETA, bad), [RHO[:2], [RHO], 0, -1, RHO - 0.2, NAN, [1, INF, 1]]),
    ("rho", lambda bad: problems.unit_ball(rho=bad), [0, -1, (1, 0.1), (0, 1), (1, 2, 3), (1,), NAN, (1, INF)]),
    ("rho", lambda bad: problems.probes(BASE, rho=bad), [0, -1, NAN, INF, 0.71, [0.1, 0.2]]),
    ("rho_bound", lambda bad: problems.linear(ACTIONS, THETA, RHO, rho_bound=bad), [0.69, 0, -1, NAN, INF, [1, 2]]),
    ("noise", lambda bad: problems.unit_ball(noise=bad), [int, lambda: 1.0, lambda s: None, lambda s: s.words]),
    ("problem", problems.check_draws, [3, problems.Fixed]),
    ("problem", lambda bad: simulate(bad, policies.PAPER["UCB"], **RUN), [3, problems.Fixed, problems.UnitBall]),
    ("base", problems.low_high, [problems.Fixed]),
    ("num_actions", lambda bad: problems.unit_ball(bad), [0, -1, 2.0, True, NAN]),
    ("dim", lambda bad: problems.unit_ball(5, bad), [0, -1, 2.0, True, NAN]),
    ("low", lambda bad: problems.low_high(BASE, low=bad), [0, -1, 1.1, NAN, [0.1, 0.2]]),
    ("high", lambda bad: problems.low_high(BASE, high=bad), [0, -1, NAN, INF, [1.0, 2.0]]),
    ("scale", lambda bad: problems.probes(BASE, scale=bad), [0, 1, -0.5, 2, NAN, [0.1, 0.2]]),
]


def wrong():
    for name, call, values in WRONG:
        optional = name in ("rho_bound", "theta")  # where None means the default
        words = WORDS[: 1 if optional else 2]
        yield from (pytest.param(name, call, bad, id=f"{name}-{str(bad)[:24]}") for bad in [*values, *words])


@pytest.mark.parametrize(("name", "call", "bad"), list(wrong()))
def test_a_wrong_argument_is_named(name, call, bad):
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
        call(bad)


@pytest.mark.parametrize("part", ["features", "mean", "rho", "rho_bound"])
def test_a_part_of_an_instance_that_is_no_array_is_named(part):
    """Lists are trees to JAX, and texts are nothing to it."""
    for value, named in ((getattr(BASE.instance, part).tolist(), part), ("much", f"{part}|problem")):
        if isinstance(value, float):
            continue
        with pytest.raises(ValueError, match=rf"^({named}): got .*; it takes "):
            problems.check_draws(problems.Fixed(BASE.instance._replace(**{part: value})))
    with pytest.raises(ValueError, match=r"^mean: got a list; it takes an array"):
        simulate(problems.Fixed(BASE.instance._replace(mean=[0.1, 0.2, 0.3])), policies.PAPER["UCB"], **RUN)


@partial(jax.tree_util.register_dataclass, data_fields=("bound",), meta_fields=("noise", "belief"))
@dataclass(frozen=True)
class Bounded:
    """An own problem that checks nothing itself."""

    bound: float
    noise: Any = BASE.noise
    belief: Any = BASE.belief

    def draw(self, key):
        return BASE.instance._replace(rho_bound=jnp.asarray(self.bound, jnp.result_type(float)))

    def check(self):
        pass


@pytest.mark.parametrize("bound", [0.0, -1.0, 0.69, NAN, INF])
def test_a_bound_that_covers_no_noise_is_refused(bound):
    with pytest.raises(ValueError, match=r"^problem: an instance has .*noise bounds.*, in trial 0; it takes "):
        simulate(Bounded(bound), policies.PAPER["UCB"], **RUN)


def test_a_bound_that_covers_all_noise_does():
    for bound in (0.7, 2.0):
        assert np.all(np.isfinite(simulate(Bounded(bound), policies.PAPER["UCB"], **RUN).mean))
