"""The rules of the paper: optimism, Thompson sampling, and information-directed sampling.

Each is written once, for finitely many actions, boxes and balls, and for one trial or many.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxids import checks, draws, nodes, ratio
from jaxids.confidence import Band, Solver
from jaxids.policies.policy import Choice, checked
from jaxids.programs import as_tree

register = nodes.register


@partial(register, data_fields=(), meta_fields=())
@dataclass(frozen=True)
class Optimistic:
    """Play the largest upper confidence bound."""

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        return Choice(band.top.action, score=band.top.values)


@partial(register, data_fields=(), meta_fields=("inflated",))
@dataclass(frozen=True)
class Thompson:
    """Play the best action of one posterior draw, its spread times β_t if `inflated`, else times the band's scale."""

    inflated: bool = False

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        spread = band.beta if self.inflated else 1.0 if band.scale is None else band.scale
        best = band.peak(source, spread)
        return Choice(best.action, score=best.values)


def surrogate(band: Band) -> Float[Array, "K ..."]:
    """Δ_t⁺: the paper's gap."""
    return band.gap


def second(mix: ratio.Mix, source: draws.Stream) -> Bool[Array, "..."]:
    """Whether the second action of a mix is drawn."""
    return draws.uniform(draws.child(source, 2), 1)[0] < mix.weight


def played(second: Bool[Array, "..."], mix: ratio.Mix, gap: Array, gain: Array) -> Choice:
    """The choice of one of the two actions of a mix."""
    return Choice(jnp.where(second, mix.second, mix.first), mix, gap, gain)


@partial(register, data_fields=("information", "gap"), meta_fields=("solver",))
@dataclass(frozen=True)
class Directed:
    """Play from the distribution that minimises the regret-information ratio."""

    information: Any
    solver: Solver = ratio.exact
    gap: Any = surrogate

    def __post_init__(self) -> None:
        """Plain functions are structure."""
        for name in ("information", "gap"):
            object.__setattr__(self, name, as_tree(getattr(self, name)))

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        found = self.least(band, source)
        return played(second(found[0], source), *found)

    def least(self, band: Band, source: draws.Stream) -> tuple[ratio.Mix, Array, Array]:
        """The mix of the least ratio, the gap and the gain."""
        return band.least_ratio(lambda band: self.surfaces(band, source), self.solver)

    def surfaces(self, band: Band, source: draws.Stream) -> tuple[Array, Array]:
        """The gap and the gain at the actions of a band."""
        with checks.naming("gain", self.information, "a function of a band and a stream"):
            gain = self.information(band, draws.child(source, 1))
        with checks.naming("gap", self.gap, "a function of a band"):
            gap = self.gap(band)
        return checked("gap", gap, band), checked("gain", gain, band)
