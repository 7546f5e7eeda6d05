"""Policies that differ in little as ones that differ in numbers, so that they run as one program.

UCB and W-UCB; TS, W-TS and FW-TS; IDS and DIDS with the gains F, UCB and TS, and with E: on a CPU the paper's thirteen
are four programs on finitely many actions. What is computed is the same. On boxes and balls a search that DIDS leaves
out costs more than a compilation, and with many actions a draw that a gain does without.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxids import draws, information, nodes, ratio
from jaxids.confidence import Action, Band
from jaxids.knowledge import Bounded, Known
from jaxids.policies.policy import Choice, Policy
from jaxids.policies.rules import Directed, Thompson, played, second
from jaxids.programs import Structure
from jaxids.ratio.bracket import either
from jaxids.types import Number

GAINS = (information.f, information.ucb, information.ts)
FEW = 128  # actions up to which gains are one program


@partial(nodes.register, data_fields=("own",), meta_fields=())
@dataclass(frozen=True)
class Given(Known):
    """Each action's own bound, `Known`, or one for all, `Bounded`, by a number, 1 or 0."""

    own: Number

    def bounds(
        self, state: Any, features: Any, rho: Float[Array, "K ..."], rho_bound: Float[Array, "..."]
    ) -> Float[Array, "K ..."]:
        """Those that are looked at."""
        return jnp.where(self.own > 0, rho, rho_bound)


@partial(nodes.register, data_fields=("inflated",), meta_fields=())
@dataclass(frozen=True)
class Drawn:
    """`Thompson`, inflated or not, by a number, 1 or 0."""

    inflated: Number

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        spread = jnp.where(self.inflated > 0, band.beta, 1.0 if band.scale is None else band.scale)
        best = band.peak(source, spread)
        return Choice(best.action, score=best.values)


@partial(nodes.register, data_fields=("which",), meta_fields=())
@dataclass(frozen=True)
class Told:
    """One of `GAINS`, by its number."""

    which: Number

    def __call__(self, band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
        """The gain of every action."""
        _ = band.var, band.gap  # what is asked first inside of a branch is not there outside
        which = jnp.asarray(self.which)
        return lax.cond(which > 0, lambda: self._about(which, copy(band), source), lambda: information.f(band, source))

    def _about(self, which: Number, band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
        target: Action = lax.cond(which > 1, lambda: copy(band).best(source), lambda: band.ucb)
        return information.about(band, target)


@partial(nodes.register, data_fields=("information", "gap", "mixed"), meta_fields=())
@dataclass(frozen=True)
class Least:
    """`Directed` with the exact solver, or the one for a single action, by a number, 1 or 0."""

    information: Any
    gap: Any
    mixed: Number

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        some = jnp.asarray(self.mixed) > 0
        found = Directed(self.information, partial(either, mixed=some), self.gap).least(band, source)
        first = jnp.zeros(jnp.shape(found[0].weight), bool)
        return played(lax.cond(some, lambda: second(found[0], source), lambda: first), *found)


def alike(policy: Policy, actions: int) -> Policy:
    """The same policy for so many actions, with what sets it apart from its like as a number."""
    return replace(policy, rule=_rule(policy.rule, actions <= FEW), noise=_noise(policy.noise))


def _noise(noise: Any) -> Any:
    return Given(float(type(noise) is Known)) if type(noise) in (Known, Bounded) else noise


def _rule(rule: Any, few: bool) -> Any:
    if type(rule) is Thompson:
        return Drawn(float(rule.inflated))
    if type(rule) is Directed and rule.solver in (ratio.exact, ratio.single):
        return Least(_gain(rule.information, few), rule.gap, float(rule.solver is ratio.exact))
    return rule


def _gain(gain: Any, few: bool) -> Any:
    if few and type(gain) is Structure and gain.function in GAINS:
        return Told(float(GAINS.index(gain.function)))
    return gain
