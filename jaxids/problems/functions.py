"""Test functions on the unit box, to be maximised, and the setting of a motorcycle crash, whose noise varies along x.

Each takes a point u of [0, 1]^p. Branin and Ackley are stretched to their usual domains and turned upside down.
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxids import checks
from jaxids.kernels import MOST, at_points
from jaxids.problems.noise import Noise, gaussian
from jaxids.problems.points import rkhs
from jaxids.problems.vectors import Fixed

__all__ = [
    "Function",
    "ackley",
    "branin",
    "forrester",
    "grid",
    "hartmann3",
    "motorcycle",
    "motorcycle_noise",
    "on_grid",
]

ROUNDING = 100 * np.finfo(float).eps  # values that differ by less than this share of the largest are taken for equal
Function = Callable[[Float[Array, "p"]], Float[Array, ""]]  # of a point [p], in JAX


def _coordinates(name: str, u: Float[Array, "p"], dim: int) -> Float[Array, "p"]:
    u = checks.floats("u", u, ("p",))
    if u.shape != (dim,):
        raise ValueError(f"u: got a point of dim {u.shape[0]}; {name} takes {dim}")
    return u


def forrester(u: Float[Array, "1"]) -> Float[Array, ""]:
    """−(6u − 2)² sin(12u − 4)."""
    (x,) = _coordinates("forrester", u, 1)
    return -((6 * x - 2) ** 2) * jnp.sin(12 * x - 4)


def branin(u: Float[Array, "2"]) -> Float[Array, ""]:
    """Branin's function on [−5, 10] × [0, 15], with three equal maxima of −0.397887."""
    a, b = _coordinates("branin", u, 2)
    x, y = 15 * a - 5, 15 * b
    valley = y - 5.1 / (4 * jnp.pi**2) * x**2 + 5 / jnp.pi * x - 6
    return -(valley**2 + 10 * (1 - 1 / (8 * jnp.pi)) * jnp.cos(x) + 10)


def ackley(u: Float[Array, "p"]) -> Float[Array, ""]:
    """Ackley's function on [−5, 5]^p, with the maximum 0 in the middle."""
    x = 10 * checks.floats("u", u, ("p",)) - 5
    bowl = -20 * jnp.exp(-0.2 * jnp.sqrt(jnp.mean(x**2) + 1e-12))
    return -(bowl - jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * x))) + 20 + jnp.e)


def hartmann3(u: Float[Array, "3"]) -> Float[Array, ""]:
    """Hartmann's function of three variables, with the maximum 3.86278."""
    u = _coordinates("hartmann3", u, 3)
    heights = jnp.array([1.0, 1.2, 3.0, 3.2])
    widths = jnp.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
    centres = jnp.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 1e4
    return heights @ jnp.exp(-jnp.sum(widths * (u - centres) ** 2, axis=1))


def motorcycle(u: Float[Array, "1"]) -> Float[Array, ""]:
    """Acceleration of a head in a crash, in shape: rest, a deep dip, a rebound, rest again."""
    (x,) = _coordinates("motorcycle", u, 1)
    return -jnp.exp(-(((x - 0.4) / 0.09) ** 2)) + 0.6 * jnp.exp(-(((x - 0.62) / 0.08) ** 2))


def motorcycle_noise(u: Float[Array, "1"]) -> Float[Array, ""]:
    """Its noise bound: small before the crash, large in it, and in between after it."""
    (x,) = _coordinates("motorcycle_noise", u, 1)
    after = 0.5 * (1 + jnp.tanh((x - 0.3) / 0.05))
    return 0.03 + 0.15 * after + 0.4 * jnp.exp(-(((x - 0.55) / 0.15) ** 2))


def on_grid(
    function: Function,
    kernel: Any,
    rho: Any,
    *,
    dim: int,
    per_side: int,
    rho_bound: Any = None,
    noise: Noise = gaussian,
) -> Fixed:
    """A function on a grid of the unit box, its values brought to mean 0 and variance 1."""
    checks.function("function", function)
    checks.count("dim", dim)
    checks.count("per_side", per_side)
    points = grid(dim, per_side)
    takes = "a function of a point that gives a number"
    values = checks.number("function", at_points("function", function, points), takes)
    if values.shape != (len(points),) or np.ptp(values) <= ROUNDING * np.max(np.abs(values)):
        raise ValueError(f"function: got values of wrong shape or all equal; it takes {takes}")
    with np.errstate(over="ignore"):
        mean, deviation = values.mean(), values.std()
    if not np.isfinite(deviation):
        raise ValueError(f"function: got {values.max():g} and {values.min():g}; it takes {takes}, not too large")
    if deviation < np.sqrt(np.finfo(float).tiny):  # its square, the variance, is none
        raise ValueError(f"function: got {values.max():g} and {values.min():g}; it takes {takes}, not too small")
    values = (values - mean) / deviation
    return rkhs(points, values, rho, kernel, rho_bound=rho_bound, noise=noise)


def grid(dim: int, per_side: int) -> np.ndarray:
    """Points of the unit box on a grid, [per_side ** dim, dim]."""
    dim, per_side = checks.count("dim", dim), checks.count("per_side", per_side)
    if dim * np.log(per_side) > np.log(MOST):
        many = f"{per_side**dim} points" if dim < 10 else "too many points"
        raise ValueError(f"per_side: got {per_side}, {many} with dim = {dim}; it takes at most {MOST}")
    side = np.linspace(0, 1, per_side) if per_side > 1 else np.array([0.5])
    return np.array(list(itertools.product(side, repeat=dim)))
