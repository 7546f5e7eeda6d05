"""The keys of an experiment file: what each takes, and what it is when left out.

Tables are checked before JAX is imported, so that a slip answers at once and names the file, the key and what would do.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxids.bench.thirteen import THIRTEEN

Table = dict[str, Any]
_REQUIRED = object()


@dataclass(frozen=True)
class Key:
    """One key: what it takes in words, the check of that, its default, and whether a grid may sweep over it."""

    takes: str
    fits: Callable[[Any], bool]
    default: Any = _REQUIRED
    sweeps: bool = False


def is_number(value: Any) -> bool:
    """A finite real number that is not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers(value: Any, length: int | None = None) -> bool:
    fits = isinstance(value, list) and len(value) > 0 and all(map(is_number, value))
    return fits and length in (None, len(value))


def _count(default: Any, sweeps: bool = True) -> Key:
    return Key("a whole number from 1 to 2³¹ − 1", lambda v: is_whole(v) and 0 < v < 2**31, default, sweeps)


def _positive(default: Any) -> Key:
    return Key("a number > 0", lambda v: is_number(v) and v > 0, default, sweeps=True)


def _open_unit(default: Any) -> Key:
    return Key("a number in (0, 1)", lambda v: is_number(v) and 0 < v < 1, default, sweeps=True)


def _one_of(names: Sequence[str], default: Any) -> Key:
    return Key("one of " + ", ".join(map(repr, names)), lambda v: v in names, default)


def _seed(value: Any) -> bool:
    return is_whole(value) and 0 <= value < 2**32


def _range(value: Any) -> bool:
    return (is_number(value) and value > 0) or (_numbers(value, 2) and 0 < value[0] <= value[1])


_TEXT = Key("text", lambda v: isinstance(v, str), "")
_TABLE = Key("a table", lambda v: isinstance(v, dict), {})
_TABLES = Key("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v), [])
_PAIRS = Key(
    "a list of pairs of curves, as [['IDS-UCB', 'W-UCB']]",
    lambda v: isinstance(v, list) and all(_labels(pair) and len(pair) == 2 for pair in v),
    [],
)


def _labels(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(v, str) for v in value)


def _policies(value: Any) -> bool:
    return _labels(value) and set(value) <= set(THIRTEEN) and len(set(value)) == len(value)


_POLICIES = Key("a list of the paper's policies, none twice, as ['W-UCB', 'IDS-UCB']", _policies, [])

TOP = {
    "title": _TEXT,
    "notes": _TEXT,
    "trials": _count(500, sweeps=False),
    "steps": _count(5000),
    "points": _count(200, sweeps=False),
    "seed": Key("a whole number from 0 to 2³² − 1", _seed, 0, sweeps=True),
    "pulls": Key("true or false", lambda v: isinstance(v, bool), False),
    "policies": _POLICIES,
    "problem": _TABLE,
    "estimator": _TABLE,
    "grid": _TABLE,
    "curves": _TABLES,
    "claims": _TABLES,
    "compare": _PAIRS,
}
CURVES = {"label": _TEXT, "policies": _POLICIES, "problem": _TABLE, "estimator": _TABLE, "grid": _TABLE}
ESTIMATOR = {
    "delta": _open_unit(0.01),
    "lam": _positive(1.0),
    "norm_bound": Key("a number ≥ 0", lambda v: is_number(v) and v >= 0, 1.0, sweeps=True),
}
_ANY_PROBLEM = {
    "noise": _one_of(("gaussian", "rademacher", "uniform"), "gaussian"),
    "sigma": _positive(None),
    "probes": _positive(None),
    "probe_scale": _open_unit(0.5),
}
_VECTOR = "a list of numbers"
PROBLEMS = {
    "unit ball": {
        "actions": _count(30),
        "dim": _count(3),
        "rho": Key("a number > 0 or [low, high] with 0 < low ≤ high", _range, [0.1, 1.0], sweeps=True),
        "theta": Key(_VECTOR, _numbers, None),
        "instance": Key(
            "'fresh', or the seed of one instance for all trials, a whole number from 0 to 2³² − 1",
            lambda v: v == "fresh" or _seed(v),
            "fresh",
            sweeps=True,
        ),
        **_ANY_PROBLEM,
    },
    "linear": {
        "actions": Key(
            "a list of actions, each a list of d numbers",
            lambda v: isinstance(v, list) and bool(v) and _numbers(v[0]) and all(_numbers(a, len(v[0])) for a in v),
        ),
        "theta": Key(_VECTOR, _numbers),
        "rho": Key(
            "a number > 0 or a list of one for each action",
            lambda v: (is_number(v) and v > 0) or (_numbers(v) and min(v) > 0),
            sweeps=True,
        ),
        "rho_bound": _positive(None),
        **_ANY_PROBLEM,
    },
}
KIND = _one_of(tuple(PROBLEMS), "unit ball")


def checked(table: Mapping[str, Any], keys: Mapping[str, Key], section: str = "") -> Table:
    """The table with defaults filled in, or a ValueError that names the key, what it got and what it takes."""
    for name in table:
        if name not in keys:
            raise ValueError(f"{section}{name}: unknown key; {nearest(name, list(keys))}")
    return {name: value_of(section + name, table.get(name, key.default), key) for name, key in keys.items()}


def value_of(name: str, value: Any, key: Key) -> Any:
    """A value that fits its key, or a ValueError."""
    if value is _REQUIRED:
        raise ValueError(f"{name}: missing; it takes {key.takes}")
    if value is not key.default and not key.fits(value):
        raise ValueError(f"{name}: got {value!r}; it takes {key.takes}{_hint(value, key)}")
    return value


def nearest(name: str, names: Sequence[str]) -> str:
    """The names most like a wrong one, or all of them."""
    by_lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.5)
    return f"nearest: {', '.join(by_lower[n] for n in near)}" if near else f"known: {', '.join(names)}"


def _hint(value: Any, key: Key) -> str:
    """For policies, the names nearest to one that is none of the thirteen."""
    if key is _POLICIES and _labels(value):
        for name in value:
            if name not in THIRTEEN:
                return f"; {name!r} is none of them, {nearest(name, list(THIRTEEN))}"
    return ""
