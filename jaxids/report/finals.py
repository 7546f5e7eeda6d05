"""The tables of a page on final values: every curve in numbers, and how much more each is than the least."""

from html import escape

import numpy as np

from jaxids.experiment.curves import CHANCES, Curve, Panel, summary
from jaxids.report.comparisons import plus_minus
from jaxids.report.tables import table

__all__ = ["section", "stopped"]

HEADS = {"median": "median", "quantile_90": "90 %", "quantile_99": "99 %"}
PAIRED = """Policies meet the same instances and the same noise, so what is compared is their difference trial by trial:
“paired” is the error of its mean, “unpaired” what it would be had each met trials of its own."""


def section(panel: Panel) -> str:
    """Both tables of a panel."""
    return _finals(panel) + _differences(panel)


def _finals(panel: Panel) -> str:
    """Every curve at the last step: its regret with quantiles, and the means of other series."""
    regret, *others = panel.shown
    until = any(curve.until for curve in panel.curves)
    heads = ["mean", *(HEADS[name] for name in CHANCES)]
    heads += [name.replace("_", " ") for name in others]
    columns = "".join(f"<th colspan='2'>{escape(head)}</th>" for head in heads)
    rows = [
        f"<td>{escape(curve.label)}</td>{_regret(curve)}{''.join(_last(curve, name) for name in others)}"
        f"<td class='number'>{_trials(curve)}</td>" + f"<td>{stopped(curve)}</td>" * until
        for curve in panel.curves
    ]
    title = f"<h4>Final {regret}, after {panel.curves[0].steps[-1]} steps</h4>"
    return title + table("finals", f"<th>policy</th>{columns}<th>trials</th>{'<th>stopped</th>' * until}", rows)


def _regret(curve: Curve) -> str:
    found = summary(curve.of("regret"))
    return _cells(found["mean"], found["stderr"]) + "".join(
        _cells(found[name], found[f"{name}_stderr"]) for name in CHANCES
    )


def _trials(curve: Curve) -> str:
    short = len(curve.trials) < curve.asked and not curve.stopped
    return f"{len(curve.trials)}{f' of {curve.asked}' * short}"


def stopped(curve: Curve) -> str:
    """When a curve was stopped and why, if its experiment asks for that."""
    if curve.until is None:
        return ""
    error = curve.series["regret"].stderr[-1]
    if not curve.stopped:
        return f"not yet, standard error {error:.3g} > {curve.until.stderr:g}"
    return f"after {len(curve.trials)} trials, standard error {error:.3g} ≤ {curve.until.stderr:g}"


def _last(curve: Curve, series: str) -> str:
    """The last mean of a series and two standard errors, as cells of a table."""
    if series not in curve.series:
        return "<td class='number'>–</td><td></td>"
    mean, stderr, _ = curve.series[series]
    return _cells(mean[-1], stderr[-1], ".3g")


def _cells(value: float, stderr: float, form: str = ".1f") -> str:
    return f"<td class='number'>{value:{form}}</td><td class='number'>{plus_minus(stderr, form)}</td>"


def _differences(panel: Panel) -> str:
    """How much more final regret every other curve has than the one that has least."""
    least, found = panel.of("regret").differences()
    rows = [
        f"<td>{escape(label)}</td><td class='number'>{each.mean:.1f}</td>"
        + "".join(f"<td class='number'>{plus_minus(error, '.2f')}</td>" for error in (each.stderr, each.unpaired))
        + f"<td class='number'>{_known(each.correlation)}</td><td class='number'>{each.trials}</td>"
        for label, each in found.items()
    ]
    head = f"<th>policy</th><th>regret − that of {escape(least.label)}</th><th>paired</th><th>unpaired</th>"
    head += "<th>correlation</th><th>trials of both</th>"
    return f"<p class='quiet'>{PAIRED}</p>{table('differences', head, rows)}" if rows else ""


def _known(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"
