"""Problems on points with a kernel as experiment files name them: those of Python, and slips that name the key."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxids import kernels, problems
from jaxids.beliefs import kernel as belief
from jaxids.experiment import build, read, unfold
from jaxids.problems import functions

ROOT = Path(__file__).parents[1]


def problem_of(**table):
    """The problem of a table of an experiment file."""
    known = {key: known for (section, key), known in unfold.places(table).items() if section == "problem"}
    checked = read.keys.checked(table, known, "problem.")
    return build.problem_of({name: value for name, value in checked.items() if value is not None})


def same(one, other):
    return all(
        np.allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(jax.tree.leaves(one.draw(KEY)), jax.tree.leaves(other.draw(KEY)), strict=True)
    )


KEY = jax.random.key(2)
GRID = functions.grid(1, 30)


def rising(u):
    return 0.1 + 0.9 * u[0]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (
            {"kind": "function", "function": "branin", "dim": 2, "per_side": 6, "rho": 0.2, "kernel": "matern52(0.3)"},
            functions.on_grid(functions.branin, kernels.matern52(0.3), 0.2, dim=2, per_side=6),
        ),
        (
            {"kind": "function", "function": "sin(9 * x1)", "per_side": 30, "rho": "0.1 + 0.9 * x1", "rho_bound": 2},
            functions.on_grid(lambda u: jnp.sin(9 * u[0]), kernels.rbf(0.2), rising, dim=1, per_side=30, rho_bound=2),
        ),
        (
            {"kind": "expansion", "per_side": 30, "rho": 0.3, "norm": 3, "centres": 4, "noise": "uniform"},
            problems.expansions(GRID, kernels.rbf(0.2), 0.3, norm=3, centres=4, noise=problems.uniform),
        ),
        (
            {"kind": "gp", "per_side": 30, "rho": 0.3, "kernel": "matern12(1)"},
            problems.gp(GRID, kernels.matern12(1.0), 0.3),
        ),
        (
            {"kind": "rkhs", "points": [[0, 1], [1, 1], [2, 3]], "values": [1, 2, 0], "rho": [0.1, 0.2, 0.3]},
            problems.rkhs([[0, 1], [1, 1], [2, 3]], [1, 2, 0], [0.1, 0.2, 0.3], kernels.rbf(0.2)),
        ),
        (
            {"kind": "gp", "per_side": 30, "rho": 0.3, "sigma": 0.8},
            problems.low_high(problems.gp(GRID, kernels.rbf(0.2), 0.3), low=0.3, high=0.8),
        ),
    ],
)
def test_tables_are_the_problems_of_python(table, problem):
    assert same(problem_of(**table), problem)
    assert problem_of(**table).noise is problem.noise


def test_an_instance_is_one_function_for_all_trials():
    one = problem_of(kind="gp", rho=0.3, instance=5)
    assert np.array_equal(one.draw(KEY).mean, one.draw(jax.random.key(9)).mean)
    assert one.belief is belief
    assert one.draw(KEY).mean.shape == (100,)
    assert problem_of(kind="gp", rho=0.3, dim=2).draw(KEY).mean.shape == (100,)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            {"kind": "function", "rho": 0.1, "function": "x1 + (-1)**0.5"},
            "function: got .*; it takes a function of a p",
        ),
        ({"kind": "gp"}, "problem.rho: missing; it takes a number > 0, or a formula"),
        ({"kind": "gp", "rho": 0}, "problem.rho: got 0; it takes a number > 0, or a formula"),
        ({"kind": "gp", "rho": "0.1 - x1"}, "rho: got -0.00.*; it takes numbers > 0"),
        ({"kind": "gp", "rho": "log(x1)"}, "rho: got -inf; .* all finite"),
        ({"kind": "gp", "rho": "0.1 + x2"}, "rho: got '0.1 . x2'; with dim = 1 it takes no coor"),
        ({"kind": "gp", "rho": "os.system('x')"}, "problem.rho: got .* it takes"),
        ({"kind": "gp", "rho": float("nan")}, "problem.rho: got nan; it takes"),
        ({"kind": "gp", "rho": 0.1, "kernel": "rfb(1)"}, "problem.kernel: got 'rfb.1.'; it takes a kernel of rbf, mat"),
        ({"kind": "gp", "rho": 0.1, "kernel": "rbf(0)"}, "kernel: got 'rbf.0.'; scale: got 0"),
        ({"kind": "gp", "rho": 0.1, "kernel": "rbf([1, 2])"}, r"kernel: got .*; scale: got shape \[2\]; it takes one"),
        ({"kind": "gp", "rho": 0.1, "dim": 3, "per_side": 20}, "per_side: got 20, 8000 points with dim = 3"),
        ({"kind": "gp", "rho": 0.1, "function": "branin"}, "problem.function: unknown key"),
        ({"kind": "gp", "rho": 0.1, "probes": 0.1}, "problem.probes: unknown key"),
        ({"kind": "function", "rho": 0.1, "function": "brainin"}, "problem.function: got 'brainin'; it takes one of f"),
        (
            {"kind": "function", "rho": 0.1, "function": "branin"},
            "function: got 'branin'; u: got a point of dim 1; branin takes 2",
        ),
        (
            {"kind": "rkhs", "rho": "branin", "points": [[1]], "values": [1]},
            "rho: got 'branin'; u: got a point of dim 1; branin takes 2",
        ),
        ({"kind": "function", "rho": 0.1, "function": "1e29 * exp(640 * x1)"}, r"function: got 8.*e\+306 and 1e\+29;"),
        (
            {"kind": "gp", "rho": 0.1, "sigma": 1e30},
            r"sigma: got 1e\+30; it takes a number > 0, within the range of fl",
        ),
        (
            {"kind": "function", "rho": 0.1, "function": "1"},
            "function: got values of wrong shape or all equal",
        ),
        ({"kind": "expansion", "rho": 0.1, "per_side": 5}, "centres: got 10; it takes at most the 5 points"),
        ({"kind": "rkhs", "rho": 0.1, "points": [[1]]}, "problem.values: missing"),
        ({"kind": "rkhs", "rho": 0.1, "points": [[1], [2]], "values": [1]}, r"values: got shape \[1\]"),
        ({"kind": "rkhs", "rho": [1], "points": [[1], [2]], "values": [1, 2]}, r"rho: got shape \[1\]"),
        ({"kind": "rkhs", "rho": 1, "points": [[1], [2, 3]], "values": [1, 2]}, "problem.points: got"),
        ({"kind": "gp", "rho": "x1 + 1", "sigma": 3}, "sigma: got 3.0 beside rho = x1 . 1; with it, rho takes one"),
    ],
)
def test_slips_name_the_key(table, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        problem_of(**table)


@pytest.mark.parametrize("path", sorted((ROOT / "experiments" / "rkhs").glob("*.toml")), ids=lambda path: path.stem)
def test_the_norm_bounds_of_the_files_hold(path):
    """β_t takes a bound on the function's RKHS norm; in these files it is one."""
    setting = read.read(path).cells[0].setting
    problem = build.problem_of(setting["problem"])
    norm = problem.weights.norm if hasattr(problem, "weights") else problems.norm(problem)
    assert 0.7 * setting["estimator"]["norm_bound"] < norm <= setting["estimator"]["norm_bound"]
    assert len(read.read(path).cells) == 13
    said = re.search(r"RKHS norm is ([\d.]+\d)", read.read(path).table["notes"])
    assert said is None or float(said[1]) == pytest.approx(norm, abs=0.05)
