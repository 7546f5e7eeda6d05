"""The keys of `[problem]` in experiment files, by its kind: what each takes, and what it is when left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxids.experiment import formulas
from jaxids.experiment.keys import (
    REQUIRED,
    SEED,
    Key,
    Table,
    checked,
    count,
    flag,
    floats,
    is_number,
    is_numbers,
    is_seed,
    one_of,
    open_unit,
    positive,
    value_of,
)

__all__ = ["CONTINUOUS", "KIND", "MOST_POINTS", "MOVING", "PROBLEMS", "countable", "problem"]

MOST_POINTS = 4096  # whose Gram matrix is worth an eigendecomposition
CONTINUOUS = ("box", "ball")


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


def _kept(value: Any) -> Any:
    return formulas.written(value) if isinstance(value, str) else floats(value)


KIND = one_of(("unit ball", "linear", "function", "expansion", "gp", "rkhs", *CONTINUOUS), "unit ball")
_EVERY_PROBLEM = {"kind": KIND, "noise": one_of(("gaussian", "rademacher", "uniform"), "gaussian")}
_ANY_PROBLEM = {**_EVERY_PROBLEM, "sigma": positive(None)}
_LINEAR = {**_ANY_PROBLEM, "probes": positive(None), "probe_scale": open_unit(0.5)}
_VECTOR = "a list of numbers"
_MOST = f"at most {formulas.MOST} names, numbers and operations"
_SIGNS = "x1, x2, …, numbers, + - * / ** and " + ", ".join(formulas.MATHS)
_FRESH = Key(f"'fresh', or the seed of one instance: {SEED}", lambda v: v == "fresh" or is_seed(v), "fresh", True)
_DRAWN = {"instance": _FRESH, "instances": count(None, sweeps=False, most=10**6)}
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
_FUNCTION = Key(
    f"one of {', '.join(formulas.FUNCTIONS)}, or a formula in {_SIGNS}, {_MOST}",
    formulas.is_function,
    kept=formulas.written,
)
_POINT = Key("a list of 1 to 9 numbers", lambda v: is_numbers(v) and len(v) <= 9, kept=floats)
_ON_DOMAIN = {
    **_EVERY_PROBLEM,
    "function": _FUNCTION,
    "rho": _NOISE_ALONG,
    "rho_bound": positive(None),
    "maximum": Key("a number", is_number, None, kept=floats),
    "kernel": replace(_KERNEL, default=None),
    "capacity": count(None, most=100_000),
}
_WITH_KERNEL = {**_ANY_PROBLEM, "kernel": _KERNEL, "rho": _NOISE_ALONG, "rho_bound": positive(None)}
_ON_GRID = {**_WITH_KERNEL, "dim": count(1, most=9), "per_side": count(None, most=MOST_POINTS)}
PROBLEMS = {
    "unit ball": {
        **_LINEAR,
        "actions": count(30, most=10**6),
        "dim": count(3, most=1000),
        "rho": Key("a number > 0 or [low, high] with 0 < low ≤ high", _range, [0.1, 1.0], True, floats),
        "theta": Key(_VECTOR, is_numbers, None, kept=floats),
        **_DRAWN,
        "contexts": flag(),
    },
    "linear": {
        **_LINEAR,
        "actions": Key("a list of actions, each a list of d numbers", _vectors, kept=floats),
        "theta": Key(_VECTOR, is_numbers, kept=floats),
        "rho": Key("a number > 0 or a list of one for each action", _bounds, REQUIRED, True, floats),
        "rho_bound": positive(None),
    },
    "function": {**_ON_GRID, "function": _FUNCTION},
    "expansion": {**_ON_GRID, **_DRAWN, "norm": positive(1.0), "centres": count(10, most=MOST_POINTS)},
    "gp": {**_ON_GRID, **_DRAWN},
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
PROBLEMS |= {
    "box": {**_ON_DOMAIN, "low": _POINT, "high": _POINT},
    "ball": {**_ON_DOMAIN, "centre": _POINT, "radius": positive(1.0)},
}
MOVING = "contexts = true, where actions are new at every step"


def problem(given: Mapping[str, Any], within: str = "problem.") -> Table:
    """The table of a problem with its defaults and without keys that are not there, or a ValueError that names one."""
    kind = value_of(f"{within}kind", given.get("kind", KIND.default), KIND)
    table = {name: value for name, value in checked(given, PROBLEMS[kind], within).items() if value is not None}
    if kind == "box" and not (is_numbers(table["high"], len(low := table["low"])) and _below(low, table["high"])):
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


def _below(low: Sequence[float], high: Sequence[float]) -> bool:
    return all(one < other for one, other in zip(low, high, strict=True))


def countable(problem: Table) -> bool:
    """Whether there are actions to count: finitely many, the same at every step."""
    return problem["kind"] not in CONTINUOUS and not problem.get("contexts")
