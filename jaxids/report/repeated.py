"""The part of a page, and the lines of text, on claims that were tested on many instances."""

from collections.abc import Iterator
from html import escape

import numpy as np

from jaxids.experiment.curves import Panel
from jaxids.report.replication import FAILS, HOLDS, VERDICTS, Replicated, replicated
from jaxids.report.tables import table
from jaxids.report.verdicts import LEVEL

__all__ = ["lines", "section"]

SURE = 0.95  # of the intervals


def section(panel: Panel) -> str:
    """How each claim fares over the instances."""
    count, each = panel.instances, min(len(curve.trials) for curve in panel.curves) // panel.instances
    words = f"""Every claim on {count} random instances, with {each} trials or more on each and all policies on the
same. On an instance a claim holds, does not hold or stays open by its own trials, wrongly decided with probability
{LEVEL:.0%} at most. Brackets are intervals of {SURE:.0%} for the share among all instances. The effect is that of the
comparison which speaks least for the claim. Last, the feature of an instance that goes most with it."""
    heads = "".join(f"<th>{verdict}</th>" for verdict in VERDICTS)
    head = f"<th>claim</th>{heads}<th>effect: median, 5 % to 95 %</th><th>what tells the instances apart</th>"
    rows = [_row(claim) for claim in replicated(panel)]
    return f"<p>{words}</p>{table('replication', head, rows)}" if rows else ""


def _row(claim: Replicated) -> str:
    shares = "".join(f"<td>{_share(claim, verdict)}</td>" for verdict in VERDICTS)
    return f"<td>{escape(claim.says)}</td>{shares}<td>{_effect(claim)}</td><td>{escape(_telling(claim))}</td>"


def _share(claim: Replicated, verdict: str) -> str:
    from jaxids.bounds import interval

    low, high = interval(int(np.sum(claim.verdicts == verdict)), len(claim.verdicts), SURE)
    return f"{claim.share(verdict):.0%} [{low:.0%}, {high:.0%}]"


def _effect(claim: Replicated) -> str:
    known = claim.effects[np.isfinite(claim.effects)]
    if not len(known):
        return "–"
    low, middle, high = np.quantile(known, (0.05, 0.5, 0.95))
    form, of = (".2f", " times the other’s regret") if claim.is_ratio else (".2%", "")
    return f"{middle:{form}}, {low:{form}} to {high:{form}}{of}"


def _telling(claim: Replicated) -> str:
    name, correlation = claim.telling
    if not correlation:
        return "–"
    medians = [(word, claim.median(name, verdict)) for word, verdict in (("holds", HOLDS), ("fails", FAILS))]
    where = ", ".join(f"median {value:.2f} where it {word}" for word, value in medians if np.isfinite(value))
    return f"{name}: {where} (rank correlation with the effect {correlation:+.2f})"


def lines(panel: Panel) -> Iterator[str]:
    """The same as text."""
    for claim in replicated(panel):
        shares = ", ".join(f"{verdict} on {_share(claim, verdict)}" for verdict in VERDICTS)
        yield f"{claim.says}"
        yield f"{'':4s}{shares} of {len(claim.verdicts)} instances; effect {_effect(claim)}"
