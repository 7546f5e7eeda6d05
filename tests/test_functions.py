"""Test functions at their known maxima, and problems made of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale
from scipy.optimize import minimize

from jaxids import kernels, policies, problems, simulate
from jaxids.problems import functions

MAXIMA = {
    "forrester": ([0.75725], 6.02074),
    "branin": ([(np.pi + 5) / 15, 2.275 / 15], -0.397887),
    "ackley": ([0.5, 0.5], 0.0),
    "hartmann3": ([0.114614, 0.555649, 0.852547], 3.86278),
}


@pytest.mark.parametrize("name", MAXIMA)
def test_maxima_are_those_of_the_literature(name, x64, rng):
    function, (best, value) = getattr(functions, name), MAXIMA[name]
    assert function(jnp.array(best)) == pytest.approx(value, abs=1e-4)
    points = rng.random((20_000, len(best)))
    values = np.asarray(jax.vmap(function)(jnp.asarray(points)))
    assert values.max() <= value + 1e-4
    top = points[np.argmax(values)]
    found = minimize(lambda u: -float(function(jnp.asarray(u))), top, method="Nelder-Mead", options={"xatol": 1e-6})
    assert -found.fun == pytest.approx(value, abs=1e-3)


def test_the_crash_is_noisy_where_it_happens():
    noise = [float(functions.motorcycle_noise(jnp.array([u]))) for u in (0.0, 0.55, 1.0)]
    assert 0 < noise[0] < noise[2] < noise[1]
    assert functions.motorcycle(jnp.array([0.4])) < -0.9


def test_a_grid_covers_the_unit_box():
    points = functions.grid(2, 3)
    assert points.shape == (9, 2)
    assert {tuple(point) for point in points} == {(a, b) for a in (0, 0.5, 1) for b in (0, 0.5, 1)}


def test_values_on_a_grid_have_mean_0_and_variance_1():
    problem = functions.on_grid(functions.branin, kernels.matern52(0.3), 0.1, dim=2, per_side=7)
    assert problem.instance.mean.shape == (49,)
    assert np.mean(problem.instance.mean) == pytest.approx(0, abs=1e-5)
    assert np.std(problem.instance.mean) == pytest.approx(1, abs=1e-5)


def test_functions_and_noise_are_evaluated_in_double_precision():
    """In single precision neighbours on the grid have equal values: they differ in late digits of a large number."""
    shifted = functions.on_grid(
        lambda x: 1e6 + jnp.sin(6 * x[0]), kernels.rbf(0.2), lambda x: 1e5 + x[0] - 1e5 + 0.1, dim=1, per_side=100
    )
    plain = functions.on_grid(lambda x: jnp.sin(6 * x[0]), kernels.rbf(0.2), 0.1, dim=1, per_side=100)
    assert np.allclose(shifted.instance.mean, plain.instance.mean, rtol=0, atol=1e-6)
    assert np.allclose(shifted.instance.rho, 0.1 + functions.grid(1, 100)[:, 0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("function", [lambda x: 0.1 + 0 * x[0], lambda x: jnp.sin(x[0]) ** 2 + jnp.cos(x[0]) ** 2])
def test_values_that_differ_by_rounding_alone_are_all_equal(function):
    with pytest.raises(ValueError, match=r"^function: got values of wrong shape or all equal"):
        functions.on_grid(function, kernels.rbf(0.2), 0.1, dim=1, per_side=100)


@pytest.mark.parametrize("name", at_scale(["W-TS", "IDS-TS"], ["W-TS"]))
def test_policies_find_the_crash_s_rebound(name):
    """After 300 steps the regret of a step is below a tenth of that of a uniform choice."""
    noise, crash = functions.motorcycle_noise, functions.motorcycle
    problem = functions.on_grid(crash, kernels.rbf(0.08), noise, dim=1, per_side=50)
    result = simulate(problem, policies.PAPER[name], key=jax.random.key(0), trials=64, steps=600, at=[300, 600])
    chance = float(jnp.max(problem.instance.mean) - jnp.mean(problem.instance.mean))
    assert (result.mean[1] - result.mean[0]) / 300 < 0.1 * chance


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"function": lambda u: u}, "function: got values of wrong shape"),
        ({"function": lambda u: 0.0 * u[0]}, "function: got values"),
        ({"dim": 0}, "dim: got 0"),
        ({"per_side": 2.5}, "per_side: got 2.5"),
    ],
)
def test_bad_grids_are_refused(changed, said):
    good = {"function": functions.forrester, "kernel": kernels.rbf(0.1), "rho": 0.1, "dim": 1, "per_side": 5}
    with pytest.raises(ValueError, match=rf"^{said}"):
        functions.on_grid(**(good | changed))


def test_probes_need_a_linear_problem():
    problem = functions.on_grid(functions.forrester, kernels.rbf(0.1), 0.1, dim=1, per_side=5)
    with pytest.raises(ValueError, match="base: got a problem on points with a kernel"):
        problems.probes(problem)


def test_every_point_can_come_twice():
    """Example 1 on points: copies share their values, and IDS-UCB takes the less noisy ones; W-UCB is the control."""
    base = functions.on_grid(functions.forrester, kernels.rbf(0.2), 0.3, dim=1, per_side=12)
    both = problems.low_high(base, low=0.3, high=1.0)
    options = {"key": jax.random.key(0), "trials": 32, "steps": 100, "total": lambda step: step.choice.action < 12}
    taken = {name: simulate(both, policies.PAPER[name], **options).totals.sum() for name in ("IDS-UCB", "W-UCB")}
    assert taken["W-UCB"] == 32 * 100
    assert taken["IDS-UCB"] <= 3  # where a point tells almost nothing of the target, both copies have one ratio


def test_values_no_function_of_the_kernel_has_are_of_no_norm():
    points = [[-1.0], [0.0], [1.0]]
    assert problems.norm(problems.rkhs(points, [-2.0, 0.0, 2.0], 0.1, kernels.linear())) == pytest.approx(2.0)
    assert problems.norm(problems.rkhs(points, [1.0, 0.0, 1.0], 0.1, kernels.linear())) == np.inf
    with pytest.raises(ValueError, match=r"^problem: got Functions.*; it takes one whose function is the same"):
        problems.norm(problems.gp(points, kernels.linear(), 0.1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: problems.rkhs([[0.0], [1.0]], [0.0, 1e39], 0.1, kernels.rbf()),
            "values: got inf; .* range of float32",
        ),
        (lambda: problems.rkhs([[0.0], [1e10]], [0.0, 1.0], 0.1, kernels.polynomial(12)), "kernel: got -?inf"),
        (
            lambda: problems.rkhs(np.zeros((20_001, 1)), 0, 0.1, kernels.rbf()),
            "points: got 20001; it takes at most 20000",
        ),
        (lambda: problems.expansions(5, kernels.rbf(), 0.1), r"points: got shape \[\]"),
        (lambda: problems.low_high(3), "base: got 3; it takes one of jaxids.problems"),
        (lambda: problems.probes(3), "base: got 3; it takes one of jaxids.problems"),
        (lambda: functions.grid(8, 30), "per_side: got 30, 656100000000 points with dim = 8; it takes at most 20000"),
    ],
)
def test_problems_too_large_or_none_are_refused(make, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        make()


def test_a_function_too_small_for_its_variance_is_named(x64):
    for size in (1e-200, 1e-300):
        with pytest.raises(ValueError, match=r"^function: got .*; it takes .*not too small$"):
            functions.on_grid(lambda x, size=size: size * x[0], kernels.rbf(0.3), 0.5, dim=1, per_side=5)
