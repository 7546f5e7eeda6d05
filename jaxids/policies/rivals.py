"""Policies to compare with: greedy, ε-greedy with a schedule, explore then commit."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import draws, nodes
from jaxids.confidence import Action, Band
from jaxids.policies.policy import Choice
from jaxids.types import Number

register = nodes.register


@partial(register, data_fields=(), meta_fields=())
@dataclass(frozen=True)
class Greedy:
    """Play the highest estimate."""

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        return Choice(band.leader.action, score=band.leader.values)


@partial(register, data_fields=("epsilon", "power"), meta_fields=())
@dataclass(frozen=True)
class EpsilonGreedy:
    """Play any action with probability min(1, ε / t^power) at step t = 1, 2, …, else the highest estimate."""

    epsilon: Number
    power: Number

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        share = self.epsilon / (source.step + 1.0) ** self.power
        explore = draws.uniform(draws.child(source, 1), 1)[0] < share
        return Choice(
            jnp.where(explore, band.uniform(draws.child(source, 2)), band.leader.action), score=band.leader.values
        )


class Played(NamedTuple):
    """How many steps there were, and the last action."""

    steps: Int[Array, "..."]
    action: Action


@partial(register, data_fields=("steps",), meta_fields=())
@dataclass(frozen=True)
class ExploreThenCommit:
    """Play any action for some steps, then the one that has the highest estimate then, for ever."""

    steps: Number
    remembers_actions = True

    def init(self, band: Band) -> Played:
        """No step yet."""
        shape, kind, _ = band.handle
        dtype = jnp.int32 if kind is jnp.integer else band.rho.dtype
        return Played(jnp.zeros(band.rho.shape[1:], jnp.int32), jnp.zeros(shape, dtype))

    def __call__(self, band: Band, source: draws.Stream, memory: Played) -> Choice:
        """The choice at one step: the last action again once one is committed to."""
        last = jnp.ceil(self.steps)
        explored = jnp.where(memory.steps < last, band.uniform(draws.child(source, 1)), band.leader.action)
        action = jnp.where(memory.steps > last, memory.action, explored)
        return Choice(action, score=band.leader.values)

    def update(self, memory: Played, band: Band, choice: Choice, reward: Float[Array, "..."]) -> Played:
        """With one step more."""
        return Played(memory.steps + 1, choice.action)
