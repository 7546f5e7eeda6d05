"""What regret is at most: from the ratios Ψ_t and the information of a run, or before it.

    Theorem 1   R_T ≤ 5/4 √(ΣΨ_t · (2ΣI_t + 4b log(2/δ) + 8b log(4b) + 1)) + 4S log(c T²(log T + 1)/δ),   any policy
    Theorem 2   R_T ≤ √(ΣΨ_t · ΣI_t),                                                    deterministic ones
    surrogate   Ψ_t⁺(x_UCB) = 4β²σ²/log(1 + σ²/ρ²),  and Ψ_t⁺ of IDS and of DIDS are no more

at all T at once with probability 1 − δ, b ≥ 1 a fixed number that no I_t exceeds: 1 in the second form of Theorem 1,
γ_T in the first. Both hold for ratios of the true gaps. Ratios of surrogate gaps are no less while the confidence band
holds, so the level of the band is to be added to δ.

Constants: the union bound over T of Freedman's consequence at δ/2 · 6/(π²T²) gives (2 log T + 2) · π²T²/(3δ),
that is c = 2π²/3. The paper has c = 8π²/3, which is valid and 4S log 4 more. Its lemma on the UCB action has 8β²σ²
for 4β²σ²; its bound 8β²ρ² where I_t ≤ 1 is right, as s ≤ 2 log(1 + s) there.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks, lanes
from jaxids.bounds.arguments import Amount, at_least, numbers
from jaxids.bounds.concentration import conditional_sum

PRINTED, TIGHT = 8 * math.pi**2 / 3, 2 * math.pi**2 / 3
SMALL = 1e-3  # below which s/log(1 + s) is summed as a series


def randomised(
    ratios: Amount,
    information: Amount,
    steps: Amount,
    *,
    delta: Amount,
    gap_bound: Amount,
    gain_bound: Amount | None = None,
    printed: bool = True,
) -> Float[Array, "..."]:
    """Theorem 1, from ΣΨ_t, ΣI_t or γ_T, T, S and b.

    With no gain_bound, b = max(γ_T, 1) and `information` is γ_T, a number that holds for every run: the lemma on
    conditional means needs b ≥ 1, which the text leaves out. With one, what was gained in the run will do.
    """
    checks.within("delta", delta, 0, 1)
    checks.flag("printed", printed)
    at_least("steps", steps, 1)
    if gain_bound is not None:
        at_least("gain_bound", gain_bound, 1)
    ratios, information, steps, gap_bound, delta, most = numbers(
        ratios=ratios,
        information=information,
        steps=steps,
        gap_bound=gap_bound,
        delta=delta,
        gain_bound=1.0 if gain_bound is None else gain_bound,
    )
    most = jnp.maximum(information, 1) if gain_bound is None else most
    expected = conditional_sum(information, most, delta / 2)
    times = jnp.log(steps)
    log = math.log(PRINTED if printed else TIGHT) + 2 * times + jnp.log1p(times) - jnp.log(delta)
    return 5 / 4 * lanes.root(ratios) * jnp.sqrt(expected) + 4 * gap_bound * log


def deterministic(ratios: Amount, information: Amount) -> Float[Array, "..."]:
    """Theorem 2, from ΣΨ_t and ΣI_t or γ_T: of a policy that plays one action for sure, and with probability 1."""
    ratios, information = numbers(ratios=ratios, information=information)
    return lanes.root(ratios) * lanes.root(information)


def ucb_ratio(beta: Amount, var: Amount, rho: Amount, *, printed: bool = False) -> Float[Array, "..."]:
    """Ψ⁺ of the UCB action with I^F or I^UCB, 4β²σ²/log(1 + σ²/ρ²): 4β²ρ² where nothing is left to learn."""
    checks.flag("printed", printed)
    checks.noise_bounds("rho", rho)
    beta, var, rho = numbers(beta=beta, var=var, rho=rho)
    return (8 if printed else 4) * beta**2 * rho**2 * _over_log(var / rho**2)


def ratio_sum(beta: Amount, rho_bound: Amount, steps: Amount) -> Float[Array, "..."]:
    """ΣΨ_t⁺ ≤ 8β_T²R²T of IDS, DIDS and UCB, where I_t(x_UCB) ≤ 1 at every step."""
    at_least("steps", steps, 1)
    checks.noise_bounds("rho_bound", rho_bound)
    beta, rho_bound, steps = numbers(beta=beta, rho_bound=rho_bound, steps=steps)
    return 8 * beta**2 * rho_bound**2 * steps


def ratio_sum_any(
    beta: Amount, var: Float[Array, "K ..."], rho: Float[Array, "K ..."], steps: Amount
) -> Float[Array, "..."]:
    """ΣΨ_t⁺ ≤ T · max_x 4β_T²σ_0(x)²/log(1 + σ_0(x)²/ρ(x)²), however much is gained in a step.

    It follows from s/log(1 + s/ρ²), which rises with s, and σ_t, which falls with t: var is that of the prior, one
    for each action, and so is rho.
    """
    at_least("steps", steps, 1)
    checks.noise_bounds("rho", rho)
    checks.not_negatives("var", var)
    var, rho = checks.floats("var", var, ("K", "…")), checks.floats("rho", rho, ("K", "…"))
    if rho.shape != var.shape[: rho.ndim]:
        shapes = f"{list(var.shape)} and {list(rho.shape)}"
        raise ValueError(f"var, rho: got shapes {shapes}; they take one shape [K, …], or rho [K]")
    spread = jnp.max(ucb_ratio(0.5, var, rho.reshape(rho.shape + (1,) * (var.ndim - rho.ndim))), axis=0)
    return ratio_sum_of(*numbers(beta=beta, spread=spread, steps=steps))


def ratio_sum_of(beta: Amount, spread: Amount, steps: Amount) -> Float[Array, "..."]:
    """The same 4β_T²T · max_x σ_0(x)²/log(1 + σ_0(x)²/ρ(x)²) from that maximum, which the series `spread` records."""
    at_least("steps", steps, 1)
    beta, spread, steps = numbers(beta=beta, spread=spread, steps=steps)
    return 4 * beta**2 * spread * steps


def trivial(steps: Amount, gap_bound: Amount) -> Float[Array, "..."]:
    """T·S, above which a bound says nothing."""
    at_least("steps", steps, 1)
    steps, gap_bound = numbers(steps=steps, gap_bound=gap_bound)
    return steps * gap_bound


def _over_log(s: Float[Array, "..."]) -> Float[Array, "..."]:
    """s/log(1 + s), 1 at 0, whose derivative keeps its precision near there."""
    small = s < SMALL
    far = jnp.where(small, 1, s)
    near = jnp.where(small, s, 0)
    series = 1 + near * (1 / 2 + near * (-1 / 12 + near * (1 / 24 - near * (19 / 720))))
    return jnp.where(small, series, far / jnp.log1p(far))
