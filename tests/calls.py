"""Calls of the public functions that are right, and values that make one argument of them wrong."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxids
from jaxids import beliefs, confidence, domains, fields, information, kernels, policies, problems, ratio
from jaxids.problems import functions

POINTS = np.array([[0.0, 0.0], [0.5, 1.0], [1.0, 0.2]])
BOX, KERNEL = domains.box([0.0, 0.0], [1.0, 1.0]), kernels.rbf(0.3)
FIXED = problems.linear(POINTS + 0.1, [1.0, 0.2], 0.5)
ON_POINTS = problems.rkhs(POINTS, [0.0, 1.0, 2.0], 0.5, KERNEL)
ESTIMATOR = {"delta": 0.1, "lam": 1.0, "norm_bound": 1.0}
NOISE = {"rho_bound": 2.0, "noise": problems.gaussian}
GAPS = {"gap": np.array([0.1, 1.0, 2.0]), "gain": np.array([0.0, 0.5, 1.0])}
RUN = {"key": jax.random.key(0), "trials": 2, "steps": 3}
HOOKS = {"at": [1, 3], "record": None, "total": None, "devices": None}
SEEN = {"points": POINTS, "rewards": [0.0, 1.0, 0.5]}
HISTORY = beliefs.history.init(KERNEL, 2, 3)


def plain(x: Any) -> Any:
    """A function of a point."""
    return x[0]


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users have it, without the tests' check of types."""
    return inspect.unwrap(function)


def half(x: Any) -> Any:
    """A noise bound at a point."""
    return 0.5 + 0 * x[0]


def averaged(proposals: Any) -> information.Averaged:
    """I^E as users have it."""
    made = object.__new__(information.Averaged)
    public(information.Averaged.__init__)(made, proposals)
    return made


CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (problems.linear, {"actions": POINTS, "theta": [1.0, 0.2], "rho": [0.1, 1.0, 0.5], **NOISE}),
    (problems.unit_ball, {"num_actions": 4, "dim": 2, "rho": 0.5, "theta": [1.0, 0.0], "noise": problems.uniform}),
    (problems.low_high, {"base": FIXED, "low": 0.5, "high": 1.0}),
    (problems.probes, {"base": FIXED, "rho": 0.01, "scale": 0.5}),
    (problems.rkhs, {"points": POINTS, "values": [0.0, 1.0, 2.0], "rho": 0.5, "kernel": KERNEL, **NOISE}),
    (problems.expansions, {"points": POINTS, "kernel": KERNEL, "rho": 0.5, "norm": 1.0, "centres": 2, **NOISE}),
    (problems.gp, {"points": POINTS, "kernel": KERNEL, "rho": 0.5, **NOISE}),
    (problems.norm, {"problem": ON_POINTS}),
    (problems.check_draws, {"problem": FIXED}),
    (functions.on_grid, {"function": plain, "kernel": KERNEL, "rho": 0.5, "dim": 1, "per_side": 3, **NOISE}),
    (functions.grid, {"dim": 2, "per_side": 3}),
    (functions.branin, {"u": POINTS[1]}),
    (functions.ackley, {"u": POINTS[1]}),
    (policies.ucb, {"scale": 0.5, "noise": policies.bounded, **ESTIMATOR}),
    (policies.ts, {"inflated": False, "scale": 0.5, "noise": policies.known, **ESTIMATOR}),
    (policies.greedy, ESTIMATOR),
    (policies.epsilon_greedy, {"epsilon": 0.5, "power": 0.5, **ESTIMATOR}),
    (policies.explore_then_commit, {"steps": 5, **ESTIMATOR}),
    (policies.phased_elimination, {"delta": 0.1, "lam": 1.0}),
    (policies.per_trial, {"function": information.f}),
    (policies.ids, {"gain": information.ucb, "solver": ratio.exact, "gap": policies.surrogate, **ESTIMATOR}),
    (policies.ids, {"gain": information.f, "deterministic": True}),
    (policies.check, {"policy": policies.PAPER["UCB"]}),
    (averaged, {"proposals": 3}),
    (kernels.rbf, {"scale": 0.3}),
    (kernels.matern52, {"scale": [0.3, 0.5]}),
    (kernels.polynomial, {"degree": 2, "bias": 1.0}),
    (kernels.of, {"kernel": KERNEL}),
    (kernels.check, {"kernel": KERNEL, "dim": 2}),
    (kernels.gram, {"kernel": KERNEL, "rows": POINTS, "columns": POINTS}),
    (domains.box, {"low": [0.0, 0.0], "high": [1.0, 1.0]}),
    (domains.ball, {"centre": [0.0, 0.0], "radius": 1.0}),
    (domains.check, {"domain": BOX}),
    (ratio.exact, GAPS),
    (ratio.pairs, GAPS),
    (ratio.single, GAPS),
    (ratio.descent, {**GAPS, "steps": 5, "rate": 1.0}),
    (ratio.simplex, {**GAPS, "steps": 5, "rate": 1.0}),
    (ratio.psi, {"probs": [0.5, 0.5, 0.0], **GAPS}),
    (confidence.beta, {"log_det": 1.0, **ESTIMATOR}),
    (beliefs.linear.init, {"actions": POINTS.T, "lam": 1.0}),
    (beliefs.kernel.init, {"features": POINTS.T, "lam": 1.0}),
    (beliefs.history.init, {"kernel": KERNEL, "dim": 2, "capacity": 3, "lam": 1.0}),
    (beliefs.history.look, {"state": HISTORY, "point": POINTS[1]}),
    (problems.continuous, {"domain": BOX, "function": plain, "rho": half, "kernel": KERNEL, "capacity": 3, **NOISE}),
    (problems.contextual, {"num_actions": 4, "dim": 2, "rho": 0.5, "theta": [1.0, 0.0], "noise": problems.uniform}),
    (fields.fit, {**SEEN, "domain": BOX, "kernel": KERNEL, "rho": 0.5, **ESTIMATOR}),
    (jaxids.simulate, {"problem": FIXED, "policy": policies.PAPER["UCB"], **RUN, **HOOKS}),
    (jaxids.load, {"folder": "nowhere"}),
]
FEW = {jaxids.simulate: 5, problems.continuous: 3, fields.fit: 6}  # values for each argument of what takes long
SHARED = 16  # and of the others


def tries(function: Callable[..., Any], at_scale: bool) -> int:
    """How many wrong values each argument of a function is given: a quarter of them unless at scale."""
    most = FEW.get(function, SHARED)
    return most if at_scale else max(1, most // 4)


BAD: list[Any] = [
    None,
    "",
    "a\nb",
    "🎲\0",
    b"1",
    True,
    0,
    -1,
    4,
    2**31,
    2**63,
    10**400,
    10**5000,
    0.0,
    -0.0,
    0.5,
    1.5,
    float("nan"),
    float("inf"),
    -1e308,
    1e308,
    1e-308,
    1j,
    [],
    [[]],
    [1.0, [2.0]],
    [1.0, None],
    [0.5] * 1000,
    np.array([1, "a"], object),
    np.ones((2, 3, 4)),
    np.zeros((0, 2)),
    np.full((3, 2), np.nan),
    np.array(["a"]),
    np.datetime64("2018-07-04"),
    np.array([True, False]),
    np.array(0.5, np.float16),
    np.uint8(3),
    {},
    {"a": 1},
    {1, 2},
    object(),
    range(3),
    slice(3),
    int,
    plain,
    lambda *_: None,
    lambda *_: "a",
    lambda *_: jnp.ones(2),
    lambda *_: jnp.nan,
    lambda *_: 1j,
    lambda: 1.0,
    jax.random.key(1),
    jax.ShapeDtypeStruct((3,), jnp.float32),
]
