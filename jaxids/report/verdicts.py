"""Claims decided by what a run measured, all those of a page together.

A claim holds when what was measured would be too unlikely if it were false, does not hold when it would be too unlikely
if it were true, and is otherwise open. What is too unlikely is decided for all claims of a page at once, by Holm's
method on both p-values of every claim: the probability that even one of its verdicts is wrong is at most `LEVEL`, as
far as the p-values are right, whatever the claims have to do with each other, also when the truth lies on the very
border. A claim of several comparisons holds when all do (its p-value is the largest), and does not when one does not
(the least, times how many they are).

A control is the same test on curves for which it must not hold: other policies, or of a claim that one has less regret
than others, its own trials in two halves. Where it holds, at the strictest level that a claim of the page meets, the
test tells nothing, and neither does its claim.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from jaxids.experiment import claims
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.moments import Series
from jaxids.report.comparisons import COUNTED, TESTS, Part
from jaxids.statistics.multiple_tests import holm

HOLDS, FAILS, OPEN, MISSING = "holds", "does not hold", "open", "not run"
VACUOUS = "tells nothing"  # the control holds too
LEVEL = 0.05


class Judged(NamedTuple):
    """A claim, how it was tested, what was measured, and the p-values; `counted` if they are no chances but facts."""

    claim: Table
    tested: str
    measured: list[str]
    holds: float
    fails: float
    effect: float
    counted: bool
    control: "Judged | None"


class Verdict(NamedTuple):
    """A claim, how it was tested, what was measured, what follows, and what became of its control."""

    says: str
    tested: str
    measured: list[str]
    verdict: str
    control: str
    source: str
    selected: bool


def verdicts(panels: Sequence[Panel]) -> list[list[Verdict]]:
    """The claims of every panel of a page, decided together, but for those that are replicated over instances."""
    judged = [[judge(c, panel) for c in panel.table["claims"] if not panel.instances] for panel in panels]
    together = [each for of_panel in judged for each in of_panel]
    found, strict = iter(_decided(together)), LEVEL / max(1, 2 * len(together))
    return [[_verdict(each, next(found), strict) for each in of_panel] for of_panel in judged]


def _decided(judged: Sequence[Judged]) -> list[str]:
    """What follows for each of the claims of a page."""
    inferred = [each for each in judged if not (each.counted or np.isnan(each.holds))]
    rejected = iter(holm([p for each in inferred for p in (each.holds, each.fails)], LEVEL))
    found = []
    for each in judged:
        if np.isnan(each.holds):
            found.append(MISSING)
            continue
        unlikely = (each.holds == 0, each.fails == 0) if each.counted else (next(rejected), next(rejected))
        found.append(HOLDS if unlikely[0] else FAILS if unlikely[1] else OPEN)
    return found


def _verdict(judged: Judged, found: str, strict: float) -> Verdict:
    control, words = judged.control, "no control"
    if control is not None:
        passed = control.holds <= strict
        outcome = "not run" if np.isnan(control.holds) else "holds too" if passed else "does not, as it must"
        words = f"control: {', '.join(control.claim['curves'])}: {outcome}"
        found = VACUOUS if passed and found == HOLDS else found
    claim = judged.claim
    return Verdict(claim["says"], judged.tested, judged.measured, found, words, claim["source"], claim["selected"])


def judge(claim: Table, panel: Panel, halves: bool = True) -> Judged:
    """Test one claim on the curves of a panel, and its control, if need be that of a policy against itself."""
    claim = claims.checked(claim)  # that of an older store lacks what came later
    wanted = halves or claim["control"]
    return _judged(claim, panel)._replace(control=_control(claim, panel) if wanted else None)


def _judged(claim: Table, panel: Panel) -> Judged:
    named = {curve.label: curve for curve in panel.curves}
    wanted, (tested, test) = _wanted(claim, panel), TESTS[claim["test"]]
    times = f", factor {claim['factor']:g}" if claim["factor"] != 1 else ""
    words = {"percent": f"{claim['margin']:.0%}", "times": times, "allowed": f"{claim['share']:g}"}
    tested, counted = tested.format_map(words), claim["test"] == COUNTED
    nothing = Judged(claim, tested, [], np.nan, np.nan, np.nan, counted, None)
    if missing := [label for label in wanted if label not in named]:
        return nothing._replace(measured=[f"no trials of {', '.join(missing)}"])
    chosen = [named[label] for label in wanted]
    if not len(reduce(np.intersect1d, [curve.trials for curve in chosen])):
        return nothing._replace(measured=["no trials in common"])
    parts = test(claim, chosen)
    measured = [part.measured for part in parts if part.measured]
    return Judged(claim, tested, measured, *_together(parts, counted), _effect(parts), counted, None)


def _together(parts: Sequence[Part], counted: bool) -> tuple[float, float]:
    """The p-values of a claim of several comparisons."""
    holds, fails = (np.array(chances) for chances in zip(*((part.holds, part.fails) for part in parts), strict=True))
    many = 1 if counted else len(parts)
    return float(holds.max()), float(min(1.0, many * fails.min()))


def _effect(parts: Sequence[Part]) -> float:
    """That of the comparison which speaks least for the claim."""
    return parts[int(np.argmax([part.holds for part in parts]))].effect


def _wanted(claim: Table, panel: Panel) -> list[str]:
    """The labels of the curves that a claim compares: "lowest" of one curve means of all."""
    wanted = list(claim["curves"])
    if claim["test"] == "lowest" and len(wanted) == 1:
        wanted += [label for label in [*(curve.label for curve in panel.curves), *panel.missing] if label not in wanted]
    return wanted


def _control(claim: Table, panel: Panel) -> Judged | None:
    """The same test where it must not hold: on the curves named, or on the first's own trials in two halves."""
    if claim["control"]:
        return _judged(claim | {"curves": claim["control"]}, panel)
    halves = [half for curve in panel.curves if curve.label == claim["curves"][0] for half in _halves(curve)]
    if not halves or claim["test"] not in ("less", "lowest"):
        return None
    return _judged(claim | {"curves": [half.label for half in halves]}, replace(panel, curves=halves))


def _halves(curve: Curve) -> list[Curve]:
    """The final regrets of every second trial, and of the others, as of two policies."""
    count, found = len(curve.final) // 2, []
    for first, word in enumerate(("even", "odd")):
        final = curve.final[first::2][:count]
        spread = final.std(ddof=1) / np.sqrt(count) if count > 1 else np.inf
        series = Series(final.mean(keepdims=True) if count else np.zeros(1), np.full(1, spread), final)
        label = f"{word} trials of {curve.label}"
        found.append(replace(curve, label=label, trials=np.arange(count), series={"regret": series}, what="regret"))
    return found
