"""Claims on many instances: on how many each holds, how large the effect is, and what tells those where it fails.

Every instance is decided by itself: a claim is wrongly decided there with probability `LEVEL` at most.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jaxids import moments
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.report.comparisons import COUNTED
from jaxids.report.verdicts import FAILS, HOLDS, LEVEL, OPEN, Judged, judge

__all__ = ["FEATURES", "VERDICTS", "Replicated", "replicated"]

VERDICTS = (HOLDS, FAILS, OPEN)
FEATURES = {
    "ρ(x*), the noise of the best action": lambda rho, mean: _at(rho, mean, -1),
    "the noise of the second": lambda rho, mean: _at(rho, mean, -2),
    "the least noise": lambda rho, mean: rho.min(axis=1),
    "the gap to the second": lambda rho, mean: _at(mean, mean, -1) - _at(mean, mean, -2),
    "the gap of the least noisy action": lambda rho, mean: mean.max(axis=1) - _at(mean, -rho, -1),
}
RATIO = "final regret over that of the other"
EFFECTS = {"growth": "deviation from c √(T log T)", COUNTED: "share of steps with the noisier copy"}


class Replicated(NamedTuple):
    """A claim on many instances."""

    says: str
    is_ratio: bool  # of two regrets
    effect_of: str
    verdicts: np.ndarray  # of each instance
    effects: np.ndarray
    features: dict[str, np.ndarray]

    def share(self, verdict: str) -> float:
        """On what share of the instances it got a verdict."""
        return float(np.mean(self.verdicts == verdict))

    @property
    def telling(self) -> tuple[str, float]:
        """The feature of an instance that goes most with the effect, and their rank correlation."""
        known = np.isfinite(self.effects)
        found = {name: _rank_correlation(values[known], self.effects[known]) for name, values in self.features.items()}
        name = max(found, key=lambda each: abs(found[each]))
        return name, found[name]

    def median(self, feature: str, verdict: str) -> float:
        """The median of a feature on the instances with a verdict."""
        values = self.features[feature][self.verdicts == verdict]
        return float(np.median(values)) if len(values) else np.nan


def replicated(panel: Panel) -> list[Replicated]:
    """The claims of a panel, on each of its instances."""
    count, claims = panel.instances, panel.table["claims"]
    parts = _parts(panel, count)
    judged = [[judge(claim, part) for part in parts] for claim in claims]
    features = _features(panel.curves[0].setting, count)
    return [_together(claim, of_claim, features) for claim, of_claim in zip(claims, judged, strict=True)]


def _together(claim: Table, judged: list[Judged], features: dict[str, np.ndarray]) -> Replicated:
    verdicts, effects = np.array([_alone(each) for each in judged]), np.array([each.effect for each in judged])
    effects = effects if claim["test"] in EFFECTS else 1 + effects
    return Replicated(
        claim["says"], claim["test"] not in EFFECTS, EFFECTS.get(claim["test"], RATIO), verdicts, effects, features
    )


def _alone(judged: Judged) -> str:
    """The verdict on one instance, whatever those on others."""
    level = 0 if judged.counted else LEVEL / 2
    return HOLDS if judged.holds <= level else FAILS if judged.fails <= level else OPEN


def _parts(panel: Panel, count: int) -> list[Panel]:
    """A panel for each instance, of the trials that met it."""
    kept = [{name: curve.read(name) for name in ("regret", "pulls")} for curve in panel.curves]
    both = list(zip(panel.curves, kept, strict=True))
    return [replace(panel, curves=[_some(*each, each[0].trials % count == i) for each in both]) for i in range(count)]


def _some(curve: Curve, kept: dict[str, np.ndarray | None], chosen: np.ndarray) -> Curve:
    """Some trials of a curve."""
    arrays = {name: array[chosen] for name, array in kept.items() if array is not None}
    found = moments.merge(moments.empty(len(curve.steps)), arrays["regret"].T)
    series = {"regret": moments.Series(found.mean, found.stderr, curve.final[chosen])}
    return replace(curve, trials=curve.trials[chosen], series=series, read=arrays.get)


def _features(setting: Table, count: int) -> dict[str, np.ndarray]:
    """What sets the instances apart, a value for each."""
    from jaxids.experiment import again

    met = again.instances(setting, np.arange(count))
    return {name: feature(np.asarray(met.rho), np.asarray(met.mean)) for name, feature in FEATURES.items()}


def _at(values: np.ndarray, ranked: np.ndarray, place: int) -> np.ndarray:
    """The value of every instance's action at some place of an order."""
    return np.take_along_axis(values, np.argsort(ranked, axis=1)[:, [place]], axis=1)[:, 0]


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; 0 where one of them does not vary."""
    if len(one) < 3 or not (np.ptp(one) and np.ptp(other)):
        return 0.0
    return float(np.corrcoef(np.argsort(np.argsort(one)), np.argsort(np.argsort(other)))[0, 1])
