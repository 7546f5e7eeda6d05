"""What `simulate` may keep or sum besides regret, as functions of a step: `record=["simple_regret"]`, `total=pulls`.

Each gives one number for every trial, but `pulls`, which is to be summed over steps and gives one for every action.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import names
from jaxids import ratio as ratios
from jaxids.problems import Instance
from jaxids.tiles import Step

__all__ = ["NAMED", "beta", "gain", "information", "pulls", "ratio", "simple_regret"]


def simple_regret(step: Step) -> Float[Array, "..."]:
    """How far the mean of the action that would be recommended after the step is below the best."""
    return step.instance.lost(step.instance.losses(), step.recommended)


def ratio(step: Step) -> Float[Array, "..."]:
    """Ψ of the mix that was played from, or of the one action played, with I^F."""
    if step.choice.mix is not None:
        return step.choice.mix.value
    return ratios.quotient(step.band.gap_of(step.choice.action), information(step))


def gain(step: Step) -> Float[Array, "..."]:
    """The gain expected of the mix that was played from, or I^F of the one action played."""
    mix, gains = step.choice.mix, step.choice.gain
    if mix is None or gains is None:
        return information(step)
    return step.band.expected(gains, mix)


def beta(step: Step) -> Float[Array, "..."]:
    """β_t before the step."""
    return step.band.beta


def information(step: Step) -> Float[Array, "..."]:
    """I^F of the action played: what its observation adds to log det V_t."""
    action = step.choice.action
    return jnp.log1p(step.band.var_of(action) / step.band.rho_of(action) ** 2)


def pulls(step: Step) -> Int[Array, "K ..."]:
    """1 for the action played, 0 for the others: to be summed over steps."""
    if not isinstance(step.instance, Instance):
        raise ValueError("total: got series.pulls on a box or ball; it takes a problem with finitely many actions")
    return (jnp.arange(step.instance.rho.shape[0])[:, None] == step.choice.action).astype(jnp.int32)


NAMED: dict[str, Callable[[Step], Float[Array, "..."]]] = {name: globals()[name] for name in names.SERIES}
