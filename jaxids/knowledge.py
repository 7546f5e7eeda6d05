"""What an estimator knows of the noise: the bound ρ(x) of each action, or one bound R for all.

It gives the bounds that a band has and that observations are weighted by, at whatever actions the band stands at. It
may have a state of its own beside the belief's, updated after every reward: the place of an estimate of ρ.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import nodes
from jaxids.confidence import Action, Band

register = partial(nodes.register, data_fields=(), meta_fields=())


@runtime_checkable
class Knowledge(Protocol):
    """What is known of the noise, as a pytree."""

    def init(self, instance: Any) -> Any:
        """The state before any reward; () if there is none."""
        ...

    def bounds(
        self, state: Any, features: Any, rho: Float[Array, "K ..."], rho_bound: Float[Array, "..."]
    ) -> Float[Array, "K ..."]:
        """The bounds assumed of some actions, by their features (of one point, on a box), their ρ, and R."""
        ...

    def update(self, state: Any, band: Band, action: Action, reward: Float[Array, "..."]) -> Any:
        """The state after one reward."""
        ...


@register
@dataclass(frozen=True)
class Known:
    """Each action's own bound, as in the paper's W- and IDS policies."""

    def init(self, instance: Any) -> Any:
        """Nothing is kept."""
        return ()

    def bounds(
        self, state: Any, features: Any, rho: Float[Array, "K ..."], rho_bound: Float[Array, "..."]
    ) -> Float[Array, "K ..."]:
        """Those that there are."""
        return rho

    def update(self, state: Any, band: Band, action: Action, reward: Float[Array, "..."]) -> Any:
        """Nothing is learnt."""
        return state


@register
@dataclass(frozen=True)
class Bounded(Known):
    """One bound R for all actions, as in the paper's UCB and TS: every observation weighs as much."""

    def bounds(
        self, state: Any, features: Any, rho: Float[Array, "K ..."], rho_bound: Float[Array, "..."]
    ) -> Float[Array, "K ..."]:
        """R, whatever the action."""
        return jnp.broadcast_to(rho_bound, jnp.shape(rho))


known = Known()
"""Each action's own noise bound ρ(x), as in W-UCB, W-TS and IDS."""

bounded = Bounded()
"""One noise bound R for all actions, as in UCB and TS.

Observations then weigh 1/R², so V_t = λI + XᵀX/R². Textbooks have W_t = λ'I + XᵀX, and in the norm of W_t⁻¹ the radius
R √(2 log(1/δ) + log det W_t − log det W_0) + √λ' S. With λ' = λR² these are the same estimate and confidence sets:
W_t = R²V_t, the determinants grow alike, the textbook's radius is Rβ_t, and its √(xᵀW_t⁻¹x) is σ_t(x)/R. So λ = 1 here
is λ' = R² there, and λ' = 1 there is λ = 1/R² here.
"""
