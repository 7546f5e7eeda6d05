"""Functions that a compiler has not, or has slow ones of, from those that every one has."""

import math

import jax
import jax.numpy as jnp
from jax import lax

from jaxids import layouts

__all__ = ["erf_inv", "is_finite", "log1p"]

# the inverse error function by two polynomials in w = −log(1 − x²), highest power first (Giles, 2010: float32)
CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip

# (log(1 + m) − m + m²/2) / m³ on [−¼, ½], highest power first: the least relative error of log(1 + m), 5e-9
LOGARITHM = (
    -0.0450744666, 0.104629956, -0.131611958, 0.144784003, -0.16647312, 0.199908614, -0.250000954, 0.333334506,
)  # fmt: skip


def erf_inv(x: jax.Array) -> jax.Array:
    """The inverse of the error function, of numbers in (−1, 1), in single precision."""
    w = -jnp.log1p(-x * x)
    central = w < 5
    w = jnp.where(central, w - 2.5, jnp.sqrt(w) - 3)
    value = jnp.where(central, CENTRAL[0], TAIL[0])
    for near, far in zip(CENTRAL[1:], TAIL[1:], strict=True):
        value = jnp.where(central, near, far) + value * w
    return value * x


def is_finite(x: jax.Array) -> jax.Array:
    """Neither infinite nor NaN."""
    return jnp.abs(x) < jnp.inf


@jax.custom_jvp
def log1p(x: jax.Array) -> jax.Array:
    """log(1 + x) of numbers ≥ 0. On a CPU in single precision a polynomial, in a third of the time that XLA takes."""
    if x.dtype != jnp.float32 or not layouts.current().barriers:
        return jnp.log1p(x)
    integer, number = (lambda y: lax.bitcast_convert_type(y, jnp.int32)), lambda y: lax.bitcast_convert_type(y, x.dtype)
    power = (integer(1 + x) - integer(jnp.float32(0.75))) & jnp.int32(-(2**23))  # k · 2²³ with (1 + x) 2⁻ᵏ in [¾, 1½)
    scale = number(jnp.maximum(integer(jnp.float32(1)) - power, 0))  # 2⁻ᵏ, or 0 where that is too small to matter
    m = number(integer(x) - power) + (scale - 1)  # (1 + x) 2⁻ᵏ − 1
    value = jnp.full_like(m, LOGARITHM[0])
    for coefficient in LOGARITHM[1:]:
        value = value * m + coefficient
    value = m + m * m * (value * m - 0.5) + power.astype(x.dtype) * jnp.float32(math.log(2) * 2**-23)
    sound = lax.bitcast_convert_type(x, jnp.uint32) < lax.bitcast_convert_type(jnp.float32(jnp.inf), jnp.uint32)
    return jnp.where(sound, value, x + x)  # else ∞, NaN or negative; not x itself, see `lanes.replaced`


@log1p.defjvp
def _log1p_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return log1p(*primals), tangents[0] / (1 + primals[0])
