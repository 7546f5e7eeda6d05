"""The tables of the report on final values: every curve in numbers, and how much more each is than the least."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxids.experiment.curves import CHANCES, Curve, Difference, Panel, summary
from jaxids.report.comparisons import plus_minus

HEADS = {"median": "median", "quantile_90": "90 %", "quantile_99": "99 %"}


def section(panel: Panel) -> dict[str, Any]:
    """Both tables of a panel, for `templates/finals.html`."""
    regret, *others = panel.shown
    least, differences = panel.of("regret").differences()
    return {
        "regret": regret,
        "steps": panel.curves[0].steps[-1],
        "heads": ["mean", *(HEADS[name] for name in CHANCES), *(name.replace("_", " ") for name in others)],
        "rows": [_row(curve, others) for curve in panel.curves],
        "until": any(curve.until for curve in panel.curves),
        "least": least.label,
        "differences": [([label], _difference(each)) for label, each in differences.items()],
    }


def _row(curve: Curve, others: Sequence[str]) -> dict[str, Any]:
    """A curve at the last step: its regret with quantiles, and the means of other series."""
    found = summary(curve.of("regret"))
    cells = [_cell(found["mean"], found["stderr"])]
    cells += [_cell(found[name], found[f"{name}_stderr"]) for name in CHANCES]
    cells += [_last(curve, name) for name in others]
    short = len(curve.trials) < curve.asked and not curve.stopped
    trials = f"{len(curve.trials)}{f' of {curve.asked}' * short}"
    return {"label": curve.label, "cells": cells, "trials": trials, "stopped": _stopped(curve)}


def _stopped(curve: Curve) -> str:
    """When a curve was stopped and why, if its experiment asks for that."""
    if curve.until is None:
        return ""
    error = curve.series["regret"].stderr[-1]
    if not curve.stopped:
        return f"not yet, standard error {error:.3g} > {curve.until.stderr:g}"
    return f"after {len(curve.trials)} trials, standard error {error:.3g} ≤ {curve.until.stderr:g}"


def _last(curve: Curve, series: str) -> tuple[str, str]:
    """The last mean of a series and two standard errors."""
    if series not in curve.series:
        return "–", ""
    mean, stderr, _ = curve.series[series]
    return _cell(mean[-1], stderr[-1], ".3g")


def _cell(value: float, stderr: float, form: str = ".1f") -> tuple[str, str]:
    return f"{value:{form}}", plus_minus(stderr, form)


def _difference(found: Difference) -> list[str]:
    """How much more final regret a curve has than the one that has least."""
    errors = [plus_minus(error, ".2f") for error in (found.stderr, found.unpaired)]
    correlation = f"{found.correlation:.2f}" if np.isfinite(found.correlation) else "–"
    return [f"{found.mean:.1f}", *errors, correlation, str(found.trials)]
