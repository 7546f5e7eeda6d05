"""What `simulate` may keep or sum besides regret, as functions of a step: `record=["simple_regret"]`, `total=pulls`.

Each gives one number for every trial, but `pulls`, which is to be summed over steps and gives one for every action.
`summed` and `highest` make series that run from step to step; `jaxids.bounds` says what those of the last part are for.
"""

from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import bounds
from jaxids import ratio as ratios
from jaxids.problems import Instance
from jaxids.sums import Running
from jaxids.tiles import Hook, Step

__all__ = ["NAMED", "beta", "gain", "highest", "information", "pulls", "ratio", "simple_regret", "summed"]

ROUNDING = 1e-4  # share by which one ratio may be above another that it is below


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


def summed(function: Hook) -> Running:
    """The series of the sums of a function over the steps so far."""
    return Running(function)


def highest(function: Hook) -> Running:
    """The series of the highest value of a function so far."""
    return Running(function, highest=True)


# what the bounds are made of


def _true_ratio(step: Step) -> Float[Array, "..."]:
    """Ψ_t of what was played, with the true gaps."""
    mix, lost = step.choice.mix, partial(step.instance.lost, step.instance.losses())
    if mix is None:
        return ratios.quotient(lost(step.choice.action), information(step))
    return ratios.quotient(ratios.blend(mix.weight, lost(mix.first), lost(mix.second)), gain(step))


def _gained(step: Step) -> Float[Array, "..."]:
    """I_t(x_t) of the action played."""
    mix, gains = step.choice.mix, step.choice.gain
    if mix is None or gains is None:
        return information(step)
    return step.band.played(gains, mix, step.choice.action)


def _prior(step: Step) -> tuple[Float[Array, "K ..."], Float[Array, "K ..."]]:
    """σ_0(x)² and ρ(x) all over the set."""
    band = step.band.everywhere
    return band.belief.var(step.instance.prior(band.belief, band.lam), band.features), band.rho


def _signal(step: Step) -> Float[Array, "..."]:
    """The largest σ_0(x)²/ρ(x)²."""
    var, rho = _prior(step)
    return jnp.max(var / rho**2, axis=0)


def _spread(step: Step) -> Float[Array, "..."]:
    """The largest σ_0(x)²/log(1 + σ_0(x)²/ρ(x)²)."""
    return jnp.max(bounds.ucb_ratio(0.5, *_prior(step)), axis=0)


def _gamma(step: Step) -> Float[Array, "..."]:
    """γ_t from the rank of what the belief sees; on a box with a kernel that of its observations."""
    state = step.band.state
    rank = state.points.shape[0] if hasattr(state, "points") else step.band.features.shape[0]
    return bounds.gamma(rank, step.number, _signal(step))


def _chain_breaks(step: Step) -> Float[Array, "..."]:
    """1 where not Ψ⁺(IDS) ≤ Ψ⁺(DIDS) ≤ Ψ⁺(UCB) up to rounding; 0 without a mix."""
    mix, gaps, gains = step.choice.mix, step.choice.gap, step.choice.gain
    if mix is None or gaps is None or gains is None:
        return jnp.zeros_like(step.regret)
    alone = jnp.min(ratios.quotient(gaps, gains), axis=0)
    optimistic = ratios.quotient(2 * step.band.radius_of(step.band.ucb), step.band.at_ucb(gains))
    kept = (mix.value <= alone * (1 + ROUNDING)) & (alone <= optimistic * (1 + ROUNDING))
    return jnp.where(kept, 0.0, 1.0)


NAMED: dict[str, Hook] = {
    "simple_regret": simple_regret,
    "ratio": ratio,
    "gain": gain,
    "beta": beta,
    "information": information,
    "ratio_sum": summed(_true_ratio),
    "surrogate_sum": summed(ratio),
    "gain_sum": summed(_gained),
    "gamma": highest(_gamma),
    "signal": highest(_signal),
    "spread": highest(_spread),
    "gap_bound": highest(lambda step: step.instance.most_lost()),
    "chain_breaks": summed(_chain_breaks),
}
"""What `record=` takes by name; from `ratio_sum` on, what the bounds are made of."""
