"""Experiment files gone wrong: values, keys, formulas and bytes of good ones, changed at random."""

import copy
import json
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.random import Generator

Place = tuple[Any, Any]  # a table or list, and a key or index of it
ROOT = Path(__file__).parent.parent
LINEAR = (
    "policies = ['W-UCB']\n[problem]\nkind = 'linear'\nactions = [[1, 0], [0.5, 1]]\ntheta = [1, 0.2]\nrho = [0.1, 1]"
)
PAIRS = (
    "policies = ['UCB', 'IDS-TS']\nproblem = { actions = 4, dim = 2, instance = 3, sigma = 2.0, rho = 0.5 }\n"
    "grid.lam = [1, 2]\n[[curves]]\nlabel = '{policy}-{probes}'\npolicies = ['W-TS']\ngrid.probes = [1e-3, 0.1]"
)
SMALL = (
    LINEAR,
    PAIRS,
    "policies = ['TS']\n[problem]\nkind = 'rkhs'\npoints = [[0, 0], [0.5, 1], [1, 0]]\nvalues = [0, 1, 2]\n"
    "rho = '0.1 + x1 * exp(-x2)'\nkernel = 'rbf([0.2, 0.5]) + 0.5 * polynomial(2)'",
    "policies = ['DIDS-F']\n[problem]\nkind = 'gp'\nper_side = 5\nrho = 0.2\nkernel = 'matern12(0.3)'",
    "policies = ['ids(ucb, solver=pairs)', 'UCB']\nrecord = ['ratio', 'beta']\nproblem = { actions = 3, dim = 2 }",
    "policies = ['IDS-E']\nproblem = { kind = 'function', function = 'x1 - x2', dim = 2, per_side = 4, rho = 0.2 }",
)
TEXTS = (
    *("", " ", "fresh", "ü", "\0", "a\nb", "\u202eab", "\u2028", "🎲", "\x1b[2J"),
    *("{", "{policy} {", "x" * 5000, "1e9"),
)
LISTS = (
    *([], [[]], [[[1.0]]], [0.5], [1, 1], [2.0, 0.1], [math.nan], [True], [{}], [1] * 999),
    *(["UCB", "UCB"], ["W-UCB"]),
)
WHOLE = (0, -1, 1, 2, 7, 2**31, 2**32, 2**63, 10**299, 10**400, 10**5000)
FLOATS = (0.0, -0.0, 0.5, 1.5, -2.5, 1e308, 1e-308, 5e-324, math.nan, math.inf, -math.inf)
VALUES = (*TEXTS, *LISTS, *WHOLE, *FLOATS, True, False, {}, {"a": 1}, {"kind": "gp"})
RAW = (  # values that only a text can have
    *("[" * 3000 + "]" * 3000, "[" * 90 + "]" * 90, "{a=" * 3000 + "1" + "}" * 3000, "{" + "a." * 3000 + "a = 1}"),
    *("1" * 5000, "1979-05-27", "1979-05-27T07:32:00.5+01:00", "07:32:00", '"\\ud800"', "1e999", "1_000", "+0x1"),
)
NAMES = (
    *("", "a b", "ü", "a\nb", "\0", "🎲", "\u202ea", "k" * 3000),
    *("kind", "rho", "sigma", "steps", "grid", "label", "trails"),
)
SETTABLE = (
    *("delta", "lam", "norm_bound", "rho", "problem.dim", "actions", "seed", "steps"),
    *("policies", "instance", "kind"),
)
SIGNS = (
    *("x1", "x9", "x0", "(", ")", "+", "-", "/", "**", "0", "1e30", "1e-300", "1e999", "9**9**9", "j", "@", "1if"),
    *("linear()", "polynomial(3)", "rbf(", "exp", "sqrt(", "_", ":", "=", "'", ".", ",", "[", "]"),
)
BYTES = (
    *(b"\xff", b"\0", b"\xef\xbb\xbf", b"\r", b"[[", b'"', b'"""', b"=", b".", b"#"),
    *(b"\xed\xa0\x80", b"{", b"\x1b", b"'"),
)
FACTORS = (-1, 0, 2, 0.5, 1e-30, 1e30, 1e-45, 1e39)


def originals() -> list[str]:
    """The shipped files and a few small ones."""
    return [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("experiments/**/*.toml"))] + list(SMALL)


def mutant(rng: Generator, original: str) -> bytes:
    """A file with one to three changes, of what it says or of how it is written."""
    if rng.random() < 0.7:
        return document(table(rng, tomllib.loads(original)))
    source = original.encode()
    for _ in range(rng.integers(1, 4)):
        source = _scratched(rng, source)
    return source


def table(rng: Generator, original: dict[str, Any]) -> dict[str, Any]:
    """A table with one to three changes anywhere in it."""
    changed = copy.deepcopy(original)
    for _ in range(rng.integers(1, 4)):
        if places := list(_places(changed)):
            _one(rng, CHANGES)(rng, places, *_one(rng, places))
    return changed


def document(table: dict[str, Any]) -> bytes:
    """A table as a file."""
    return "\n".join(f"{_quoted(key)} = {_written(value)}" for key, value in table.items()).encode()


def assignment(rng: Generator) -> str:
    """What may follow `--set`: a key, known or not, and a value or what is none."""
    name = _one(rng, (*NAMES[1:], *SETTABLE * 2, *(f"grid.{key}" for key in SETTABLE)))
    change = f"{name}={_written(_one(rng, VALUES)) if rng.random() < 0.8 else _one(rng, RAW)}"
    return change if rng.random() < 0.8 else _scratched(rng, change.encode()).decode("utf-8", "replace")


def _written(value: Any) -> str:
    """A value as TOML writes it, tables in one line; whole numbers that Python is too careful to write, in hex."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_written(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, bool | str):
        return _quoted(value)
    return hex(value) if isinstance(value, int) and value > 10**4000 else repr(value)


def _quoted(value: str | bool) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one(rng: Generator, some: Any) -> Any:
    return some[rng.integers(len(some))]


def _scratched(rng: Generator, source: bytes) -> bytes:
    """A text with one change of its bytes or lines."""
    here, there = sorted(rng.integers(len(source) + 1, size=2))
    lines = source.split(b"\n")
    row = rng.integers(len(lines))
    raw = lines[row].partition(b"=")[0] + b"= " + _one(rng, RAW).encode()
    changed = (
        source[:here],
        source[:here] + source[there:],
        source[:here] + _one(rng, BYTES) + source[here:],
        source[:here] + rng.bytes(1) + source[here + 1 :],
        b"\n".join([*lines, lines[row]]),
        b"\n".join([*lines[:row], *lines[row + 1 :]]),
        b"\n".join([*lines[:row], raw, *lines[row + 1 :]]),
        source.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + source,
    )
    return _one(rng, changed)


def _places(within: Any) -> Iterator[Place]:
    for key in list(within if isinstance(within, dict) else range(len(within))):
        yield within, key
        if isinstance(within[key], dict | list):
            yield from _places(within[key])


def _replace(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    within[key] = copy.deepcopy(_one(rng, VALUES))


def _rename(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    if isinstance(within, dict):
        within[_one(rng, NAMES)] = within.pop(key)


def _delete(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    del within[key]


def _move(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    """A copy elsewhere: one more of a list, under its own key, or in place of what is there."""
    value, (other, place) = copy.deepcopy(within[key]), _one(rng, places)
    if isinstance(other, list) and rng.random() < 0.5:
        other.append(value)
    elif isinstance(other, dict) and isinstance(key, str) and rng.random() < 0.5:
        other[key] = value
    else:
        other[place] = value


def _reword(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    """A formula, if there is one, else a text, with a sign too many or too few."""
    known = [(each, k) for each, k in places if k in ("rho", "kernel", "function") and isinstance(each[k], str)]
    within, key = _one(rng, known) if known else (within, key)
    if isinstance(within[key], str):
        here, there = sorted(rng.integers(len(within[key]) + 1, size=2))
        sign, rest = _one(rng, SIGNS) if rng.random() < 0.7 else "", here if rng.random() < 0.5 else there
        within[key] = within[key][:here] + sign + within[key][rest:]


def _rescale(rng: Generator, places: list[Place], within: Any, key: Any) -> None:
    """A number times another, which may leave its range."""
    numbers = [(each, k) for each, k in places if isinstance(each[k], int | float) and abs(each[k]) <= 1e308]
    if numbers:
        within, key = _one(rng, numbers)
        within[key] *= _one(rng, FACTORS)


CHANGES = (_replace, _replace, _rename, _delete, _move, _reword, _rescale)
