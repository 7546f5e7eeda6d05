"""Kernels and noise bounds at points [K, p], in double precision where it matters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxids import blas, checks
from jaxids.kernels.covariances import TAKES, Kernel, check

MOST = 20_000  # points
RANK = 1e-12  # eigenvalues below this share of the largest are taken for rounding


def gram(kernel: Kernel, rows: Float[Array, "n p"], columns: Float[Array, "m p"] | None = None) -> Float[Array, "n m"]:
    """k(x, y) of every row with every column, by default with every row."""
    takes = "points [n, p], p that of the others"
    rows = checks.real("rows", rows, takes)
    others = rows if columns is None else checks.real("columns", columns, takes)
    for name, points in {"rows": rows, "columns": others}.items():
        if points.ndim != 2 or points.shape[1] != rows.shape[-1]:
            raise ValueError(f"{name}: got shape {list(points.shape)}; it takes {takes}")
    kernel = check(kernel, rows.shape[1])
    return jax.vmap(lambda x: jax.vmap(lambda y: kernel(x, y))(others))(rows)


def root_of_gram(points: Any, kernel: Any) -> tuple[np.ndarray, np.ndarray]:
    """The points [K, p] and a root [r, K] of their Gram matrix, in double precision."""
    points, takes = checks.shape("points", points, ("K", "p")), TAKES
    if len(points) > MOST:
        raise ValueError(f"points: got {len(points)}; it takes at most {MOST}, whose Gram matrix fits in memory")
    with jax.enable_x64(True):
        kernel = check(kernel, points.shape[1])
        matrix = np.asarray(gram(kernel, jnp.asarray(points)), float)
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"kernel: got {matrix[~np.isfinite(matrix)][0]}; it takes {takes}, finite at the points")
    scale = np.max(np.abs(matrix))
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-6 * scale):
        raise ValueError(f"kernel: got one that is not symmetric; it takes {takes}")
    with blas.one_thread():
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values[0] < -1e-6 * scale or scale == 0:
        raise ValueError(f"kernel: got one with eigenvalue {min(values[0], scale):g}; it takes {takes}")
    kept = values > RANK * values[-1]
    return points, (vectors[:, kept] * np.sqrt(values[kept])).T[::-1].copy()


class Basis(NamedTuple):
    """Points [p, m] and a root [m, r] of the inverse of their Gram matrix: k(x, points) root η is a draw of the prior.

    Jointly at the points; elsewhere it is its mean given those values.
    """

    points: Float[Array, "p m"]
    root: Float[Array, "m r"]


def basis(points: Any, kernel: Any) -> Basis:
    """The basis at points [m, p], without what the working precision takes for rounding."""
    points, features = root_of_gram(points, kernel)
    dtype = jnp.result_type(float)
    values = np.sum(features**2, axis=1)  # rows are eigenvectors times the roots of their values
    kept = values > len(points) * np.finfo(dtype).eps * np.max(np.sum(features**2, axis=0))
    root = (features[kept] / values[kept, None]).T
    return Basis(jnp.asarray(points.T, dtype), jnp.asarray(root, dtype))


def noise_at(points: np.ndarray, rho: Any) -> np.ndarray:
    """Noise bounds at points [K, p], given as one number, as [K], or as a function of a point."""
    if callable(rho):
        return checks.shape("rho", at_points("rho", rho, points), (len(points),))
    return checks.each("rho", rho, len(points))


def at_points(name: str, function: Callable[[Any], Any], points: np.ndarray) -> np.ndarray:
    """A function of a point at points [K, p], in double precision, or a ValueError that names it."""
    takes = "a function of a point that gives a number"
    with jax.enable_x64(True), checks.naming(name, function, takes):
        return np.asarray(jax.vmap(function)(jnp.asarray(points, float)))
