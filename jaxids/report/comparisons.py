"""What the claims of an experiment compare, and how likely so much would be by chance.

Curves are compared trial by trial: trial i of two policies meets the same instance and the same noise, so the error of
a difference is that of the paired differences. Each comparison has two p-values of Student's t: of what was measured if
the claim were false (a small one speaks for it), and if it were true (a small one speaks against it).
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxids.experiment.curves import Curve, paired
from jaxids.experiment.keys import Table

__all__ = ["COUNTED", "LAWS", "TESTS", "WIDE", "Part", "below", "plus_minus", "shown"]

WIDE = 2.0  # standard errors that are shown
COUNTED = "never noisier"  # the test that counts what happened, and infers nothing
LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "√(T log T)": lambda t: np.sqrt(t * np.log(t)),
    "T^(2/3)": lambda t: t ** (2 / 3),
    "log T": np.log,
}


class Part(NamedTuple):
    """One comparison of a claim: what was measured, its p-values, and how large the effect is."""

    measured: str
    holds: float  # p-value if the claim is false
    fails: float  # p-value if it is true
    effect: float


@cache
def _tail() -> Callable[..., float]:
    from scipy.special import stdtr

    return stdtr


def below(value: float, error: float, border: float, count: int) -> tuple[float, float]:
    """The p-values of a quantity being at most a border, from its standard error over so many trials."""
    if not np.isfinite(error):
        return 1.0, 1.0
    if error == 0:
        return float(value > border), float(value <= border)
    low = float(_tail()(count - 1, (value - border) / error))
    return low, 1 - low


def plus_minus(error: float, form: str = ".1f") -> str:
    """Two standard errors, or a dash where one trial tells nothing of them."""
    return f"± {WIDE * error:{form}}" if np.isfinite(error) else "± –"


def shown(curve: Curve) -> str:
    """A curve's final regret and two standard errors."""
    return f"{curve.label} {curve.mean[-1]:.1f} {plus_minus(curve.stderr[-1])}"


def _error(values: np.ndarray) -> float:
    """The standard error of a mean: nothing is known from one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def _relative(one: np.ndarray, other: np.ndarray) -> float:
    """How much larger a mean is than another, as a share of it."""
    return float(one.mean() / other.mean() - 1) if other.mean() else np.nan


def _below(one: Curve, other: Curve, factor: float = 1.0) -> Part:
    """Whether `factor` times one regret is less than the other."""
    _, mine, theirs = paired(one, other)
    difference = factor * mine - theirs
    value, error, times = difference.mean(), _error(difference), "" if factor == 1 else f"{factor:g} × "
    numbers = f"{shown(one)}, {shown(other)}; {times}{one.label} − {other.label} = {value:.1f} {plus_minus(error)}"
    share = f", negative in {np.mean(difference < 0):.0%} of {len(difference)} trials"
    equal = value == error == 0  # is not less
    chances = (1.0, 1.0) if equal else below(value, error, 0.0, len(difference))
    return Part(numbers + share, *chances, _relative(mine, theirs))


def _less(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    return [_below(one, other, claim["factor"]) for one, other in pairwise(chosen)]


def _lowest(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """The first below every other; in words only the one that comes next."""
    first, *others = chosen
    if not others:
        return [Part(f"{shown(first)}, and no other curve", 1.0, 1.0, np.nan)]
    nearest = min(others, key=lambda curve: curve.mean[-1])
    count = f" (of {len(others)} others the lowest)"
    parts = [(other, _below(first, other)) for other in others]
    return [part._replace(measured=part.measured + count if other is nearest else "") for other, part in parts]


def _same(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """Regrets whose ratio is one up to the margin; the ratio's error by the delta method."""
    return [_alike(one, other, claim["margin"]) for one, other in pairwise(chosen)]


def _alike(one: Curve, other: Curve, margin: float) -> Part:
    _, mine, theirs = paired(one, other)
    numbers = f"{shown(one)}, {shown(other)}"
    if theirs.mean() == 0:
        return Part(f"{numbers}; no regret", *below(mine.mean(), 0.0, 0.0, 2), np.nan)
    off = _relative(mine, theirs)
    error = _error((mine - (1 + off) * theirs) / theirs.mean())
    numbers += f"; a difference of {off:+.1%} {plus_minus(error, '.1%')}"
    holds, fails = below(abs(off), error, margin, len(mine))
    beyond = below(abs(off), error, -margin, len(mine))[1]  # as far off on the other side
    return Part(numbers, holds, min(1.0, fails + beyond), off)


def _growth(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """Whether √(T log T) fits the regret of the last nine tenths of the steps better than a faster and a slower law."""
    return [part for curve in chosen for part in _fits(curve)]


def _fits(curve: Curve) -> list[Part]:
    late = (curve.steps >= max(2, curve.steps[-1] / 10)) & (curve.mean > 0)
    if late.sum() < 3:
        return [Part(f"{curve.label}: too few steps with regret", np.nan, np.nan, np.nan)]
    steps, mean = curve.steps[late].astype(float), curve.mean[late].astype(float)
    relative = curve.regret[:, late].astype(float) / mean  # what a trial adds to the logarithm of the mean
    off = {name: _centred(np.log(mean) - np.log(law(steps))) for name, law in LAWS.items()}
    first, *others = LAWS
    return [_better(curve.label, (first, off[first]), (name, off[name]), relative) for name in others]


def _centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean()


def _better(label: str, one: tuple[str, np.ndarray], other: tuple[str, np.ndarray], trials: np.ndarray) -> Part:
    """Whether the mean squared deviation from one law is less than from another, in logarithms and up to a factor."""
    (name, mine), (rival, theirs) = one, other
    value = float(np.mean(mine**2) - np.mean(theirs**2))
    error = _error(trials @ (2 * (mine - theirs) / len(mine)))
    off = [f"{np.sqrt(np.mean(each**2)):.2%}" for each in (mine, theirs)]
    numbers = f"{label}: off by {off[0]} from c {name} and by {off[1]} from c {rival}"
    return Part(numbers, *below(value, error, 0.0, len(trials)), float(np.sqrt(np.mean(mine**2))))


def _never_noisier(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """Of n actions with two copies each, those from 0 to n are the noisier ones."""
    parts = []
    for curve in chosen:
        pulls = curve.pulls
        if pulls is None:
            parts.append(Part(f"{curve.label}: pulls were not counted", np.nan, np.nan, np.nan))
            continue
        actions = curve.setting["problem"].get("actions", pulls.shape[1] // 2)  # on points there are no probes
        count = actions if isinstance(actions, int) else len(actions)
        taken, steps = int(pulls[:, :count].sum()), int(pulls.sum())
        kept = taken <= claim["share"] * steps
        parts.append(Part(f"{curve.label}: {taken} of {steps}", float(not kept), float(kept), taken / max(steps, 1)))
    return parts


TESTS: dict[str, tuple[str, Callable[[Table, Sequence[Curve]], list[Part]]]] = {
    "less": ("paired differences of final regrets{times}", _less),
    "same": ("paired ratio of final regrets, within {percent}", _same),
    "lowest": ("paired differences of final regrets to every other", _lowest),
    "growth": ("squared deviation of the log mean regret from T/10 to T, against a faster and a slower law", _growth),
    COUNTED: ("counted: in at most {allowed} of the steps the noisier copy is taken", _never_noisier),
}
