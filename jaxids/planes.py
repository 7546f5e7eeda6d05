"""A program on arrays [… , lanes] taken apart into operations on single planes, each the lanes of one entry.

Inside a kernel there are no slices, no stacking and no gathers, only arithmetic on blocks of lanes. So a function that
was written for arrays is traced, and its program is gone through once more with every array as a NumPy array of
*objects*, one block for each entry: what moves entries about (reshape, transpose, slice, concatenate, broadcast) is
done by NumPy while tracing and costs nothing, and what computes is one operation on a block for every entry. The lanes
are an axis of length 1 to NumPy. Nothing may look across lanes but `any`, by which loops end.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.core import Literal

from jaxids import special

__all__ = ["Planes", "Unsupported", "block", "evaluate", "live", "operations"]

Planes = np.ndarray  # of objects: blocks of lanes, or constants

ELEMENTWISE = {
    *("abs", "add", "add_any", "and", "ceil", "convert_element_type", "copy", "cos", "div", "eq", "exp", "exp2", "ge"),
    *("floor", "gt", "integer_pow", "le", "log", "log1p", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow"),
    *("rem", "round", "rsqrt", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign"),
    *("sin", "sqrt", "square", "stop_gradient", "sub", "tanh", "xor"),
}
REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": operator.add,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_or": operator.or_,
    "reduce_and": operator.and_,
}
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
EXPANDED: dict[str, Callable[..., Any]] = {"erf_inv": special.erf_inv, "is_finite": special.is_finite}
MOVES = {
    *("broadcast_in_dim", "concatenate", "expand_dims", "iota", "optimization_barrier", "pad", "reshape", "rev"),
    *("slice", "squeeze", "stack", "transpose", "unstack"),
}
LOOPS = {"cond", "scan", "while"}
COMPUTED = ELEMENTWISE | EXPANDED.keys() | REDUCTIONS.keys()


class Unsupported(ValueError):  # noqa: N818
    """A program that cannot be taken apart: what it does looks across lanes, or up by an index."""


def operations(jaxpr: Any, width: int) -> int:
    """How many operations on blocks a program is, loops taken once, or `Unsupported` if it cannot be taken apart."""
    count = 0
    for equation in live(jaxpr):
        name, params = equation.primitive.name, equation.params
        shapes = [v.aval.shape for v in (*equation.invars, *equation.outvars)]
        _check(name, params, shapes, width)
        if name in COMPUTED:
            count += max(int(np.prod([1 if size == width else size for size in shape])) for shape in shapes)
        for value in params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if hasattr(inner, "jaxpr"):
                    count += operations(inner.jaxpr, width)
    return count


def _check(name: str, params: dict[str, Any], shapes: list[tuple[int, ...]], width: int) -> None:
    """Raise `Unsupported` for an operation that is not known, or does more with lanes than carry them along."""
    if name not in COMPUTED | MOVES | LOOPS | CALLS.keys():
        raise Unsupported(f"operation {name}")
    if any(width in shape[:-1] for shape in shapes):
        raise Unsupported(f"an axis of length {width}, as many as lanes, in {name}")
    first, last = shapes[0], len(shapes[0]) - 1
    if name == "scan":
        body = params["jaxpr"].jaxpr
        if shapes != [v.aval.shape for v in (*body.invars, *body.outvars)]:
            raise Unsupported("a scan over an array")
    if first[-1:] != (width,) and name != "iota":
        return
    out = shapes[-1]
    across = {
        "iota": lambda: out[-1:] == (width,) and params["dimension"] == len(out) - 1,
        "rev": lambda: last in params["dimensions"],
        "slice": lambda: out[-1] != width,
        "pad": lambda: params["padding_config"][-1] != (0, 0, 0),
        "concatenate": lambda: params["dimension"] == last,
        "stack": lambda: params["axis"] > last,
        "unstack": lambda: params["axis"] == last,
        "reshape": lambda: out[-1:] != (width,),
        "transpose": lambda: params["permutation"][-1] != last,
    }
    if across.get(name, bool)():
        raise Unsupported(f"{name} across lanes")


def live(jaxpr: Any) -> list[Any]:
    """The equations whose results are used."""
    needed, kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}, []
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            kept.append(equation)
            needed.update(v for v in equation.invars if not isinstance(v, Literal))
    return kept[::-1]


def evaluate(jaxpr: Any, consts: Sequence[Planes], arguments: Sequence[Planes], width: int) -> list[Planes]:
    """What a program gives for planes of its arguments."""
    found = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arguments), strict=True))

    def read(v: Any) -> Planes:
        return _constant(v.val) if isinstance(v, Literal) else found[v]

    for equation in live(jaxpr):
        results = _apply(equation, [read(v) for v in equation.invars], width)
        found.update(zip(equation.outvars, results, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _apply(equation: Any, given: list[Planes], width: int) -> list[Planes]:
    name, params = equation.primitive.name, equation.params
    if name in CALLS:
        inner = params[CALLS[name]]
        return evaluate(inner.jaxpr, [_constant(c) for c in inner.consts], given, width)
    if name == "optimization_barrier":
        return given
    if name in LOOPS:
        return {"cond": _cond, "scan": _scan, "while": _while}[name](equation, given, width)
    if name in REDUCTIONS:
        return [_reduced(name, params["axes"], given[0], equation.invars[0].aval.shape, width)]
    if name == "unstack":
        return list(np.moveaxis(given[0], params["axis"], 0))
    if name in MOVES:
        shape = tuple(1 if size == width else size for size in equation.outvars[0].aval.shape)
        return [_moved(name, params, given, shape)]
    compute = EXPANDED.get(name) or functools.partial(equation.primitive.bind, **params)
    return [_each(compute, given)]


def _constant(value: Any) -> Planes:
    """Numbers that are known while tracing, each an entry by itself."""
    array = np.asarray(value)
    planes = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        planes[place] = array[place]
    return planes


def _each(compute: Callable[..., Any], given: Sequence[Planes]) -> Planes:
    """An operation on every entry, blocks and constants beside each other."""
    spread = np.broadcast_arrays(*given)
    result = np.empty(spread[0].shape, object)
    for place in np.ndindex(result.shape):
        result[place] = _one(compute, [each[place] for each in spread])
    return result


def _one(compute: Callable[..., Any], entries: Sequence[Any]) -> Any:
    if not any(isinstance(entry, Tracer) for entry in entries):
        with jax.ensure_compile_time_eval():
            return np.asarray(compute(*map(jnp.asarray, entries)))[()]
    shape = functools.reduce(np.broadcast_shapes, (jnp.shape(entry) for entry in entries))
    return compute(*(block(entry, shape) for entry in entries))


def block(entry: Any, shape: tuple[int, ...]) -> jax.Array:
    """An entry as a block of lanes."""
    return entry if jnp.shape(entry) == shape else jnp.full(shape, entry, jnp.result_type(entry))


def _reduced(name: str, axes: tuple[int, ...], values: Planes, shape: tuple[int, ...], width: int) -> Planes:
    last = len(shape) - 1
    if last in axes and shape[last] == width:  # across lanes
        if name != "reduce_or":
            raise Unsupported(f"{name} across lanes")
        values = _each(lambda x: jnp.max(x.astype(jnp.int32)) > 0, [values])
    combine = functools.partial(_one, REDUCTIONS[name])
    for axis in sorted(axes, reverse=True):
        rows = np.moveaxis(values, axis, 0)
        values = np.empty(rows.shape[1:], object)
        for place in np.ndindex(values.shape):
            values[place] = functools.reduce(lambda a, b: combine([a, b]), rows[(slice(None), *place)])
    return values


def _moved(name: str, params: dict[str, Any], given: list[Planes], shape: tuple[int, ...]) -> Planes:
    """What NumPy does with the entries."""
    if name == "iota":
        place = [1] * len(shape)
        place[params["dimension"]] = -1
        numbers = np.arange(shape[params["dimension"]], dtype=params["dtype"]).reshape(place)
        return np.broadcast_to(_constant(numbers), shape)
    values = given[0]
    match name:
        case "broadcast_in_dim":
            place = [1] * len(shape)
            for axis, to in enumerate(params["broadcast_dimensions"]):
                place[to] = values.shape[axis]
            return np.broadcast_to(values.reshape(place), shape)
        case "reshape" | "squeeze" | "expand_dims":
            return values.reshape(shape)
        case "transpose":
            return values.transpose(params["permutation"])
        case "rev":
            return np.flip(values, params["dimensions"])
        case "stack":
            return np.stack(given, axis=params["axis"])
        case "concatenate":
            return np.concatenate(given, axis=params["dimension"])
        case "slice":
            ends = zip(params["start_indices"], params["limit_indices"], strict=True)
            strides = params["strides"] or (1,) * values.ndim
            return values[tuple(slice(a, b, by) for (a, b), by in zip(ends, strides, strict=True))]
    low, high, inner = zip(*params["padding_config"], strict=True)
    if any(inner) or min(*low, *high) < 0:
        raise Unsupported("padding between entries")
    filler: Any = given[1].item()
    if isinstance(filler, Tracer):
        raise Unsupported("padding with what is computed")
    return np.pad(values, list(zip(low, high, strict=True)), constant_values=filler)


# loops and branches: their carries are lists of blocks, truth values as numbers


def _blocks(planes: Sequence[Planes], variables: Sequence[Any], shape: tuple[int, ...], width: int) -> list[jax.Array]:
    blocks = []
    for each, v in zip(planes, variables, strict=True):
        to, kind = (shape if v.aval.shape[-1:] == (width,) else ()), v.aval.dtype
        kind = jnp.int32 if kind == jnp.bool_ else kind
        blocks += [block(jnp.asarray(entry).astype(kind), to) for entry in each.flat]
    return blocks


def _planes(blocks: Sequence[jax.Array], variables: Sequence[Any], width: int) -> list[Planes]:
    planes, left = [], iter(blocks)
    for v in variables:
        each = np.empty(tuple(1 if size == width else size for size in v.aval.shape), object)
        for place in np.ndindex(each.shape):
            entry = next(left)
            each[place] = entry != 0 if v.aval.dtype == jnp.bool_ else entry
        planes.append(each)
    return planes


def _lanes_of(given: Sequence[Planes]) -> tuple[int, ...]:
    """The shape of the blocks among some entries."""
    return functools.reduce(np.broadcast_shapes, (jnp.shape(entry) for each in given for entry in each.flat), ())


def _inside(closed: Any, consts: Sequence[Planes], width: int, shape: tuple[int, ...]) -> Callable[..., Any]:
    """A closed program as a function of a list of blocks, which gives one."""
    fixed, variables = [_constant(c) for c in closed.consts], closed.jaxpr.invars[len(consts) :]

    def run(blocks: Sequence[jax.Array]) -> list[jax.Array]:
        results = evaluate(closed.jaxpr, fixed, [*consts, *_planes(blocks, variables, width)], width)
        return _blocks(results, closed.jaxpr.outvars, shape, width)

    return run


def _while(equation: Any, given: list[Planes], width: int) -> list[Planes]:
    params, shape = equation.params, _lanes_of(given)
    ahead, within = params["cond_nconsts"], params["body_nconsts"]
    going = _inside(params["cond_jaxpr"], given[:ahead], width, shape)
    turn = _inside(params["body_jaxpr"], given[ahead : ahead + within], width, shape)
    start = _blocks(given[ahead + within :], equation.outvars, shape, width)
    return _planes(lax.while_loop(lambda s: going(s)[0] != 0, turn, start), equation.outvars, width)


def _scan(equation: Any, given: list[Planes], width: int) -> list[Planes]:
    """A loop of known length, over no array: what it begins with is all that it gives back, after its constants."""
    shape, consts = _lanes_of(given), len(given) - len(equation.outvars)
    turn = _inside(equation.params["jaxpr"], given[:consts], width, shape)
    start = _blocks(given[consts:], equation.outvars, shape, width)
    end = lax.fori_loop(0, equation.params["length"], lambda _, s: turn(s), start)
    return _planes(end, equation.outvars, width)


def _cond(equation: Any, given: list[Planes], width: int) -> list[Planes]:
    index, *rest = given
    shape = _lanes_of(given)
    branches = [_inside(branch, rest, width, shape) for branch in equation.params["branches"]]
    if len(branches) != 2 or _lanes_of([index]):
        raise Unsupported("a choice between more than two branches, or for every lane")
    chosen = lax.cond(index.item() != 0, lambda: branches[1]([]), lambda: branches[0]([]))
    return _planes(chosen, equation.outvars, width)
