"""Errors that name the argument, what it got and what it takes, before anything compiles."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxids.words import in_short, shown


def concrete(value: Any) -> bool:
    """Whether a value can be looked at; a traced one cannot."""
    return not any(_is_traced(leaf) for leaf in jax.tree.leaves(value))


def _is_traced(leaf: Any) -> bool:
    if not isinstance(leaf, jax.Array):
        return False
    try:
        np.asarray(leaf)
    except jax.errors.TracerArrayConversionError:
        return True
    except TypeError:  # a key, which has no numbers
        return False
    return False


def untraced(what: str, **given: Any) -> None:
    """A ValueError if a call is traced, by one of its arguments or as a whole."""
    takes = "compiles by itself and takes a call outside jit, vmap and grad"
    for name, value in given.items():
        if not concrete(value):
            raise ValueError(f"{name}: got a traced value; {what} {takes}")
    if not concrete(jnp.add(0, 0)):  # so is whatever is computed inside jit
        raise ValueError(f"{what}: got a call inside jit; it {takes}")


def number(name: str, value: Any, takes: str) -> np.ndarray:
    """The value as a finite real array, or a ValueError."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" and not jnp.issubdtype(array.dtype, jnp.floating):
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {shown(value)}; it takes {takes}") from None
    if not np.all(np.isfinite(array)):
        bad = array[~np.isfinite(array)].flat[0]
        raise ValueError(f"{name}: got {bad}; it takes {takes}, all finite")
    return array


def working(name: str, array: np.ndarray) -> np.ndarray:
    """A finite array in the working precision, or a ValueError if it does not fit there."""
    precision = jnp.result_type(float)
    with np.errstate(over="ignore"):
        return number(name, array.astype(precision), f"numbers within the range of {precision.name}").astype(precision)


def real(name: str, value: Any, takes: str) -> jax.Array:
    """The value as an array of JAX: floats as they are, other numbers in the working precision, or a ValueError."""
    if not concrete(value):
        return jnp.asarray(value)
    array = number(name, value, takes)
    floats = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)
    return value if floats else jnp.asarray(working(name, array))


def _range(name: str, value: Any, takes: str, inside: Callable[[Any], Any], scalar: bool = True) -> None:
    if not concrete(value):
        return
    array = number(name, value, takes)
    if scalar and array.ndim:
        raise ValueError(f"{name}: got shape {list(array.shape)}; it takes {takes}")
    working = jnp.result_type(float)
    with np.errstate(over="ignore", under="ignore"):
        ok = inside(array) & inside(array.astype(working)) & np.isfinite(array.astype(working))
    if not np.all(ok):
        raise ValueError(f"{name}: got {array[~ok].flat[0]:.12g}; it takes {takes}, within the range of {working.name}")


def within(name: str, value: Any, low: float, high: float) -> None:
    """One number strictly between two others."""
    _range(name, value, f"a number in ({low:g}, {high:g})", lambda x: (x > low) & (x < high))


def positive(name: str, value: Any) -> None:
    """One number above zero."""
    _range(name, value, "a number > 0", lambda x: x > 0)


def positives(name: str, value: Any) -> None:
    """Numbers above zero."""
    _range(name, value, "numbers > 0", lambda x: x > 0, scalar=False)


def noise_bounds(name: str, value: Any, scalar: bool = False) -> None:
    """Numbers above zero whose squares, by which observations are weighted, are too."""
    kind = "a number" if scalar else "numbers"
    _range(name, value, f"{kind} > 0", lambda x: (x > 0) & (x * x > 0) & np.isfinite(x * x), scalar)


def not_negative(name: str, value: Any) -> None:
    """One number of at least zero."""
    _range(name, value, "a number ≥ 0", lambda x: x >= 0)


def not_negatives(name: str, value: Any) -> None:
    """Numbers of at least zero."""
    _range(name, value, "numbers ≥ 0", lambda x: x >= 0, scalar=False)


def count(name: str, value: Any) -> int:
    """A whole number of at least one, within 32 bits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 < value < 2**31:
        raise ValueError(f"{name}: got {shown(value)}; it takes a whole number from 1 to 2³¹ − 1")
    return int(value)


def indices(name: str, value: Any, count: int, takes: str) -> np.ndarray:
    """Whole numbers from 0 to one less than a count."""
    array = number(name, value, takes)
    wrong = (array != array.round()) | (array < 0) | (array >= count)
    if np.any(wrong):
        raise ValueError(f"{name}: got {array[wrong].flat[0]:g}; it takes {takes}")
    return array.astype(np.int32)


def devices() -> None:
    """Those that JAX is told to run on are there."""
    try:
        jax.local_devices()
    except (RuntimeError, AssertionError) as error:
        got, why = shown(jax.config.jax_platforms), f"; {error}" if str(error) else ""  # pyright: ignore
        raise ValueError(
            f"JAX_PLATFORMS: got {got}; it takes kinds of devices that JAX finds here, as cpu{why}"
        ) from None


def flag(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}: got {shown(value)}; it takes True or False")


def function(name: str, value: Any, takes: str = "a function") -> None:
    """Something that can be called."""
    if not callable(value):
        raise ValueError(f"{name}: got {shown(value)}; it takes {takes}")


def returned(name: str, value: Any, arguments: tuple[Any, ...], takes: str) -> Any:
    """What a function returns, as shapes, or a ValueError if it cannot be called so."""
    function(name, value, takes)
    with naming(name, value, takes):
        return jax.eval_shape(value, *arguments)


@contextmanager
def naming(name: str, value: Any, takes: str) -> Iterator[None]:
    """A function that cannot be called so, or does not do with what it is given, is a ValueError that names it."""
    try:
        yield
    except (TypeError, AttributeError) as error:
        what = f"{shown(value)}, which fails: {in_short(str(error))}"
        raise ValueError(f"{name}: got {what}; it takes {takes}") from error
    except ValueError as error:
        if not str(error).startswith("The truth value of an array"):  # JAX's own, which names nothing
            raise
        what = f"{shown(value)}, which asks whether an array is true"
        raise ValueError(f"{name}: got {what}; it takes {takes}, with jnp.where in place of if") from error


def key(name: str, value: Any) -> None:
    """A single `jax.random.key`."""
    typed = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    if not (typed and value.ndim == 0 and "threefry" in str(jax.random.key_impl(value))):
        raise ValueError(f"{name}: got {shown(value)}; it takes one threefry key, as of jax.random.key(0)")


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


def floats(name: str, value: Any, axes: tuple[str, ...]) -> jax.Array:
    """An array of JAX, traced or not, whose axes have these names, the last of them "…" if more may follow."""
    takes = f"floats of shape [{', '.join(axes)}]"
    array = real(name, value, takes)
    fits = array.ndim >= len(axes) - 1 if axes[-1] == "…" else array.ndim == len(axes)
    if not fits or 0 in array.shape or not jnp.issubdtype(array.dtype, jnp.floating):
        raise ValueError(f"{name}: got {array.dtype} of shape {list(array.shape)}; it takes {takes}")
    return array


def each(name: str, value: Any, count: int) -> np.ndarray:
    """Finite numbers [count], given as such or as one for all."""
    one = value.ndim == 0 if hasattr(value, "ndim") else not hasattr(value, "__len__")
    takes = f"a number, or an array of shape [{count}]"
    return shape(name, np.broadcast_to(number(name, value, takes), (count,)) if one else value, (count,))
