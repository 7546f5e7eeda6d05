"""The regret bounds of a curve, made of what its run recorded, beside its regret.

Theorem 2 is for policies whose action follows from the past. That of UCB, DIDS and, given their draws, the Thompson
family does, so √(ΣΨ_t ΣI_t) holds in every trial. IDS tosses a coin: Theorem 1, with probability 1 − δ. With ΣΨ_t⁺ in
place of ΣΨ_t both need the confidence band besides, which fails with probability δ. The worst case bounds ΣΨ_t⁺ by that
of the UCB action, which the lemma allows for UCB, and for IDS and DIDS with I^F or I^UCB. What is of one's own has the
bounds whose premises it cannot spoil: Ψ⁺ needs the paper's gap, Theorem 1 a gain that I^F bounds, the worst case a
solver that finds the least ratio.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxids import bounds, information, policies, ratio
from jaxids.experiment import build, policy_names
from jaxids.experiment.curves import Curve, Panel
from jaxids.policies.rules import surrogate
from jaxids.programs import as_tree

ROUNDING = 1e-4  # share by which a regret in single precision may be above its bound
LEAST = 1e-6  # regret below which a bound is not called so many times as large


class Bound(NamedTuple):
    """A bound of every trial's regret at the recorded steps [trials, R], and the chance with which it may fail."""

    name: str
    values: np.ndarray
    allowed: float

    def violated(self, regret: np.ndarray) -> int:
        """In how many trials the regret is above it at some recorded step."""
        return int(np.any(regret > self.values * (1 + ROUNDING), axis=1).sum())

    def looseness(self, regret: np.ndarray) -> np.ndarray:
        """How many times the mean regret its mean is, at every recorded step; NaN before there is regret."""
        mean = regret.mean(axis=0)
        return np.where(mean > LEAST, self.values.mean(axis=0) / np.maximum(mean, LEAST), np.nan)


class Theory(NamedTuple):
    """A curve, the theorem it falls under, its bounds, and at how many steps of all trials the chain was broken."""

    curve: Curve
    theorem: str
    regret: np.ndarray  # [trials, R]
    trivial: np.ndarray  # S·T [trials, R]
    bounds: list[Bound]
    breaks: int | None  # of policies with a mix

    def informative(self, bound: Bound) -> int | None:
        """The recorded step from which on the mean bound stays below the trivial one; None if it never does."""
        above = np.flatnonzero(bound.values.mean(axis=0) >= self.trivial.mean(axis=0))
        after = above[-1] + 1 if above.size else 0
        return int(self.curve.steps[after]) if after < len(self.curve.steps) else None


def panel_theories(panel: Panel) -> list[Theory]:
    """The bounds of all curves of a panel that asks for them, but for those whose own code has changed since."""
    if not panel.table["bounds"]:
        return []
    return [of(curve) for curve in panel.curves if _same_source(curve)]


def _same_source(curve: Curve) -> bool:
    try:
        return policy_names.source(curve.policy).get("source") == curve.setting.get("source")
    except ValueError:
        return False


def of(curve: Curve) -> Theory:
    """The bounds of one curve."""
    policy = build.policy_of(curve.setting)
    rule, numbers = policy.rule, curve.setting["estimator"]
    mixes = isinstance(rule, policies.Directed) and not ratio.never_mixes(rule.solver)
    plain = policy.scale is None  # else the band is not that of the theorems
    recorded = {name: _recorded(curve, name) for name in ("regret", *_PARTS)}
    steps, delta = curve.steps.astype(float), numbers["delta"]
    gap, gain = recorded["gap_bound"], np.maximum(np.log1p(recorded["signal"]), 1)

    def bound(ratios: np.ndarray, gains: np.ndarray) -> np.ndarray:
        some = np.where(np.isfinite(ratios), ratios, 0)  # an action that tells nothing has an infinite one
        if mixes:
            found = bounds.randomised(some, gains, steps, delta=delta, gap_bound=gap, gain_bound=gain)
        else:
            found = bounds.deterministic(some, gains)
        return np.where(np.isfinite(ratios), found, np.inf)

    chance, found = delta if mixes else 0.0, list[Bound]()
    if not mixes or _gain_is_bounded(rule):
        found.append(Bound("from Ψ", bound(recorded["ratio_sum"], recorded["gain_sum"]), chance))
    if plain and found and _is_surrogate(rule):
        found.append(Bound("from Ψ⁺", bound(recorded["surrogate_sum"], recorded["gain_sum"]), chance + delta))
    if plain and _within_lemma(rule):
        scale = np.asarray(bounds.beta(jnp.asarray(recorded["gamma"]), delta, numbers["lam"], numbers["norm_bound"]))
        most = np.asarray(bounds.ratio_sum_of(scale, recorded["spread"], steps))
        found.append(Bound("worst case", bound(most, recorded["gamma"]), chance + delta))
    directed = isinstance(rule, policies.Directed) and _is_surrogate(rule)
    breaks = int(recorded["chain_breaks"][:, -1].sum()) if directed else None
    return Theory(curve, "Theorem 1" if mixes else "Theorem 2", recorded["regret"], gap * steps, found, breaks)


_PARTS = ("ratio_sum", "surrogate_sum", "gain_sum", "gamma", "signal", "spread", "gap_bound", "chain_breaks")


def _recorded(curve: Curve, name: str) -> np.ndarray:
    values = curve.read(name)
    assert values is not None
    return values.astype(float)


def _within_lemma(rule: object) -> bool:
    """Whether the ratio of what a rule plays is at most that of the UCB action."""
    if isinstance(rule, policies.Directed):
        least = rule.solver in (ratio.exact, ratio.pairs, ratio.single)
        return least and rule.information in _trees(information.f, information.ucb) and _is_surrogate(rule)
    return isinstance(rule, policies.Optimistic)


def _is_surrogate(rule: object) -> bool:
    """Whether a rule's gap, if it has one, is the paper's."""
    return not isinstance(rule, policies.Directed) or rule.gap == as_tree(surrogate)


def _gain_is_bounded(rule: policies.Directed) -> bool:
    """Whether no gain is above I^F, and so above log(1 + the largest σ_0²/ρ²)."""
    ours = _trees(information.f, information.ucb, information.ts)
    return rule.information in ours or isinstance(getattr(rule.information, "function", None), information.Averaged)


def _trees(*functions: object) -> list[object]:
    return [as_tree(function) for function in functions]
