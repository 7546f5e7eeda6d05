"""Whether two ways to run the same trials agree, as functions of arrays.

Two programs round differently. A choice between near-equals then falls the other way in few trials, which go on as
other trials of the same law. So

- after the first steps nearly all trials have the same regret: at most `SHARE` of them, and never less than `FEW`, may
  differ by more than `EARLY` of the mean;
- at the end regrets have the same distribution (Kolmogorov and Smirnov), and differences trial by trial have mean 0.
  Under agreement each difference is as likely as its negative, whence Σd/√Σd² is near a standard normal, or nearer 0.
  Differences up to `LATE` of the regret, or of the mean, are rounding and count as 0;
- no trial has a fault, and every regret is finite.

All p-values of a report are taken together by Holm's method: were everything in order, at most one in a hundred reports
would have a false alarm (`ALPHA`) from them. Trials of two ways are positively related, which makes it fewer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

__all__ = ["ALPHA", "EARLY", "FEW", "LATE", "SHARE", "Difference", "Outcome", "compare", "reasons"]

EARLY = 1e-3  # of the mean regret after the first steps
LATE = 1e-4  # of the final regret, or of their mean where that is more
SHARE, FEW = 0.005, 1
ALPHA = 0.01
_WHERE = ("in the way compared with", "in this way")


class Outcome(NamedTuple):
    """What a way made of the trials: regret [n] after the first steps and at the end, and faults [n] by kind."""

    early: np.ndarray
    final: np.ndarray
    faults: np.ndarray


@dataclass(frozen=True)
class Difference:
    """Two outcomes beside each other: counts of trials, means of the final regret, and what the tests say."""

    trials: int
    early: int  # that differ after the first steps
    late: int  # that differ at the end
    means: tuple[float, float]
    errors: float  # the mean difference, in standard errors
    by_law: float  # p-values
    by_pairs: float
    faults: tuple[int, int]
    broken: tuple[int, int]  # whose regret is not finite

    @property
    def allowed(self) -> int:
        """How many trials may differ after the first steps."""
        return max(FEW, int(SHARE * self.trials))


def compare(reference: Outcome, other: Outcome) -> Difference:
    """One outcome beside that of the same trials run otherwise."""
    outcomes = [Outcome(*(np.asarray(each) for each in outcome)) for outcome in (reference, other)]
    if len(shapes := {each.shape for outcome in outcomes for each in outcome}) != 1:
        raise ValueError(f"outcomes: got arrays of shapes {sorted(shapes)}; it takes the same trials, [n] everywhere")
    (early, final, _), (early_other, final_other, _) = outcomes
    finite = np.isfinite(final) & np.isfinite(final_other)
    before, after = final[finite].astype(float), final_other[finite].astype(float)
    rounding = LATE * np.maximum(_size(final), np.abs(before))
    change = np.where(np.abs(after - before) <= rounding, 0, after - before)
    errors = float(change.sum() / np.sqrt(np.sum(change**2))) if change.any() else 0.0
    law: Any = stats.ks_2samp(before, before + change, method="asymp") if finite.any() else (0.0, 1.0)
    return Difference(
        trials=len(final),
        early=_count(~(np.abs(early_other - early) <= EARLY * _size(early))),
        late=_count(change != 0) + _count(~finite),
        means=(_mean(final), _mean(final_other)),
        errors=errors,
        by_law=float(law[1]),
        by_pairs=float(2 * stats.norm.sf(abs(errors))),
        faults=(_count(outcomes[0].faults != 0), _count(outcomes[1].faults != 0)),
        broken=(_count(~np.isfinite(final)), _count(~np.isfinite(final_other))),
    )


def reasons(differences: Sequence[Difference], alpha: float = ALPHA) -> list[list[str]]:
    """Why two outcomes do not agree, for each of several comparisons of one report; none where they do."""
    rejected = _holm(np.array([p for each in differences for p in (each.by_law, each.by_pairs)]), alpha)
    found = []
    for each, (by_law, by_pairs) in zip(differences, rejected.reshape(-1, 2), strict=True):
        said = []
        if each.early > each.allowed:
            said.append(f"{each.early} of {each.trials} trials differ after the first steps, {each.allowed} may")
        if by_law:
            said.append(f"final regrets have another distribution (p = {each.by_law:.1g})")
        if by_pairs:
            said.append(f"the mean regret is {each.errors:+.1f} standard errors off (p = {each.by_pairs:.1g})")
        said += [f"{n} trials have a fault {where}" for n, where in zip(each.faults, _WHERE, strict=True) if n]
        said += [f"{n} regrets are not finite {where}" for n, where in zip(each.broken, _WHERE, strict=True) if n]
        found.append(said)
    return found


def _holm(p: np.ndarray, alpha: float) -> np.ndarray:
    """Which hypotheses Holm's method rejects: p-values in order, up to the first that is too large for its turn."""
    order = np.argsort(p, kind="stable")
    passed = p[order] * (len(p) - np.arange(len(p))) <= alpha
    rejected = np.zeros(len(p), bool)
    rejected[order[: len(p) if passed.all() else int(np.argmin(passed))]] = True
    return rejected


def _size(values: np.ndarray) -> float:
    """The mean of what is finite, without signs."""
    return _mean(np.abs(values)) if np.isfinite(values).any() else 0.0


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values[np.isfinite(values)])) if np.isfinite(values).any() else float("nan")


def _count(which: np.ndarray) -> int:
    return int(np.count_nonzero(which))
