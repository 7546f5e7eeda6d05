"""Claims decided by what a run measured.

Every test compares curves trial by trial: trial i of two policies meets the same instance and the same noise, so the
error of a difference is that of the paired differences. A claim holds when it is true at every value within two
standard errors of what was measured, does not hold when it is false at every such value, and is otherwise within error.
At two standard errors a test decides wrongly about once in 40 times when the truth lies on its very border.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxids.experiment.keys import Table
from jaxids.experiment.results import Curve, Panel, paired

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "within error", "not run"
WIDE = 2.0  # standard errors


class Verdict(NamedTuple):
    """A claim, how it was tested, what was measured, and what follows."""

    says: str
    tested: str
    measured: list[str]
    verdict: str


class _Part(NamedTuple):
    measured: str
    verdict: str


def decide(value: float, error: float, border: float) -> str:
    """Whether a quantity lies below a border, given its standard error."""
    if value + WIDE * error <= border:
        return HOLDS
    return FAILS if value - WIDE * error > border else OPEN


def verdicts(panel: Panel) -> list[Verdict]:
    """The claims of an experiment, at one point of its grid."""
    return [judge(claim, {curve.label: curve for curve in panel.curves}) for claim in panel.table["claims"]]


def judge(claim: Table, named: Mapping[str, Curve]) -> Verdict:
    """Test one claim on curves by their labels."""
    tested, test = TESTS[claim["test"]]
    tested = tested.format_map(claim | {"percent": f"{claim['margin']:.0%}"})
    if missing := [label for label in claim["curves"] if label not in named]:
        return Verdict(claim["says"], tested, [f"no trials of {', '.join(missing)}"], MISSING)
    chosen = [named[label] for label in claim["curves"]]
    if not len(functools.reduce(np.intersect1d, [curve.trials for curve in chosen])):
        return Verdict(claim["says"], tested, ["no trials in common"], MISSING)
    parts = test(claim, chosen, named)
    return Verdict(claim["says"], tested, [part.measured for part in parts], _worst(parts))


def _worst(parts: Sequence[_Part]) -> str:
    found = {part.verdict for part in parts}
    return next((verdict for verdict in (FAILS, OPEN) if verdict in found), HOLDS)


def shown(curve: Curve) -> str:
    """A curve's final regret and two standard errors."""
    return f"{curve.label} {curve.mean[-1]:.1f} ± {WIDE * curve.stderr[-1]:.1f}"


def _error(values: np.ndarray) -> float:
    """The standard error of a mean: nothing is known from one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def _below(one: Curve, other: Curve, factor: float) -> _Part:
    """Whether `factor` times one regret is less than the other."""
    _, mine, theirs = paired(one, other)
    difference = factor * mine - theirs
    value, error = difference.mean(), _error(difference)
    times = "" if factor == 1 else f"{factor:g} × "
    numbers = f"{shown(one)}, {shown(other)}; {times}{one.label} − {other.label} = {value:.1f} ± {WIDE * error:.1f}"
    share = f", negative in {np.mean(difference < 0):.0%} of {len(difference)} trials"
    if value == error == 0:
        return _Part(numbers + share, OPEN)
    return _Part(numbers + share, decide(value, error, 0.0))


def _less(claim: Table, chosen: Sequence[Curve], named: Mapping[str, Curve]) -> list[_Part]:
    return [_below(one, other, claim["factor"]) for one, other in itertools.pairwise(chosen)]


def _lowest(claim: Table, chosen: Sequence[Curve], named: Mapping[str, Curve]) -> list[_Part]:
    """Below every other curve; the one nearest to it is shown."""
    others = [curve for curve in named.values() if curve is not chosen[0]]
    parts = {curve.label: _below(chosen[0], curve, 1.0) for curve in others}
    if not others:
        return [_Part(f"{shown(chosen[0])}, and no other curve", OPEN)]
    nearest = min(others, key=lambda curve: curve.mean[-1])
    return [_Part(f"the lowest other: {parts[nearest.label].measured}", _worst(list(parts.values())))]


def _same(claim: Table, chosen: Sequence[Curve], named: Mapping[str, Curve]) -> list[_Part]:
    """Regrets whose ratio is one up to the margin; the ratio's error by the delta method."""
    parts = []
    for one, other in itertools.pairwise(chosen):
        _, mine, theirs = paired(one, other)
        ratio = mine.mean() / theirs.mean()
        error = _error((mine - ratio * theirs) / theirs.mean())
        numbers = f"{shown(one)}, {shown(other)}; a difference of {ratio - 1:+.1%} ± {WIDE * error:.1%}"
        parts.append(_Part(numbers, decide(abs(ratio - 1), error, claim["margin"])))
    return parts


def _growth(claim: Table, chosen: Sequence[Curve], named: Mapping[str, Curve]) -> list[_Part]:
    """The exponent of regret in time over the last nine tenths of the steps, beside that of √(t log t)."""
    parts = []
    for curve in chosen:
        late = curve.steps >= max(2, curve.steps[-1] / 10)
        steps, mean = curve.steps[late].astype(float), curve.mean[late]
        centred = np.log(steps) - np.log(steps).mean()
        slope = centred / np.sum(centred**2)  # the least-squares slope is linear in log regret
        exponent, bound = slope @ np.log(mean), slope @ np.log(np.sqrt(steps * np.log(steps)))
        error = _error(curve.regret[:, late].astype(float) @ (slope / mean))
        numbers = f"{curve.label} grows as T^{exponent:.3f} ± {WIDE * error:.3f}, √(T log T) as T^{bound:.3f}"
        parts.append(_Part(numbers, decide(abs(exponent - bound), error, claim["margin"])))
    return parts


def _never_noisier(claim: Table, chosen: Sequence[Curve], named: Mapping[str, Curve]) -> list[_Part]:
    parts = []
    for curve in chosen:
        pulls = np.zeros((1, 2)) if curve.pulls is None else curve.pulls  # the reader asks for `pulls = true`
        taken, steps = int(pulls[:, pulls.shape[1] // 2 :].sum()), int(pulls.sum())
        parts.append(_Part(f"{curve.label}: {taken} of {steps}", FAILS if taken else HOLDS))
    return parts


TESTS: dict[str, tuple[str, Callable[[Table, Sequence[Curve], Mapping[str, Curve]], list[_Part]]]] = {
    "less": ("paired difference of final regrets, factor {factor:g}", _less),
    "same": ("paired ratio of final regrets, within {percent}", _same),
    "lowest": ("paired differences of final regrets to all others", _lowest),
    "growth": ("exponent of the mean regret from T/10 to T, within {margin:g}", _growth),
    "never noisier": ("count of steps that take the noisier copy", _never_noisier),
}
