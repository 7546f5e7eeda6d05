"""The part of the page on bounds: how often each was violated, how loose it is, from when on it says anything."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from jaxids.experiment.curves import Panel
from jaxids.report.tables import table

__all__ = ["inequalities", "section"]

WORDS = """From Ψ: the theorem with the recorded ΣΨ_t, whose gaps are the true ones, and the recorded ΣI_t. From Ψ⁺: the
same with the surrogate gaps, which a policy knows. Worst case: the ratio of the UCB action and γ_T, known before the
run. Theorem 2 for policies whose action follows from the past and their own draw, Theorem 1 for mixes of two actions.
From Ψ⁺ and the worst case need a confidence band that holds, so a norm of f of at most norm_bound. A trial counts as
a violation if its regret is above the bound at any recorded step; the interval is that of Clopper and Pearson at 95 %.
A bound says something from the step on from which its mean stays below the trivial one, S·T."""
TITLE = "Inequalities behind the bounds, on processes that meet their assumptions"
SAYS = """Simulated anew for this page. Statements for all T at once count as violated if they are at any T. The
interval is that of Clopper and Pearson at 99 %; slack is what is left of the bound at the last step."""
HEAD = """<th>policy</th><th>bound</th><th>may fail in</th><th>violated in</th><th>interval</th><th>at the end</th>
<th>times the regret</th><th>says something from step</th>"""


def section(panel: Panel) -> str:
    """The bounds of a panel, if the experiment asks for them."""
    if not panel.table["bounds"]:
        return ""
    from jaxids.report.theory import panel_theories

    theories = panel_theories(panel)
    rows = [row for theory in theories for row in _rows(theory)]
    steps = sum(
        theory.regret.shape[0] * int(theory.curve.steps[-1]) for theory in theories if theory.breaks is not None
    )
    breaks = sum(theory.breaks for theory in theories if theory.breaks is not None)
    chain = f"<p>Ψ⁺(IDS) ≤ Ψ⁺(DIDS) ≤ Ψ⁺(UCB) was broken at {breaks} of {steps:,} steps.</p>" if steps else ""
    return f"<h3>Bounds</h3><p class='quiet'>{WORDS}</p>{table('bounds', HEAD, rows)}{chain}"


def _rows(theory: Any) -> Iterator[str]:
    from jaxids.bounds import interval

    trials = len(theory.regret)
    for number, bound in enumerate(theory.bounds):
        count = bound.violated(theory.regret)
        low, high = interval(count, trials, level=0.95)
        start = theory.informative(bound)
        label = f"{theory.curve.label} ({theory.theorem})" if number == 0 else ""
        cells = [
            "never" if bound.allowed == 0 else f"{bound.allowed:.3g}",
            f"{count} of {trials}",
            f"{low:.2g} to {high:.2g}",
            f"{bound.values[:, -1].mean():.3g}",
            f"{bound.looseness(theory.regret)[-1]:.3g}",
            "never" if start is None else str(start),
        ]
        numbers = "".join(f"<td class='number'>{cell}</td>" for cell in cells)
        yield f"<td>{escape(label)}</td><td>{bound.name}</td>{numbers}"


def inequalities(panels: Sequence[Panel]) -> str:
    """How often the inequalities behind the bounds fail on processes that meet their assumptions, by simulation."""
    if not any(panel.table["bounds"] for panel in panels):
        return ""
    import jax

    from jaxids import bounds

    rows = [_coverage(row) for row in bounds.violations(key=jax.random.key(0))]
    head = """<th>inequality</th><th>process</th><th>δ</th><th>violated in</th><th>interval</th><th>median slack</th>
<th></th>"""
    return f"<section id='inequalities'><h2>{TITLE}</h2><p>{SAYS}</p>{table('coverage', head, rows)}</section>"


def _coverage(row: Any) -> str:
    said = "" if row.proven else "not proven: a control that must fail"
    numbers = (
        f"{row.delta:g}",
        f"{row.violations} of {row.trials}",
        f"{row.low:.2g} to {row.high:.2g}",
        f"{row.slack:.3g}",
    )
    cells = "".join(f"<td class='number'>{number}</td>" for number in numbers)
    names = (name.replace("_", " ") for name in (row.inequality, row.process))
    return "".join(f"<td>{name}</td>" for name in names) + cells + f"<td class='quiet'>{said}</td>"
