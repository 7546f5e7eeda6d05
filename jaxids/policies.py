"""Policies: what to play, given the confidence band of a belief.

A policy is a rule, `(band, stream) → Choice`, with the numbers of its estimator: δ, λ and the norm bound. Numbers are
leaves of the pytree, rules are its structure, so that a sweep over numbers compiles once. `PAPER` names the thirteen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import checks, draws, information, lanes, ratio
from jaxids.confidence import Band, Number


class Choice(NamedTuple):
    """The action played and how it came about: IDS tells its mix, gap and gain, others what the action is best by."""

    action: Int[Array, "..."]
    mix: ratio.Mix | None = None
    gap: Float[Array, "K ..."] | None = None
    gain: Float[Array, "K ..."] | None = None
    score: Float[Array, "K ..."] | None = None


Rule = Callable[[Band, draws.Stream], Choice]


@partial(
    jax.tree_util.register_dataclass,
    data_fields=("delta", "lam", "norm_bound"),
    meta_fields=("rule", "weighted"),
)
@dataclass(frozen=True)
class Policy:
    """A rule and its estimator: weighted by each action's ρ, or by one bound R for all."""

    rule: Rule
    weighted: bool = True
    delta: Number = 0.01
    lam: Number = 1.0
    norm_bound: Number = 1.0


def check(policy: Policy) -> Policy:
    """The policy itself, or a ValueError that names what is wrong with it."""
    if not isinstance(policy, Policy):
        raise ValueError(
            f"policy: got {checks.shown(policy)}; it takes one of jaxids.policies, as policies.PAPER['IDS-UCB']"
        )
    checks.function("rule", policy.rule)
    checks.flag("weighted", policy.weighted)
    checks.within("delta", policy.delta, 0, 1)
    checks.positive("lam", policy.lam)
    checks.not_negative("norm_bound", policy.norm_bound)
    return policy


def check_choice(choice: Any, band: Band) -> Choice:
    """What a rule returned, or a ValueError if it is not an action for every trial.

    A rule that does not say what it decided by is held to the upper bounds: they must be finite.
    """
    if not isinstance(choice, Choice):
        raise ValueError(f"policy: got a rule that returns {checks.shown(choice)}; it takes one that returns a Choice")
    shape, kind = getattr(choice.action, "shape", None), getattr(choice.action, "dtype", type(choice.action).__name__)
    if shape != band.rho.shape[1:] or not jnp.issubdtype(kind, jnp.integer):
        takes = f"whole numbers of shape {list(band.rho.shape[1:])}, one for each trial"
        raise ValueError(f"policy: got an action that is {kind} of shape {list(shape or ())}; it takes {takes}")
    if choice.score is not None:
        _checked("score", choice.score, band)
    decided = choice.score is not None or choice.gap is not None
    return choice if decided else choice._replace(score=band.upper)


def optimistic(band: Band, source: draws.Stream) -> Choice:
    """Play the largest upper confidence bound."""
    return Choice(band.ucb, score=band.upper)


@dataclass(frozen=True)
class Thompson:
    """Play the best action of one posterior draw, its spread times β_t if `inflated`."""

    inflated: bool = False

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        score = band.sample(source, band.beta if self.inflated else 1.0)
        return Choice(lanes.first_max(score).arg, score=score)


def surrogate(band: Band) -> Float[Array, "K ..."]:
    """Δ_t⁺: the paper's gap."""
    return band.gap


@dataclass(frozen=True)
class Directed:
    """Play from the distribution that minimises the regret-information ratio."""

    information: information.Information
    solver: Callable[[Array, Array], ratio.Mix] = ratio.exact
    gap: Callable[[Band], Array] = surrogate

    def __call__(self, band: Band, source: draws.Stream) -> Choice:
        """The choice at one step."""
        with checks.naming("gain", self.information, "a function of a band and a stream"):
            gain = self.information(band, draws.child(source, 1))
        with checks.naming("gap", self.gap, "a function of a band"):
            gap = self.gap(band)
        gap, gain = lanes.shared((_checked("gap", gap, band), _checked("gain", gain, band)))
        with checks.naming("solver", self.solver, "a function of gaps and gains"):
            mix = self.solver(gap, _floored(gain))
        if not isinstance(mix, ratio.Mix):
            raise ValueError(f"solver: got one that gives {checks.shown(mix)}; it takes one that gives a ratio.Mix")
        second = draws.uniform(draws.child(source, 2), 1)[0] < mix.weight
        return Choice(jnp.where(second, mix.second, mix.first), mix, gap, gain)


def _checked(name: str, value: Any, band: Band) -> Float[Array, "K ..."]:
    """What a user's function returned, or a ValueError if it is not one real number for every action and trial."""
    shape, kind = getattr(value, "shape", ()), getattr(value, "dtype", type(value).__name__)
    if shape != band.rho.shape or not jnp.issubdtype(kind, jnp.floating):
        takes = f"floats of shape {list(band.rho.shape)}, actions first, trials last (reduce with axis=0)"
        raise ValueError(f"{name}: got {kind} of shape {list(shape)}; it takes {takes}")
    return value


def _floored(gain: Float[Array, "K ..."]) -> Float[Array, "K ..."]:
    """Where no action tells anything, the least gap decides, not the lowest index."""
    return jnp.maximum(gain, jnp.sqrt(jnp.finfo(gain.dtype).tiny))


def ucb(weighted: bool = True, *, delta: Number = 0.01, lam: Number = 1.0, norm_bound: Number = 1.0) -> Policy:
    """W-UCB, or UCB if not `weighted`."""
    return check(Policy(optimistic, weighted, delta, lam, norm_bound))


def ts(
    weighted: bool = True,
    inflated: bool = False,
    *,
    delta: Number = 0.01,
    lam: Number = 1.0,
    norm_bound: Number = 1.0,
) -> Policy:
    """W-TS; TS if not `weighted`; FW-TS if `inflated`."""
    checks.flag("inflated", inflated)
    return check(Policy(Thompson(inflated), weighted, delta, lam, norm_bound))


def ids(
    gain: information.Information,
    *,
    deterministic: bool = False,
    solver: Callable[[Array, Array], ratio.Mix] | None = None,
    gap: Callable[[Band], Array] = surrogate,
    delta: Number = 0.01,
    lam: Number = 1.0,
    norm_bound: Number = 1.0,
) -> Policy:
    """IDS with an information function; DIDS if `deterministic`.

    Own functions work on arrays [K, lanes], actions first and trials last, so they reduce with axis=0 only, as
    `band.mean.max(axis=0)`. Gaps and gains must not be negative.
    """
    for name, function in {"gain": gain, "solver": ratio.exact if solver is None else solver, "gap": gap}.items():
        checks.function(name, function)
    checks.flag("deterministic", deterministic)
    if deterministic and solver is not None:
        raise ValueError("solver: got one together with deterministic=True, which is ratio.single")
    solver = ratio.single if deterministic else solver or ratio.exact
    return check(Policy(Directed(gain, solver, gap), True, delta, lam, norm_bound))


PAPER: dict[str, Policy] = {
    "UCB": ucb(weighted=False),
    "W-UCB": ucb(),
    "TS": ts(weighted=False),
    "W-TS": ts(),
    "FW-TS": ts(inflated=True),
}
for _name, _gain in {"F": information.f, "UCB": information.ucb, "TS": information.ts, "E": information.e}.items():
    PAPER[f"IDS-{_name}"] = ids(_gain)
    PAPER[f"DIDS-{_name}"] = ids(_gain, deterministic=True)
