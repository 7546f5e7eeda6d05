"""Bounds of regret and their rates against the paper's formulas, and against what they bound."""

import inspect
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxids import bounds, information, kernels, policies, problems, simulate

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-12}
RATIOS, GAINS, STEPS = np.array([[0.0], [3.0], [5e4]]), np.array([0.2, 1.0, 30.0]), np.array([1, 2, 5000])


def theorem_1(ratios, information, steps, delta, gap_bound, bound, constant):
    """The bound as it is printed, but for b in place of γ_T and the constant in the last logarithm."""
    gained = 2 * information + 4 * bound * np.log(2 / delta) + 8 * bound * np.log(4 * bound) + 1
    last = np.log(constant * steps**2 / delta * (np.log(steps) + 1))
    return 5 / 4 * np.sqrt(ratios * gained) + 4 * gap_bound * last


@pytest.mark.parametrize("delta", [0.5, 1e-6])
@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("gain_bound", [None, 1.0, 4.5])
def test_randomised(delta, printed, gain_bound, dtype):
    got = bounds.randomised(
        *map(jnp.asarray, (RATIOS, GAINS, STEPS)), delta=delta, gap_bound=2.0, gain_bound=gain_bound, printed=printed
    )
    most = np.maximum(GAINS, 1) if gain_bound is None else gain_bound
    expected = theorem_1(RATIOS, GAINS, STEPS, delta, 2.0, most, (8 if printed else 2) * np.pi**2 / 3)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype])


def test_the_tight_constant_is_what_the_proof_gives(x64):
    """Freedman's consequence at δ/2 · 6/(π²T²), added to a quarter of the expected regret by 2√(ab) ≤ a + b."""
    for steps, delta in itertools.product([1, 2, 3, 17, 10**6], [0.3, 1e-3]):
        share = delta / 2 * 6 / (np.pi**2 * steps**2)
        tight = bounds.randomised(0.0, 0.0, steps, delta=delta, gap_bound=1.0, printed=False)
        np.testing.assert_allclose(tight, 4 * np.log((2 * np.log(steps) + 2) / share), rtol=1e-12)
        printed = bounds.randomised(0.0, 0.0, steps, delta=delta, gap_bound=1.0)
        np.testing.assert_allclose(printed - tight, 4 * np.log(4), rtol=1e-12)
    np.testing.assert_allclose(np.sum(6 / (np.pi**2 * np.arange(1, 10**6) ** 2.0)), 1, rtol=1e-6)


def test_the_two_forms_agree_where_nothing_gains_more_than_one(x64):
    arguments = {"delta": 0.1, "gap_bound": 1.0}
    for gains in (0.0, 0.3, 1.0):
        first = bounds.randomised(7.0, gains, 9, **arguments)
        np.testing.assert_allclose(first, bounds.randomised(7.0, gains, 9, gain_bound=1.0, **arguments))
    assert bounds.randomised(7.0, 5.0, 9, **arguments) > bounds.randomised(7.0, 5.0, 9, gain_bound=1.0, **arguments)


def test_deterministic_and_trivial(dtype):
    close = {"rtol": TOLERANCE[dtype]}
    np.testing.assert_allclose(bounds.deterministic(jnp.asarray(RATIOS), GAINS.sum()), np.sqrt(RATIOS * 31.2), **close)
    np.testing.assert_allclose(bounds.trivial(jnp.asarray(STEPS), 0.5), STEPS / 2, **close)


@pytest.mark.parametrize("share", [0.0, 1e-30, 1e-12, 1e-6, 9.99e-4, 1.001e-3, 0.1, math.e - 1, 50.0, 1e8])
def test_ucb_ratio(share, dtype):
    """s/log(1 + s) and its derivative by their series in double precision, near 0 too."""
    beta, rho = 3.0, 0.5
    s = np.longdouble(share)
    exact = 1 + s / 2 - s**2 / 12 + s**3 / 24 if s < 1e-5 else s / np.log1p(s)
    got = bounds.ucb_ratio(beta, share * rho**2, rho)
    np.testing.assert_allclose(got, float(4 * beta**2 * rho**2 * exact), rtol=TOLERANCE[dtype])
    np.testing.assert_allclose(bounds.ucb_ratio(beta, share * rho**2, rho, printed=True), 2 * got, rtol=1e-6)
    slope = jax.grad(lambda var: bounds.ucb_ratio(1.0, var, 1.0))(share)
    log = np.log1p(s)
    exact = 0.5 - s / 6 if s < 1e-5 else 1 / log - s / ((1 + s) * log**2)
    np.testing.assert_allclose(slope, float(4 * exact), rtol=3e-4 if dtype == np.float32 else 1e-9)


def test_the_sum_of_ratios_bounds_that_of_the_ucb_action(x64, rng):
    """8β²R²T where I ≤ 1, which is so up to σ² = (e − 1)ρ²; the other bound anywhere, and at the prior exactly."""
    rho = rng.uniform(0.2, 2, 40)
    prior = jnp.asarray(rng.uniform(0, 1, 40) * (math.e - 1) * rho**2)
    for shrunk in (1.0, 0.5, 1e-3):
        psi = bounds.ucb_ratio(3.0, shrunk * prior, jnp.asarray(rho))
        assert 7 * jnp.max(psi) <= bounds.ratio_sum(3.0, float(rho.max()), 7)
        assert 7 * jnp.max(psi) <= bounds.ratio_sum_any(3.0, prior, jnp.asarray(rho), 7) * (1 + 1e-12)
    exact = 7 * 9 * np.max(4 * prior / np.log1p(prior / rho**2))
    np.testing.assert_allclose(bounds.ratio_sum_any(3.0, prior, jnp.asarray(rho), 7), exact, rtol=1e-12)
    spread = float(np.max(prior / np.log1p(prior / rho**2)))
    np.testing.assert_allclose(bounds.ratio_sum_of(3.0, spread, 7), exact, rtol=1e-12)
    np.testing.assert_allclose(bounds.ratio_sum(3.0, 2.0, 7), 8 * 9 * 4 * 7)
    wide = jnp.asarray([100.0])  # here I > 1, and the first bound is too low
    assert bounds.ucb_ratio(1.0, wide, 1.0) > bounds.ratio_sum(1.0, 1.0, 1)
    lanes = bounds.ratio_sum_any(jnp.ones(3), jnp.stack([prior] * 3, axis=1), jnp.asarray(rho), 7)
    np.testing.assert_allclose(lanes, np.full(3, exact / 9), rtol=1e-12)


def test_one_action_for_sure_is_bounded_by_its_ratios(x64, rng):
    """Theorem 2 on any gaps and gains, with equality where the gains are in proportion to the gaps."""
    gap, gain = rng.uniform(0, 2, (30, 50)), rng.uniform(1e-3, 4, (30, 50))
    right = bounds.deterministic(jnp.asarray(np.sum(gap**2 / gain, axis=0)), jnp.asarray(np.sum(gain, axis=0)))
    assert np.all(np.sum(gap, axis=0) <= right)
    np.testing.assert_allclose(bounds.deterministic(jnp.asarray(np.sum(gap / 3)), np.sum(3 * gap)), np.sum(gap))


def test_the_bound_holds_for_ids():
    """Theorem 1 where it says something; it and the band fail with probability δ each, 4e-5 for 200 trials."""
    level, steps, most, sums = 1e-7, 3000, 2.0, ["ratio_sum", "surrogate_sum", "gain_sum"]
    result = simulate(
        problems.unit_ball(6, 3),
        policies.ids(information.ucb, delta=level),
        key=jax.random.key(3),
        trials=200,
        steps=steps,
        at=[steps],
        record=sums,
    )
    true, surrogate, gains = (jnp.asarray(result.series[name].final) for name in sums)
    numbers = {"delta": level, "gap_bound": most, "gain_bound": math.log1p(1 / 0.1**2)}  # λ = 1, norms ≤ 1 and ρ ≥ 0.1
    right = bounds.randomised(true, gains, steps, printed=False, **numbers)
    assert right.shape == result.final.shape
    assert np.all(right < bounds.trivial(steps, most))
    assert np.all(result.final <= right)
    assert np.all(result.final > bounds.deterministic(true, gains) / 4)  # a control: the leading term, made too small
    assert np.all(true <= surrogate)
    gamma = bounds.gamma_linear(3, steps, lam=1.0, rho=0.1)
    assert np.all(gains <= gamma)
    rho = jnp.asarray([0.1, 1.0])  # the ratio of the UCB action rises with both σ and ρ
    assert np.all(surrogate <= bounds.ratio_sum_any(bounds.beta(gamma, level, 1.0, 1.0), jnp.ones(2), rho, steps))


@pytest.mark.parametrize("steps", [1, 2, 10, 1000])
def test_gamma(steps, dtype, rng):
    """d log(1 + TL²/(dλρ²)), reached by even shares of d orthogonal actions, and by no other choice of actions."""
    dim, lam, rho, norm = 3, 0.5, 0.4, 2.0
    got = bounds.gamma_linear(dim, steps, lam=lam, rho=rho, norm=norm)
    rank = min(dim, steps)
    exact = rank * np.log(1 + steps * norm**2 / (rank * lam * rho**2))
    np.testing.assert_allclose(got, exact, rtol=TOLERANCE[dtype])
    for _ in range(20):
        x = rng.normal(size=(dim, steps))
        x *= norm * rng.uniform(0.5, 1, steps) / np.linalg.norm(x, axis=0)
        assert np.linalg.slogdet(np.eye(dim) + x @ x.T / (lam * rho**2))[1] <= exact
    np.testing.assert_allclose(bounds.gamma(dim, steps, norm**2 / (lam * rho**2)), exact, rtol=TOLERANCE[dtype])


def gained(gram, rho, counts, lam):
    """log det(I + K diag(n/ρ²)/λ)."""
    return np.linalg.slogdet(np.eye(len(gram)) + gram * (counts / rho**2) / lam)[1]


def test_gamma_of_a_gram_matrix_is_that_of_the_best_allocation(x64, rng):
    """At least that of all whole allocations of 8 observations to 4 points, and hardly more than that of shares."""
    for _ in range(5):
        points, rho, lam = rng.uniform(size=(4, 1)), rng.uniform(0.2, 1, 4), 0.7
        gram = np.asarray(kernels.gram(kernels.rbf(0.3), jnp.asarray(points)))
        whole = [n for n in itertools.product(range(9), repeat=4) if sum(n) == 8]
        best = max(gained(gram, rho, np.array(n), lam) for n in whole)
        got = float(bounds.gamma_gram(jnp.asarray(gram), jnp.asarray(rho), 8, lam=lam, rounds=300))
        shares = np.array([n for n in itertools.product(np.linspace(0, 1, 21), repeat=4) if abs(sum(n) - 1) < 1e-9])
        relaxed = max(gained(gram, rho, 8 * w, lam) for w in shares)
        assert best <= got
        assert relaxed <= got * (1 + 1e-9)
        assert got <= relaxed * 1.01
        assert got <= bounds.gamma(4, 8, float(np.max(1 / (lam * rho**2))))


@pytest.mark.parametrize("steps", [10, 10_000])
def test_every_number_of_rounds_gives_a_bound(steps, x64, rng):
    gram = kernels.gram(kernels.rbf(0.2), jnp.linspace(0, 1, 30)[:, None])
    rho = jnp.asarray(rng.uniform(0.3, 1, 30))
    got = [float(bounds.gamma_gram(gram, rho, steps, lam=1.0, rounds=rounds)) for rounds in (1, 3, 30, 500)]
    assert got == sorted(got, reverse=True)
    assert got[-1] >= gained(np.asarray(gram, float), np.asarray(rho, float), np.full(30, steps / 30), 1.0)
    batch = jax.vmap(lambda r: bounds.gamma_gram(gram, r, steps, lam=1.0, rounds=30))(jnp.stack([rho, 2 * rho]))
    np.testing.assert_allclose(batch[0], got[2], rtol=1e-4)
    assert batch[1] < batch[0]


@pytest.mark.parametrize(
    ("gram", "got"),
    [
        ([[1.0, 5.0], [0.0, 1.0]], r"5 at \[0, 1\] and 0 at \[1, 0\]"),
        ([[1.0, 5.0], [5.0, 1.0]], "one with an eigenvalue of -4"),
        ([[-1.0, 0.0], [0.0, -2.0]], "one with an eigenvalue of -2"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(gram, got):
    with pytest.raises(ValueError, match=f"^gram: got {got}; it takes a symmetric matrix without negative eigenvalues"):
        bounds.gamma_gram(jnp.asarray(gram), 1.0, 5, lam=1.0)
    assert np.isfinite(jax.jit(lambda gram: bounds.gamma_gram(gram, 1.0, 5, lam=1.0))(jnp.asarray(gram)))


def test_gamma_of_nothing_is_nothing():
    assert bounds.gamma_gram(jnp.zeros((3, 3)), 1.0, 5, lam=1.0) == 0


def test_the_rbf_kernel_gains_more_than_the_table_says(x64):
    """Even shares of 200 points of [0, 1] gain ever more than a multiple of log T, and less than log(T)²."""
    gram = np.asarray(kernels.gram(kernels.rbf(0.2), jnp.linspace(0, 1, 200)[:, None]))
    steps = 10.0 ** np.arange(1, 13, 2)
    low = np.array([np.sum(np.log1p(t * np.maximum(np.linalg.eigvalsh(gram / 200), 0))) for t in steps])
    printed = low / bounds.gamma_rbf_rate(1, jnp.asarray(steps), printed=True)
    assert np.all(np.diff(printed) > 0)
    assert printed[-1] > 4 * printed[0]
    assert np.all(np.diff(low / bounds.gamma_rbf_rate(1, jnp.asarray(steps))) < 0)


def test_rates(dtype):
    close, log = {"rtol": TOLERANCE[dtype]}, np.log(500)
    np.testing.assert_allclose(bounds.gamma_linear_rate(4, 500), 4 * log, **close)
    np.testing.assert_allclose(bounds.gamma_rbf_rate(2, 500, printed=True), log**2, **close)
    np.testing.assert_allclose(bounds.gamma_rbf_rate(2, 500), log**3, **close)
    np.testing.assert_allclose(bounds.rate(0.5, 3.0, 7.0, 500), 1.5 * np.sqrt(500 * 7), **close)
    with_level = bounds.rate(0.5, 3.0, 7.0, 500, delta=0.01)
    np.testing.assert_allclose(with_level, 1.5 * np.sqrt(500 * (7 + np.log(100))), **close)
    np.testing.assert_allclose(bounds.regret_rate(7.0, 500, delta=0.01), (7 + np.log(100)) * np.sqrt(500), **close)
    np.testing.assert_allclose(bounds.beta(7.0, 0.01, 4.0, 3.0), np.sqrt(2 * np.log(100) + 7) + 6, **close)


amounts = st.floats(0, 1e6, width=32)


@given(amounts, amounts, st.integers(1, 10**6), st.floats(1e-6, 0.5), st.floats(1, 100, width=32))
def test_bounds_order_as_they_should(ratios, information, steps, delta, gain_bound):
    """More in any argument bounds no less; the tight constant no more than the printed one; δ falls, bounds rise."""

    def bound(ratios, information, steps, delta, gap=1.0, **more):
        return bounds.randomised(ratios, information, steps, delta=delta, gap_bound=gap, gain_bound=gain_bound, **more)

    here = bound(ratios, information, steps, delta) * (1 - 1e-6)
    assert here <= bound(2 * ratios, information, steps, delta)
    assert here <= bound(ratios, 2 * information, steps, delta)
    assert here <= bound(ratios, information, 2 * steps, delta)
    assert here <= bound(ratios, information, steps, delta / 2)
    assert here <= bound(ratios, information, steps, delta, 2.0)
    assert bound(ratios, information, steps, delta, printed=False) <= here
    assert bounds.deterministic(ratios, information) <= here
    assert bounds.gamma(3, steps, gain_bound) <= bounds.gamma(5, steps, gain_bound) * (1 + 1e-6)


def test_under_jit_vmap_and_grad(rng):
    ratios, gains = jnp.asarray(rng.uniform(0, 9, (5, 4)), jnp.float32), jnp.asarray(rng.uniform(0, 9, 4), jnp.float32)
    steps = jnp.asarray([1, 10, 100, 1000])

    def bound(ratios, gains, steps, delta):
        return bounds.randomised(ratios, gains, steps, delta=delta, gap_bound=1.0)

    plain = bound(ratios, gains, steps, 0.1)
    assert plain.shape == (5, 4)
    np.testing.assert_allclose(jax.jit(bound)(ratios, gains, steps, 0.1), plain, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(lambda row: bound(row, gains, steps, 0.1))(ratios), plain, rtol=1e-6)
    levels = jax.vmap(lambda delta: bound(ratios, gains, steps, delta))(jnp.asarray([0.1, 0.01]))
    np.testing.assert_allclose(levels[0], plain, rtol=1e-6)
    for value in (0.0, 2.0):
        slopes = jax.grad(bound, argnums=(0, 1, 3))(value, value, 10.0, 0.1)
        assert np.all(np.isfinite(slopes))
        assert np.all(np.isfinite(jax.grad(bounds.deterministic, argnums=(0, 1))(value, value)))


ONES = np.ones(2, np.float32)
GOOD = [
    (bounds.randomised, {"ratios": 1.0, "information": 2.0, "steps": 3, "delta": 0.1, "gap_bound": 1.0}),
    (bounds.deterministic, {"ratios": 1.0, "information": 2.0}),
    (bounds.ucb_ratio, {"beta": 1.0, "var": 2.0, "rho": 3.0}),
    (bounds.ratio_sum, {"beta": 1.0, "rho_bound": 2.0, "steps": 3}),
    (bounds.ratio_sum_any, {"beta": 1.0, "var": ONES, "rho": ONES, "steps": 3}),
    (bounds.ratio_sum_of, {"beta": 1.0, "spread": 2.0, "steps": 3}),
    (bounds.trivial, {"steps": 3, "gap_bound": 1.0}),
    (bounds.gamma, {"rank": 2, "steps": 3, "signal": 1.0}),
    (bounds.gamma_linear, {"dim": 2, "steps": 3, "lam": 1.0, "rho": 1.0, "norm": 1.0}),
    (bounds.gamma_gram, {"gram": np.eye(2, dtype=np.float32), "rho": ONES, "steps": 3, "lam": 1.0, "rounds": 3}),
    (bounds.gamma_linear_rate, {"dim": 2, "steps": 3}),
    (bounds.gamma_rbf_rate, {"dim": 2, "steps": 3}),
    (bounds.rate, {"rho_bound": 1.0, "beta": 1.0, "gamma": 1.0, "steps": 3, "delta": 0.1}),
    (bounds.regret_rate, {"gamma": 1.0, "steps": 3, "delta": 0.1}),
]


@pytest.mark.parametrize(("function", "good"), GOOD, ids=[function.__name__ for function, _ in GOOD])
def test_a_wrong_argument_is_named(function, good):
    function = inspect.unwrap(function)  # the tests' check of types would be quicker
    assert np.all(np.isfinite(function(**good)))
    for name, bad in itertools.product(good, ("a", np.nan, [None], -1.0, 1j)):
        with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
            function(**good | {name: bad})
    for name in good.keys() & {"steps", "rank", "dim"}:
        with pytest.raises(ValueError, match=rf"^{name}: got 0; it takes numbers ≥ 1$"):
            function(**good | {name: 0})
    for name, bad in itertools.product(good.keys() & {"delta"}, (0, 1, 1.5)):
        with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes a number in \(0, 1\)"):
            function(**good | {name: bad})


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(
        ValueError, match=r"^ratios, information: got shapes \[2\] and \[3\]; they take shapes that broad"
    ):
        bounds.deterministic(jnp.ones(2), jnp.ones(3))
    with pytest.raises(ValueError, match=r"^var, rho: got shapes \[2\] and \[3\]; they take one shape"):
        inspect.unwrap(bounds.ratio_sum_any)(1.0, jnp.ones(2), jnp.ones(3), 4)
    with pytest.raises(ValueError, match=r"^gram: got shape \[2, 3\]; it takes \[K, K\]"):
        inspect.unwrap(bounds.gamma_gram)(jnp.ones((2, 3)), 1.0, 4, lam=1.0)
    with pytest.raises(ValueError, match=r"^gain_bound: got 0.5; it takes numbers ≥ 1"):
        bounds.randomised(1.0, 1.0, 3, delta=0.1, gap_bound=1.0, gain_bound=0.5)
    with pytest.raises(ValueError, match=r"^steps: got shape \[2\]; it takes a number, one call or vmap for each"):
        bounds.gamma_gram(jnp.eye(2), 1.0, jnp.asarray([1, 2]), lam=1.0)
