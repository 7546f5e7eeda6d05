"""Weighted least squares on many features (Section 4.1): what is known at every action is kept, in O(K d) a step.

The estimate is that of `linear`. From its root all variances together cost K d² operations, so here they are carried
along: an observation at an action a whose noise has the bound ρ² leaves

    σ(x)² ← σ(x)² − c(x)² / (ρ² + σ(a)²),      c(x) = xᵀ V⁻¹ a,      σ(a)² ← σ(a)² ρ² / (ρ² + σ(a)²).

Of a difference rounding takes its share: about ε times what σ(x)² has fallen by since it was last exact. So every step
takes a slice of the actions anew from the root, each slice in turn, and besides, at once, any action that fell to less
than 1/`FALL` of what it then was. Errors then come to about `FALL` ε, whatever the data, as those of the root itself
do. There are 4 d slices, so that one costs K d / 4. Each trial takes its own fallen actions only, so that it does not
depend on those beside it. The mean is kept in the same way, as a compensated sum.

An action is known by its index; what verbs take as features is not looked at, because the state holds the actions.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxids import draws, lanes, layouts
from jaxids.beliefs import linear
from jaxids.types import Number

__all__ = ["State", "at", "cov_with", "init", "log_det", "mean", "sample", "update", "var", "var_given"]

FALL = 64  # to what part of itself a difference may fall
TURNS = 4  # steps for each dimension until every action had its turn


class Known(NamedTuple):
    """What is known at each action."""

    mean: lanes.Sum  # [K, …]
    var: Float[Array, "K ..."]
    exact: Float[Array, "K ..."]  # σ² when it was last computed from the root


class State(NamedTuple):
    """The estimate, the actions, and what is known at each of them."""

    estimate: linear.State
    actions: Float[Array, "d K ..."]
    mean: lanes.Sum  # [K, …]
    var: Float[Array, "K ..."]
    exact: Float[Array, "K ..."]  # σ² when it was last computed from the root
    turn: Int[Array, "..."]  # the slice that is next, the same in all trials


def init(actions: Float[Array, "d K ..."], lam: Number) -> State:
    """The estimate before any observation: θ̂ = 0, V_0 = λI."""
    estimate = linear.init(actions, lam)
    var = lanes.shared(lanes.dot(actions, actions) / jnp.asarray(lam, actions.dtype))
    turn = jnp.zeros(var.shape[1:], jnp.int32)
    return State(estimate, actions, lanes.sum_from(jnp.zeros_like(var)), var, var, turn)


def at(features: Any, action: Int[Array, "..."]) -> Int[Array, "..."]:
    """An action is known by its index."""
    return action


def update(state: State, action: Int[Array, "..."], reward: Float[Array, "..."], rho2: Float[Array, "..."]) -> State:
    """The estimate after one reward of an action whose noise has the bound ρ²."""
    estimate, step = linear.learn(state.estimate, _features(state, action), reward, rho2)
    if not layouts.current().loops:  # all of them from the root, where what ends early costs more
        mean, var = linear.mean(estimate, state.actions), linear.var(estimate, state.actions)
        return State(estimate, state.actions, lanes.sum_from(mean), var, var, state.turn)
    cov = lanes.shared(lanes.dot(step.direction, state.actions))
    played = _indices(state.var) == action
    var = jnp.where(played, step.var * (rho2 / step.total), jnp.maximum(state.var - cov * (cov / step.total), 0))
    exact = jnp.where(played, var, state.exact)
    known = Known(lanes.add(state.mean, cov * step.weight), var, exact)
    rows = _rows(state)
    turns, start = -(-var.shape[0] // rows), jnp.minimum(state.turn.reshape(-1)[0] * rows, var.shape[0] - rows)
    known = _renewed(estimate, state.actions, known, start, jnp.ones((rows, *(1 for _ in var.shape[1:])), bool))
    renewed = partial(_renewed, estimate, state.actions)
    known = _by_slices(rows, FALL * known.var < known.exact, known, renewed)
    return State(estimate, state.actions, known.mean, known.var, known.exact, (state.turn + 1) % turns)


def _renewed(
    estimate: linear.State, actions: Float[Array, "d K ..."], known: Known, start: Array, which: Bool[Array, "n ..."]
) -> Known:
    """With some actions of a slice computed from the estimate."""
    some = _slice(actions, start, which.shape[0])
    mean, var = lanes.shared((linear.mean(estimate, some), linear.var(estimate, some)))
    new = Known(lanes.sum_from(mean), var, var)
    return jax.tree.map(partial(_put, start=start, which=which), known, new)


def _by_slices(rows: int, due: Bool[Array, "K ..."], known: Any, renewed: Callable[..., Any]) -> Any:
    """Slice after slice of the actions, as long as one has a row that is due in any trial; mostly there is none."""
    last = due.shape[0] - rows

    def turn(carry: tuple[Any, Array]) -> tuple[Any, Array]:
        known, due = carry
        first = jnp.argmax(jnp.any(due, axis=tuple(range(1, due.ndim)))).astype(jnp.int32)
        start = jnp.minimum(first // rows * rows, last)
        mine = lax.dynamic_slice_in_dim(due, start, rows)
        return renewed(known, start, mine), lax.dynamic_update_slice_in_dim(due, jnp.zeros_like(mine), start, 0)

    return lax.while_loop(lambda carry: lanes.anywhere(carry[1]), turn, (known, due))[0]


def _put(old: Float[Array, "K ..."], new: Float[Array, "n ..."], start: Array, which: Bool[Array, "n ..."]) -> Array:
    """New values in some rows of a slice."""
    before = lax.dynamic_slice_in_dim(old, start, new.shape[0])
    return lax.dynamic_update_slice_in_dim(old, jnp.where(which, new, before), start, 0)


def _slice(actions: Float[Array, "d K ..."], start: Array, rows: int) -> Float[Array, "d n ..."]:
    """The features of the actions of a slice."""
    return lanes.shared(lax.dynamic_slice_in_dim(actions, start, rows, axis=1))


def _rows(state: State) -> int:
    """Actions of a slice: so many that from the root they cost less than K d."""
    dim, count = state.actions.shape[:2]
    return -(-count // (TURNS * dim))


def _indices(rows: Array) -> Int[Array, "K ..."]:
    """The index of every action, to compare with those of trials."""
    return jnp.arange(rows.shape[0], dtype=jnp.int32).reshape(-1, *(1 for _ in rows.shape[1:]))


def _features(state: State, action: Int[Array, "..."]) -> Float[Array, "d ..."]:
    """The features of one action of each trial."""
    if state.actions.shape[2:] == action.shape:
        return linear.at(state.actions, action)
    return state.actions.reshape(state.actions.shape[:2])[:, action]


def mean(state: State, features: Any = None) -> Float[Array, "K ..."]:
    """x·θ̂ of every action."""
    return state.mean.value


def var(state: State, features: Any = None) -> Float[Array, "K ..."]:
    """σ_t(x)² of every action."""
    return state.var


def cov_with(state: State, features: Any, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
    """The posterior covariance of every action with one."""
    return linear.cov_with(state.estimate, state.actions, _features(state, action))


def var_given(state: State, features: Any, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
    """σ_t² of every action if f were known at one: a difference, where that is not much less than σ_t² itself."""
    own, x = lanes.pick(state.var, action), _features(state, action)
    cov = cov_with(state, features, action)
    left = jnp.maximum(state.var - cov * (cov / jnp.where(own > 0, own, 1)), 0)
    known = _indices(left) == action

    def asked(left: Array, start: Array, mine: Bool[Array, "n ..."]) -> Array:
        some = _slice(state.actions, start, mine.shape[0])
        return _put(left, linear.var_given(state.estimate, some, x), start, mine)

    return _by_slices(_rows(state), (FALL * left < state.var) & ~known, jnp.where(known, 0, left), asked)


def sample(state: State, features: Any, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K ..."]:
    """Every action's mean under one draw θ̃ = θ̂ + scale · M η, η standard normal."""
    return linear.sample(state.estimate, state.actions, source, scale)


def log_det(state: State) -> Float[Array, "..."]:
    """log det V_t − log det V_0."""
    return linear.log_det(state.estimate)
