"""Fields: the belief's own moments at any point, draws with the posterior's covariance, and data that cannot be.

False alarms: covariances of draws are compared at 5 standard errors in 36 places: 2e-5.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import beliefs, domains, draws, fields, information, kernels, policies, problems
from jaxids.beliefs import history

BOX, KEY = domains.box([0.0, 0.0], [1.0, 1.0]), jax.random.key(1)
KERNEL = kernels.matern52(0.4)


def rho(x):
    return 0.1 + 0.2 * jnp.sum(x)


def fitted(rng, count=20, kernel=KERNEL, **numbers):
    return fields.fit(BOX, rng.random((count, 2)), rng.normal(size=count), rho, kernel, **numbers)


@pytest.mark.parametrize("lam", at_scale([0.5, 2.0], [0.5]))
def test_a_field_is_its_history(lam, dtype, rng):
    field = fitted(rng, lam=lam)
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == np.float64 else {"rtol": 1e-3, "atol": 1e-4}
    points = jnp.asarray(rng.random((2, 5)), dtype)
    there, cov = field.at(points), history.cov(field.state, points, points)
    beta = np.sqrt(history.log_det(field.state) - 2 * np.log(0.01)) + np.sqrt(lam)
    assert np.allclose(there.mean, history.mean(field.state, points), **close)
    assert np.allclose(there.var, np.diag(cov), **close)
    assert np.allclose(there.upper, there.mean + beta * np.sqrt(np.diag(cov)), **close)
    assert np.allclose(there.rho, jax.vmap(rho)(points.T), **close)
    for k, x in enumerate(points.T):
        assert np.allclose(there.cov_with(x), cov[k], **close)
        assert np.allclose(there.var_of(x), cov[k, k], **close)
        assert np.allclose(there.rho_of(x), rho(x), **close)


@pytest.mark.parametrize(("count", "bound"), [(60, 1e-3), (300, 1e-3), (300, 1e-2)])
def test_single_precision_bears_clustered_points_of_little_noise(count, bound, rng):
    """Finite, the mean within a tenth of float64's deviation and the deviation within 0.2 % of the prior's.

    Both with ρ as no less than what single precision can tell, as the belief has it.
    """
    points = np.clip(0.5 + 0.05 * rng.normal(size=(count, 2)), 0, 1)
    rewards, floor = np.sin(5 * points[:, 0]), np.sqrt(count * np.finfo(np.float32).eps)
    queries = rng.random((2, 20))

    def predicted():
        field = fields.fit(BOX, points, rewards, max(bound, floor), kernels.rbf(0.3))
        there = field.at(jnp.asarray(queries, jnp.result_type(float)))
        return np.asarray(there.mean), np.sqrt(np.asarray(there.var))

    state = fields.fit(BOX, points, rewards, bound, kernels.rbf(0.3)).state
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(state))
    found = predicted()
    with jax.enable_x64(True):
        exact = predicted()
    assert np.max(np.abs(found[0] - exact[0]) / exact[1]) < 0.1
    assert np.allclose(found[1], exact[1], rtol=0, atol=2e-3)


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_draws_have_the_posterior_s_moments_between_the_points_too(kind, rng):
    field = fitted(rng, count=6, kernel=kernels.rbf(0.4) if kind == "kernel" else None)
    queries, count = jnp.asarray(rng.random((2, 8)), jnp.float32), 4000
    words = jax.random.bits(KEY, (count, 2), jnp.uint32)

    @jax.jit
    @jax.vmap
    def drawn(word):
        fresh = jax.tree.map(lambda leaf: leaf, field)  # nothing found yet
        return fresh.at(queries).sample(draws.Stream(word, jnp.uint32(0)), 2.0)

    found, there = np.asarray(drawn(words), float), field.at(queries)
    cov = 4 * np.stack([np.asarray(there.cov_with(x), float) for x in queries.T])
    spread = np.sqrt(np.diag(cov))
    assert np.all(np.abs(found.mean(axis=0) - there.mean) < 5 * spread / np.sqrt(count))
    error = np.sqrt((cov**2 + np.outer(spread, spread) ** 2) / count)
    assert np.all(np.abs(np.cov(found.T) - cov) < 5 * error + 1e-4)


def test_gains_are_those_of_the_belief_on_points(rng):
    """I^F, and I about one target or the mean about several, at the points of a finite belief with the same rewards."""
    points, played, rewards = rng.random((9, 2)), rng.integers(0, 9, 25), rng.normal(size=25)
    finite = problems.rkhs(points, np.zeros(9), rho, KERNEL).instance
    seen = jnp.asarray(played), jnp.asarray(rewards, jnp.float32), finite.rho[played] ** 2
    prior = beliefs.kernel.init(finite.features, 1.0)
    state = jax.lax.scan(lambda s, one: (beliefs.kernel.update(s, *one), None), prior, seen)[0]
    band = finite.band(beliefs.kernel, state, lambda features, rho: rho, 0.01, 1.0, 1.0)
    field = fields.fit(BOX, points[played], rewards, rho, KERNEL)
    there, source = field.at(jnp.asarray(points.T, jnp.float32)), draws.Stream(jnp.zeros(2, jnp.uint32), jnp.uint32(0))
    assert np.allclose(information.f(there, source), information.f(band, source), rtol=2e-3, atol=1e-4)
    for k in (2, 5):
        target = jnp.asarray(points[k], jnp.float32)
        expected = information.about(band, jnp.int32(k))
        assert np.allclose(information.about(there, target), expected, rtol=2e-3, atol=1e-4)
        assert np.max(expected) > 0.05


def test_the_mean_over_draws_is_that_of_their_best_points(rng):
    field, source = fitted(rng, count=5), draws.Stream(jax.random.bits(KEY, (2,), jnp.uint32), jnp.uint32(3))
    there = field.at(jnp.asarray(rng.random((2, 7)), jnp.float32))
    both = jax.jit(information.Averaged(2))(there, source)
    about = jax.jit(lambda band, i: information.about(band, band.best(draws.child(source, i))))
    each = [about(there, jnp.int32(i)) for i in (1, 2)]
    assert np.allclose(both, np.mean(each, axis=0), rtol=1e-2, atol=1e-3)
    assert not np.allclose(*each, rtol=1e-2)


def test_what_belongs_to_the_whole_set_is_found_once(rng):
    field = fitted(rng, count=5)
    elsewhere = field.at(jnp.zeros((2, 1)))
    assert elsewhere.ucb is field.ucb


@pytest.mark.slow
def test_the_best_point_of_a_draw_is_found_once(rng):
    field = fitted(rng, count=5)
    source = draws.Stream(jax.random.bits(KEY, (2,), jnp.uint32), jnp.uint32(3))
    elsewhere = field.at(jnp.zeros((2, 1)))
    assert elsewhere.best(draws.child(source, 1)) is field.best(draws.child(source, 1))
    assert elsewhere.best(draws.child(source, 1)) is not field.best(draws.child(source, 2))


def test_a_choice_compiles_once_for_fields_of_one_shape(rng, caplog):
    for number in (1.0, 2.0):
        caplog.clear()
        with jax.log_compiles(True):
            data = number * rng.random((5, 2)), rng.normal(size=5), 0.1 * number
            box, kernel = domains.box([0.0, 0.0], [number, number]), kernels.rbf(0.2 * number)  # of the same rank
            field = fields.fit(box, *data, kernel, delta=0.1 * number)
            policies.choose(policies.PAPER["W-UCB"], field, jax.random.key(int(number)))
        compiled = [record.getMessage() for record in caplog.records if "_chosen" in record.getMessage()]
        assert bool(compiled) == (number == 1.0), compiled


@dataclass
class Noise:
    """Noise of one's own, equal to another of the same number, which may change."""

    level: float

    def __call__(self, x):
        return self.level + 0.1 * x[0]

    def bound(self, x):
        return self(x)


def test_a_choice_takes_no_noise_function_for_another(rng):
    points, rewards, noise, loud = rng.random((5, 2)), rng.normal(size=5), Noise(0.1), Noise(3.0)

    def least(rho):
        field = fields.fit(BOX, points, rewards, rho, KERNEL)
        return float(policies.choose(policies.PAPER["DIDS-F"], field, KEY).mix.value)

    before = [least(rho) for rho in (noise, noise.bound)]
    noise.level = 3.0
    after, fresh = [least(rho) for rho in (loud, loud.bound)], least(lambda x: 3.0 + 0.1 * x[0])
    assert np.allclose(after, fresh, rtol=1e-5)
    assert np.all(np.array(before) < 0.5 * fresh)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: history.update(s, history.look(s, jnp.zeros(2)), jnp.array(1.0), jnp.array(0.0)), "rho2: got 0"),
        (lambda s: history.update(s, history.look(s, jnp.zeros(2)), jnp.array(jnp.nan), jnp.array(0.1)), "reward: got"),
        (lambda s: policies.choose(policies.ucb(), s, KEY), "band: got State.*; it takes one of confidence or fields"),
        (lambda s: policies.choose("UCB", s, KEY), "policy: got 'UCB'"),
        (lambda s: policies.choose(policies.explore_then_commit(), None, KEY), "band: got None"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        call(history.init(kernels.rbf(0.3), 2, 4))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"points": [[0.5, 1.5]]}, r"points: got \[0.5, 1.5\] at 0, outside; it takes points from \[0, 0"),
        ({"points": [[0.5]]}, r"points: got shape \[1, 1\]; it takes an array of shape \[n, 2\]"),
        ({"points": [[0.5, np.nan]]}, "points: got nan"),
        ({"rewards": [1.0, 2.0]}, r"rewards: got shape \[2\]; it takes an array of shape \[1\]"),
        ({"rewards": [np.inf]}, "rewards: got inf"),
        ({"rho": 0.0}, "rho: got 0; it takes a number > 0"),
        ({"rho": [0.1, 0.2]}, r"rho: got shape \[2\]"),
        ({"rho": lambda x: x[0] - 0.6}, "rho: got -0.*; it takes numbers > 0"),
        ({"kernel": "x"}, "kernel: got 'x'"),
        ({"kernel": lambda x, y: x}, r"kernel: got one that returns shape \[2\]"),
        ({"kernel": lambda x: x}, "kernel: got .*, which fails: .*argument"),
        ({"kernel": kernels.rbf}, "kernel: got .*, which fails"),
        ({"kernel": lambda x, y: -jnp.dot(x, y)}, "kernel: got one with eigenvalue -"),
        ({"kernel": kernels.rbf([1.0, 2.0, 3.0])}, r"scale: got shape \[3\]; it takes one number, or 2"),
        ({"lam": 0.0}, "lam: got 0"),
        ({"delta": 1.0}, "delta: got 1"),
        ({"domain": [0, 1]}, r"domain: got \[0, 1\]; it takes domains.box or domains.ball"),
    ],
)
def test_data_that_cannot_be_are_refused(change, said):
    given = {"kernel": KERNEL, "points": [[0.5, 0.5]], "rewards": [1.0], "rho": 0.1} | change
    with pytest.raises(ValueError, match=rf"^{said}"):
        fields.fit(given.pop("domain", BOX), **given)


def test_a_point_that_changes_in_place_is_seen_anew(rng):
    field, point = fields.fit(BOX, rng.random((5, 2)), rng.normal(size=5), 0.1, KERNEL), np.full(2, 0.2)
    before = float(field.var_of(point))
    point[:] = 0.9
    assert float(field.var_of(point)) == pytest.approx(float(field.var_of(np.full(2, 0.9))))
    assert float(field.var_of(point)) != pytest.approx(before)
    assert not [name for name, *_ in field.found if name == "target"]  # nothing is kept of passing questions


def test_places_not_filled_are_points_that_fill_the_domain(rng):
    state = history.init(KERNEL, 2, 40)
    for x in rng.random((3, 2)):
        state = history.update(state, history.look(state, jnp.asarray(x, jnp.float32)), jnp.array(0.1), jnp.array(0.1))
    known = fields.of(history, state, BOX, lambda x: jnp.float32(0.3), None, 0.1, 1.0, 1.0)
    assert np.array_equal(known.visited[:3], state.points[:3])
    assert len(np.unique(np.asarray(known.candidates), axis=0)) == len(known.candidates)
