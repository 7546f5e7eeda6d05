"""The keys of an experiment file: what each takes, and what it is when left out. experiments/README.md says what for.

Tables are checked before JAX is imported, so that a slip answers at once and names the file, the key and what would do.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxids.bench.thirteen import THIRTEEN

Table = dict[str, Any]
_REQUIRED = object()


@dataclass(frozen=True)
class Key:
    """One key: what it takes in words and as a check, its default, whether a grid may sweep over it, how it is kept."""

    takes: str
    fits: Callable[[Any], bool]
    default: Any = _REQUIRED
    sweeps: bool = False
    kept: Callable[[Any], Any] = lambda value: value
    names: Sequence[str] = ()  # that a list of names may hold


def is_whole(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A finite real number that is not a truth value."""
    return (is_whole(value) and abs(value) < 10**300) or (isinstance(value, float) and math.isfinite(value))


def is_names(value: Any) -> bool:
    """A list of texts, none twice."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value) and not _twice(value)


def _twice(values: Sequence[Any]) -> bool:
    return any(value in values[:i] for i, value in enumerate(values))


def _numbers(value: Any, length: int | None = None) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_number, value)) and length in (None, len(value))


def _floats(value: Any) -> Any:
    """Numbers as floats, so that 1 and 1.0 are the same setting."""
    return [_floats(v) for v in value] if isinstance(value, list) else float(value) if is_number(value) else value


def number(takes: str, fits: Callable[[Any], bool], default: Any) -> Key:
    """A key for one number, which a grid may sweep over."""
    return Key(takes, lambda v: is_number(v) and fits(v), default, True, _floats)


def one_of(names: Sequence[str], default: Any = _REQUIRED) -> Key:
    """A key for one of some names."""
    return Key("one of " + ", ".join(map(repr, names)), lambda v: v in names, default)


def _count(default: Any, sweeps: bool = True, most: int = 10**9) -> Key:
    return Key(f"a whole number from 1 to {most}", lambda v: is_whole(v) and 0 < v <= most, default, sweeps)


def _positive(default: Any) -> Key:
    return number("a number > 0", lambda v: v > 0, default)


def _open_unit(default: Any) -> Key:
    return number("a number in (0, 1)", lambda v: 0 < v < 1, default)


def _seed(value: Any) -> bool:
    return is_whole(value) and 0 <= value < 2**32


def _range(value: Any) -> bool:
    return (is_number(value) and value > 0) or (_numbers(value, 2) and 0 < value[0] <= value[1])


def _bounds(value: Any) -> bool:
    return (is_number(value) and value > 0) or (_numbers(value) and min(value) > 0)


def _vectors(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and _numbers(value[0])
        and all(_numbers(v, len(value[0])) for v in value)
    )


def _pairs(value: Any) -> bool:
    return isinstance(value, list) and all(is_names(pair) and len(pair) == 2 for pair in value)


TEXT = Key("text", lambda v: isinstance(v, str), "")
_TABLE = Key("a table", lambda v: isinstance(v, dict), {})
_TABLES = Key("a list of tables", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v), [])
_POLICIES = Key(
    "a list of the paper's policies, none twice, as ['W-UCB', 'IDS-UCB']",
    lambda v: is_names(v) and set(v) <= set(THIRTEEN),
    names=list(THIRTEEN),
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
    "pulls": Key("true or false", lambda v: isinstance(v, bool), False),
    "policies": replace(_POLICIES, default=[]),
    "problem": _TABLE,
    "estimator": _TABLE,
    "grid": _TABLE,
    "curves": _TABLES,
    "claims": _TABLES,
    "compare": _COMPARE,
}
CURVES = {"label": TEXT, "policies": _POLICIES, "problem": _TABLE, "estimator": _TABLE, "grid": _TABLE}
ESTIMATOR = {
    "delta": _open_unit(0.01),
    "lam": _positive(1.0),
    "norm_bound": number("a number ≥ 0", lambda v: v >= 0, 1.0),
}
KIND = one_of(("unit ball", "linear"), "unit ball")
_ANY_PROBLEM = {
    "kind": KIND,
    "noise": one_of(("gaussian", "rademacher", "uniform"), "gaussian"),
    "sigma": _positive(None),
    "probes": _positive(None),
    "probe_scale": _open_unit(0.5),
}
_VECTOR = "a list of numbers"
PROBLEMS = {
    "unit ball": {
        **_ANY_PROBLEM,
        "actions": _count(30, most=10**6),
        "dim": _count(3, most=1000),
        "rho": Key("a number > 0 or [low, high] with 0 < low ≤ high", _range, [0.1, 1.0], True, _floats),
        "theta": Key(_VECTOR, _numbers, None, kept=_floats),
        "instance": Key(
            f"'fresh', or the seed of one instance: {_SEED}", lambda v: v == "fresh" or _seed(v), "fresh", True
        ),
    },
    "linear": {
        **_ANY_PROBLEM,
        "actions": Key("a list of actions, each a list of d numbers", _vectors, kept=_floats),
        "theta": Key(_VECTOR, _numbers, kept=_floats),
        "rho": Key("a number > 0 or a list of one for each action", _bounds, _REQUIRED, True, _floats),
        "rho_bound": _positive(None),
    },
}


def checked(table: Mapping[str, Any], keys: Mapping[str, Key], section: str = "") -> Table:
    """The table with defaults filled in, or a ValueError that names the key, what it got and what it takes."""
    for name in table:
        if name not in keys:
            elsewhere = [f"{other}.{name}" for other, known in _SECTIONS.items() if name in known and not section]
            raise ValueError(f"{section}{name}: unknown key; {nearest(name, elsewhere or list(keys))}")
    return {name: value_of(section + name, table.get(name, _REQUIRED), key) for name, key in keys.items()}


_SECTIONS = {"estimator": ESTIMATOR, "problem": {**PROBLEMS["linear"], **PROBLEMS["unit ball"]}}


def value_of(name: str, value: Any, key: Key) -> Any:
    """A value that fits its key, as it is kept, or the default if there is none, or a ValueError."""
    if value is _REQUIRED:
        if key.default is _REQUIRED:
            raise ValueError(f"{name}: missing; it takes {key.takes}")
        return key.default
    if key.fits(value):
        return key.kept(value)
    wrong = [n for n in value if n not in key.names] if key.names and is_names(value) else []
    hint = f"; {wrong[0]!r} is none of them, {nearest(wrong[0], key.names)}" if wrong else ""
    raise ValueError(f"{name}: got {value!r}; it takes {key.takes}{hint}")


def nearest(name: str, names: Sequence[str]) -> str:
    """The names most like a wrong one, or all of them."""
    by_lower = {known.lower(): known for known in names}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=3, cutoff=0.5)
    return f"nearest: {', '.join(by_lower[n] for n in near)}" if near else f"known: {', '.join(names)}"


def in_words(value: Any) -> str:
    """A number or a range as a reader writes it, different for different ones."""
    if isinstance(value, list):
        return "[" + ", ".join(map(in_words, value)) + "]"
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)
