"""Claims decided by what a run measured.

Curves are compared trial by trial: trial i of two policies meets the same instance and the same noise, so the error of
a difference is that of the paired differences. A claim holds when it is true at every value within two standard errors
of what was measured, does not hold when it is false at every such value, and is otherwise within error. When the truth
lies on the very border of one comparison, each of the first two comes up by chance once in 44 times. A claim of several
comparisons holds when all do, and does not when one does not.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jaxids.experiment.curves import Curve, Panel, paired
from jaxids.experiment.keys import Table

__all__ = [
    "FAILS",
    "HOLDS",
    "MISSING",
    "OPEN",
    "TESTS",
    "WIDE",
    "Part",
    "Verdict",
    "decide",
    "judge",
    "plus_minus",
    "shown",
    "verdicts",
]

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "within error", "not run"
WIDE = 2.0  # standard errors


class Verdict(NamedTuple):
    """A claim, how it was tested, what was measured, and what follows."""

    says: str
    tested: str
    measured: list[str]
    verdict: str


class Part(NamedTuple):
    """One comparison of a claim."""

    measured: str
    verdict: str


def verdicts(panel: Panel) -> list[Verdict]:
    """The claims of an experiment, at one point of its grid."""
    return [judge(claim, panel) for claim in panel.table["claims"]]


def judge(claim: Table, panel: Panel) -> Verdict:
    """Test one claim on the curves of a panel."""
    named = {curve.label: curve for curve in panel.curves}
    wanted, (tested, test) = list(claim["curves"]), TESTS[claim["test"]]
    times = f", factor {claim['factor']:g}" if claim["factor"] != 1 else ""
    tested = tested.format_map(claim | {"percent": f"{claim['margin']:.0%}", "times": times})
    if claim["test"] == "lowest" and len(wanted) == 1:  # of all
        wanted += [label for label in [*named, *panel.missing] if label not in wanted]
    if missing := [label for label in wanted if label not in named]:
        return Verdict(claim["says"], tested, [f"no trials of {', '.join(missing)}"], MISSING)
    chosen = [named[label] for label in wanted]
    if not len(reduce(np.intersect1d, [curve.trials for curve in chosen])):
        return Verdict(claim["says"], tested, ["no trials in common"], MISSING)
    parts = test(claim, chosen)
    return Verdict(claim["says"], tested, [part.measured for part in parts if part.measured], _overall(parts))


def _overall(parts: Sequence[Part]) -> str:
    found = {part.verdict for part in parts}
    return next((verdict for verdict in (MISSING, FAILS, OPEN) if verdict in found), HOLDS)


def decide(value: float, error: float, border: float) -> str:
    """Whether a quantity lies below a border, given its standard error."""
    if value + WIDE * error <= border:
        return HOLDS
    return FAILS if value - WIDE * error > border else OPEN


def plus_minus(error: float, form: str = ".1f") -> str:
    """Two standard errors, or a dash where one trial tells nothing of them."""
    return f"± {WIDE * error:{form}}" if np.isfinite(error) else "± –"


def shown(curve: Curve) -> str:
    """A curve's final regret and two standard errors."""
    return f"{curve.label} {curve.mean[-1]:.1f} {plus_minus(curve.stderr[-1])}"


def _error(values: np.ndarray) -> float:
    """The standard error of a mean: nothing is known from one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def _below(one: Curve, other: Curve, factor: float = 1.0) -> Part:
    """Whether `factor` times one regret is less than the other."""
    _, mine, theirs = paired(one, other)
    difference = factor * mine - theirs
    value, error, times = difference.mean(), _error(difference), "" if factor == 1 else f"{factor:g} × "
    numbers = f"{shown(one)}, {shown(other)}; {times}{one.label} − {other.label} = {value:.1f} {plus_minus(error)}"
    share = f", negative in {np.mean(difference < 0):.0%} of {len(difference)} trials"
    return Part(numbers + share, OPEN if value == error == 0 else decide(value, error, 0.0))  # equal is not less


def _less(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    return [_below(one, other, claim["factor"]) for one, other in pairwise(chosen)]


def _lowest(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """The first below every other; in words only the one that comes next."""
    first, *others = chosen
    if not others:
        return [Part(f"{shown(first)}, and no other curve", OPEN)]
    nearest = min(others, key=lambda curve: curve.mean[-1])
    count = f" (of {len(others)} others the lowest)"
    words = _below(first, nearest).measured + count
    return [Part(words if other is nearest else "", _below(first, other).verdict) for other in others]


def _same(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """Regrets whose ratio is one up to the margin; the ratio's error by the delta method."""
    parts = []
    for one, other in pairwise(chosen):
        _, mine, theirs = paired(one, other)
        numbers = f"{shown(one)}, {shown(other)}"
        if theirs.mean() == 0:
            parts.append(Part(f"{numbers}; no regret", HOLDS if mine.mean() == 0 else FAILS))
            continue
        ratio = mine.mean() / theirs.mean()
        error = _error((mine - ratio * theirs) / theirs.mean())
        numbers += f"; a difference of {ratio - 1:+.1%} {plus_minus(error, '.1%')}"
        parts.append(Part(numbers, decide(abs(ratio - 1), error, claim["margin"])))
    return parts


def _growth(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """The exponent of regret in time over the last nine tenths of the steps, beside that of √(t log t)."""
    parts = []
    for curve in chosen:
        late = (curve.steps >= max(2, curve.steps[-1] / 10)) & (curve.mean > 0)
        if late.sum() < 2:
            parts.append(Part(f"{curve.label}: too few steps with regret", MISSING))
            continue
        steps, mean = curve.steps[late].astype(float), curve.mean[late]
        centred = np.log(steps) - np.log(steps).mean()
        slope = centred / np.sum(centred**2)  # the least-squares slope is linear in log regret
        exponent, bound = slope @ np.log(mean), slope @ np.log(np.sqrt(steps * np.log(steps)))
        error = _error(curve.regret[:, late].astype(float) @ (slope / mean))
        numbers = f"{curve.label} grows as T^{exponent:.3f} {plus_minus(error, '.3f')}, √(T log T) as T^{bound:.3f}"
        parts.append(Part(numbers, decide(abs(exponent - bound), error, claim["margin"])))
    return parts


def _never_noisier(claim: Table, chosen: Sequence[Curve]) -> list[Part]:
    """Of n actions, copies n to 2n are the noisier ones."""
    parts = []
    for curve in chosen:
        pulls = curve.pulls
        if pulls is None:
            parts.append(Part(f"{curve.label}: pulls were not counted", MISSING))
            continue
        actions = curve.setting["problem"].get("actions", pulls.shape[1] // 2)  # on points there are no probes
        count = actions if isinstance(actions, int) else len(actions)
        taken = int(pulls[:, count : 2 * count].sum())
        parts.append(Part(f"{curve.label}: {taken} of {int(pulls.sum())}", FAILS if taken else HOLDS))
    return parts


TESTS: dict[str, tuple[str, Callable[[Table, Sequence[Curve]], list[Part]]]] = {
    "less": ("paired differences of final regrets{times}", _less),
    "same": ("paired ratio of final regrets, within {percent}", _same),
    "lowest": ("paired differences of final regrets to every other", _lowest),
    "growth": ("exponent of the mean regret from T/10 to T, within {margin:g}", _growth),
    "never noisier": ("count of steps that take the noisier copy", _never_noisier),
}
