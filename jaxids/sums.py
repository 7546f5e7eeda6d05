"""Totals over steps, of whatever arrays a hook gives: compensated floats, whole numbers watched for overflow.

A series may run, too: summed from step to step, or the highest so far.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxids.lanes import Sum, add, sum_from

WHOLE = tuple(map(jnp.dtype, ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64")))


def start(zeros: Array) -> Array | Sum:
    """Where a total begins: floats as a compensated sum, truth values and whole numbers as 32 bits or more."""
    if jnp.issubdtype(zeros.dtype, jnp.floating):
        return sum_from(zeros.astype(jnp.promote_types(zeros.dtype, jnp.float32)))
    if zeros.dtype not in WHOLE:
        raise ValueError(f"total: got {zeros.dtype}; it takes truth values, whole numbers that fit int32, or floats")
    return zeros.astype(jnp.promote_types(zeros.dtype, jnp.int32))


def plus(totals: Any, added: Any) -> Any:
    """Totals with one step more; before the first step, what that step adds."""
    if totals is None:
        return added
    return jax.tree.map(lambda t, a: add(t, a) if _is_sum(t) else t + a, totals, added, is_leaf=_is_sum)


def overflows(totals: Any, added: Any, lanes: int) -> Bool[Array, "..."]:
    """In which lanes, on so many trailing axes, a total of whole numbers wraps around."""
    pairs = zip(*(jax.tree.leaves(tree, is_leaf=_is_sum) for tree in (totals, added)), strict=False)
    wraps = [(t + a < t) != (a < 0) for t, a in pairs if not _is_sum(t)]
    return reduce(jnp.logical_or, (jnp.any(w, axis=tuple(range(w.ndim - lanes))) for w in wraps), jnp.asarray(False))


def values(totals: Any) -> Any:
    """The totals as plain arrays."""
    return jax.tree.map(lambda t: getattr(t, "value", t), totals, is_leaf=_is_sum)


def _is_sum(value: Any) -> bool:
    return isinstance(value, Sum)


@dataclass(frozen=True)
class Running:
    """A function of a step whose values are summed over the steps so far, or of which the highest is kept."""

    function: Callable[[Any], Array]
    highest: bool = False

    def __call__(self, step: Any) -> Array:
        """What one step adds, as floats: truth values and whole numbers are counted."""
        value = self.function(step)
        return value.astype(jnp.promote_types(value.dtype, jnp.float32)) if isinstance(value, jax.Array) else value

    def start(self, zeros: Array) -> Array | Sum:
        """Before the first step."""
        return jnp.full_like(zeros, -jnp.inf) if self.highest else sum_from(zeros)

    def after(self, so_far: Any, value: Array) -> Any:
        """With one step more; before the first step, what that step adds."""
        if so_far is None:
            return value
        if self.highest:
            return jnp.maximum(so_far, value)
        total = add(so_far, value)
        return Sum(total.value, jnp.where(jnp.isfinite(total.value), total.low, 0))  # a sum may be infinite
