"""Derivatives of the least ratio against finite differences in float64, and finite ones where there are kinks."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype.door import is_bearable
from oracles import KINDS, TOLERANCE, covariance, gain_about, gaps_and_gains, least_psi, posterior

from jaxids import information, kernels, ratio, surfaces
from jaxids.beliefs import kernel as kernel_belief
from jaxids.beliefs import linear
from jaxids.types import PerAction

LANES = 440
STEP = 1e-5
PAIRS, EXACT = jax.jit(ratio.pairs), jax.jit(ratio.exact)


def central(function, x, step=STEP):
    """d function / dx for every entry of x, on the last axes."""
    x = np.asarray(x, float)
    found = []
    for i in np.ndindex(x.shape):
        ahead = np.zeros(x.shape)
        ahead[i] = step
        found.append((np.asarray(function(x + ahead)) - np.asarray(function(x - ahead))) / (2 * step))
    return np.stack(found, -1).reshape(found[0].shape + x.shape)


def clouds(rng, actions=6):
    """Gaps and gains [K, lanes] for which half of the lanes mix two actions."""
    gap = rng.uniform(0.2, 1.5, (actions, LANES))
    gain = gap**2 * rng.uniform(0.05, 0.9, gap.shape)
    return gap, np.where(np.arange(LANES) % 4, gain, rng.uniform(0.1, 1, gap.shape))


def smooth(gap, gain, room=1e-3):
    """Lanes far enough from a change of the mix that central differences are of one branch."""
    apart = [PAIRS(gap * (1 + room * sign), gain) for sign in np.random.default_rng(0).normal(size=(6, *gap.shape))]
    same = [(a.first == apart[0].first) & (a.second == apart[0].second) for a in apart]
    inside = [
        (a.weight > room) & (a.weight < 1 - room) == ((apart[0].weight > 0) & (apart[0].weight < 1)) for a in apart
    ]
    return np.all(same, axis=0) & np.all(inside, axis=0)


def test_the_value_is_that_of_exact(dtype, rng):
    gap, gain = gaps_and_gains(rng, 6, LANES, dtype)
    mix, expected = surfaces.mixed(gap, gain), EXACT(gap, gain)
    np.testing.assert_allclose(mix.value, expected.value, rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(mix.weight, expected.weight, atol=TOLERANCE[dtype])
    assert np.all((mix.first == expected.first) & (mix.second == expected.second))
    assert mix.value.dtype == mix.weight.dtype == dtype


@pytest.mark.parametrize(
    "given", [[1.0, 2.0], (1, 2), np.array([1, 2]), jnp.ones(2), np.ones((2, 3)), [[1, 2], [3, 4]]]
)
def test_gaps_and_gains_are_arrays_or_sequences(given):
    assert is_bearable(given, PerAction)
    assert surfaces.least(given, given).shape == np.shape(given)[1:]
    for wrong in (1.0, jnp.float32(1), np.array(["a"])):
        assert not is_bearable(wrong, PerAction)
        with pytest.raises(ValueError, match=r"^gap.*: got "):
            surfaces.least(wrong, given)


def test_gradients_of_value_and_weight_are_finite_differences(x64, rng):
    gap, gain = clouds(rng)
    kept = smooth(gap, gain)
    mixes = surfaces.mixed(gap, gain).weight
    assert kept.mean() > 0.5
    assert np.mean(((mixes > 0) & (mixes < 1))[kept]) > 0.2
    of = {surfaces.slopes: surfaces.least, surfaces.weight_slopes: surfaces.weight}
    for sloped, function in of.items():
        found = sloped(gap, gain)
        for k in range(len(gap)):
            ahead = STEP * (np.arange(len(gap)) == k)[:, None]
            by_gap = (function(gap + ahead, gain) - function(gap - ahead, gain)) / (2 * STEP)
            by_gain = (function(gap, gain + ahead) - function(gap, gain - ahead)) / (2 * STEP)
            np.testing.assert_allclose(found.gap[k][kept], by_gap[kept], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found.gain[k][kept], by_gain[kept], rtol=1e-5, atol=1e-5)


def test_the_hessian_is_finite_differences_of_the_gradient(x64, rng):
    gap, gain = clouds(rng)
    kept = smooth(gap, gain)
    sloped, found = surfaces.slopes, surfaces.curvature(gap, gain)
    scale = 1 + np.abs(found.gain_gain).max(axis=(0, 1))[kept]
    for k in range(len(gap)):
        ahead = STEP * (np.arange(len(gap)) == k)[:, None]
        up, down = sloped(gap, gain + ahead), sloped(gap, gain - ahead)
        by_gap = sloped(gap + ahead, gain).gap - sloped(gap - ahead, gain).gap
        for ours, theirs in (
            (found.gap_gap[:, k], by_gap),
            (found.gap_gain[:, k], up.gap - down.gap),
            (found.gain_gain[:, k], up.gain - down.gain),
        ):
            error = np.abs(ours - theirs / (2 * STEP))[:, kept] / scale
            assert error.max() < 1e-4


def test_the_hessian_of_exact_is_the_same_where_it_is_smooth(x64, rng):
    gap, gain = clouds(rng, 3)
    kept = np.flatnonzero(smooth(gap, gain))[:40]
    gap, gain = gap[:, kept], gain[:, kept]
    found = surfaces.curvature(gap, gain)
    hessian = jax.hessian(lambda gap, gain: ratio.exact(gap, gain).value, (0, 1))
    (gap_gap, gap_gain), (_, gain_gain) = jax.jit(jax.vmap(hessian, -1, -1))(gap, gain)
    for ours, theirs in zip(found, (gap_gap, gap_gain, gain_gain), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-6 * np.abs(ours).max())


def test_derivatives_are_finite_at_ties_duplicates_and_zeros(x64, rng):
    gap, gain = gaps_and_gains(rng, 6, LANES, np.float64)
    gap[:, 0], gain[:, 0], gap[:, 1], gain[:, 2] = 0, 0, 0, 0
    narrow = np.isin(np.arange(LANES) % len(KINDS), [KINDS.index(kind) for kind in ("wide", "scaled")])
    gap[:, narrow], gain[:, narrow] = 1, 1  # copies all of them
    found = (surfaces.slopes(gap, gain), surfaces.weight_slopes(gap, gain), surfaces.curvature(gap, gain))
    for leaf in jax.tree.leaves([found[0][1:], found[1], found[2]]):
        assert np.all(np.isfinite(leaf))


def test_values_at_kinks_are_those_of_one_side(x64):
    zero = surfaces.curvature([0.0, 1.0], [2.0, 3.0])
    np.testing.assert_allclose(zero.gap_gap, [[1, 0], [0, 0]])  # 2/g, where autodiff of the ratio has none
    nothing = surfaces.slopes([1.0, 2.0], [0.0, 0.0])
    assert np.isinf(nothing.value)
    assert not np.any(nothing.gap)
    convention = surfaces.slopes([0.0, 1.0], [0.0, 1.0])
    assert not np.any(convention.gap)
    np.testing.assert_allclose(surfaces.least([1e-9, 1.0], [0.0, 1.0]) / 1e-9, 4, rtol=1e-6)  # from the one side
    kink = surfaces.curvature([1.0, 1.5], [1.0, 2.0])  # the weight is 0 and about to rise
    np.testing.assert_allclose(kink.gap_gap, [[2, 0], [0, 0]])
    np.testing.assert_allclose(kink.gain_gain, [[2, 0], [0, 0]])
    for gap in ([1.0, 1.5 + 1e-7], [1.0 - 1e-7, 1.5]):  # both on the side of one action
        np.testing.assert_allclose(surfaces.curvature(gap, [1.0, 2.0]).gap_gap, kink.gap_gap, atol=1e-5)
    np.testing.assert_array_equal(surfaces.slopes([1.0, 1.0, 2.0], [1.0, 1.0, 0.0]).gap, [2, 0, 0])  # the first of two
    np.testing.assert_allclose(surfaces.slopes([3.0], [2.0]).gap, [3])  # one action
    np.testing.assert_allclose(surfaces.curvature([3.0], [2.0]).gap_gain, [[-1.5]])


def test_single_precision_holds_where_two_actions_nearly_coincide():
    gap = np.float32([1, 1 + 3000 * 2.0**-23])
    gain = np.float32([1, 1 + 6001 * 2.0**-23])
    found = surfaces.slopes(gap, gain)
    mix = ratio.exact(gap, gain)
    np.testing.assert_allclose(found.gap, 2 * np.array([1 - mix.weight, mix.weight]), atol=2e-3)
    with jax.enable_x64(True):
        exact = surfaces.curvature(gap.astype(float), gain.astype(float))
    for ours, theirs in zip(surfaces.curvature(gap, gain), exact, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2)


NUMBERS = {"lam": 0.7, "delta": 0.05, "norm_bound": 1.3}


def data(rng, actions=5, dim=3, count=9):
    x = rng.normal(size=(actions, dim))
    played = rng.integers(0, actions - 1, count)  # the last one never
    return x, played, rng.normal(size=count), rng.uniform(0.3, 1.2, actions)


def by_numpy(x, played, rewards, rho, gain, gram=None):
    """Ψ*, two actions and the weight from data by the formulas of the paper, the posterior by a plain solve."""
    if gram is None:
        found = posterior(x.T, played, rewards, rho[played], NUMBERS["lam"])
        cov, mean, log_det = covariance(found.precision, x.T), x @ found.theta, found.log_det
    else:
        noise = np.diag(rho[played] ** 2) * NUMBERS["lam"]
        seen, cross = gram[np.ix_(played, played)], gram[:, played]
        mean = cross @ np.linalg.solve(seen + noise, rewards)
        cov = (gram - cross @ np.linalg.solve(seen + noise, cross.T)) / NUMBERS["lam"]
        log_det = np.linalg.slogdet(np.eye(len(played)) + np.linalg.solve(noise, seen))[1]
    beta = np.sqrt(2 * np.log(1 / NUMBERS["delta"]) + log_det) + np.sqrt(NUMBERS["lam"]) * NUMBERS["norm_bound"]
    radius = beta * np.sqrt(np.diag(cov))
    gap = np.max(mean + radius) - mean + radius
    if gain is information.f:
        return least_psi(gap, np.log1p(np.diag(cov) / rho**2))
    best = np.argmax(mean + radius)
    share = cov[best] ** 2 / (cov[best, best] * (rho**2 + np.diag(cov)))
    return least_psi(gap, -np.log1p(-share))


def gram_of(name, x):
    return None if name == "linear" else np.asarray(kernels.gram(KERNELS[name], jnp.asarray(x)))


KERNELS = {"linear": None, "rbf": kernels.rbf(0.8), "matern52": kernels.matern52(1.0)}


@pytest.mark.parametrize(
    ("name", "gain"), [("linear", information.f), ("linear", information.ucb), ("rbf", information.ucb)]
)
def test_the_ratio_of_data_is_the_naive_one(name, gain, x64, rng):
    for _ in range(3):
        given = data(rng)
        gram = gram_of(name, given[0])
        ours = surfaces.of_data(*given, KERNELS[name], information=gain, **NUMBERS)
        np.testing.assert_allclose(ours, by_numpy(*given, gain, gram)[0], rtol=1e-9)


def test_the_oracle_of_a_gain_is_that_of_a_second_posterior(x64, rng):
    x, played, rewards, rho = data(rng)
    band = surfaces.band_after(x, played, rewards, rho, **NUMBERS)
    _, gain = surfaces.gap_and_gain(band, information.ucb)
    found = posterior(x.T, played, rewards, rho[played], NUMBERS["lam"])
    np.testing.assert_allclose(gain, gain_about(found.precision, x.T, rho, int(band.ucb)), rtol=1e-8)


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_the_band_is_that_of_the_belief_step_by_step(name, x64, rng):
    x, played, rewards, rho = data(rng)
    if name == "linear":
        belief, features = linear, jnp.asarray(x.T)
    else:
        belief, features = kernel_belief, jnp.asarray(kernels.root_of_gram(x, KERNELS[name])[1])
    state = belief.init(features, NUMBERS["lam"])
    for action, reward in zip(played, rewards, strict=True):
        state = belief.update(state, belief.at(features, jnp.int32(action)), *jnp.asarray([reward, rho[action] ** 2]))
    band = surfaces.band_after(x, played, rewards, rho, KERNELS[name], **NUMBERS)
    np.testing.assert_allclose(band.mean, belief.mean(state, features), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(band.var, belief.var(state, features), rtol=1e-9)
    np.testing.assert_allclose(band.belief.log_det(band.state), belief.log_det(state), rtol=1e-9)


def both(gap, gain):
    """Value and weight in one, so that derivatives of both are looked at."""
    mix = surfaces.mixed(gap, gain)
    return mix.value + 3 * mix.weight


@pytest.mark.parametrize(("name", "past"), [("linear", False), ("rbf", True)])
def test_gradients_of_data_are_finite_differences(name, past, x64, rng):
    weight = 0.0
    while not 0.05 < weight < 0.95:  # until two actions are played
        x, played, rewards, rho = data(rng, 3)
        weight = by_numpy(x, played, rewards, rho, information.f, gram_of(name, x))[-1]
    how = {"information": information.f, "of": both}
    bounds = rho[played] if past else None
    given = {"actions": x, "rewards": rewards, "rho": rho, "past": bounds, **NUMBERS}

    def of(function, numbers):
        numbers = dict(numbers)
        places = (numbers.pop("actions"), played, numbers.pop("rewards"), numbers.pop("rho"), KERNELS[name])
        return function(*places, **numbers, **how)

    value, found = jax.jit(partial(of, surfaces.of_data)), jax.jit(partial(of, surfaces.data_slopes))(given)
    assert found.value == pytest.approx(float(value(given)), rel=1e-12)
    for key, number in given.items():
        if number is not None:
            expected = central(lambda x, key=key: value({**given, key: x}), number)
            got = getattr(found, key)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * max(1, np.abs(expected).max()))
    assert (found.past is None) == (not past)


def test_noise_of_the_past_and_of_the_next_observation_add_up(x64, rng):
    x, played, rewards, rho = data(rng, 2)
    both = jax.jit(lambda rho: surfaces.data_slopes(x, played, rewards, rho, **NUMBERS))(rho)
    apart = jax.jit(lambda rho, past: surfaces.data_slopes(x, played, rewards, rho, past=past, **NUMBERS))(
        rho, rho[played]
    )
    of_the_past = np.zeros(len(rho))
    np.add.at(of_the_past, played, np.asarray(apart.past))
    np.testing.assert_allclose(both.rho, apart.rho + of_the_past, rtol=1e-9)
    band = surfaces.band_after(x, played, rewards, rho, **NUMBERS)
    fixed = jax.jit(jax.grad(lambda rho: surfaces.of_band(band, rho=rho)))(rho)
    np.testing.assert_allclose(fixed, apart.rho, rtol=1e-9, atol=1e-12)


def test_slopes_of_lists_are_those_of_arrays_in_the_shapes_given():
    x, played, rewards = [[1.0, 0.0], [0.0, 1.0]], [0, 1, 1], [1.0, 0.2, 0.3]
    for rho, past in (([0.5, 1.0], [0.5, 1.0, 1.0]), (0.5, 0.7)):
        found = surfaces.data_slopes(x, played, rewards, rho, past=past)
        expected = surfaces.data_slopes(*map(np.array, (x, played, rewards, rho)), past=np.array(past))
        for name, given in {"actions": x, "rewards": rewards, "rho": rho, "past": past, "lam": 1.0}.items():
            assert isinstance(getattr(found, name), jax.Array)
            assert getattr(found, name).shape == np.shape(given)
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_second_derivatives_of_data(x64, rng):
    x, played, rewards, rho = data(rng, 2)
    value = partial(surfaces.of_data, x, played, rewards, information=information.f, **NUMBERS)
    found = jax.jit(jax.hessian(value))(jnp.asarray(rho))
    expected = central(jax.jit(jax.grad(value)), rho)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max())


def test_a_kernel_has_derivatives_in_its_numbers(x64, rng):
    x, played, rewards, rho = data(rng, 2)

    def value(scale):
        return surfaces.of_data(x, played, rewards, rho, kernels.rbf(scale), **NUMBERS)

    first = jax.grad(value)
    compiled = jax.jit(jax.value_and_grad(value))
    np.testing.assert_allclose(compiled(0.8)[1], central(lambda scale: compiled(scale)[0], 0.8), rtol=1e-5)
    second = central(lambda scale: compiled(scale)[1], 0.8)
    np.testing.assert_allclose(jax.jit(jax.grad(first))(0.8), second, rtol=1e-5)


@pytest.mark.parametrize(("name", "gain"), [("linear", information.Averaged(3)), ("rbf", information.ts)])
def test_draws_stay_what_they_are_near_by(name, gain, x64, rng):
    x, played, rewards, rho = data(rng, 2)
    value = partial(surfaces.of_data, x, played, rewards, kernel=KERNELS[name], information=gain, key=jax.random.key(3))
    compiled = jax.jit(jax.value_and_grad(value))
    found = compiled(rho)[1]
    assert np.any(found)
    expected = central(lambda rho: compiled(rho)[0], rho)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize(("name", "gain"), [("linear", information.ucb), ("matern52", information.f)])
def test_gradients_of_data_are_finite_for_copies_the_zero_vector_and_no_data(name, gain):
    x = np.array([[1, 0], [1, 0], [0, 0]], np.float32)
    slopes = jax.jit(
        lambda x, played, rewards: surfaces.data_slopes(x, played, rewards, 0.5, KERNELS[name], information=gain)
    )
    for played in ([], [0, 0, 2, 1], [2, 2, 2, 2]):
        found = slopes(x, np.array(played, np.int32), np.ones(len(played), np.float32))
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(found))
        assert found.actions.dtype == np.float32


def test_jit_and_vmap_give_the_same(x64, rng):
    x, played, rewards, _ = data(rng, 2)
    bounds = rng.uniform(0.3, 1.2, (7, 2))
    one = jax.grad(lambda rho: surfaces.of_data(x, played, rewards, rho, kernels.rbf(0.8)))
    many, compiled = jax.jit(jax.vmap(one))(bounds), jax.jit(one)
    np.testing.assert_allclose(many, [compiled(rho) for rho in bounds], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": np.ones(3)}, r"^actions: got .* of shape \[3\]; it takes floats of shape \[K, d\]"),
        ({"actions": np.full((2, 2), np.nan)}, r"^actions: got nan"),
        ({"played": [2]}, r"^played: got 2; it takes whole numbers from 0 to 1"),
        ({"played": [0.5]}, r"^played: got 0.5; it takes whole numbers"),
        ({"played": 1}, r"^played: got shape \[\]; it takes whole numbers"),
        ({"rewards": [1.0, 2.0]}, r"^rewards: got shape \[2\]; it takes \[1\]"),
        ({"rewards": [np.nan]}, r"^rewards: got nan"),
        ({"rho": [1.0, -1.0]}, r"^rho: got -1; it takes numbers > 0"),
        ({"rho": np.ones(3)}, r"^rho: got shape \[3\]; it takes a number > 0, or \[2\]"),
        ({"past": [0.0]}, r"^past: got 0; it takes numbers > 0"),
        ({"past": np.ones(2)}, r"^past: got shape \[2\]"),
        ({"lam": 0.0}, r"^lam: got 0; it takes a number > 0"),
        ({"delta": 2.0}, r"^delta: got 2; it takes a number in \(0, 1\)"),
        ({"norm_bound": -1.0}, r"^norm_bound: got -1"),
        ({"information": 3}, r"^information: got 3; it takes a function of a band and a stream"),
        ({"information": lambda band: band.var}, r"^information: got .*which fails"),
        ({"information": lambda band, stream: 1.0}, r"^information: got float of shape \[\]"),
        ({"of": 1}, r"^of: got 1; it takes a function of gaps and gains"),
        ({"key": 0}, r"^key: got 0; it takes one threefry key"),
        ({"kernel": "rbf"}, r"^kernel: got 'rbf'"),
    ],
)
@pytest.mark.parametrize("function", [surfaces.of_data, surfaces.data_slopes])
def test_wrong_data_are_named(function, change, message):
    given = {"actions": np.eye(2), "played": [0], "rewards": [1.0], "rho": 0.5, **change}
    with pytest.raises(ValueError, match=message):
        function(given.pop("actions"), given.pop("played"), given.pop("rewards"), given.pop("rho"), **given)


@pytest.mark.parametrize("function", [surfaces.least, surfaces.slopes, surfaces.weight_slopes, surfaces.curvature])
def test_wrong_gaps_and_gains_are_named(function):
    with pytest.raises(ValueError, match=r"^gap: got -1; it takes numbers ≥ 0"):
        function([1.0, -1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"^gain: got nan"):
        function([1.0, 1.0], [np.nan, 1.0])
    with pytest.raises(ValueError, match=r"^gap, gain: got shapes \[2\] and \[1\]"):
        function([1.0, 1.0], [1.0])
