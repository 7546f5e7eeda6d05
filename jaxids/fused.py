"""Many steps in one kernel (Pallas): the state of a trial stays on the chip from one recorded point to the next.

What runs inside is the step that every tile runs, taken apart into planes. A kernel has programs side by side, each
with a block of lanes: on a GPU as many as threads, a lane in the registers of each (Triton); on a TPU a vector register
for every plane (Mosaic).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Int

from jaxids import layouts, planes, rows

__all__ = ["BLOCKS", "LARGEST", "Kernel", "kernel", "program"]

BLOCKS = {"gpu": (128,), "tpu": (8, 128)}  # lanes of one program
LARGEST = {"gpu": 8000, "tpu": 40000}  # operations of a step: more take minutes to compile
WARPS = 4  # of a block on a GPU, 32 threads each


def program(step: Callable[..., Any], trials: Any, carry: Any, platform: str) -> Any:
    """The program of a step, or `planes.Unsupported` if it cannot be a kernel, or would be too large for one."""
    width = trials.noise.shape[-1]
    if width % int(np.prod(BLOCKS[platform])):
        raise planes.Unsupported(f"{width} lanes; a kernel takes a multiple of {int(np.prod(BLOCKS[platform]))}")
    if any(leaf.shape[-1:] != (width,) for leaf in jax.tree.leaves(carry)):
        raise planes.Unsupported("a memory that all trials share")
    with layouts.laid_out(layouts.KERNEL):
        closed = jax.make_jaxpr(step)(jnp.int32(0), trials, carry)
    if (size := planes.operations(closed.jaxpr, width)) > LARGEST[platform]:
        raise planes.Unsupported(f"{size} operations; a kernel takes {LARGEST[platform]}")
    return closed


class Kernel(NamedTuple):
    """A step as a kernel: the carry as rows before the first step, how it goes on, and what it is as arrays."""

    start: dict[str, Array]
    advance: Callable[[Int[Array, ""], dict[str, Array], Int[Array, ""]], dict[str, Array]]
    carry: Callable[[dict[str, Array]], Any]


def kernel(step: Callable[..., Any], trials: Any, carry: Any, platform: str, interpret: bool = False) -> Kernel:
    """The kernel of a step; what trials are is packed once, and the carry stays packed between launches."""
    closed, width, block = program(step, trials, carry, platform), trials.noise.shape[-1], BLOCKS[platform]
    leaves, tree = jax.tree.flatten(carry)
    fixed = [*closed.consts, *jax.tree.leaves(trials)]
    numbers = [leaf for leaf in fixed if leaf.shape[-1:] != (width,)]
    of_trials = rows.pack([leaf for leaf in fixed if leaf.shape[-1:] == (width,)], block)
    of_carry = rows.pack(leaves, block)
    counts = np.cumsum([1, len(numbers), len(of_trials.values), len(of_carry.values)])

    def body(*refs: Any) -> None:
        (limits,), few, many, state, result = (refs[a:b] for a, b in pairwise([0, *counts, len(refs)]))
        shared = iter([_numbers(ref, leaf.shape, block) for ref, leaf in zip(few, numbers, strict=True)])
        own = iter(rows.read(of_trials, many, block))
        given = [next(own if leaf.shape[-1:] == (width,) else shared) for leaf in fixed]
        start = rows.read(of_carry, state, block)

        def turn(now: Int[Array, ""], state: list[Array]) -> list[Array]:
            entries = iter(state)
            before = [rows.filled(part.shape, entries) for part in start]
            number = rows.filled((), iter([planes.block(now, block)]))
            arguments = [number, *given[len(closed.consts) :], *before]
            after = planes.evaluate(closed.jaxpr, given[: len(closed.consts)], arguments, width)
            return [planes.block(entry, block) for part in after for entry in part.flat]

        end = lax.fori_loop(limits[0], limits[1], turn, [entry for part in start for entry in part.flat])
        rows.write(of_carry, result, iter(end), block)

    specs = [_blocks_of(each, block) for each in (*of_trials.values.values(), *of_carry.values.values())]
    call = pl.pallas_call(
        body,
        grid=(width // int(np.prod(block)),),
        in_specs=[_shared(platform)] * (1 + len(numbers)) + specs,
        out_specs=specs[len(of_trials.values) :],
        out_shape=[jax.ShapeDtypeStruct(each.shape, each.dtype) for each in of_carry.values.values()],
        input_output_aliases={int(counts[2]) + i: i for i in range(len(of_carry.values))},
        interpret=interpret,
        compiler_params=None if interpret else _options(platform),
    )
    given = [leaf.reshape(-1) for leaf in numbers] + list(of_trials.values.values())

    def advance(first: Int[Array, ""], before: dict[str, Array], last: Int[Array, ""]) -> dict[str, Array]:
        return dict(zip(before, call(jnp.stack([first, last]), *given, *before.values()), strict=True))

    def arrays(values: dict[str, Array]) -> Any:
        return tree.unflatten(rows.unpack(of_carry._replace(values=values), block))

    return Kernel(of_carry.values, advance, arrays)


def _numbers(ref: Any, shape: tuple[int, ...], block: tuple[int, ...]) -> planes.Planes:
    """Numbers that all lanes share, each as a block."""
    return rows.filled(shape, (planes.block(ref[place], block) for place in range(int(np.prod(shape)))))


def _blocks_of(each: Array, block: tuple[int, ...]) -> pl.BlockSpec:
    shape = (each.shape[0], *block, *each.shape[1 + len(block) :])
    return pl.BlockSpec(shape, lambda i: (0, i, 0))


def _shared(platform: str) -> pl.BlockSpec:
    """Single numbers, all of them for every program."""
    if platform == "tpu":
        from jax.experimental.pallas import tpu

        return pl.BlockSpec(memory_space=tpu.SMEM)
    return pl.BlockSpec(memory_space=pl.ANY)


def _options(platform: str) -> Any:
    if platform == "tpu":
        from jax.experimental.pallas import tpu

        return tpu.CompilerParams(dimension_semantics=("parallel",))
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=WARPS, num_stages=1)
