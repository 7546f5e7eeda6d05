"""Errors that name the argument, what it got and what it takes, before anything compiles."""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def concrete(value: Any) -> bool:
    """Whether a value can be looked at; a traced one cannot."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value))


def number(name: str, value: Any, takes: str) -> np.ndarray:
    """The value as a finite real array, or a ValueError."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {value!r}; it takes {takes}") from None
    if not np.all(np.isfinite(array)):
        bad = array[~np.isfinite(array)].flat[0]
        raise ValueError(f"{name}: got {bad}; it takes {takes}, all finite")
    return array


def _range(name: str, value: Any, takes: str, low: float, high: float, open_low: bool = True) -> None:
    if concrete(value):
        array = number(name, value, takes)
        outside = ((array <= low) if open_low else (array < low)) | (array >= high)
        if np.any(outside):
            raise ValueError(f"{name}: got {array[outside].flat[0]:g}; it takes {takes}")


def within(name: str, value: Any, low: float, high: float) -> None:
    """Every entry strictly between two numbers."""
    _range(name, value, f"a number in ({low:g}, {high:g})", low, high)


def positive(name: str, value: Any) -> None:
    """Every entry above zero."""
    _range(name, value, "numbers > 0", 0, np.inf)


def not_negative(name: str, value: Any) -> None:
    """Every entry at least zero."""
    _range(name, value, "numbers ≥ 0", 0, np.inf, open_low=False)


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name}: got {value!r}; it takes a whole number ≥ {least}")
    return int(value)


def shape(name: str, value: Any, expected: tuple[int | str, ...]) -> np.ndarray:
    """A finite array of a shape whose axes are numbers or, where any length will do, names."""
    takes = "an array of shape [" + ", ".join(map(str, expected)) + "]"
    array = number(name, value, takes)
    fits = array.ndim == len(expected) and all(
        isinstance(want, str) or want == got for want, got in zip(expected, array.shape, strict=True)
    )
    if not fits or array.size == 0:
        raise ValueError(f"{name}: got shape {list(array.shape)}; it takes {takes}")
    return array
