"""The simulator on continuous sets: beside the one on a fine grid, and all thirteen policies.

False alarms: mean regrets of the two simulators, which draw different numbers, are compared at 4.5 standard errors in
four places, with 1 % more for the grid: 3e-5.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import continuous, domains, information, kernels, policies, problems, ratio, simulate
from jaxids.problems import functions

KEY, STEPS = jax.random.key(6), 15
INTERVAL, DISC = domains.box([0.0], [1.0]), domains.ball([0.0, 0.0])
KERNEL = kernels.matern52(0.2)
ON_GRID = ("UCB", "W-TS", "DIDS-F", "IDS-UCB")  # compared with a grid; the others play on a disc


def wave(x):
    return jnp.sin(7 * x[0])


def rising(x):
    return 0.05 + 0.4 * x[0]


CURVED = continuous.problem(INTERVAL, wave, rising, KERNEL)
PLANE = continuous.problem(DISC, lambda x: 0.8 * x[0] - 0.6 * x[1], lambda x: 0.2 + 0.3 * x[1] ** 2)


def test_the_largest_values_are_found():
    assert float(CURVED.top) == pytest.approx(1.0, abs=1e-5)
    assert float(CURVED.rho_bound) == pytest.approx(0.45, abs=1e-5)
    assert float(PLANE.top) == pytest.approx(1.0, abs=1e-5)
    assert float(PLANE.rho_bound) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("name", ON_GRID)
def test_regret_is_that_on_a_fine_grid(name):
    policy, points = policies.PAPER[name], functions.grid(1, 150)
    values = np.asarray(jax.vmap(wave)(jnp.asarray(points)))
    fine = problems.rkhs(points, values, rising, KERNEL)
    there = simulate(fine, policy, key=KEY, trials=512, steps=STEPS)
    here = continuous.simulate(CURVED, policy, key=KEY, trials=32, steps=STEPS)
    assert np.all((here.recorded >= 0) & (here.recorded <= 1))
    for t in (4, STEPS - 1):
        error = np.hypot(here.stderr[t], there.stderr[t])
        assert abs(here.mean[t] - there.mean[t]) < 4.5 * error + 0.01 * there.mean[t] + 0.01


@pytest.mark.parametrize("name", [name for name in policies.PAPER if name not in ON_GRID])
def test_the_other_policies_play_inside(name):
    result = continuous.simulate(PLANE, policies.PAPER[name], key=KEY, trials=2, steps=6)
    assert result.recorded.shape == (2, 6, 2)
    assert np.all(np.linalg.norm(result.recorded, axis=-1) <= 1 + 1e-6)
    played = 1 - result.recorded @ [0.8, -0.6]
    assert np.allclose(result.final, played.sum(axis=1), atol=1e-4)
    assert np.allclose(result.mean, np.cumsum(played.mean(axis=0)), atol=1e-4)


def test_a_trial_is_the_same_among_any_number():
    few, many = (continuous.simulate(PLANE, policies.ts(), key=KEY, trials=n, steps=6) for n in (3, 11))
    assert np.array_equal(few.recorded, many.recorded[:3])
    assert np.array_equal(few.final, many.final[:3])
    assert not np.array_equal(many.final[:3], many.final[8:])


def test_progress_is_told_and_a_full_history_goes_on():
    told = []
    small = continuous.problem(INTERVAL, wave, 0.3, KERNEL, capacity=4)
    result = continuous.simulate(small, policies.ucb(), key=KEY, trials=10, steps=9, progress=told.append)
    assert told == [8, 10]
    late = result.recorded[:, 4:]
    assert np.all(late == late[:, :1])  # nothing more is learnt
    assert np.ptp(result.recorded[:, :4]) > 0


def gain(band, stream):
    return band.var


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            policies.ids(gain),
            "policy: got the gain <function gain .*; on a continuous set it takes",
        ),
        (policies.ids(information.f, gap=lambda band: band.radius), "policy: got the rule .*policies.PAPER"),
        (policies.ids(information.f, solver=ratio.descent), "solver: got .*; on a continuous set it takes ratio.exact"),
        (policies.Policy(policies.optimistic, delta=2.0), "delta: got 2"),
        ("UCB", "policy: got 'UCB'; it takes one of jaxids.policies"),
    ],
)
def test_policies_without_a_meaning_here_are_refused(policy, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        continuous.simulate(PLANE, policy, key=KEY, trials=1, steps=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"domain": [0, 1]}, "domain: got .*; it takes domains.box or domains.ball"),
        ({"function": 3}, "function: got 3; it takes a function"),
        ({"function": lambda x: x}, r"function: got one that returns shape \[1\]"),
        ({"function": lambda x: jnp.log(x[0] - 0.5)}, "function: got nan"),
        ({"rho": 0.0}, "rho: got 0; it takes a number > 0"),
        ({"rho": lambda x: x[0] - 0.5}, "rho: got -.*; it takes numbers > 0"),
        ({"rho": lambda x: x}, r"rho: got one that returns shape \[1\]"),
        ({"noise": 3}, "noise: got 3; it takes a function"),
        ({"rho_bound": "x"}, "rho_bound: got 'x'; it takes a number > 0"),
        ({"rho_bound": 0.1}, "rho_bound: got 0.1; it takes a number ≥ 0.2, the largest rho"),
        ({"kernel": "rbf"}, "kernel: got 'rbf'"),
        ({"kernel": lambda x, y: x}, r"kernel: got one that returns shape \[1\]"),
        ({"capacity": 0}, "capacity: got 0"),
    ],
)
def test_problems_that_cannot_be_are_refused(change, said):
    given = {"domain": INTERVAL, "function": wave, "rho": 0.2, "kernel": KERNEL} | change
    with pytest.raises(ValueError, match=rf"^{said}"):
        continuous.problem(**given)


@pytest.mark.parametrize(("name", "value"), [("trials", 0), ("steps", 1.5), ("key", 3), ("problem", 7)])
def test_runs_that_cannot_be_are_refused(name, value):
    given = {"problem": PLANE, "policy": policies.ucb(), "key": KEY, "trials": 1, "steps": 1} | {name: value}
    with pytest.raises(ValueError, match=rf"^{name}: got"):
        continuous.simulate(**given)


def test_little_noise_is_borne_in_single_precision():
    """120 observations with ρ = 1e-3, most of them at the best point: no more regret once it is found."""
    quiet = continuous.problem(INTERVAL, wave, 1e-3, kernels.rbf(0.2))
    result = continuous.simulate(quiet, policies.ucb(), key=KEY, trials=2, steps=120)
    assert result.mean[-1] - result.mean[60] < 0.05
