"""The minimisers of Ψ against a naive search, each other, the simplex and the dual; their properties and gradients."""

from functools import cache, partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from oracles import TOLERANCE, dual_bound, gaps_and_gains, least_psi, psi
from scale import at_scale

import jaxids
from jaxids import information, layouts, policies, problems, ratio

SOLVERS = (ratio.single, ratio.pairs, ratio.exact, ratio.descent)
ACTIONS, LANES = (1, 2, 7, 33, 200), 2000  # 10,000 vectors; one shape per K, so that each solver compiles once
solve = cache(jax.jit)


def probabilities(mix: ratio.Mix, actions: int) -> np.ndarray:
    """The mix as a distribution on the actions, [K, lanes], in float64."""
    weight = np.asarray(mix.weight, float)
    of = np.arange(actions).reshape((actions,) + (1,) * weight.ndim)
    return np.where(of == mix.first, 1 - weight, 0) + np.where(of == mix.second, weight, 0)


@pytest.mark.parametrize("actions", [1, 2, 7])
def test_exact_is_the_least_over_all_pairs(actions, dtype, rng):
    gap, gain = gaps_and_gains(rng, actions, LANES, dtype)
    got = solve(ratio.exact)(gap, gain).value[:200]
    expected = [least_psi(*pair.astype(float))[0] for pair in np.stack([gap, gain]).transpose(2, 0, 1)[:200]]
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype])


@pytest.mark.parametrize("actions", at_scale(ACTIONS, ACTIONS[:-1]))
def test_solvers_agree_on_ten_thousand_vectors(actions, dtype, rng):
    gap, gain = gaps_and_gains(rng, actions, LANES, dtype)
    mixes = {solver: solve(solver)(gap, gain) for solver in SOLVERS}
    exact = np.asarray(mixes[ratio.exact].value, float)
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(mixes[ratio.pairs].value, exact, rtol=tolerance)
    np.testing.assert_allclose(mixes[ratio.descent].value, exact, rtol=tolerance)
    assert np.all(mixes[ratio.single].value >= exact * (1 - tolerance))
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(gap == 0, 0, gap.astype(float) ** 2 / gain)
    np.testing.assert_allclose(mixes[ratio.single].value, alone.min(axis=0), rtol=tolerance)
    for mix in mixes.values():
        assert mix.value.dtype == mix.weight.dtype == dtype
        assert np.all((mix.weight >= 0) & (mix.weight <= 1))
        assert np.all((mix.first >= 0) & (mix.first < actions) & (mix.second >= 0) & (mix.second < actions))
        np.testing.assert_allclose(psi(probabilities(mix, actions), gap, gain), mix.value, rtol=tolerance)


def test_a_far_action_that_is_lowest_by_rounding_hides_no_near_one():
    """The levels of the two far ones are all rounding; a search that ends there is off by 15 %."""
    gap = np.array([0.5942017436, 7875289.5, 1075366.75, 0.4477109611], np.float32)
    gain = np.array([0.2744324505, 11036004, 1506961.75, 0.1411548555], np.float32)
    lanes = (np.tile(each[:, None], (1, 256)) for each in (gap, gain))
    np.testing.assert_allclose(solve(ratio.exact)(*lanes).value, ratio.pairs(gap, gain).value, rtol=1e-5)


@pytest.mark.parametrize("actions", [2, 7, 33])
def test_no_point_of_the_simplex_is_better(actions, dtype, rng):
    gap, gain = gaps_and_gains(rng, actions, LANES, dtype)
    exact = np.asarray(solve(ratio.exact)(gap, gain).value, float)
    for concentration in (1.0, 0.1, 0.01):
        probs = rng.dirichlet(np.full(actions, concentration), 300)
        sampled = psi(1.0, (probs @ gap)[None], (probs @ gain)[None])
        assert np.all(sampled >= exact * (1 - TOLERANCE[dtype]))


CURVES = {
    "sqrt": np.sqrt,
    "log1p": np.log1p,
    "almost linear": lambda gap: gap**0.99,
    "steep": lambda gap: gap**0.05,
    "saturating": lambda gap: -np.expm1(-gap),
    "circle": lambda gap: np.sqrt(1 - (gap / 10.1 - 1) ** 2),
    "kink": lambda gap: np.minimum(gap, 1 + 1e-3 * gap),
}


def test_hulls_of_three_thousand_points(x64):
    lanes = [(np.linspace(start, 10, 3000), start, curve) for start in (1e-4, 0.1, 2.0) for curve in CURVES.values()]
    gap = np.stack([gaps for gaps, _, _ in lanes], axis=1)
    gain = np.stack([curve(gaps - 0.99 * start) for gaps, start, curve in lanes], axis=1)
    bound = [dual_bound(*points) for points in zip(gap.T, gain.T, strict=True)]
    for dtype, tolerance in TOLERANCE.items():
        mix = solve(ratio.exact)(gap.astype(dtype), gain.astype(dtype))
        np.testing.assert_allclose(mix.value, bound, rtol=tolerance)
        np.testing.assert_allclose(psi(probabilities(mix, 3000), gap, gain), bound, rtol=tolerance)


def test_a_gap_of_zero_is_the_best_wherever_it_is(dtype):
    gap = jnp.asarray([[1, 1, 2, 3], [0, 2, 0, 3], [2, 0, 0, 3]], dtype)
    gain = jnp.asarray([[1, 1, 0, 0], [0, 1, 0, 0], [2, 0, 1, 0]], dtype)
    mix = ratio.exact(gap, gain)
    np.testing.assert_array_equal(mix.value, [0, 0, 0, np.inf])
    assert [int(mix.first[0]), int(mix.first[1]), int(mix.first[2])] == [1, 2, 1]


def test_conventions(dtype):
    cases = [  # gaps, gains and the least Ψ
        ([0, 1], [0, 1], 0),
        ([0, 0], [0, 0], 0),
        ([2, 1], [0, 0], np.inf),
        ([2, 2], [4, 4], 1),
        ([3, 4], [0, 16], 1),
    ]
    gap, gain, expected = (np.asarray(part, dtype).T for part in zip(*cases, strict=True))
    gap, gain = (np.pad(v, ((0, 0), (0, LANES - len(cases))), mode="edge") for v in (gap, gain))
    for solver in SOLVERS:
        np.testing.assert_array_equal(solve(solver)(gap, gain).value[: len(cases)], expected)
    even = jnp.full(gap.shape, 0.5, dtype)
    np.testing.assert_allclose(ratio.psi(even, jnp.asarray(gap), jnp.asarray(gain))[:4], [0.5, 0, np.inf, 1], rtol=1e-6)


def test_single_takes_the_lowest_index_of_a_tie():
    gap, gain = jnp.asarray([3.0, 2.0, 1.0, 2.0]), jnp.asarray([1.0, 4.0, 1.0, 4.0])
    mix = ratio.single(gap, gain)
    assert (int(mix.first), int(mix.second)) == (1, 1)
    nothing = ratio.single(gap, jnp.zeros(4))
    assert (int(nothing.first), int(nothing.second)) == (0, 0)


def test_jit_vmap_and_lanes_agree(rng):
    gap, gain = gaps_and_gains(rng, 7, LANES, np.float32)
    for solver in (ratio.single, ratio.exact):
        lanes = solve(solver)(gap, gain)
        mapped = jax.jit(jax.vmap(solver, in_axes=-1, out_axes=-1))(gap, gain)
        folded = jax.jit(solver)(gap.reshape(7, 5, -1), gain.reshape(7, 5, -1))
        for a, b, c in zip(lanes, mapped, folded, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5)
            np.testing.assert_allclose(c.reshape(LANES), a, rtol=1e-5)


POSITIVE = st.floats(2**-10, 2**10, width=32)
VECTOR = st.lists(st.one_of(st.sampled_from([0.0, 1.0, 2.0]), POSITIVE), min_size=6, max_size=6).map(np.float32)


@given(VECTOR, VECTOR, st.permutations(range(6)))
def test_the_order_of_actions_does_not_matter(gap, gain, order):
    for solver in (ratio.single, ratio.pairs, ratio.exact):
        mix, other = solve(solver)(gap, gain), solve(solver)(gap[order], gain[order])
        np.testing.assert_allclose(other.value, mix.value, rtol=1e-5)


@given(VECTOR, VECTOR, POSITIVE)
def test_scaling_of_gaps_and_gains(gap, gain, scale):
    scale = np.float32(scale)
    for solver in (ratio.single, ratio.pairs, ratio.exact):
        value = float(solve(solver)(gap, gain).value)
        np.testing.assert_allclose(solve(solver)(gap * scale, gain).value, value * float(scale) ** 2, rtol=1e-5)
        np.testing.assert_allclose(solve(solver)(gap, gain * scale).value, value / float(scale), rtol=1e-5)


@cache
def gradients(solver):
    return jax.jit(jax.grad(lambda gap, gain: jnp.sum(solver(gap, gain).value), (0, 1)))


def envelope(mix: ratio.Mix, gap, gain) -> tuple[np.ndarray, np.ndarray]:
    """2tμ and −t²μ with t = D/G, and no slope where the mix has no gap."""
    probs = probabilities(mix, len(gap))
    mixed_gap, mixed_gain = (probs * gap).sum(axis=0), (probs * gain).sum(axis=0)
    t = np.where(mixed_gap > 0, mixed_gap / np.where(mixed_gain > 0, mixed_gain, 1), 0)
    return 2 * t * probs, -(t**2) * probs


@pytest.mark.parametrize("solver", SOLVERS)
def test_gradients_are_finite_differences_and_the_envelope(solver, x64, rng):
    gap, gain = rng.uniform(0.1, 1, (2, 7, LANES))
    gain[:, ::2] = gap[:, ::2] ** rng.uniform(0.2, 0.8, LANES // 2)
    got = gradients(solver)(gap, gain)
    for ours, formula in zip(got, envelope(solve(solver)(gap, gain), gap, gain), strict=True):
        np.testing.assert_allclose(ours, formula, rtol=1e-9, atol=1e-9)
    step = 1e-6
    for k in range(7):
        ahead = np.zeros((7, 1))
        ahead[k] = step
        by_gap = solve(solver)(gap + ahead, gain).value - solve(solver)(gap - ahead, gain).value
        by_gain = solve(solver)(gap, gain + ahead).value - solve(solver)(gap, gain - ahead).value
        np.testing.assert_allclose(got[0][k], by_gap / (2 * step), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(got[1][k], by_gain / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gradients_are_finite_and_right_where_a_formula_could_divide_by_zero(solver, dtype, rng):
    gap, gain = gaps_and_gains(rng, 7, LANES, dtype)
    gap[:, 0], gain[:, 0] = 1, 1
    gap[:, 1] = 0
    gap[:, 2], gain[:, 2] = 0, 0
    mix = solve(solver)(gap, gain)
    some = np.isfinite(mix.value)
    for ours, formula in zip(gradients(solver)(gap, gain), envelope(mix, gap, gain), strict=True):
        ours, formula = np.asarray(ours)[:, some], formula[:, some]
        assert np.all(np.isfinite(ours))
        scale = np.abs(formula).max(axis=0)
        np.testing.assert_allclose(
            ours / np.where(scale > 0, scale, 1), formula / np.where(scale > 0, scale, 1), atol=10 * TOLERANCE[dtype]
        )


def test_gradients_survive_two_actions_that_nearly_coincide():
    """The weight of two near copies is steep, but the value does not depend on it."""
    gap = jnp.asarray([1, 1 + 3000 * 2.0**-23], jnp.float32)
    gain = jnp.asarray([1, 1 + 6001 * 2.0**-23], jnp.float32)
    both = partial(ratio.mix, first=jnp.int32(0), second=jnp.int32(1))
    assert 0.4 < both(gap, gain).weight < 0.6
    for ours, formula in zip(gradients(both)(gap, gain), envelope(both(gap, gain), gap, gain), strict=True):
        np.testing.assert_allclose(ours, formula, atol=1e-3)


@pytest.mark.parametrize(
    ("gap", "gain"),
    [
        ([0.52, 1.28, 0.70, 0.97], [0.18, 0.93, 0.34, 0.63]),
        ([0.61, 0.56, 1.11, 1.46, 0.77], [0.23, 0.20, 0.76, 1.09, 0.38]),
    ],
)
def test_exact_does_not_stop_beside_the_minimum(gap, gain):
    """Here the action farthest below the pair lies on the other side of t than the maximum of φ."""
    gap, gain = jnp.array(gap), jnp.array(gain)
    np.testing.assert_allclose(ratio.exact(gap, gain).value, ratio.pairs(gap, gain).value, rtol=1e-6)


@pytest.mark.parametrize("actions", [10, 30])
def test_exact_equals_pairs_where_gain_goes_with_gap(actions, rng):
    gap = rng.random((actions, 50_000)).astype(np.float32)
    gain = (rng.random(gap.shape) * gap).astype(np.float32)
    exact, pairs = jax.jit(ratio.exact)(gap, gain), jax.jit(ratio.pairs)(gap, gain)
    np.testing.assert_allclose(exact.value, pairs.value, rtol=1e-5)


@pytest.mark.parametrize("solver", [ratio.single, ratio.pairs, ratio.exact, ratio.descent])
def test_lists_and_whole_numbers_serve_and_shapes_must_match(solver):
    assert float(solver([1, 2, 3], [1, 0, 2]).value) == pytest.approx(1.0)
    for gap, gain in (([1.0], [1.0, 2.0]), (1.0, 1.0), ([], [])):
        with pytest.raises(ValueError, match=r"^gap, gain: got shapes .*; they take one shape"):
            solver(gap, gain)


@pytest.mark.parametrize(
    "solver", [ratio.exact, ratio.pairs, ratio.single, ratio.descent, partial(ratio.psi, [0.5, 0.5])]
)
def test_negative_gaps_and_gains_are_refused(solver):
    with pytest.raises(ValueError, match=r"^gap: got -1; it takes numbers ≥ 0"):
        solver(np.array([1.0, -1.0]), np.array([1.0, 1.0]))
    with pytest.raises(ValueError, match=r"^gain: got nan; it takes numbers ≥ 0"):
        solver(np.array([1.0, 1.0]), np.array([np.nan, 1.0]))


def test_psi_takes_distributions_on_the_actions(rng):
    gap, gain = rng.uniform(0.5, 1, (2, 3, 3))  # as many lanes as actions
    probs = np.array([0.2, 0.3, 0.5])
    expected = (probs @ gap) ** 2 / (probs @ gain)
    assert np.allclose(ratio.psi(probs, gap, gain), expected, rtol=1e-6)
    assert np.allclose(ratio.psi(np.stack([probs] * 3, axis=1), gap, gain), expected, rtol=1e-6)
    for wrong in (probs * 2, [0.5, 0.6, -0.1]):
        with pytest.raises(ValueError, match=r"^probs: got .* as the least and sums from .* that sum to 1"):
            ratio.psi(wrong, gap, gain)
    with pytest.raises(ValueError, match=r"^probs: got nan; .* that sum to 1"):
        ratio.psi([np.nan, 0.5, 0.5], gap, gain)
    for wrong in ([1.0], [0.5, 0.5], [probs], 1.0):
        with pytest.raises(ValueError, match=r"^probs: got shape .*; it takes \[3\] or \[3, 3\]"):
            ratio.psi(wrong, gap, gain)


@pytest.fixture(scope="module")
def met():
    """Gaps and gains [K, n] that policies meet."""
    found = []
    for gain in (information.f, information.ucb):
        kept = jaxids.simulate(
            problems.unit_ball(30, 3),
            policies.ids(gain),
            key=jax.random.key(3),
            trials=1024,
            steps=200,
            at=[1, 2, 5, 20, 60, 200],
            record=lambda step: (step.choice.gap, step.choice.gain),
        ).recorded
        found.append([np.moveaxis(each.reshape(-1, 30), 0, 1) for each in kept])
    return [jnp.asarray(np.concatenate(each, axis=1)) for each in zip(*found, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize(("passes", "enough"), [(layouts.ACCELERATOR.turns, True), (1, False)])
def test_the_passes_of_an_accelerator_are_enough(met, passes, enough):
    """As many as it writes out find every minimum that the CPU's loop finds; one pass does not."""

    @jax.jit
    def solved(gap, gain):
        with layouts.laid_out(layouts.ACCELERATOR._replace(turns=passes)):
            return ratio.exact(gap, gain).value

    best = np.asarray(jax.jit(ratio.exact)(*met).value)
    missed = np.asarray(solved(*met)) > best * (1 + 1e-5)
    assert np.any(missed) != enough
