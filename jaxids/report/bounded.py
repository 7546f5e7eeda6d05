"""The part of the report on bounds: how often each was violated, how loose it is, from when on it says anything."""

from collections.abc import Iterator, Sequence
from typing import Any

from jaxids.experiment.curves import Panel


def section(panel: Panel) -> dict[str, Any] | None:
    """The bounds of a panel, for `templates/bounds.html`, if the experiment asks for them."""
    if not panel.table["bounds"]:
        return None
    from jaxids.report.theory import panel_theories

    theories = panel_theories(panel)
    chains = [theory for theory in theories if theory.breaks is not None]
    return {
        "rows": [row for theory in theories for row in _rows(theory)],
        "steps": sum(theory.regret.shape[0] * int(theory.curve.steps[-1]) for theory in chains),
        "breaks": sum(theory.breaks or 0 for theory in chains),
    }


def _rows(theory: Any) -> Iterator[tuple[list[str], list[str]]]:
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
        yield [label, bound.name], cells


def inequalities(panels: Sequence[Panel]) -> Sequence[Any]:
    """How often the inequalities behind the bounds fail on processes that meet their assumptions, by simulation."""
    if not any(panel.table["bounds"] for panel in panels):
        return []
    import jax

    from jaxids import bounds

    return bounds.violations(key=jax.random.key(0))
