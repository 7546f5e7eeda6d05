"""What the formulas of bounds take: numbers in their ranges, of one floating type, whose shapes broadcast."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from jaxids import checks

Amount = Real[Array, "..."] | Real[np.ndarray, "..."] | float
"""A number, or one for every trial, recorded step or both; whole numbers will do."""


def at_least(name: str, value: Any, least: float) -> None:
    """Numbers of at least so much; a traced value is not looked at."""
    _compared(name, value, f"numbers ≥ {least:g}", lambda array: array >= least)


def above(name: str, value: Any, least: float) -> None:
    """Numbers of more than so much; a traced value is not looked at."""
    _compared(name, value, f"numbers > {least:g}", lambda array: array > least)


def _compared(name: str, value: Any, takes: str, inside: Any) -> None:
    if not checks.concrete(value):
        return
    array = checks.number(name, value, takes)
    if not np.all(inside(array)):
        raise ValueError(f"{name}: got {array[~inside(array)].flat[0]:.12g}; it takes {takes}")


def numbers(**given: Any) -> tuple[Float[Array, "..."], ...]:
    """The arguments, all ≥ 0, in the type of those that are floats of JAX, else in the working precision."""
    for name, value in given.items():
        checks.not_negatives(name, value)
    kinds = [value.dtype for value in given.values() if isinstance(value, jax.Array)]
    kinds = [kind for kind in kinds if jnp.issubdtype(kind, jnp.floating)] or [jnp.result_type(float)]
    arrays = [checks.real(name, value, "numbers ≥ 0") for name, value in given.items()]
    _broadcast(list(given), [array.shape for array in arrays])
    return tuple(array.astype(jnp.result_type(*kinds)) for array in arrays)


def _broadcast(names: list[str], shapes: list[tuple[int, ...]]) -> None:
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        several = [(name, shape) for name, shape in zip(names, shapes, strict=True) if shape]
        names, got = [name for name, _ in several], " and ".join(str(list(shape)) for _, shape in several)
        raise ValueError(f"{', '.join(names)}: got shapes {got}; they take shapes that broadcast") from None
