"""Surfaces of the ratio against naive ones, the plane against a hull of SciPy, pictures, and what gradients are for."""

import doctest
import re
import subprocess
import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from oracles import least_psi, psi
from scipy.spatial import ConvexHull

import jaxids
from jaxids import domains, fields, information, kernels, policies, problems, surfaces
from jaxids.surfaces import data, derivatives, diagrams, draw, hulls, shapes, uses

KEY = jax.random.key(0)


def cloud(rng, actions=12):
    gap = rng.uniform(0.3, 1.5, actions).astype(np.float32)
    return gap, (gap**2 * rng.uniform(0.05, 0.9, actions)).astype(np.float32)


def test_pairs_are_psi_of_every_mix(rng):
    gap, gain = cloud(rng, 4)
    weights = np.array([0.0, 0.3, 1.0])
    found = surfaces.pairs(gap, gain, weights)
    assert found.shape == (4, 4, 3)
    for i, j, w in np.ndindex(found.shape):
        probs = np.zeros(4)
        probs[i] += 1 - weights[w]
        probs[j] += weights[w]
        np.testing.assert_allclose(found[i, j, w], psi(probs, gap, gain), rtol=1e-5)
    lanes = surfaces.pairs(np.stack([gap, 2 * gap], 1), np.stack([gain, gain], 1), weights)
    np.testing.assert_allclose(lanes[..., 1], 4 * found, rtol=1e-5)
    assert np.isinf(surfaces.pairs([1.0, 0.0], [0.0, 0.0])[0, 0, 0])


def test_the_simplex_is_a_triangular_grid_with_psi_of_each(rng):
    gap, gain = cloud(rng)
    points, value, actions = surfaces.simplex(gap, gain, per_side=31, actions=[5, 0, 2])
    assert actions == (5, 0, 2)
    assert points.shape == (31 * 32 // 2, 3)
    np.testing.assert_allclose(points.sum(axis=1), 1, rtol=1e-6)
    assert len(np.unique(np.asarray(points).round(5), axis=0)) == len(points)
    np.testing.assert_allclose(value, psi(np.asarray(points).T, gap[[5, 0, 2], None], gain[[5, 0, 2], None]), rtol=1e-5)
    least = least_psi(*np.stack([gap, gain])[:, [5, 0, 2]].astype(float))[0]
    assert least * (1 - 1e-5) <= value.min() < least * 1.01


@pytest.fixture(scope="module")
def field():
    points = np.linspace(0.1, 0.7, 5)[:, None]
    return fields.fit(
        domains.box([0.0], [1.0]), points, np.sin(6 * points[:, 0]), lambda x: 0.1 + x[0], kernels.rbf(0.3)
    )


def test_between_two_points_is_the_best_mix_of_both(field):
    points, others = np.linspace(0, 1, 6)[:, None], np.array([[0.05], [0.9]])
    value, weight = surfaces.between(field, points, others)
    gap, gain = surfaces.gap_and_gain(field.at(jnp.asarray(np.concatenate([points, others]).T, np.float32)))
    for i, j in np.ndindex(6, 2):
        pair = np.array([i, 6 + j])
        expected = least_psi(np.asarray(gap, float)[pair], np.asarray(gain, float)[pair])[0]
        np.testing.assert_allclose(value[i, j], expected, rtol=1e-4)
        shares = np.array([1 - weight[i, j], weight[i, j]], float)
        np.testing.assert_allclose(psi(shares, gap[pair], gain[pair]), expected, rtol=1e-4)
    draw.between(surfaces.Between(value, weight), points, others)
    with pytest.raises(ValueError, match=r"^others: got \[2\] at 0, outside"):
        surfaces.between(field, points, [[2.0]])
    with pytest.raises(ValueError, match=r"^points: got shape \[2, 2\]; it takes an array of shape \[n, 1\]"):
        surfaces.between(field, np.ones((2, 2)))


def test_the_hull_is_that_of_scipy(rng):
    for actions in (3, 5, 40):
        for _ in range(20):
            gap, gain = rng.random((2, actions))
            found = hulls.hull(gap, gain)
            far = np.array([[0, 2.0], [-1, 2.0], [-1, gap.min()]])  # so that what is left is the side we look at
            ends = np.concatenate([np.stack([gain, gap], 1), far, [[gain.max(), 2.0]]])
            vertices = ConvexHull(ends).vertices
            assert set(found) == {v for v in vertices if v < actions}
            assert np.all(np.diff(gain[found]) > 0)
            assert np.all(np.diff(gap[found]) > 0)
    np.testing.assert_array_equal(surfaces.plane([1.0, 1.0, 2, 3], [1.0, 1.0, 2, 3]).hull, [0, 3])  # copies, a line
    np.testing.assert_array_equal(surfaces.plane([2.0, 1.0], [1.0, 1.0]).hull, [1])


def test_no_point_is_within_the_parabola_and_the_optimum_is_on_it(rng):
    for actions in (1, 2, 12):
        gap, gain = cloud(rng, actions)
        found = surfaces.plane(gap, gain)
        value, (mixed_gap, mixed_gain) = float(found.mix.value), np.asarray(found.point, float)
        assert mixed_gap**2 == pytest.approx(value * mixed_gain, rel=1e-5)
        curve_gap, curve_gain = np.asarray(found.curve, float)
        np.testing.assert_allclose(curve_gap**2, value * curve_gain, rtol=1e-5)
        assert curve_gain[-1] == gain.max()
        probs = rng.dirichlet(np.full(actions, 0.3), 500)
        assert np.all((probs @ gap) ** 2 >= value * (probs @ gain) * (1 - 1e-5))
        t = mixed_gap / mixed_gain  # the line that parts hull and parabola
        assert np.all(2 * t * gap - t**2 * gain >= value * (1 - 1e-4))
        assert {int(found.mix.first), int(found.mix.second)} <= set(found.hull)
    assert not np.any(surfaces.plane([0.0, 1.0], [1.0, 2.0]).curve[0])  # Ψ* = 0
    assert not np.any(surfaces.plane([1.0, 2.0], [0.0, 0.0]).curve[1])  # Ψ* = ∞


def test_along_a_run_the_mix_is_the_least_of_its_cloud():
    problem, policy = problems.unit_ball(6, 2, (0.1, 1.0)), policies.PAPER["IDS-UCB"]
    found = surfaces.along(problem, policy, KEY, at=[1, 4, 20])
    assert found.gap.shape == found.gain.shape == (3, 6)
    assert found.gap[-1].min() < found.gap[0].min()
    least = [least_psi(*pair)[0] for pair in np.stack([found.gap, found.gain], 1).astype(float)]
    np.testing.assert_allclose(found.mix.value, least, rtol=1e-4)
    assert np.all((found.action == found.mix.first) | (found.action == found.mix.second))
    several = surfaces.along(problem, policy, KEY, at=[1, 4, 20], trials=2)
    np.testing.assert_array_equal(several.gap[0], found.gap)
    assert several.action.shape == (2, 3)
    axes = draw.along(found)
    assert [ax.get_title(loc="left").split(":")[0] for ax in axes] == ["step 1", "step 4", "step 20"]
    with pytest.raises(ValueError, match=r"^found: got gaps of shape \[2, 3, 6\]; it takes one trial"):
        draw.along(several)
    with pytest.raises(ValueError, match=r"^policy: got .*; it takes one of policies.ids"):
        surfaces.along(problem, policies.PAPER["UCB"], KEY, at=[1])
    with pytest.raises(ValueError, match=r"^at: got .*; it takes increasing whole numbers"):
        surfaces.along(problem, policy, KEY, at=[4, 1])


def test_pictures_have_axes_of_their_own_and_leave_no_trace(rng, tmp_path):
    gap, gain = cloud(rng)
    before, own = dict(matplotlib.rcParams), Figure().subplots()
    pictures = [
        draw.pairs(surfaces.pairs(gap, gain)),
        draw.simplex(surfaces.simplex(gap[:3], gain[:3]), names=["$a", "b", "c"]),
        draw.plane(surfaces.plane(gap, gain), played=3),
        draw.plane(surfaces.plane([0.0, 1.0], [0.0, 0.0])),
        draw.phases(surfaces.phases(two, [0.5, 1.0, 4.0], [0.5, 2.0, 3.0])),
    ]
    for i, ax in enumerate(pictures):
        ax.figure.savefig(tmp_path / f"{i}.png")
    assert draw.plane(surfaces.plane(gap, gain), own) is own
    assert dict(matplotlib.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    assert pictures[2].get_xlabel() == "gain g"
    with pytest.raises(ValueError, match=r"^values: got shape \[12\]; it takes numbers \[K, K, W\]"):
        draw.pairs(gap)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 9), (9, 1)])
def test_one_row_or_column_can_be_drawn(rows, columns, field, tmp_path):
    found = surfaces.phases(two, np.linspace(4, 0.5, columns), np.linspace(3, 0.5, rows))
    assert max(rows, columns) == 1 or 0 < found.mixes.mean() < 1  # there is a boundary
    drawn = [draw.phases(found)]
    points, others = np.linspace(0, 0.9, rows)[:, None], np.linspace(0.1, 1, columns)[:, None]
    pair = surfaces.between(field, points, others)
    mixes = jnp.arange(rows * columns).reshape(rows, columns) % 2
    drawn.append(draw.between(pair._replace(weight=mixes / 2), points, others))
    for ax in drawn:
        ax.figure.savefig(tmp_path / "drawn.png")
        corners = ax.collections[0].get_coordinates()
        assert corners.shape == (rows + 1, columns + 1, 2)
        assert np.all(np.diff(corners[..., 0], axis=1) != 0)  # cells that can be seen
        assert np.all(np.diff(corners[..., 1], axis=0) != 0)


def test_surfaces_are_imported_without_matplotlib():
    code = "import sys, jaxids.surfaces; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def two(a, b):
    return jnp.stack([jnp.ones_like(a), a]), jnp.stack([0.1 * jnp.ones_like(b), b])


def test_phases_are_those_of_a_loop(rng):
    traces = []

    def family(a, b):
        traces.append(1)
        rho = jnp.stack([0.5 * jnp.ones_like(a), a, jnp.ones_like(a)])
        x = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]], np.float32)
        rewards = jnp.stack([jnp.ones_like(b), b, 0.5 * jnp.ones_like(b)])
        return surfaces.gap_and_gain(surfaces.band_after(x, [0, 1, 2], rewards, rho))

    first, second = np.linspace(0.05, 2, 40), np.linspace(-1, 2, 30)
    found = surfaces.phases(family, first, second)
    surfaces.phases(family, first + 0.1, second)
    assert len(traces) == 1
    assert found.mixes.shape == (40, 30)
    assert 0.02 < found.mixes.mean() < 0.9
    one = jax.jit(family)
    for i, j in zip(rng.integers(0, 40, 12), rng.integers(0, 30, 12), strict=True):
        gap, gain = (np.asarray(v, float) for v in one(jnp.float32(first[i]), jnp.float32(second[j])))
        value, *pair, weight = least_psi(gap, gain)
        np.testing.assert_allclose(found.mix.value[i, j], value, rtol=1e-4)
        alone = np.min(gap**2 / gain)
        assert found.mixes[i, j] == (value < alone * (1 - 1e-6)) or alone / value < 1 + 1e-4
        if found.mixes[i, j]:
            np.testing.assert_array_equal(found.actions[i, j], sorted(pair))
            np.testing.assert_allclose(min(weight, 1 - weight), min(w := found.mix.weight[i, j], 1 - w), atol=2e-2)


@dataclass
class Unhashable:
    def __call__(self, a, b):
        return two(a, b)


def test_bad_families_are_named():
    for least in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^family: got gaps or gains that are NaN, infinite or negative at 1, 2"):
            surfaces.phases(lambda a, b, least=least: (jnp.stack([a, least * b]), jnp.array([1.0, 2.0])), [1.0], [2.0])
    with pytest.raises(ValueError, match=r"^family: got gaps or gains that are NaN, infinite or negative at 1, 2"):
        surfaces.phases(lambda a, b: (jnp.array([1.0, -2.0]), jnp.array([1.0, 2.0])), [1.0], [2.0])
    wrong = (lambda a: (a, a), lambda a, b: a, lambda a, b: None, lambda a, b: ("a", "b"), Unhashable())
    for family in wrong:
        with pytest.raises(ValueError, match=r"^family: got .*; it takes a function of two numbers"):
            surfaces.phases(family, [1.0], [2.0])
    for family, got in (
        (lambda a, b: (jnp.ones((2, 1)), jnp.ones((2, 1))), "[2, 1] and float32 of shape [2, 1]"),
        (lambda a, b: (jnp.ones(2), jnp.ones(3)), "[2] and float32 of shape [3]"),
        (lambda a, b: (jnp.stack([a, b]), jnp.stack([a, b]) + 1j), "[2] and complex64 of shape [2]"),
        (lambda a, b: (a, b), "[] and float32 of shape []"),
        (lambda a, b: jnp.stack([a, b]), "[] and float32 of shape []"),
        (lambda a, b: (a, b, a), "[] and float32 of shape [] and float32 of shape []"),
    ):
        message = f"^family: got one that gives float32 of shape {re.escape(got)}; it takes a function of two"
        with pytest.raises(ValueError, match=message):
            surfaces.phases(family, [1.0], [2.0])
    with pytest.raises(ValueError, match=r"^second: got nan"):
        surfaces.phases(two, [1.0], [np.nan])


@pytest.fixture(scope="module")
def several():
    """What is known in 8 trials of one problem, on lanes, after some rewards."""
    rng = np.random.default_rng(5)
    x, rho = rng.normal(size=(5, 2)), np.array([0.2, 0.5, 1.0, 0.5, 0.8])
    rewards = rng.normal(size=(8, 7))
    band = jax.vmap(lambda y: surfaces.band_after(jnp.asarray(x), np.arange(7) % 5, y, rho), out_axes=-1)(rewards)
    return x, rho, rewards, band


def test_helps_most_is_the_derivative_lane_by_lane(several):
    x, rho, rewards, band = several
    found = surfaces.helps_most(band, information.f)
    assert found.shape == (5, 8)
    assert np.all(found >= 0)
    assert np.all(np.sum(found > 0, axis=0) <= 2)  # the actions of the mix alone
    with jax.enable_x64(True):
        exact = surfaces.band_after(x, np.arange(7) % 5, rewards[3], rho)
        least = jax.jit(lambda rho: surfaces.of_band(exact, information.f, rho=rho))
        for k in range(5):
            step = np.exp(1e-5 * (np.arange(5) == k))
            np.testing.assert_allclose(
                found[k, 3], (least(rho * step) - least(rho / step)) / 2e-5, rtol=1e-3, atol=1e-4
            )


def test_effort_lowers_the_ratio_and_keeps_the_budget(several):
    band = several[-1]
    found = surfaces.effort(band, information.f, budget=20.0, least=0.2, steps=100)
    assert found.after < 0.9 * found.before
    np.testing.assert_allclose(found.split.sum(), 20, rtol=1e-5)
    assert found.split.min() >= 0.2 * 4 * (1 - 1e-5)
    np.testing.assert_allclose(found.rho, several[1] / np.sqrt(found.split), rtol=1e-5)
    values = [surfaces.of_band(band, information.f, rho=rho) for rho in (several[1] / 2, np.asarray(found.rho))]
    for value, mean in zip(values, (found.before, found.after), strict=True):
        np.testing.assert_allclose(np.exp(np.mean(np.log(value))), mean, rtol=1e-4)


def test_effort_where_it_matters_lowers_regret():
    """The split is found before the first step; the regrets are 6 standard errors apart, so it fails less than 1e-8."""
    x, theta, rho = np.eye(4), np.array([0.6, 0.5, 0.1, 0.0]), np.full(4, 1.0)
    after = np.array([0, 1, 2, 3] * 30)
    band = surfaces.band_after(x, after, theta[after], rho)
    found = surfaces.effort(band, information.f, least=0.5)
    assert found.after < found.before
    regret = [
        jaxids.simulate(problems.linear(x, theta, r), policies.PAPER["DIDS-F"], key=KEY, trials=256, steps=400)
        for r in (rho, np.asarray(found.rho))
    ]
    apart = regret[0].mean[-1] - regret[1].mean[-1]
    assert apart > 6 * np.hypot(regret[0].stderr[-1], regret[1].stderr[-1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: surfaces.pairs([1.0, -1.0], [1.0, 1.0]), r"^gap: got -1; it takes numbers ≥ 0"),
        (lambda: surfaces.pairs([1.0], [1.0], [0.5, 2.0]), r"^weights: got 2; it takes numbers from 0 to 1"),
        (lambda: surfaces.pairs([1.0], [1.0], [np.nan]), r"^weights: got nan"),
        (lambda: surfaces.pairs([1.0], [1.0], 0.5), r"^weights: got shape \[\]; it takes \[W\]"),
        (lambda: surfaces.simplex([1.0, 1.0], [1.0, 1.0]), r"^gap, gain: got shape \[2\]; they take \[3\]"),
        (lambda: surfaces.simplex(np.ones(4), np.ones(4), actions=[0, 1, 4]), r"^actions: got .*; it takes three"),
        (lambda: surfaces.simplex(np.ones(3), np.ones(3), per_side=1), r"^per_side: got 1; it takes .* from 2 on"),
        (lambda: surfaces.plane(np.ones((2, 2)), np.ones((2, 2))), r"^gap, gain: got shape \[2, 2\]; they take \[K\]"),
        (lambda: surfaces.plane([1.0, np.nan], [1.0, 1.0]), r"^gap: got nan"),
        (lambda: jax.jit(surfaces.plane)(np.ones(2), np.ones(2)), r"^gap: got a traced value; plane"),
        (lambda: surfaces.between(3, [[1.0]]), r"^field: got 3; it takes one of jaxids.fields"),
        (lambda: surfaces.helps_most(3), r"^band: got 3; it takes one of jaxids.confidence"),
        (lambda: surfaces.effort(BAND, budget=0.0), r"^budget: got 0; it takes a number > 0"),
        (lambda: surfaces.effort(BAND, least=2.0), r"^least: got 2.0; it takes a number from 0 to 1"),
        (lambda: surfaces.effort(BAND, least="a"), r"^least: got 'a'; it takes a number from 0 to 1"),
        (lambda: surfaces.effort(BAND, least=np.ones(2)), r"^least: got array\(.*; it takes a number from 0 to 1"),
        (lambda: surfaces.effort(BAND, steps=0), r"^steps: got 0; it takes a whole number"),
        (lambda: surfaces.of_band(BAND, rho=-1.0), r"^rho: got -1; it takes numbers > 0"),
        (lambda: surfaces.of_band(BAND, rho=np.ones(3)), r"^rho: got shape \[3\]; it takes \[2\]"),
        (lambda: surfaces.of_band(3, rho=1.0), r"^band: got 3; it takes one of jaxids.confidence"),
        (lambda: surfaces.of_band(BAND, of=lambda a: a), r"^of: got .*, which fails: .*; it takes a function of gaps"),
        (lambda: draw.plane(PLANE, played=7), r"^played: got 7; it takes a whole number from 0 to 1"),
        (lambda: draw.plane(PLANE, played=-1), r"^played: got -1; it takes a whole number from 0 to 1"),
        (lambda: draw.plane(PLANE, played=[0]), r"^played: got shape \[1\]; it takes a whole number from 0 to 1"),
        (lambda: draw.simplex(SIMPLEX, names=["a", "b"]), r"^names: got \['a', 'b'\]; it takes 3 strings"),
        (lambda: draw.simplex(SIMPLEX, names="abc"), r"^names: got 'abc'; it takes 3 strings"),
        (lambda: draw.phases(PHASES, names=("x",)), r"^names: got \('x',\); it takes 2 strings"),
        (lambda: draw.simplex(3), r"^found: got 3; it takes what surfaces.simplex gave"),
        (lambda: draw.phases(3), r"^found: got 3; it takes what surfaces.phases gave"),
        (lambda: draw.between(3, [[1.0]]), r"^found: got 3; it takes what surfaces.between gave"),
        (lambda: draw.plane(3), r"^found: got 3; it takes what surfaces.plane gave"),
        (lambda: draw.along(3), r"^found: got 3; it takes what surfaces.along gave"),
        (lambda: draw.pairs("a"), r"^values: got 'a'; it takes numbers \[K, K, W\]"),
        (lambda: draw.pairs(3), r"^values: got shape \[\]; it takes numbers \[K, K, W\]"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def nan(band, stream):
    return band.var * np.nan


def negative(band, stream):
    return -band.var


@pytest.mark.parametrize(("gain", "got"), [(nan, "nan"), (negative, r"-\d.*")])
@pytest.mark.parametrize("use", [surfaces.gap_and_gain, surfaces.of_band, surfaces.helps_most, surfaces.effort])
def test_gains_that_are_no_numbers_are_named(use, gain, got, field):
    message = f"^information: got {got}; it takes numbers ≥ 0"
    with pytest.raises(ValueError, match=message):
        use(BAND, gain)
    with pytest.raises(ValueError, match=message):
        surfaces.between(field, [[0.1], [0.2]], information=gain)


BAND = surfaces.band_after(np.eye(2), [0], [1.0], 0.5)
PLANE, SIMPLEX = surfaces.plane([1.0, 2.0], [1.0, 3.0]), surfaces.simplex(np.ones(3), np.ones(3))
PHASES = surfaces.phases(two, [0.5, 1.0], [0.5, 2.0])


@pytest.mark.parametrize("module", [data, derivatives, diagrams, shapes, uses])
def test_examples_of_docstrings(module):
    names = {"jax": jax, "jnp": jnp, "np": np, "information": information, "surfaces": surfaces}
    found = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
