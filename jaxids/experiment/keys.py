"""Keys of tables in experiment files, checked before JAX is imported.

So a slip answers at once and names the key, what it got and what would do.
"""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxids.words import in_short, shown

Table = dict[str, Any]
REQUIRED = object()
LONGEST = 200  # characters of a value in a message


@dataclass(frozen=True)
class Key:
    """One key of a table.

    Attributes:
        takes: The expected value in words.
        fits: Whether a value is one.
        default: The value of a key that is left out.
        sweeps: Whether a grid may sweep over it.
        kept: The canonical form of a value that fits; a ValueError adds its text to the message.
    """

    takes: str
    fits: Callable[[Any], bool]
    default: Any = REQUIRED
    sweeps: bool = False
    kept: Callable[[Any], Any] = lambda value: value


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number."""
    return (is_whole(value) and abs(value) < 10**300) or (isinstance(value, float) and math.isfinite(value))


def is_names(value: Any) -> bool:
    """Whether a value is a list of texts, none twice."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value) and not twice(value)


def twice(values: Sequence[Any]) -> bool:
    """Whether a value, or a list of values, is there more than once."""
    return len({tuple(value) if isinstance(value, list) else value for value in values}) < len(values)


def is_numbers(value: Any, length: int | None = None) -> bool:
    """Whether a value is a list of numbers, of a length if one is given."""
    return isinstance(value, list) and bool(value) and all(map(is_number, value)) and length in (None, len(value))


def floats(value: Any) -> Any:
    """Numbers as floats, so that 1 and 1.0 are the same setting."""
    return [floats(v) for v in value] if isinstance(value, list) else float(value) if is_number(value) else value


def number(takes: str, fits: Callable[[Any], bool], default: Any) -> Key:
    """A key for one number, which a grid may sweep over."""
    return Key(takes, lambda v: is_number(v) and fits(v), default, True, floats)


def count(default: Any, sweeps: bool = True, most: int = 10**9) -> Key:
    """A key for a whole number from 1 on."""
    return Key(f"a whole number from 1 to {most}", lambda v: is_whole(v) and 0 < v <= most, default, sweeps)


def positive(default: Any, sweeps: bool = True) -> Key:
    """A key for a number above 0."""
    return Key("a number > 0", lambda v: is_number(v) and v > 0, default, sweeps, floats)


def open_unit(default: Any) -> Key:
    """A key for a number between 0 and 1."""
    return number("a number in (0, 1)", lambda v: 0 < v < 1, default)


def one_of(names: Sequence[str], default: Any = REQUIRED) -> Key:
    """A key for one of some names."""
    return Key("one of " + ", ".join(map(repr, names)), lambda v: v in names, default)


FLAG = Key("true or false", lambda v: isinstance(v, bool), False)
SEED = Key("a whole number from 0 to 2³² − 1", lambda v: is_whole(v) and 0 <= v < 2**32, 0, True)


def checked(
    table: Mapping[str, Any],
    keys: Mapping[str, Key],
    section: str = "",
    sections: Mapping[str, Mapping[str, Key]] | None = None,
) -> Table:
    """Check a table and fill in its defaults.

    Args:
        table: Values by key.
        keys: The keys that the table may have.
        section: Where the table is, for messages, as "problem.".
        sections: Keys of other tables, among which an unknown key is looked for.

    Returns:
        The value of every key in canonical form.

    Raises:
        ValueError: A key is unknown or missing, or its value does not fit.
    """
    for name in table:
        if name not in keys:
            elsewhere = [f"{other}.{name}" for other, known in (sections or {}).items() if name in known]
            raise ValueError(f"{section}{in_short(name)}: unknown key; {nearest(name, elsewhere or list(keys))}")
    return {name: value_of(section + name, table.get(name, REQUIRED), key) for name, key in keys.items()}


def value_of(name: str, value: Any, key: Key) -> Any:
    """Return the canonical form of a value, or the default of its key for REQUIRED.

    Args:
        name: The name of the key in messages.
        value: What a table has, REQUIRED if it has nothing.
        key: What the key takes.

    Raises:
        ValueError: The value does not fit, or there is neither a value nor a default.
    """
    if value is REQUIRED:
        if key.default is REQUIRED:
            raise ValueError(f"{name}: missing; it takes {key.takes}")
        return key.default
    hint = ""
    if key.fits(value):
        try:
            return key.kept(value)
        except ValueError as error:
            hint = f"; {error}"
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
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
