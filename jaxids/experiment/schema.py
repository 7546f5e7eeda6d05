"""The keys of experiment files: what each takes, and what it is when left out. experiments/README.md says what for."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxids.experiment import formulas, policy_names
from jaxids.experiment.keys import (
    REQUIRED,
    Key,
    floats,
    is_names,
    is_number,
    is_numbers,
    is_whole,
    names_of,
    nearest,
    number,
    one_of,
)
from jaxids.names import DELTA, LAM, NORM_BOUND, SERIES

MOST_POINTS = 4096  # whose Gram matrix is worth an eigendecomposition


def _count(default: Any, sweeps: bool = True, most: int = 10**9) -> Key:
    return Key(f"a whole number from 1 to {most}", lambda v: is_whole(v) and 0 < v <= most, default, sweeps)


def _positive(default: Any) -> Key:
    return number("a number > 0", lambda v: v > 0, default)


def _open_unit(default: Any) -> Key:
    return number("a number in (0, 1)", lambda v: 0 < v < 1, default)


def _seed(value: Any) -> bool:
    return is_whole(value) and 0 <= value < 2**32


def _range(value: Any) -> bool:
    return (is_number(value) and value > 0) or (is_numbers(value, 2) and 0 < value[0] <= value[1])


def _bounds(value: Any) -> bool:
    return (is_number(value) and value > 0) or (is_numbers(value) and min(value) > 0)


def _vectors(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and is_numbers(value[0])
        and all(is_numbers(v, len(value[0])) for v in value)
    )


def _increasing(values: Sequence[int]) -> bool:
    return all(0 < one < other for one, other in itertools.pairwise([*values, math.inf]))


def _kept(value: Any) -> Any:
    return formulas.written(value) if isinstance(value, str) else floats(value)


def _pairs(value: Any) -> bool:
    return isinstance(value, list) and all(is_names(pair) and len(pair) == 2 for pair in value)


TEXT = Key("text", lambda v: isinstance(v, str), "")
_FLAG = Key("true or false", lambda v: isinstance(v, bool), False)
_TABLE = Key("a table", lambda v: isinstance(v, dict), {})
_TABLES = Key("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v), [])
_POLICIES = names_of(f"a list of policies, none twice: {policy_names.TAKES}", policy_names.fault, policy_names.written)
_RECORD = Key(
    f"a list of {', '.join(SERIES)}, none twice",
    lambda v: v == [] or (is_names(v) and set(v) <= set(SERIES)),
    [],
    kept=lambda v: [name for name in SERIES if name in v],
    why=lambda name: "" if name in SERIES else nearest(name, list(SERIES)),
)
_COMPARE = Key("a list of pairs of curves, as [['IDS-UCB', 'W-UCB']]", _pairs, [])
_SEED = "a whole number from 0 to 2³² − 1"

TOP = {
    "title": TEXT,
    "notes": TEXT,
    "trials": _count(500, sweeps=False),
    "steps": _count(5000),
    "points": _count(200, sweeps=False),
    "seed": Key(_SEED, _seed, 0, sweeps=True),
    "pulls": _FLAG,
    "record": _RECORD,
    "policies": replace(_POLICIES, default=[]),
    "problem": _TABLE,
    "estimator": _TABLE,
    "grid": _TABLE,
    "curves": _TABLES,
    "claims": _TABLES,
    "compare": _COMPARE,
    "watch": _TABLE,
}
WATCH = {
    "curves": Key("a list of labels of curves, none twice", is_names),
    "steps": Key("a list of steps, increasing", lambda v: is_numbers(v) and all(map(is_whole, v)) and _increasing(v)),
    "trial": Key("the number of a trial, from 0 on", lambda v: is_whole(v) and 0 <= v < 10**9, 0),
}
CURVES = {"label": TEXT, "policies": _POLICIES, "problem": _TABLE, "estimator": _TABLE, "grid": _TABLE}
ESTIMATOR = {
    "delta": _open_unit(DELTA),
    "lam": _positive(LAM),
    "norm_bound": number("a number ≥ 0", lambda v: v >= 0, NORM_BOUND),
}
KIND = one_of(("unit ball", "linear", "function", "expansion", "gp", "rkhs"), "unit ball")
_ANY_PROBLEM = {
    "kind": KIND,
    "noise": one_of(("gaussian", "rademacher", "uniform"), "gaussian"),
    "sigma": _positive(None),
}
_LINEAR = {**_ANY_PROBLEM, "probes": _positive(None), "probe_scale": _open_unit(0.5)}
_VECTOR = "a list of numbers"
_MOST = f"at most {formulas.MOST} names, numbers and operations"
_SIGNS = "x1, x2, …, numbers, + - * / ** and " + ", ".join(formulas.MATHS)
_FRESH = Key(f"'fresh', or the seed of one instance: {_SEED}", lambda v: v == "fresh" or _seed(v), "fresh", True)
_KERNEL = Key(
    f"a kernel of {', '.join(formulas.KERNELS)}, numbers, + and *, as 'rbf(0.2) + 0.5 * linear()', {_MOST}",
    formulas.is_kernel,
    "rbf(0.2)",
    True,
    formulas.written,
)
_NOISE_ALONG = Key(
    f"a number > 0, or a formula of a point's coordinates in {_SIGNS}, as '0.1 + 0.9 * x1', {_MOST}",
    lambda v: (is_number(v) and v > 0) or formulas.is_function(v),
    REQUIRED,
    True,
    _kept,
)
_WITH_KERNEL = {**_ANY_PROBLEM, "kernel": _KERNEL, "rho": _NOISE_ALONG, "rho_bound": _positive(None)}
_ON_GRID = {**_WITH_KERNEL, "dim": _count(1, most=9), "per_side": _count(None, most=MOST_POINTS)}
PROBLEMS = {
    "unit ball": {
        **_LINEAR,
        "actions": _count(30, most=10**6),
        "dim": _count(3, most=1000),
        "rho": Key("a number > 0 or [low, high] with 0 < low ≤ high", _range, [0.1, 1.0], True, floats),
        "theta": Key(_VECTOR, is_numbers, None, kept=floats),
        "instance": _FRESH,
    },
    "linear": {
        **_LINEAR,
        "actions": Key("a list of actions, each a list of d numbers", _vectors, kept=floats),
        "theta": Key(_VECTOR, is_numbers, kept=floats),
        "rho": Key("a number > 0 or a list of one for each action", _bounds, REQUIRED, True, floats),
        "rho_bound": _positive(None),
    },
    "function": {
        **_ON_GRID,
        "function": Key(
            f"one of {', '.join(formulas.FUNCTIONS)}, or a formula in {_SIGNS}, {_MOST}",
            formulas.is_function,
            kept=formulas.written,
        ),
    },
    "expansion": {**_ON_GRID, "instance": _FRESH, "norm": _positive(1.0), "centres": _count(10, most=MOST_POINTS)},
    "gp": {**_ON_GRID, "instance": _FRESH},
    "rkhs": {
        **_WITH_KERNEL,
        "points": Key("a list of points, each a list of p numbers", _vectors, kept=floats),
        "values": Key("a list of numbers, the mean at each point", is_numbers, kept=floats),
        "rho": replace(
            _NOISE_ALONG,
            takes=_NOISE_ALONG.takes + ", or a list of one number > 0 for each point",
            fits=lambda v: _bounds(v) or formulas.is_function(v),
        ),
    },
}
SECTIONS = {
    "estimator": ESTIMATOR,
    "problem": {name: key for known in PROBLEMS.values() for name, key in known.items()},
}
