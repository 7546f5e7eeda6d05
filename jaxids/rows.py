"""Arrays as rows of lanes, all of one kind together, in the order in which a kernel reads and writes them.

On a TPU a row is a few vector registers. On a GPU the rows come in groups, the numbers of one lane beside each other:
the time that Triton takes to compile grows with the number of loads and stores, times the square of that of operations,
so a kernel moves a whole group at once and splits or joins it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from jaxids.planes import Planes, Unsupported

__all__ = ["GROUP", "Rows", "filled", "pack", "read", "unpack", "write"]

GROUP = 16  # rows that a GPU moves at once, a power of two
KINDS = ("float32", "int32", "uint32")


class Rows(NamedTuple):
    """Rows by kind, [r, lanes…] or, in groups, [g, lanes, GROUP]; and the kind and leading axes of every array."""

    values: dict[str, Array]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]


def pack(arrays: Sequence[Array], block: tuple[int, ...]) -> Rows:
    """Arrays [… , lanes] as rows, for blocks of one axis of lanes or two."""
    shapes = tuple((array.dtype.name, array.shape[:-1]) for array in arrays)
    if others := {kind for kind, _ in shapes} - set(KINDS):
        raise Unsupported(f"{' and '.join(sorted(others))} in a kernel")
    values = {}
    for kind in sorted({kind for kind, _ in shapes}):
        flat = jnp.concatenate([array.reshape(-1, array.shape[-1]) for array in arrays if array.dtype.name == kind])
        if len(block) == 1:
            grouped = jnp.pad(flat, ((0, -len(flat) % GROUP), (0, 0))).reshape(-1, GROUP, flat.shape[-1])
            values[kind] = jnp.swapaxes(grouped, 1, 2)
        else:
            values[kind] = flat.reshape(len(flat), -1, block[-1])
    return Rows(values, shapes)


def unpack(rows: Rows, block: tuple[int, ...]) -> list[Array]:
    """The arrays again."""
    flat = {kind: _flat(values, block) for kind, values in rows.values.items()}
    taken, arrays = dict.fromkeys(flat, 0), []
    for kind, shape in rows.shapes:
        start = taken[kind]
        taken[kind] += int(np.prod(shape))
        arrays.append(flat[kind][start : taken[kind]].reshape(*shape, -1))
    return arrays


def _flat(values: Array, block: tuple[int, ...]) -> Array:
    lanes_last = jnp.swapaxes(values, 1, 2).reshape(-1, values.shape[1]) if len(block) == 1 else values
    return lanes_last.reshape(len(lanes_last), -1)


# inside a kernel


def filled(shape: tuple[int, ...], entries: Iterator[Any]) -> Planes:
    """Planes of a shape, from their entries one after the other."""
    planes = np.empty(shape, object)
    for place in np.ndindex(shape):
        planes[place] = next(entries)
    return planes


def read(rows: Rows, refs: Sequence[Any], block: tuple[int, ...]) -> list[Planes]:
    """The planes of all arrays, from a reference to the rows of every kind."""
    load: Callable[..., Iterator[Array]] = _split if len(block) == 1 else _singly
    entries = {kind: load(ref, block) for kind, ref in zip(rows.values, refs, strict=True)}
    return [filled((*shape, 1), entries[kind]) for kind, shape in rows.shapes]


def _singly(ref: Any, block: tuple[int, ...]) -> Iterator[Array]:
    return (ref[row] for row in range(ref.shape[0]))


def _split(ref: Any, block: tuple[int, ...]) -> Iterator[Array]:
    for group in range(ref.shape[0]):
        yield from (row.reshape(block) for row in lax.split(ref[group], (1,) * GROUP, axis=1))


def write(rows: Rows, refs: Sequence[Any], entries: Iterator[Array], block: tuple[int, ...]) -> None:
    """Store the entries of all arrays."""
    values = {kind: list[Array]() for kind in rows.values}
    for kind, shape in rows.shapes:
        values[kind] += [next(entries) for _ in range(int(np.prod(shape)))]
    for ref, some in zip(refs, values.values(), strict=True):
        if len(block) > 1:
            for place, row in enumerate(some):
                ref[place] = row
            continue
        some += [jnp.zeros_like(some[0])] * (-len(some) % GROUP)
        for group in range(ref.shape[0]):
            ref[group] = _joined(some[group * GROUP : (group + 1) * GROUP]).reshape(*block, GROUP)


def _joined(rows: list[Array]) -> Array:
    """Rows beside each other, two at a time, as Triton can: [lanes, 2, …, 2]."""
    return rows[0] if len(rows) == 1 else jnp.stack([_joined(rows[0::2]), _joined(rows[1::2])], axis=-1)
