"""Weighted least squares on many features (Section 4.1), with the mean and variance of every action kept: O(K d) a step.

The estimate is that of `linear`. From its root all variances together cost K d² operations, so here they are carried
along: an observation at an action a whose noise has the bound ρ² leaves

    σ(x)² ← σ(x)² − c(x)² / (ρ² + σ(a)²),      c(x) = xᵀ V⁻¹ a,      σ(a)² ← σ(a)² ρ² / (ρ² + σ(a)²).

Of a difference rounding takes its share: about ε times what σ(x)² has fallen to a part of since it was last exact. So
every step takes one of `turns` slices of the actions anew from the root, all of them in turn, and besides at once the
slice of any action that fell to less than 1/`FALL` of what it then was: `FALL` ε is what an error comes to, whatever the
data. A slice costs K d, as there are about d of them. Each trial takes its own fallen actions only, so that it does not
depend on those beside it. The mean is kept in the same way, as a compensated sum.

An action is known by its index; what verbs take as features is not looked at, because the state holds the actions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxids import checks, draws, lanes, layouts
from jaxids.beliefs import linear
from jaxids.types import Number

__all__ = ["State", "at", "cov_with", "init", "log_det", "mean", "sample", "update", "var", "var_given"]

FALL = 64  # to what part of itself a difference may fall
Rows = Float[Array, "d n ..."]  # the features of some actions


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
    played = _number(state) == action
    var = jnp.where(played, step.var * (rho2 / step.total), jnp.maximum(state.var - cov * (cov / step.total), 0))
    exact = jnp.where(played, var, state.exact)
    mean = lanes.add(state.mean, cov * step.weight)
    rows = _rows(state)
    due = (_number(state) // rows == state.turn) | (FALL * var < exact)
    after = State(estimate, state.actions, mean, var, exact, (state.turn + 1) % -(-state.var.shape[0] // rows))
    return _renewed(after, due)


def _renewed(state: State, due: Bool[Array, "K ..."]) -> State:
    """With what is due computed from the estimate."""

    def renew(known: tuple[lanes.Sum, Array, Array], some: Rows, start: Array, mine: Array) -> Any:
        new = lanes.shared((linear.mean(state.estimate, some), linear.var(state.estimate, some)))
        values = new[0], jnp.zeros_like(new[0]), new[1], new[1]
        (mean, low), var, exact = known
        renewed = [_put(old, value, start, mine) for old, value in zip((mean, low, var, exact), values, strict=True)]
        return lanes.Sum(*renewed[:2]), *renewed[2:]

    mean, var, exact = _by_slices(state, due, (state.mean, state.var, state.exact), renew)
    return state._replace(mean=mean, var=var, exact=exact)


def _by_slices(state: State, due: Bool[Array, "K ..."], known: Any, renew: Callable[..., Any]) -> Any:
    """Slice after slice of the actions, as long as one has a row that is due in any trial."""
    size, count = _rows(state), due.shape[0]

    def turn(carry: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
        known, due, first = carry
        start = jnp.minimum(first // size * size, count - size)
        mine = lax.dynamic_slice_in_dim(due, start, size)
        known = renew(known, lax.dynamic_slice_in_dim(state.actions, start, size, axis=1), start, mine)
        due = lax.dynamic_update_slice_in_dim(due, jnp.zeros_like(mine), start, 0)
        return known, due, _first(due)

    return lax.while_loop(lambda carry: carry[2] < count, turn, (known, due, _first(due)))[0]


def _first(due: Bool[Array, "K ..."]) -> Int[Array, ""]:
    """The first row that is due in any trial; K if none is."""
    count = due.shape[0]
    return jnp.min(jnp.where(due, _indices(due), count))


def _put(old: Float[Array, "K ..."], new: Float[Array, "n ..."], start: Array, mine: Bool[Array, "n ..."]) -> Array:
    """New values in the rows of a slice that are due."""
    before = lax.dynamic_slice_in_dim(old, start, new.shape[0])
    return lax.dynamic_update_slice_in_dim(old, jnp.where(mine, new, before), start, 0)


def _rows(state: State) -> int:
    """Actions of a slice: so many that from the root they cost K d."""
    dim, count = state.actions.shape[:2]
    return -(-count // dim)


def _number(state: State) -> Int[Array, "K ..."]:
    """The index of every action, to compare with those of trials."""
    return _indices(state.var)


def _indices(rows: Array) -> Int[Array, "K ..."]:
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
    known = _number(state) == action
    due = (FALL * left < state.var) & ~known

    def renew(left: Array, some: Rows, start: Array, mine: Array) -> Array:
        return _put(left, linear.var_given(state.estimate, some, x), start, mine)

    return _by_slices(state, due, jnp.where(known, 0, left), renew)


def sample(state: State, features: Any, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K ..."]:
    """Every action's mean under one draw θ̃ = θ̂ + scale · M η, η standard normal."""
    return linear.sample(state.estimate, state.actions, source, scale)


def log_det(state: State) -> Float[Array, "..."]:
    """log det V_t − log det V_0."""
    return linear.log_det(state.estimate)
