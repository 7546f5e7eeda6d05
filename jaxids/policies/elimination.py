"""Phased elimination on a G-optimal design (Lattimore and Szepesvári, Bandit Algorithms, ch. 22), with noise bounds.

In phase l = 1, 2, … every action that is left is known to within ε = 2⁻ˡ after

    n(x) = ⌈2 g π(x) log(K l (l + 1) / δ) / ε²⌉,      g = max_x xᵀ V(π)⁻¹ x,   V(π) = Σ π(x) x xᵀ/ρ(x)²

plays, π a G-optimal design of x/ρ(x). From the rewards of the phase alone follow estimates, and actions that are below
the best by more than 2ε are left out for good.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxids import draws, lanes, nodes
from jaxids.confidence import Band
from jaxids.policies.policy import Choice

ROUNDS = 100  # of the design's iteration
RIDGE = 1e-6  # of its largest feature, where the actions that are left span less than the space


class Phase(NamedTuple):
    """Which actions are left, how often each is still to be played, and what the phase has seen."""

    number: Int[Array, "..."]
    left: Bool[Array, "K ..."]
    plays: Int[Array, "K ..."]
    precision: Float[Array, "d d ..."]
    moment: Float[Array, "d ..."]


def design(features: Float[Array, "d K"], left: Bool[Array, "K"]) -> Float[Array, "K"]:
    """A nearly G-optimal design on the actions that are left, by multiplicative steps π(x) ← π(x) |x|²_V⁻¹ / d."""
    x, dim = jnp.where(left, features, 0), features.shape[0]
    ridge = RIDGE * jnp.max(jnp.sum(x**2, axis=0)) * jnp.eye(dim, dtype=x.dtype)

    def step(_: Int[Array, ""], share: Float[Array, "K"]) -> Float[Array, "K"]:
        spread = jnp.sum(x * _solve((x * share) @ x.T + ridge, x), axis=0)
        share = share * spread
        return share / jnp.sum(share)

    return lax.fori_loop(0, ROUNDS, step, left / jnp.sum(left))


@partial(nodes.register, data_fields=(), meta_fields=())
@dataclass(frozen=True)
class Elimination:
    """The rule: play the actions of the phase's design in turn."""

    remembers_actions = True

    def init(self, band: Band) -> Phase:
        """All actions are left, and the first phase begins."""
        if not jnp.issubdtype(band.handle[1], jnp.integer):
            raise ValueError("policy: got phased elimination on a box or ball; it takes finitely many actions")
        nothing = jnp.zeros(band.rho.shape, jnp.int32)
        blank = Phase(nothing[0], nothing == 0, nothing, *_nothing(band.features))
        return self._next(band, blank, jnp.ones(band.rho.shape[1:], bool))

    def __call__(self, band: Band, source: draws.Stream, memory: Phase) -> Choice:
        """The choice at one step: the first action that is still to be played."""
        return Choice(lanes.first_max((memory.plays > 0).astype(band.rho.dtype)).arg)

    def update(self, memory: Phase, band: Band, choice: Choice, reward: Float[Array, "..."]) -> Phase:
        """With one reward more, and the next phase where this one is done."""
        rho2 = band.rho_of(choice.action) ** 2
        x = lanes.pick(band.features, choice.action)
        played = jnp.arange(memory.plays.shape[0]).reshape(-1, *(1,) * choice.action.ndim) == choice.action
        memory = memory._replace(
            plays=memory.plays - played,
            precision=memory.precision + x[:, None] * x[None] / rho2,
            moment=memory.moment + x * reward / rho2,
        )
        done = jnp.all(memory.plays <= 0, axis=0)
        return lax.cond(jnp.any(done), lambda: self._next(band, memory, done), lambda: memory)

    def _next(self, band: Band, memory: Phase, done: Bool[Array, "..."]) -> Phase:
        """The phase after this one, where it is done."""
        delta = jnp.asarray(band.delta, band.rho.dtype)
        begin = partial(_begun, delta)
        for _ in range(done.ndim):
            begin = jax.vmap(begin, -1, -1)
        new = begin(band.features, band.rho, memory)
        return jax.tree.map(lambda a, b: jnp.where(done, a, b), new, memory)


def _solve(matrix: Float[Array, "d d"], right: Float[Array, "d n"]) -> Float[Array, "d n"]:
    """matrix⁻¹ right of a positive definite matrix, by elimination: LAPACK's calls wait for threads that tiles hold."""
    rows = jnp.concatenate([matrix, right], axis=1)

    def step(i: Int[Array, ""], rows: Array) -> Array:
        pivot = rows[i] / rows[i, i]
        return (rows - rows[:, i][:, None] * pivot).at[i].set(pivot)

    return lax.fori_loop(0, len(matrix), step, rows)[:, len(matrix) :]


def _nothing(features: Float[Array, "d K ..."]) -> tuple[Array, Array]:
    dim, _, *trials = features.shape
    return jnp.zeros((dim, dim, *trials), features.dtype), jnp.zeros((dim, *trials), features.dtype)


def _begun(delta: Float[Array, ""], features: Float[Array, "d K"], rho: Float[Array, "K"], before: Phase) -> Phase:
    """The next phase of one trial."""
    dim, count = features.shape
    scale = jnp.max(jnp.diagonal(before.precision)) + 1
    ridge = RIDGE * scale * jnp.eye(dim, dtype=features.dtype)
    mean = _solve(before.precision + ridge, before.moment[:, None])[:, 0] @ features
    width = 2.0 ** -before.number.astype(features.dtype)
    best = jnp.max(jnp.where(before.left, mean, -jnp.inf))
    left = before.left & ((before.number == 0) | (best - mean <= 2 * width))
    number = before.number + 1
    level = jnp.log(count * number * (number + 1) / delta)
    share, x = design(features / rho, left), jnp.where(left, features, 0)
    spread = (features / rho * share) @ (features / rho).T
    ridge = RIDGE * jnp.max(jnp.diagonal(spread)) * jnp.eye(dim, dtype=features.dtype)
    largest = jnp.max(jnp.sum(x * _solve(spread + ridge, x), axis=0))
    plays = jnp.ceil(2 * largest * share * level * 4.0 ** number.astype(features.dtype))
    plays = jnp.where(left, jnp.minimum(plays, 2.0**30), 0).astype(jnp.int32)
    return Phase(number, left, plays, *_nothing(features))
