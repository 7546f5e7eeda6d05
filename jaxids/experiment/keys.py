"""Keys of tables in experiment files, checked before JAX is imported.

So a slip answers at once and names the key, what it got and what would do.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxids.words import in_short, shown

__all__ = [
    "LONGEST",
    "REQUIRED",
    "SEED",
    "Key",
    "Table",
    "checked",
    "count",
    "flag",
    "floats",
    "in_words",
    "is_names",
    "is_number",
    "is_numbers",
    "is_seed",
    "is_whole",
    "names_of",
    "nearest",
    "number",
    "one_of",
    "open_unit",
    "positive",
    "twice",
    "value_of",
]

Table = dict[str, Any]
REQUIRED = object()
SEED = "a whole number from 0 to 2³² − 1"
LONGEST = 200  # characters of a value in a message


@dataclass(frozen=True)
class Key:
    """One key: what it takes in words and as a check, its default, whether a grid may sweep over it, how it is kept.

    `why` says of one in a list of texts what is wrong with it, if anything is.
    """

    takes: str
    fits: Callable[[Any], bool]
    default: Any = REQUIRED
    sweeps: bool = False
    kept: Callable[[Any], Any] = lambda value: value
    why: Callable[[str], str] | None = None


def is_whole(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A finite real number that is not a truth value."""
    return (is_whole(value) and abs(value) < 10**300) or (isinstance(value, float) and math.isfinite(value))


def is_names(value: Any) -> bool:
    """A list of texts, none twice."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value) and not twice(value)


def twice(values: Sequence[Any]) -> bool:
    """Whether a value, or a list of values, is there more than once."""
    return len({tuple(value) if isinstance(value, list) else value for value in values}) < len(values)


def is_numbers(value: Any, length: int | None = None) -> bool:
    """A list of numbers, of a length if one is given."""
    return isinstance(value, list) and bool(value) and all(map(is_number, value)) and length in (None, len(value))


def floats(value: Any) -> Any:
    """Numbers as floats, so that 1 and 1.0 are the same setting."""
    return [floats(v) for v in value] if isinstance(value, list) else float(value) if is_number(value) else value


def number(takes: str, fits: Callable[[Any], bool], default: Any) -> Key:
    """A key for one number, which a grid may sweep over."""
    return Key(takes, lambda v: is_number(v) and fits(v), default, True, floats)


def flag() -> Key:
    """A key for true or false, which is false when left out."""
    return Key("true or false", lambda v: isinstance(v, bool), False)


def count(default: Any, sweeps: bool = True, most: int = 10**9) -> Key:
    """A key for a whole number from 1 on."""
    return Key(f"a whole number from 1 to {most}", lambda v: is_whole(v) and 0 < v <= most, default, sweeps)


def positive(default: Any) -> Key:
    """A key for a number above 0."""
    return number("a number > 0", lambda v: v > 0, default)


def open_unit(default: Any) -> Key:
    """A key for a number between 0 and 1."""
    return number("a number in (0, 1)", lambda v: 0 < v < 1, default)


def is_seed(value: Any) -> bool:
    """A whole number of 32 bits."""
    return is_whole(value) and 0 <= value < 2**32


def one_of(names: Sequence[str], default: Any = REQUIRED) -> Key:
    """A key for one of some names."""
    return Key("one of " + ", ".join(map(repr, names)), lambda v: v in names, default)


def names_of(takes: str, why: Callable[[str], str], kept: Callable[[str], str] = str, default: Any = REQUIRED) -> Key:
    """A key for a list of names, none twice, each of which is kept in one way of writing it."""

    def fits(value: Any) -> bool:
        return is_names(value) and not any(map(why, value)) and not twice(list(map(kept, value)))

    return Key(takes, fits, default, kept=lambda value: list(map(kept, value)), why=why)


def checked(
    table: Mapping[str, Any],
    keys: Mapping[str, Key],
    section: str = "",
    sections: Mapping[str, Mapping[str, Key]] | None = None,
) -> Table:
    """The table with defaults filled in, or a ValueError that names the key, what it got and what it takes."""
    for name in table:
        if name not in keys:
            elsewhere = [f"{other}.{name}" for other, known in (sections or {}).items() if name in known]
            raise ValueError(f"{section}{in_short(name)}: unknown key; {nearest(name, elsewhere or list(keys))}")
    return {name: value_of(section + name, table.get(name, REQUIRED), key) for name, key in keys.items()}


def value_of(name: str, value: Any, key: Key) -> Any:
    """A value that fits its key, as it is kept, or the default if there is none, or a ValueError."""
    if value is REQUIRED:
        if key.default is REQUIRED:
            raise ValueError(f"{name}: missing; it takes {key.takes}")
        return key.default
    if key.fits(value):
        return key.kept(value)
    wrong = [(each, said) for each in value if (said := key.why(each))] if key.why and is_names(value) else []
    hint = f"; {shown(wrong[0][0])} is none of them, {wrong[0][1]}" if wrong else ""
    raise ValueError(f"{name}: got {shown(value, LONGEST)}; it takes {key.takes}{hint}")


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
