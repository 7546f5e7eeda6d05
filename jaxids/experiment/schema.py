"""The keys of experiment files: what each takes, and what it is when left out. experiments/README.md says what for."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxids.experiment import policy_names
from jaxids.experiment.keys import (
    REQUIRED,
    SEED,
    Key,
    count,
    flag,
    is_names,
    is_numbers,
    is_seed,
    is_whole,
    names_of,
    nearest,
    number,
    open_unit,
    positive,
)
from jaxids.experiment.problem_keys import PROBLEMS
from jaxids.names import BOUNDS, DELTA, LAM, LEAST, NORM_BOUND, SERIES

__all__ = ["CURVES", "ESTIMATOR", "MOST", "SECTIONS", "TEXT", "TOP", "UNTIL", "WATCH"]

MOST = 1_000_000  # trials, when only a standard error is asked for


def _increasing(values: Sequence[int]) -> bool:
    return all(0 < one < other for one, other in itertools.pairwise([*values, math.inf]))


def _pairs(value: Any) -> bool:
    return isinstance(value, list) and all(is_names(pair) and len(pair) == 2 for pair in value)


TEXT = Key("text", lambda v: isinstance(v, str), "")
_TABLE = Key("a table", lambda v: isinstance(v, dict), {})
_TABLES = Key("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v), [])
_POLICIES = names_of(f"a list of policies, none twice: {policy_names.TAKES}", policy_names.fault, policy_names.written)
_SERIES = SERIES | BOUNDS
_RECORD = Key(
    f"a list of {', '.join(_SERIES)}, none twice",
    lambda v: v == [] or (is_names(v) and set(v) <= set(_SERIES)),
    [],
    kept=lambda v: [name for name in _SERIES if name in v],
    why=lambda name: "" if name in _SERIES else nearest(name, list(_SERIES)),
)
_COMPARE = Key("a list of pairs of curves, as [['IDS-UCB', 'W-UCB']]", _pairs, [])

TOP = {
    "title": TEXT,
    "notes": TEXT,
    "trials": count(500, sweeps=False),
    "until": _TABLE,
    "steps": count(5000),
    "points": count(200, sweeps=False),
    "seed": Key(SEED, is_seed, 0, sweeps=True),
    "pulls": flag(),
    "record": _RECORD,
    "bounds": flag(),
    "policies": replace(_POLICIES, default=[]),
    "problem": _TABLE,
    "estimator": _TABLE,
    "grid": _TABLE,
    "curves": _TABLES,
    "claims": _TABLES,
    "compare": _COMPARE,
    "watch": _TABLE,
}
UNTIL = {"stderr": replace(positive(REQUIRED), sweeps=False), "least": count(LEAST, sweeps=False)}
WATCH = {
    "curves": Key("a list of labels of curves, none twice", is_names),
    "steps": Key("a list of steps, increasing", lambda v: is_numbers(v) and all(map(is_whole, v)) and _increasing(v)),
    "trial": Key("the number of a trial, from 0 on", lambda v: is_whole(v) and 0 <= v < 10**9, 0),
}
CURVES = {
    "label": TEXT,
    "policies": _POLICIES,
    "pulls": flag(),
    "problem": _TABLE,
    "estimator": _TABLE,
    "grid": _TABLE,
}
ESTIMATOR = {
    "delta": open_unit(DELTA),
    "lam": positive(LAM),
    "norm_bound": number("a number ≥ 0", lambda v: v >= 0, NORM_BOUND),
}
SECTIONS = {
    "estimator": ESTIMATOR,
    "problem": {name: key for known in PROBLEMS.values() for name, key in known.items()},
    "until": UNTIL,
}
