"""The few array primitives that are fast with many trials on the trailing axes.

Everywhere in jaxids the meaning of an array sits on its leading axes (`actions [d, K]`, `gap [K]`, `beta []`) and
any axes that follow are *lanes*: independent trials, carried along by broadcasting. The functions here are those
that NumPy's own spelling of would run as scalar code on a CPU (an argmin, a contraction over three features), and
the compensated sum that lets single precision hold an estimate over millions of steps.
"""

import functools
import math
from collections.abc import Callable, Sequence
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
    "least_of",
    "matvec",
    "negative_anywhere",
    "none_negative",
    "orthogonal",
    "pick",
    "replaced",
    "root",
    "seldom",
    "settled",
    "shared",
    "sum_from",
]

UNROLL = 32  # rows compared in one unrolled chain
PARTS = 4  # such chains, one after the other, rather than groups of rows
TERMS = 16  # products added in one loop
MOST = 64  # turns of a loop, should rounding go in circles

Value = TypeVar("Value")
OfTwo = Callable[[Array, Array], Array]


def shared(value: Value) -> Value:
    """Compute a value once although several consumers read it; without it XLA repeats the work in each of them."""
    return lax.optimization_barrier(value) if layouts.current().barriers else value


class Best(NamedTuple):
    """The extreme entry of an array along its leading axis: where it is, and its value."""

    arg: Int[Array, "..."]
    value: Float[Array, "..."]


def first_min(values: Float[Array, "K ..."]) -> Best:
    """The smallest entry along the leading axis; the lowest index wins a tie."""
    return _first(lax.lt, _itself, values)


def first_max(values: Float[Array, "K ..."]) -> Best:
    """The largest entry along the leading axis; the lowest index wins a tie."""
    return _first(lax.gt, _itself, values)


def least_of(of: Callable[..., Array], *values: Float[Array, "K ..."]) -> Best:
    """The smallest of a cheap function of rows, without an array of it; the lowest index wins a tie."""
    return _first(lax.lt, of, *values)


def _first(beats: OfTwo, of: Callable[..., Array], *values: Float[Array, "K ..."]) -> Best:
    """One chain of comparisons, part by part; of many rows, one in every group and then one over the groups."""
    rows = values[0].shape[0]
    if rows > UNROLL and values[0].ndim == 1:  # without lanes a loop over rows is as good, and a short program
        one = of(*values)
        arg = jnp.argmin(one) if beats is lax.lt else jnp.argmax(one)
        return Best(arg.astype(jnp.int32), one[arg])
    if rows <= PARTS * UNROLL:
        start = Best(jnp.zeros(values[0].shape[1:], jnp.int32), of(*(value[0] for value in values)))
        for row in range(0, rows, UNROLL):
            start = _chain(beats, start, row, of, *(value[row : row + UNROLL] for value in values))
        return start
    one, whole = of(*values), rows - rows % UNROLL
    groups = jnp.moveaxis(one[:whole].reshape(-1, UNROLL, *one.shape[1:]), 1, 0)
    within = _chain(beats, Best(jnp.zeros(groups.shape[1:], jnp.int32), groups[0]), 0, _itself, groups)
    group, value = _first(beats, _itself, within.value)
    return _chain(beats, Best(group * UNROLL + pick(within.arg, group), value), whole, _itself, one[whole:])


def _chain(beats: OfTwo, start: Best, first: int, of: Callable[..., Array], *rows: Float[Array, "n ..."]) -> Best:
    """The better of what was found before row `first` and the rows from there on."""
    arg, best = start
    for place in range(int(first == 0), rows[0].shape[0]):  # by lax: functions of jnp take longer to trace
        row = of(*_row(place, rows))
        better = beats(row, best)
        arg = lax.select(better, lax.full_like(arg, first + place), arg)
        best = lax.select(better, row, best)
    return Best(shared(arg), shared(best))  # apart: mostly only one of them is asked for


def _itself(row: Array) -> Array:
    return row


def all_finite(values: Float[Array, "K ..."]) -> Bool[Array, "..."]:
    """Whether no entry along the leading axis is NaN or infinite: those less themselves are NaN."""
    return _folded(lax.add, lambda row: lax.sub(row, row), values) == 0


def none_negative(values: Float[Array, "K ..."]) -> Bool[Array, "..."]:
    """Whether every entry along the leading axis is a finite number ≥ 0: of any other, |x| − x is positive or NaN."""
    return _folded(lax.add, lambda row: lax.sub(lax.abs(row), row), values) == 0


def anywhere(marks: Bool[Array, "K ..."]) -> Bool[Array, ""]:
    """Whether any entry is true, in any lane."""
    return jnp.any(_folded(lax.bitwise_or, _itself, marks) if marks.ndim > 1 else marks)


def negative_anywhere(of: Callable[..., Array], *values: Float[Array, "K ..."]) -> Bool[Array, ""]:
    """Whether a function of rows is negative anywhere, on a CPU by its sign bit alone, which of NaN may be either."""
    if values[0].ndim == 1 or not layouts.current().barriers:
        return jnp.any(of(*values) < 0)

    def bits(*row: Array) -> Int[Array, "..."]:
        found = of(*row)
        return lax.bitcast_convert_type(found, jnp.int32 if found.dtype == jnp.float32 else jnp.int64)

    return jnp.any(_folded(lax.bitwise_or, bits, *values) < 0)


def _folded(combine: OfTwo, of: Callable[..., Array], *values: Array) -> Array:
    """A function of each row, all in one; of many rows, `UNROLL` parts at a time. Their order must not matter."""
    if not layouts.current().barriers:
        values, of = (of(*values),), _itself
    rows = values[0].shape[0]
    if rows <= UNROLL:
        return functools.reduce(combine, (of(*_row(place, values)) for place in range(rows)))
    whole = rows - rows % UNROLL
    parts = [value[:whole].reshape(UNROLL, -1, *value.shape[1:]) for value in values]
    groups = functools.reduce(combine, (of(*_row(place, parts)) for place in range(UNROLL)))
    rest = (of(*_row(place, values)) for place in range(whole, rows))
    return functools.reduce(combine, rest, _folded(combine, _itself, groups))


def _row(place: int, values: Sequence[Array]) -> list[Array]:
    return [lax.index_in_dim(value, place, keepdims=False) for value in values]


def pick(values: Array, index: Int[Array, "..."]) -> Array:
    """Entry `index` along the last axis before the lanes: […, K, lanes] and [lanes] give […, lanes]."""
    axis = values.ndim - index.ndim - 1
    if values.shape[axis] <= layouts.current().selects:
        return _selected(jnp.moveaxis(values, axis, 0), index)
    if layouts.current().flat and 0 < values.size < 2**31:
        return _loaded(values, index)
    index = index.reshape((1,) * (axis + 1) + index.shape)
    return jnp.take_along_axis(values, index, axis=axis, mode="promise_in_bounds").squeeze(axis)


def _loaded(values: Array, index: Int[Array, "..."]) -> Array:
    """By places in memory, one number for each, which is all that a load needs."""
    axis, width = values.ndim - index.ndim - 1, index.size
    leading, rows = values.shape[:axis], values.shape[axis]
    shape = (math.prod(leading), width, 1)
    starts, lane = (lax.broadcasted_iota(jnp.uint32, shape, axis) for axis in (0, 1))
    places = starts * (rows * width) + index.astype(jnp.uint32).reshape(1, width, 1) * width + lane
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    found = lax.gather(values.reshape(-1), places, numbers, (1,), mode="promise_in_bounds")
    return found.reshape(*leading, *index.shape)


def _selected(rows: Array, index: Int[Array, "..."]) -> Array:
    """One row for each lane by a chain of selects."""
    chosen = rows[0]
    for row in range(1, rows.shape[0]):
        chosen = jnp.where(index == row, rows[row], chosen)
    return chosen


def replaced(where: Bool[Array, "..."], new: Array, old: Array) -> Array:
    """`new` where a condition holds, else `old`; all numbers are ≥ 0.

    `jnp.where` alone becomes a masked store over `old`, which is ten times as slow on processors of AMD. The absolute
    value is that of the number, but keeps the compiler from doing so.
    """
    return jnp.where(where, new, jnp.abs(old))


def settled(turn: Callable[[Value], Value], unsettled: Callable[[Value], Bool[Array, "..."]], start: Value) -> Value:
    """Turn after turn until no lane is unsettled, `MOST` at most; where loops may not end early, a fixed number."""
    layout = layouts.current()
    if not layout.loops:
        return functools.reduce(lambda value, _: turn(value), range(layout.turns), start)
    value, _ = lax.while_loop(
        lambda state: jnp.any(unsettled(state[0])) & (state[1] < MOST),
        lambda state: (turn(state[0]), state[1] + 1),
        (start, 0),
    )
    return value


def seldom(
    needed: Bool[Array, ""], rare: Callable[[], Array], usual: Callable[[], Array], then: Callable[[Array], Array]
) -> Array:
    """A function of what is rarely needed, or of the usual; the rare always where leaving it out costs more.

    On a CPU the function is computed in both branches, in one pass with what it is of.
    """
    layout = layouts.current()
    if not layout.loops:
        return then(rare())
    if not layout.barriers:
        return then(lax.cond(needed, rare, usual))
    return lax.cond(needed, lambda: then(rare()), lambda: then(usual()))


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
