"""The few array primitives that are fast with many trials on the trailing axes.

Everywhere in jaxids the meaning of an array sits on its leading axes (`actions [d, K]`, `gap [K]`, `beta []`) and
any axes that follow are *lanes*: independent trials, carried along by broadcasting. The functions here are those
that NumPy's own spelling of would run as scalar code on a CPU (an argmin, a contraction over three features), and
the compensated sum that lets single precision hold an estimate over millions of steps.
"""

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxids import layouts

__all__ = [
    "Best",
    "Sum",
    "add",
    "all_finite",
    "anywhere",
    "dot",
    "first_max",
    "first_min",
    "matvec",
    "orthogonal",
    "pick",
    "root",
    "seldom",
    "settled",
    "shared",
    "sum_from",
]

UNROLL = 32  # rows compared in one unrolled chain
TERMS = 16  # products added in one loop
MOST = 64  # turns of a loop, should rounding go in circles

Value = TypeVar("Value")


def shared(value: Value) -> Value:
    """Compute a value once although several consumers read it; without it XLA repeats the work in each of them."""
    return lax.optimization_barrier(value) if layouts.current().barriers else value


class Best(NamedTuple):
    """The extreme entry of an array along its leading axis: where it is, and its value."""

    arg: Int[Array, "..."]
    value: Float[Array, "..."]


def first_min(values: Float[Array, "K ..."]) -> Best:
    """The smallest entry along the leading axis; the lowest index wins a tie."""
    return _first(jnp.less, jnp.inf, values)


def first_max(values: Float[Array, "K ..."]) -> Best:
    """The largest entry along the leading axis; the lowest index wins a tie."""
    return _first(jnp.greater, -jnp.inf, values)


def _first(beats: Callable[[Array, Array], Array], worst: float, values: Float[Array, "K ..."]) -> Best:
    """One chain of comparisons, or one in every group of rows and then one over the groups."""
    rows = values.shape[0]
    if rows <= UNROLL:
        return _chain(beats, values)
    if values.ndim == 1:  # without lanes a loop over rows is as good, and a short program
        arg = jnp.argmin(values) if beats is jnp.less else jnp.argmax(values)
        return Best(arg.astype(jnp.int32), values[arg])
    within = _chain(beats, _groups(values, worst))
    group, value = _first(beats, worst, within.value)
    return Best(group * UNROLL + pick(within.arg, group), value)


def _chain(beats: Callable[[Array, Array], Array], values: Float[Array, "K ..."]) -> Best:
    arg, best = jnp.zeros(values.shape[1:], jnp.int32), values[0]
    for row in range(1, values.shape[0]):
        better = beats(values[row], best)
        arg = jnp.where(better, row, arg)
        best = jnp.where(better, values[row], best)
    return Best(shared(arg), shared(best))  # apart: mostly only one of them is asked for


def all_finite(values: Float[Array, "K ..."]) -> Bool[Array, "..."]:
    """Whether no entry along the leading axis is NaN or infinite: nothing times any of those is NaN."""
    return _sum(values * 0) == 0


def anywhere(marks: Bool[Array, "K ..."]) -> Bool[Array, ""]:
    """Whether any entry is true, in any lane."""
    rows = marks.shape[0]
    if rows > UNROLL and marks.ndim > 1:
        return anywhere(functools.reduce(operator.or_, _groups(marks, False)))
    return jnp.any(functools.reduce(operator.or_, marks) if marks.ndim > 1 else marks)


def _sum(values: Float[Array, "K ..."]) -> Float[Array, "..."]:
    """One chain of additions, or one in every group of rows and then one over the groups."""
    rows = values.shape[0]
    if rows <= UNROLL:
        return functools.reduce(operator.add, values)
    return _sum(functools.reduce(operator.add, _groups(values, 0.0)))


def _groups(values: Array, filler: float) -> Array:
    """Rows [K, …] in groups of `UNROLL`, the place in a group first; the last group is filled up."""
    groups = -(-values.shape[0] // UNROLL)
    padding = [(0, groups * UNROLL - values.shape[0], 0)] + [(0, 0, 0)] * (values.ndim - 1)
    padded = lax.pad(values, jnp.asarray(filler, values.dtype), padding)
    return jnp.moveaxis(padded.reshape(groups, UNROLL, *values.shape[1:]), 1, 0)


def pick(values: Array, index: Int[Array, "..."]) -> Array:
    """Entry `index` along the last axis before the lanes: […, K, lanes] and [lanes] give […, lanes]."""
    axis = values.ndim - index.ndim - 1
    if values.shape[axis] <= layouts.current().selects:
        return _selected(jnp.moveaxis(values, axis, 0), index)
    index = index.reshape((1,) * (axis + 1) + index.shape)
    return jnp.take_along_axis(values, index, axis=axis, mode="promise_in_bounds").squeeze(axis)


def _selected(rows: Array, index: Int[Array, "..."]) -> Array:
    """One row for each lane by a chain of selects."""
    chosen = rows[0]
    for row in range(1, rows.shape[0]):
        chosen = jnp.where(index == row, rows[row], chosen)
    return chosen


def settled(turn: Callable[[Value], Value], unsettled: Callable[[Value], Bool[Array, "..."]], start: Value) -> Value:
    """Turn after turn until no lane is unsettled, `MOST` at most, or as many as the layout writes out."""
    layout, value = layouts.current(), start
    for _ in range(layout.written_out):
        value = shared(turn(value))
    if not layout.loops:
        return value
    value, _ = lax.while_loop(
        lambda state: jnp.any(unsettled(state[0])) & (state[1] < MOST),
        lambda state: (turn(state[0]), state[1] + 1),
        (value, layout.written_out),
    )
    return value


def seldom(
    needed: Bool[Array, ""], rare: Callable[[], Float[Array, "K ..."]], usual: Float[Array, "K ..."]
) -> Float[Array, "K ..."]:
    """What is rarely needed, in place of the usual where it is; computed always where leaving it out costs more."""
    if not layouts.current().loops:
        return rare()
    return lax.cond(needed, rare, lambda: usual)


def dot(left: Array, right: Array) -> Array:
    """Σᵢ left[i] · right[i] over the leading axis, the others broadcast: multiply-adds, not a matrix product.

    They are written out, `TERMS` of them in one loop over the rest.
    """
    total = _written_out(left[:TERMS], right[:TERMS])
    for start in range(TERMS, left.shape[0], TERMS):
        part = slice(start, start + TERMS)
        total = shared(total) + _written_out(left[part], right[part])
    return total


def _written_out(left: Array | list[Array], right: Array | list[Array]) -> Array:
    total = left[0] * right[0]
    for i in range(1, len(left)):
        total = total + left[i] * right[i]
    return total


def matvec(matrix: Float[Array, "n m ..."], vector: Float[Array, "m ..."]) -> Float[Array, "n ..."]:
    """Σⱼ matrix[i, j] · vector[j]."""
    return shared(dot(jnp.swapaxes(matrix, 0, 1), vector[:, None]))


def orthogonal(columns: Float[Array, "r K ..."], one: Float[Array, "r ..."]) -> Float[Array, "K ..."]:
    """|b − (b·c / c·c) c|² of every column b: without the difference of |b|² and a square, which may be all rounding.

    What rounding leaves along c is taken away once more (Kahan: twice is enough).
    """
    square = dot(one, one)
    square, rest = jnp.where(square > 0, square, 1), columns
    if not layouts.current().barriers and len(rest) <= TERMS:  # row by row: no array of all rows in between
        rows = list(rest)
        for _ in range(2):
            along = _written_out(one, rows) / square
            rows = [row - along * own for row, own in zip(rows, one, strict=True)]
        return _written_out(rows, rows)
    for _ in range(2):
        rest = shared(rest - (dot(one, rest) / square) * one[:, None])
    return dot(rest, rest)


@jax.custom_jvp
def root(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """√, whose derivative at 0 is 0: where a variance is 0 nothing near it is felt."""
    return jnp.sqrt(square)


@root.defjvp
def _root_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    value = root(*primals)
    some = value > 0
    return value, jnp.where(some, tangents[0] / jnp.where(some, 2 * value, 1), 0)


class Sum(NamedTuple):
    """A running sum and the low part that rounding took from it (Kahan): float32 that does not drift."""

    value: Array
    low: Array


def add(total: Sum, term: Array) -> Sum:
    """The sum with one term more."""
    term = term + total.low
    value = total.value + term
    return Sum(value, term - (value - total.value))


def sum_from(value: Array) -> Sum:
    """A sum that starts at a value."""
    return Sum(value, jnp.zeros_like(value))
