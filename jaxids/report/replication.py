"""Claims on many instances: on how many each holds, how large the effect is, and what tells those where it fails.

Every instance is decided by itself: a claim is wrongly decided there with probability `LEVEL` at most.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import factorial
from typing import NamedTuple

import numpy as np

from jaxids import moments
from jaxids.experiment import claims
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.report.comparisons import COUNTED
from jaxids.report.verdicts import FAILS, HOLDS, LEVEL, MISSING, OPEN, VACUOUS, Judged, judge

VERDICTS = (HOLDS, FAILS, OPEN, VACUOUS)
RATIO = "final regret over that of the other"
EFFECTS = {"growth": "deviation from c √(T log T)", COUNTED: "share of steps with the noisier copy"}


class Replicated(NamedTuple):
    """A claim on many instances: on those where all that it compares was run."""

    says: str
    is_ratio: bool  # of two regrets
    effect_of: str
    borders: tuple[float, ...]  # of the effect, where the claim's truth changes
    verdicts: np.ndarray  # of each instance
    effects: np.ndarray
    features: dict[str, np.ndarray]

    def share(self, verdict: str) -> float:
        """On what share of the instances it got a verdict."""
        return float(np.mean(self.verdicts == verdict)) if len(self.verdicts) else 0.0

    @property
    def telling(self) -> tuple[str, float] | None:
        """The feature that goes most with the effect, and their rank correlation; none if chance may have done it."""
        known = np.isfinite(self.effects)
        found = [(name, *_ranked(values[known], self.effects[known])) for name, values in self.features.items()]
        name, correlation, chance = min(found, key=lambda each: each[2], default=("", 0.0, 1.0))
        return (name, correlation) if chance <= LEVEL / max(len(found), 1) else None

    def median(self, feature: str, verdict: str) -> float:
        """The median of a feature on the instances with a verdict."""
        values = self.features[feature][self.verdicts == verdict]
        return float(np.median(values)) if len(values) else np.nan


def found_verdicts(found: Iterable[Replicated]) -> list[str]:
    """The verdicts to speak of: that a test tells nothing only where it does."""
    told = any(claim.share(VACUOUS) for claim in found)
    return [verdict for verdict in VERDICTS if told or verdict != VACUOUS]


def replicated(panel: Panel) -> list[Replicated]:
    """The claims of a panel, on each of its instances."""
    if not panel.table["claims"]:
        return []
    parts, features = _parts(panel), _features(panel.curves[0].setting, panel.instances)
    return [_together(claims.checked(claim), parts, features) for claim in panel.table["claims"]]


def _together(claim: Table, parts: list[Panel], features: dict[str, np.ndarray]) -> Replicated:
    judged = [judge(claim, part, halves=False) for part in parts]
    verdicts, effects = np.array([_alone(each) for each in judged]), np.array([each.effect for each in judged])
    run, is_ratio = verdicts != MISSING, claim["test"] not in EFFECTS
    effects = 1 + effects if is_ratio else effects
    features = {name: values[run] for name, values in features.items()}
    of = EFFECTS.get(claim["test"], RATIO)
    return Replicated(claim["says"], is_ratio, of, _borders(claim), verdicts[run], effects[run], features)


def _borders(claim: Table) -> tuple[float, ...]:
    """Where the effect of a claim is neither for it nor against it."""
    if claim["test"] == "same":
        return tuple(border for border in (1 - claim["margin"], 1 + claim["margin"]) if border > 0)
    known = {"less": 1 / claim["factor"], "lowest": 1.0, COUNTED: claim["share"]}
    return (known[claim["test"]],) if claim["test"] in known else ()


def _alone(judged: Judged) -> str:
    """The verdict on one instance, whatever those on others."""
    if np.isnan(judged.holds):
        return MISSING
    level = 0 if judged.counted else LEVEL / 2
    if judged.holds <= level:
        return VACUOUS if judged.control is not None and judged.control.holds <= level else HOLDS
    return FAILS if judged.fails <= level else OPEN


def _parts(panel: Panel) -> list[Panel]:
    """A panel for each instance, of the trials that met it and the curves that have some."""
    kept = [{name: curve.read(name) for name in ("regret", "pulls")} for curve in panel.curves]
    return [_part(panel, kept, i) for i in range(panel.instances)]


def _part(panel: Panel, kept: list[dict[str, np.ndarray | None]], instance: int) -> Panel:
    met = [curve.trials % panel.instances == instance for curve in panel.curves]
    curves = [_some(*each) for each in zip(panel.curves, kept, met, strict=True) if each[2].any()]
    here = {curve.label for curve in curves}
    gone = [curve.label for curve in panel.curves if curve.label not in here]
    return replace(panel, curves=curves, missing=[*panel.missing, *gone])


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
    return described(np.asarray(met.rho), np.asarray(met.mean))


def described(rho: np.ndarray, mean: np.ndarray) -> dict[str, np.ndarray]:
    """Features of instances with noise bounds and means [n, K]; of actions with the same mean the quietest counts."""
    order = np.lexsort((-rho, mean), axis=1)  # the best last, of equal means the least noisy
    rho, mean = (np.take_along_axis(each, order, axis=1) for each in (rho, mean))
    rows, quiet = np.arange(len(rho)), rho.shape[1] - 1 - np.argmin(rho[:, ::-1], axis=1)
    found = {"ρ(x*), the noise of the best action": rho[:, -1], "the least noise": rho.min(axis=1)}
    found["the gap of the least noisy action"] = mean[:, -1] - mean[rows, quiet]
    below = mean < mean[:, -1:]
    if not below.any(axis=1).all():  # no second, as with one action
        return found
    second = rho.shape[1] - 1 - np.argmax(below[:, ::-1], axis=1)
    found["the noise of the second"] = rho[rows, second]
    found["the gap to the second"] = mean[:, -1] - mean[rows, second]
    return found


def _ranked(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Spearman's rank correlation and its p-value; 0 and 1 where one of them does not vary."""
    from scipy.stats import spearmanr

    if len(one) < 3 or not (np.ptp(one) and np.ptp(other)):
        return 0.0, 1.0
    correlation, chance = spearmanr(one, other)
    least = 2 / factorial(min(len(one), 20))  # of all orders of so few, which Student's t does not know
    return float(correlation), max(float(chance), least)  # pyright: ignore
