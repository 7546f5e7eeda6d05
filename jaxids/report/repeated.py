"""The part of the report, and the lines of text, on claims that were tested on many instances."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jaxids.experiment.curves import Panel
from jaxids.report.replication import FAILS, HOLDS, Replicated, found_verdicts
from jaxids.report.verdicts import LEVEL

SURE = 0.95  # of the intervals


def section(panel: Panel, claims: Sequence[Replicated]) -> dict[str, Any]:
    """How each claim fares over the instances, for `templates/replication.html`."""
    verdicts = found_verdicts(claims)
    return {
        "instances": panel.instances,
        "trials": _fewest(panel),
        "level": f"{LEVEL:.0%}",
        "sure": f"{SURE:.0%}",
        "verdicts": verdicts,
        "rows": [(_row(claim, verdicts), []) for claim in claims],
    }


def _fewest(panel: Panel) -> str:
    """How many trials every curve has on every instance that it met at all."""
    met = np.array([np.bincount(curve.trials % panel.instances, minlength=panel.instances) for curve in panel.curves])
    missed = int(np.sum(np.any(met == 0, axis=0)))
    without = f" (on {missed} some policies were not run)" if missed else ""
    return f"{met[met > 0].min() if met.any() else 0} trials or more{without}"


def _row(claim: Replicated, verdicts: Sequence[str]) -> list[str]:
    return [claim.says, *(_share(claim, verdict) for verdict in verdicts), _effect(claim), _telling(claim)]


def _share(claim: Replicated, verdict: str) -> str:
    from jaxids.bounds import interval

    if not len(claim.verdicts):
        return "–"
    low, high = interval(int(np.sum(claim.verdicts == verdict)), len(claim.verdicts), SURE)
    return f"{claim.share(verdict):.0%} [{low:.0%}, {high:.0%}]"


def _effect(claim: Replicated) -> str:
    known = claim.effects[np.isfinite(claim.effects)]
    if not len(known):
        return "–"
    low, middle, high = np.quantile(known, (0.05, 0.5, 0.95))
    form = ".2f" if claim.is_ratio else ".2%"
    borders = [f"{border:{form}}" for border in claim.borders]
    needed = f"; it takes {['', 'at most ', 'from '][len(borders)]}{' to '.join(borders)}" if borders else ""
    return f"{middle:{form}}, {low:{form}} to {high:{form}} ({claim.effect_of}{needed})"


def _telling(claim: Replicated) -> str:
    if claim.telling is None:
        return "nothing that was looked at"
    name, correlation = claim.telling
    medians = [(word, claim.median(name, verdict)) for word, verdict in (("holds", HOLDS), ("fails", FAILS))]
    where = ", ".join(f"median {value:.2f} where it {word}" for word, value in medians if np.isfinite(value))
    return f"{name}: {where} (rank correlation with the effect {correlation:+.2f})"


def lines(claims: Sequence[Replicated]) -> Iterator[str]:
    """The same as text."""
    for claim in claims:
        yield claim.says
        shares = ", ".join(f"{verdict} on {_share(claim, verdict)}" for verdict in found_verdicts([claim]))
        told = f"{shares} of {len(claim.verdicts)} instances; effect {_effect(claim)}"
        yield f"{'':4s}{told if len(claim.verdicts) else 'not run'}"
