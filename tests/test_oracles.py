"""The simulators in NumPy agree with jaxids and with each other, and `experiments/speed.py` times them beside jaxids.

Means of final regret are compared at 4.5 joint standard errors, on fixed seeds. Were the seeds drawn anew, one of the
13 comparisons of 256 trials would fail without a fault in about 13 · 7e-6 = 1 of 10 000 runs (normal tails), and one
of the 13 of 20 trials in about 13 · 2.5e-4 = 1 of 300 (Student's t of 19 degrees of freedom).
"""

import functools
import importlib.util
from pathlib import Path

import jax
import numpy as np
import pytest
from oracles import batched, loop, mixes, points

import jaxids
from jaxids import information, kernels, policies, problems, simulate
from jaxids.bench import measure
from jaxids.names import DELTA, LAM, NORM_BOUND, PROPOSALS, THIRTEEN

BANDIT = measure.instance(num_actions=8, dim=2)


@functools.cache
def by_jaxids(name, steps):
    *fixed, rho_bound = BANDIT
    problem = problems.linear(*fixed, rho_bound=rho_bound)
    policy, key = policies.PAPER[name], jax.random.key(1)
    return jaxids.simulate(problem, policy, key=key, trials=256, steps=steps, at=[steps]).final


def standard_errors_apart(left, right):
    error = np.sqrt(left.var(ddof=1) / len(left) + right.var(ddof=1) / len(right))
    return abs(left.mean() - right.mean()) / error


def test_the_table_names_the_policies_and_numbers_of_the_library():
    assert list(THIRTEEN) == list(policies.PAPER)
    for name, plan in THIRTEEN.items():
        policy = policies.PAPER[name]
        assert (policy.noise == policies.known) == plan.weighted
        assert (policy.delta, policy.lam, policy.norm_bound) == (DELTA, LAM, NORM_BOUND)
    assert information.e.proposals == PROPOSALS


@pytest.mark.parametrize("name", THIRTEEN)
def test_batched_numpy_agrees_with_jaxids(name):
    final = batched.simulate(name, *BANDIT, trials=256, steps=200, seed=2)
    assert standard_errors_apart(final, by_jaxids(name, 200)) < 4.5


@pytest.mark.parametrize("name", THIRTEEN)
def test_python_loop_agrees_with_jaxids(name):
    final = loop.simulate(name, *BANDIT, trials=20, steps=100, seed=3)
    assert standard_errors_apart(final, by_jaxids(name, 100)) < 4.5


@pytest.mark.parametrize("name", THIRTEEN)
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_loop_and_batched_play_the_same_actions_on_the_same_draws(name, steps):
    # in a single trial both draw in the same order; regret is a sum of gaps that tell the actions apart
    for seed in range(3):
        one, other = (module.simulate(name, *BANDIT, 1, steps, seed) for module in (loop, batched))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_exact_solver_in_numpy_finds_the_best_pair(rng):
    for _ in range(300):
        gap, gain = rng.exponential(size=20) * 10 ** rng.uniform(-2, 2, 20), rng.exponential(size=20)
        ratios = []
        for solver in (mixes.pairs, mixes.exact):
            first, second, weight = solver(gap, gain)
            mixed = [(1 - weight) * values[first] + weight * values[second] for values in (gap, gain)]
            ratios.append(mixed[0] ** 2 / mixed[1])
        assert ratios[1] == pytest.approx(ratios[0], rel=1e-9)


def test_the_loop_on_points_plays_as_jaxids_does():
    """Mean regret of 200 trials of 60 steps by both; false alarms 1e-6 (a z-test at 4.9 standard errors)."""
    x = np.linspace(0, 1, 15)
    kernel, rho, values = kernels.rbf(0.2), 0.2 + 0.3 * x, np.sin(6 * x)
    instance = points.Points(np.asarray(kernels.gram(kernel, x[:, None]), float), values, rho)
    rng = np.random.default_rng(7)
    theirs = np.array([points.trial(instance, 60, rng) for _ in range(200)])
    problem = problems.rkhs(x[:, None], values, rho, kernel)
    ours = simulate(problem, policies.PAPER["IDS-UCB"], key=jax.random.key(1), trials=200, steps=60).final
    error = np.hypot(theirs.std(ddof=1), ours.std(ddof=1)) / np.sqrt(200)
    assert abs(theirs.mean() - ours.mean()) < 4.9 * error


def test_blocks_of_trials_are_whole_and_independent(monkeypatch):
    monkeypatch.setattr(batched, "BLOCK_NUMBERS", 8 * 2 * 5)
    final = batched.simulate("W-UCB", *BANDIT, trials=12, steps=20, seed=0)
    assert final.shape == (12,)
    first = batched.simulate("W-UCB", *BANDIT, trials=5, steps=20, seed=0)
    np.testing.assert_array_equal(final[:5], first)


def test_numpy_pairs_find_the_minimum_of_the_ratio():
    rng = np.random.default_rng(0)
    gap, gain = rng.random((50, 6)), rng.random((50, 6)) ** 3
    first, second, weight = mixes.pairs(gap, gain)
    rows = np.arange(50)
    probs = np.zeros((50, 6))
    np.add.at(probs, (rows, first), 1 - weight)
    np.add.at(probs, (rows, second), weight)
    found = (probs * gap).sum(1) ** 2 / (probs * gain).sum(1)
    t = np.geomspace(1e-3, 1e6, 20001)[:, None, None]  # the dual: min Ψ = max_t min_k 2tΔ_k − t²g_k
    dual = (2 * t * gap - t**2 * gain).min(axis=-1).max(axis=0)
    assert np.all(found >= dual * (1 - 1e-12))
    np.testing.assert_allclose(found, dual, rtol=1e-3)


def test_mixes_of_no_information_play_the_least_gap():
    gap, gain = np.array([[3.0, 1.0, 2.0]]), np.zeros((1, 3))
    for solver in (mixes.pairs, mixes.single):
        first, second, weight = solver(gap, gain)
        assert np.where(weight == 0, first, second) == 1


@pytest.fixture(scope="module")
def speed():
    path = Path(__file__).parents[1] / "experiments/speed.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_simulators_are_timed_beside_jaxids(speed, capsys):
    asked = ["UCB", "W-UCB"]  # on the shape that the comparisons have compiled for
    speed.compare(measure.Setup(asked, trials=8, steps=5, actions=8, dim=2, repeats=1))
    headline, columns, *rows = capsys.readouterr().out.splitlines()
    assert "K=8 d=2 trials=8 steps=5" in headline
    assert columns.split()[0] == "policy"
    assert [row.split()[0] for row in rows] == asked
    for row in rows:
        _, ours, pairs, by_numpy, numpy_factor, by_loop, loop_factor, compiling = row.split()
        assert pairs == "–"
        assert float(compiling) >= 0  # 0.00 where another policy has compiled the program
        for taken, factor in ((by_numpy, numpy_factor), (by_loop, loop_factor)):
            assert float(factor.rstrip("×")) == pytest.approx(float(taken) / float(ours), rel=0.02)


def test_kernels_are_timed_beside_a_loop_and_refitting(speed, capsys):
    found = speed.compare_on_points(count=6, trials=4, steps=10, repeats=1)
    assert set(found) >= {"rbf jaxids", "rbf loop", "matern12 jaxids", "matern12 half", "refit 10", "refit 500"}
    assert all(value > 0 for value in found.values())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 + 2 + len(speed.REFIT)


def test_refitting_is_the_posterior_of_the_rank_one_steps(rng):
    x = np.linspace(0, 1, 6)
    instance = points.Points(np.asarray(kernels.gram(kernels.rbf(0.3), x[:, None]), float), np.sin(x), 0.1 + x)
    played, rewards = rng.integers(0, 6, 9), rng.standard_normal(9)
    mean, cov = np.zeros(6), instance.gram
    for action, reward in zip(played, rewards, strict=True):
        column = cov[action] / (instance.rho[action] ** 2 + cov[action, action])
        mean, cov = mean + column * (reward - mean[action]), cov - np.outer(cov[action], column)
    for found, expected in zip(points.refit(instance, played, rewards), (mean, cov), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
