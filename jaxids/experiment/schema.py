"""The keys of experiment files: what each takes, and what it is when left out. experiments/README.md says what for."""

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jaxids.experiment import formulas, keys, policy_names
from jaxids.experiment.keys import FLAG, REQUIRED, SEED, Key, Table, count, floats, is_names, is_number, is_numbers
from jaxids.names import BOUNDS, DELTA, LAM, LEAST, NORM_BOUND, SERIES
from jaxids.words import shown

MOST = 1_000_000  # trials, when only a standard error is asked for
MOST_POINTS = 4096  # whose Gram matrix is worth an eigendecomposition
CONTINUOUS = ("box", "ball")
MOVING = "contexts = true, where actions are new at every step"


def _pairs(value: Any) -> bool:
    return isinstance(value, list) and all(is_names(pair) and len(pair) == 2 for pair in value)


def _steps(value: Any) -> bool:
    whole = isinstance(value, list) and bool(value) and all(keys.is_whole(v) and 0 < v < 10**300 for v in value)
    return whole and all(map(operator.lt, value, value[1:]))


def _policies(value: list[str]) -> list[str]:
    """Policies in canonical form, or a ValueError that names one that is none."""
    found = []
    for text in value:
        try:
            found.append(policy_names.written(text))
        except ValueError as error:
            raise ValueError(f"{shown(text)} is none of them, {error}") from None
    if keys.twice(found):
        raise ValueError("two of them are the same")
    return found


def _recorded(value: list[str]) -> list[str]:
    """Series in the order of their table, or a ValueError that names one that is none."""
    if wrong := [name for name in value if name not in _SERIES]:
        raise ValueError(f"{shown(wrong[0])} is none of them, {keys.nearest(wrong[0], list(_SERIES))}")
    return [name for name in _SERIES if name in value]


_SERIES = SERIES | BOUNDS
TEXT = Key("text", lambda v: isinstance(v, str), "")
TABLE = Key("a table", lambda v: isinstance(v, dict), {})
TABLES = Key("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v), [])
_POLICIES = Key(f"a list of policies, none twice: {policy_names.TAKES}", is_names, kept=_policies)
_RECORD = Key(f"a list of {', '.join(_SERIES)}, none twice", lambda v: v == [] or is_names(v), [], kept=_recorded)
LABELS = Key("a list of labels of curves, none twice", is_names)
TOP = {
    "title": TEXT,
    "notes": TEXT,
    "trials": count(500, sweeps=False),
    "until": TABLE,
    "steps": count(5000),
    "points": count(200, sweeps=False),
    "seed": SEED,
    "pulls": FLAG,
    "record": _RECORD,
    "bounds": FLAG,
    "policies": replace(_POLICIES, default=[]),
    "problem": TABLE,
    "estimator": TABLE,
    "grid": TABLE,
    "curves": TABLES,
    "claims": TABLES,
    "compare": Key("a list of pairs of curves, as [['IDS-UCB', 'W-UCB']]", _pairs, []),
    "watch": TABLE,
}
UNTIL = {"stderr": keys.positive(REQUIRED, sweeps=False), "least": count(LEAST, sweeps=False)}
WATCH = {
    "curves": LABELS,
    "steps": Key("a list of steps, increasing", _steps),
    "trial": Key("the number of a trial, from 0 on", lambda v: keys.is_whole(v) and 0 <= v < 10**9, 0),
}
CURVES = {"label": TEXT, "policies": _POLICIES, "pulls": FLAG, "problem": TABLE, "estimator": TABLE, "grid": TABLE}
ESTIMATOR = {
    "delta": keys.open_unit(DELTA),
    "lam": keys.positive(LAM),
    "norm_bound": keys.number("a number ≥ 0", lambda v: v >= 0, NORM_BOUND),
}

_POSITIVE = keys.positive(None)


def _range(value: Any) -> bool:
    return _POSITIVE.fits(value) or (is_numbers(value, 2) and 0 < value[0] <= value[1])


def _bounds(value: Any) -> bool:
    return _POSITIVE.fits(value) or (is_numbers(value) and min(value) > 0)


def _vectors(value: Any) -> bool:
    rows = isinstance(value, list) and bool(value) and is_numbers(value[0])
    return rows and all(is_numbers(row, len(value[0])) for row in value)


def _written(value: Any) -> Any:
    return formulas.written(value) if isinstance(value, str) else floats(value)


KIND = keys.one_of(("unit ball", "linear", "function", "expansion", "gp", "rkhs", *CONTINUOUS), "unit ball")
_MOST = f"at most {formulas.MOST} names, numbers and operations"
_SIGNS = "x1, x2, …, numbers, + - * / ** and " + ", ".join(formulas.MATHS)
_KERNELS = f"a kernel of {', '.join(formulas.KERNELS)}, numbers, + and *, as 'rbf(0.2) + 0.5 * linear()', {_MOST}"
_KERNEL = Key(_KERNELS, formulas.is_kernel, "rbf(0.2)", True, formulas.written)
_ALONG = f"a number > 0, or a formula of a point's coordinates in {_SIGNS}, as '0.1 + 0.9 * x1', {_MOST}"
_FUNCTIONS = f"one of {', '.join(formulas.FUNCTIONS)}, or a formula in {_SIGNS}, {_MOST}"
_FUNCTION = Key(_FUNCTIONS, formulas.is_function, kept=formulas.written)
_VECTOR = Key("a list of numbers", is_numbers, kept=floats)
_POINT = Key("a list of 1 to 9 numbers", lambda v: is_numbers(v) and len(v) <= 9, kept=floats)
_FRESHES = f"'fresh', or the seed of one instance: {SEED.takes}"
_FRESH = Key(_FRESHES, lambda v: v == "fresh" or SEED.fits(v), "fresh", True)
_DRAWN = {"instance": _FRESH, "instances": count(None, sweeps=False, most=10**6)}
_NOISE = {"kind": KIND, "noise": keys.one_of(("gaussian", "rademacher", "uniform"), "gaussian")}
_LINEAR = {**_NOISE, "sigma": _POSITIVE, "probes": _POSITIVE, "probe_scale": keys.open_unit(0.5)}
_BOUND = Key(_ALONG, lambda v: _POSITIVE.fits(v) or formulas.is_function(v), REQUIRED, True, _written)
_RHO = {"rho": _BOUND, "rho_bound": _POSITIVE}
_DOMAIN = {
    **_NOISE,
    "function": _FUNCTION,
    **_RHO,
    "maximum": Key("a number", is_number, None, kept=floats),
    "kernel": replace(_KERNEL, default=None),
    "capacity": count(None, most=100_000),
}
_POINTS = {**_NOISE, "sigma": _POSITIVE, "kernel": _KERNEL, **_RHO}
_GRID = {**_POINTS, "dim": count(1, most=9), "per_side": count(None, most=MOST_POINTS)}
PROBLEMS = {
    "unit ball": {
        **_LINEAR,
        "actions": count(30, most=10**6),
        "dim": count(3, most=1000),
        "rho": Key("a number > 0 or [low, high] with 0 < low ≤ high", _range, [0.1, 1.0], True, floats),
        "theta": replace(_VECTOR, default=None),
        **_DRAWN,
        "contexts": FLAG,
    },
    "linear": {
        **_LINEAR,
        "actions": Key("a list of actions, each a list of d numbers", _vectors, kept=floats),
        "theta": _VECTOR,
        "rho": Key("a number > 0 or a list of one for each action", _bounds, REQUIRED, True, floats),
        "rho_bound": _POSITIVE,
    },
    "function": {**_GRID, "function": _FUNCTION},
    "expansion": {**_GRID, **_DRAWN, "norm": keys.positive(1.0), "centres": count(10, most=MOST_POINTS)},
    "gp": {**_GRID, **_DRAWN},
    "rkhs": {
        **_POINTS,
        "points": Key("a list of points, each a list of p numbers", _vectors, kept=floats),
        "values": Key("a list of numbers, the mean at each point", is_numbers, kept=floats),
        "rho": replace(
            _BOUND,
            takes=f"{_ALONG}, or a list of one number > 0 for each point",
            fits=lambda v: _bounds(v) or formulas.is_function(v),
        ),
    },
    "box": {**_DOMAIN, "low": _POINT, "high": _POINT},
    "ball": {**_DOMAIN, "centre": _POINT, "radius": keys.positive(1.0)},
}
SECTIONS = {
    "estimator": ESTIMATOR,
    "problem": {name: key for known in PROBLEMS.values() for name, key in known.items()},
    "until": UNTIL,
}


def problem_keys(given: Mapping[str, Any], within: str = "problem.") -> Mapping[str, Key]:
    """The keys of a problem of the given kind, or a ValueError if there is no such kind."""
    return PROBLEMS[keys.value_of(f"{within}kind", given.get("kind", REQUIRED), KIND)]


def problem(given: Mapping[str, Any], within: str = "problem.") -> Table:
    """The table of a problem with its defaults and without keys that are not there, or a ValueError that names one."""
    checked = keys.checked(given, problem_keys(given, within), within)
    table = {name: value for name, value in checked.items() if value is not None}
    if table["kind"] == "box" and not (
        is_numbers(high := table["high"], len(low := table["low"])) and all(map(operator.lt, low, high))
    ):
        raise ValueError(f"{within}high: got {table['high']}; it takes a number above each of low = {low}")
    if table.get("instances") and table["instance"] != "fresh":
        got = f"got {table['instances']} together with instance = {table['instance']}"
        raise ValueError(f"{within}instances: {got}; it takes instance = 'fresh'")
    if table.get("contexts"):
        for name in ("sigma", "probes", "instance", "instances"):
            if table.get(name, "fresh") != "fresh":
                got = f"got {table[name]!r} together with {MOVING}"
                raise ValueError(f"{within}{name}: {got}; it takes one or the other")
        del table["instance"]
    return table


def countable(problem: Table) -> bool:
    """Whether there are actions to count: finitely many, the same at every step."""
    return problem["kind"] not in CONTINUOUS and not problem.get("contexts")
