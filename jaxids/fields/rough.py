"""Posterior draws of functions that vary between the points of a grid: drawn where their maximum is looked for.

A draw of the prior is joint at a grid, at the observed points, and at blocks of further points, each drawn given all
that came before. With the coordinates a(x) = (a_0(x), a_1(x), …) of a point in the grid g and in each block B,

    a_0(x) = rootᵀ k(g, x),    a_B(x) = L_B⁻¹ (k(B, x) − a(B)ᵀa(x)),    L_B L_Bᵀ = k(B, B) − a(B)ᵀa(B) + jitter,

a(B) of what came before, it is a(x) · η with normal numbers η, which the data move (as in `beliefs.history`). Blocks
lie closer and closer around the best points so far. The best point is one of theirs, which were placed at random: none
is likelier for being of the grid or for having been observed.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxids import draws, kernels
from jaxids.beliefs import history
from jaxids.confidence import Most
from jaxids.domains import Domain
from jaxids.types import Number

LEVELS = ((32, 2), (16, 4), (8, 8), (8, 8))  # best points so far, and new ones around each
CLOSER = 4  # times, from level to level; the first lies about as far as points of the grid are apart
LAST = 16  # best points that are compared in the end, given all that was drawn
MORE = 8  # times the jitter, where rounding leaves no factor

Points = Float[Array, "n p"]


class Grid(NamedTuple):
    """A basis of draws of the prior, and the root [m, r] of the covariance at its points."""

    basis: kernels.Basis
    values: Float[Array, "m r"]


class Block(NamedTuple):
    """Points that were drawn together, their coordinates in what came before, and L⁻¹ of what is left."""

    points: Points
    before: Float[Array, "c n"]
    inverse: Float[Array, "n n"]


class Draw(NamedTuple):
    """A function drawn from the posterior, and where it is largest."""

    grid: Grid
    blocks: tuple[Block, ...]
    numbers: Float[Array, "c"]  # η, a draw of the prior
    moved: history.State  # whose mean is what the data add to it
    most: Any = None


def grid(basis: kernels.Basis, kernel: Any) -> Grid:
    """What draws begin with."""
    with jax.enable_x64(True):
        points = jnp.asarray(np.asarray(basis.points, float).T)
        values = np.asarray(kernels.gram(kernel, points)) @ np.asarray(basis.root, float)
    return Grid(basis, jnp.asarray(values, basis.root.dtype))


def unexplained(kernel: Any, points: np.ndarray, others: np.ndarray) -> float:
    """The largest variance at others [n, p] given the values at points [m, p], as a share of the prior's largest."""
    with jax.enable_x64(True):
        kernel = kernels.check(kernel, points.shape[1])
        own, cross = (np.asarray(kernels.gram(kernel, jnp.asarray(points), jnp.asarray(x))) for x in (points, others))
        prior = np.asarray(jax.vmap(lambda x: kernel(x, x))(jnp.asarray(others)))
    factor = np.linalg.cholesky(own + 1e-9 * np.max(np.diag(own)) * np.eye(len(points)))
    return float(np.max(prior - np.sum(np.linalg.solve(factor, cross) ** 2, axis=0)) / np.max(prior))


def draw(
    state: history.State, domain: Domain, visited: Points, begin: Grid, source: draws.Stream, scale: Number
) -> Draw:
    """One draw, its deviation from the mean times a scale, and its best point.

    `visited` has the observed points, and any others where the history has room.
    """
    (rank, (room, dim)), fresh = (begin.values.shape[1], visited.shape), [many * each for many, each in LEVELS]
    sizes = [rank, room, room, *fresh, *(dim * count for count in fresh)]
    numbers = jnp.split(draws.normal(source, sum(sizes)), np.cumsum(sizes)[:-1])
    deviation = scale / jnp.sqrt(state.lam)
    function, there = _extended(Draw(begin, (), deviation * numbers[0], state), visited, deviation * numbers[1])
    noisy = there + scale * jnp.sqrt(state.rho2) * numbers[2]
    residual = state.inverse @ jnp.where(jnp.arange(room) < state.filled, noisy, 0)
    function = function._replace(moved=state._replace(innovations=state.innovations - residual))
    return _searched(function, domain, there, deviation, numbers[3:])


def drawn(function: Draw, points: Float[Array, "p n"]) -> Float[Array, "n"]:
    """The values of a draw at points: joint at those of its grid and blocks, elsewhere the mean given these."""
    return function.numbers @ _coordinates(function, points.T) + history.mean(function.moved, points)


def _searched(
    function: Draw, domain: Domain, there: Float[Array, "N"], deviation: Number, numbers: list[Array]
) -> Draw:
    """The draw at blocks of points that come closer to its best ones, with normal numbers for values, then offsets."""
    nodes, rank = function.grid.basis.points.T, function.grid.values.shape[1]
    centres = jnp.concatenate([nodes, function.blocks[0].points])  # later only points that were placed at random
    prior = jnp.concatenate([function.grid.values @ function.numbers[:rank], there])
    heights = prior + history.mean(function.moved, centres.T)
    places, found = centres[:0], heights[:0]
    for level, (many, each) in enumerate(LEVELS):
        radius = len(nodes) ** (-1 / nodes.shape[1]) / CLOSER**level * domain.size
        around = jnp.repeat(centres[lax.top_k(heights, many)[1]], each, axis=0)
        offsets = numbers[len(LEVELS) + level].reshape(around.shape)
        points = jax.vmap(domain.project)(around + radius * offsets)
        function, values = _extended(function, points, deviation * numbers[level])
        centres = places = jnp.concatenate([places, points])
        heights = found = jnp.concatenate([found, values + history.mean(function.moved, points.T)])
    return function._replace(most=_best(function, places, found))


def _best(function: Draw, points: Points, heights: Float[Array, "n"]) -> Most:
    """The best of some points, the highest of them looked at once more."""
    points = points[lax.top_k(heights, LAST)[1]]
    values = drawn(function, points.T)
    return Most(points[jnp.argmax(values)], jnp.max(values), heights)


def _extended(function: Draw, points: Points, fresh: Float[Array, "n"]) -> tuple[Draw, Float[Array, "n"]]:
    """A draw given its values at further points too, and those of the prior's draw there, without the jitter."""
    before = _coordinates(function, points)
    prior = kernels.gram(function.moved.kernel, points)
    left = prior - before.T @ before
    jitter = sum(before.shape) * jnp.finfo(left.dtype).eps * jnp.max(jnp.diagonal(prior))
    inverse = _inverted(_factor(left, jitter))
    values = function.numbers @ before + fresh @ inverse @ left
    blocks = *function.blocks, Block(points, before, inverse)
    return function._replace(blocks=blocks, numbers=jnp.concatenate([function.numbers, fresh])), values


def _coordinates(function: Draw, points: Points) -> Float[Array, "c n"]:
    """a(x) of points."""
    kernel, (nodes, root) = function.moved.kernel, function.grid.basis
    found = root.T @ kernels.gram(kernel, nodes.T, points)
    for block in function.blocks:
        left = kernels.gram(kernel, block.points, points) - block.before.T @ found
        found = jnp.concatenate([found, block.inverse @ left])
    return found


def _factor(matrix: Float[Array, "n n"], jitter: Float[Array, ""]) -> Float[Array, "n n"]:
    """The Cholesky factor of a covariance with a jitter, with more of it until there is one."""

    def tried(jitter: Float[Array, ""]) -> tuple[Array, Array]:
        return jitter, jnp.linalg.cholesky(matrix + jitter * jnp.eye(len(matrix), dtype=matrix.dtype))

    def failed(found: tuple[Array, Array]) -> Array:
        return ~jnp.all(jnp.isfinite(found[1])) & (found[0] < most)

    most = jnp.maximum(jitter, len(matrix) * jnp.max(jnp.abs(matrix)))  # which always suffices
    return lax.while_loop(failed, lambda found: tried(MORE * found[0]), tried(jitter))[1]


def _inverted(factor: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of a lower triangular matrix, by halves: in products only, which are faster than LAPACK here."""
    count, size = len(factor), 1
    more = (1 << (count - 1).bit_length()) - count
    whole = jnp.pad(factor, (0, more)).at[jnp.arange(count, count + more), jnp.arange(count, count + more)].set(1)
    found = 1 / jnp.diagonal(whole)[:, None, None]  # of the blocks on the diagonal
    while size < len(whole):
        parts = whole.reshape(len(whole) // (2 * size), 2, size, -1, 2, size)[:, 1, :, :, 0]
        below = jnp.moveaxis(jnp.diagonal(parts, axis1=0, axis2=2), -1, 0)
        upper, lower = found[::2], found[1::2]
        rows = jnp.concatenate([upper, jnp.zeros_like(upper)], 2), jnp.concatenate([-lower @ below @ upper, lower], 2)
        found, size = jnp.concatenate(rows, 1), 2 * size
    return found[0, :count, :count]
