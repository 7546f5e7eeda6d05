"""Functions that a kernel's compiler may not have, from those that every one has."""

import jax
import jax.numpy as jnp

__all__ = ["erf_inv", "is_finite"]

# the inverse error function by two polynomials in w = −log(1 − x²), highest power first (Giles, 2010: float32)
CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
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
