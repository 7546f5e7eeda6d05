"""Covariance functions k(x, y) of two points [p].

Any such function in JAX serves as a kernel. Those here are frozen dataclasses whose numbers are leaves of a pytree, and
can be added and multiplied with each other, with numbers, and with any function or kernel object of another library.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxids import checks, nodes
from jaxids.types import Number, Point

Kernel = Callable[[Point, Point], Float[Array, ""]]  # k(x, y) of two points [p]
TAKES = "a function of two points that returns one number, symmetric and positive semi-definite"  # a kernel in words
register = nodes.register


class _Arithmetic:
    """Kernels add and multiply."""

    def __add__(self, other: Any) -> "Combined":
        return Combined(operator.add, self, of(other))

    def __mul__(self, other: Any) -> "Combined":
        return Combined(operator.mul, self, of(other))

    __radd__, __rmul__ = __add__, __mul__


@partial(register, data_fields=("scale",), meta_fields=("profile",))
@dataclass(frozen=True)
class Stationary(_Arithmetic):
    """A function of the squared distance, each dimension in units of its length scale."""

    profile: Callable[[Float[Array, ""]], Float[Array, ""]]
    scale: Number

    def __call__(self, x: Point, y: Point) -> Float[Array, ""]:
        """k(x, y)."""
        scales = np.shape(self.scale)
        if scales not in ((), x.shape):
            raise ValueError(
                f"scale: got shape {list(scales)}; it takes one number, or {x.shape[-1]}, one per dimension"
            )
        return self.profile(jnp.sum(((x - y) / self.scale) ** 2))


@partial(register, data_fields=("bias",), meta_fields=("degree",))
@dataclass(frozen=True)
class Polynomial(_Arithmetic):
    """(x·y + bias)^degree."""

    bias: Number
    degree: int

    def __call__(self, x: Point, y: Point) -> Float[Array, ""]:
        """k(x, y)."""
        return (jnp.dot(x, y) + self.bias) ** self.degree


@partial(register, data_fields=("value",), meta_fields=())
@dataclass(frozen=True)
class Constant(_Arithmetic):
    """The same number everywhere."""

    value: Number

    def __call__(self, x: Point, y: Point) -> Float[Array, ""]:
        """k(x, y)."""
        return jnp.asarray(self.value, x.dtype)


@partial(register, data_fields=(), meta_fields=("function",))
@dataclass(frozen=True)
class Function(_Arithmetic):
    """Any function of two points."""

    function: Kernel

    def __call__(self, x: Point, y: Point) -> Float[Array, ""]:
        """k(x, y)."""
        return self.function(x, y)


@partial(register, data_fields=("left", "right"), meta_fields=("operation",))
@dataclass(frozen=True)
class Combined(_Arithmetic):
    """The sum or the product of two kernels."""

    operation: Callable[[Array, Array], Array]
    left: Any
    right: Any

    def __call__(self, x: Point, y: Point) -> Float[Array, ""]:
        """k(x, y)."""
        return self.operation(self.left(x, y), self.right(x, y))


def _root(square: Float[Array, ""]) -> Float[Array, ""]:
    """√ with a finite derivative at 0."""
    safe = jnp.where(square > 0, square, 1)
    return jnp.where(square > 0, jnp.sqrt(safe), 0)


def _rbf(square: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.exp(-square / 2)


def _matern12(square: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.exp(-_root(square))


def _matern32(square: Float[Array, ""]) -> Float[Array, ""]:
    r = _root(3 * square)
    return (1 + r) * jnp.exp(-r)


def _matern52(square: Float[Array, ""]) -> Float[Array, ""]:
    r = _root(5 * square)
    return (1 + r + r**2 / 3) * jnp.exp(-r)


def _stationary(profile: Callable[[Array], Array], scale: Any) -> Stationary:
    if checks.concrete(scale):
        checks.positives("scale", scale)
        scale = scale if np.ndim(scale) == 0 else checks.shape("scale", scale, ("p",))
    return Stationary(profile, scale if np.ndim(scale) == 0 else jnp.asarray(scale, jnp.result_type(float)))


def rbf(scale: Any = 1.0) -> Stationary:
    """exp(−r²/2) with one length scale, or one for every dimension."""
    return _stationary(_rbf, scale)


def matern12(scale: Any = 1.0) -> Stationary:
    """exp(−r)."""
    return _stationary(_matern12, scale)


def matern32(scale: Any = 1.0) -> Stationary:
    """(1 + √3 r) exp(−√3 r)."""
    return _stationary(_matern32, scale)


def matern52(scale: Any = 1.0) -> Stationary:
    """(1 + √5 r + 5r²/3) exp(−√5 r)."""
    return _stationary(_matern52, scale)


def polynomial(degree: int, bias: Number = 1.0) -> Polynomial:
    """(x·y + bias)^degree."""
    checks.not_negative("bias", bias)
    return Polynomial(bias, checks.count("degree", degree))


def linear() -> Polynomial:
    """x·y."""
    return Polynomial(0.0, 1)


def of(kernel: Any) -> Any:
    """A kernel of this module from a number, a function of two points, or an object with such a function `evaluate`."""
    if isinstance(kernel, _Arithmetic):
        return kernel
    if isinstance(kernel, int | float | np.number | jax.Array):
        checks.not_negative("kernel", kernel)
        return Constant(jnp.asarray(kernel, jnp.result_type(float)))
    function: Any = getattr(kernel, "evaluate", kernel)  # as tinygp's, whose call takes arrays of points
    checks.function("kernel", function, TAKES)
    return Function(function)


def check(kernel: Any, dim: int) -> Any:
    """A kernel on points [dim] from whatever `of` takes, or a ValueError if it does not give one number."""
    kernel, point = of(kernel), jax.ShapeDtypeStruct((checks.count("dim", dim),), jnp.result_type(float))
    given = checks.returned("kernel", kernel, (point, point), TAKES)
    if getattr(given, "shape", None) != () or not jnp.issubdtype(given.dtype, jnp.floating):
        what = f"shape {list(given.shape)}" if getattr(given, "shape", ()) else checks.shown(given)
        raise ValueError(f"kernel: got one that returns {what}; it takes {TAKES}")
    return kernel
