"""The report as HTML: one file that needs no other and no network.

The markup is in `templates/`, as Jinja2. A function here or in `finals`, `bounded` and `repeated` returns the data of a
template as plain values. All of it is escaped, as labels, titles, notes and claims are what users wrote.
"""

import base64
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import jaxids
from jaxids.experiment.curves import Panel
from jaxids.experiment.keys import in_words
from jaxids.experiment.results import Results
from jaxids.report import bounded, finals, pictures, repeated
from jaxids.report.comparisons import plus_minus
from jaxids.report.replication import Replicated
from jaxids.report.verdicts import FAILS, HOLDS, LEVEL, MISSING, OPEN, VACUOUS, Verdict, verdicts

TEMPLATES = Environment(
    loader=PackageLoader("jaxids.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(results: Results, found: Mapping[str, Sequence[Replicated]]) -> str:
    """Return the report of some results as HTML.

    Args:
        results: The results, whose pictures are drawn already.
        found: The claims of panels with instances, on each of them, by the panels' stems.

    Returns:
        The whole file, with its pictures in it.
    """
    decided = list(zip(results.panels, verdicts(results.panels), strict=True))
    claims = [claim for _, claims in decided for claim in claims]
    groups = [list(group) for _, group in itertools.groupby(decided, lambda each: each[0].name)]
    return TEMPLATES.get_template("page.html").render(
        version=jaxids.__version__,
        level=f"{LEVEL:.0%}",
        claims=claims,
        verdicts=[word for word in (HOLDS, FAILS, OPEN, VACUOUS, MISSING) if any(c.verdict == word for c in claims)],
        experiments=[_experiment(group, found) for group in groups],
        inequalities=bounded.inequalities(results.panels),
    )


def _experiment(
    group: Sequence[tuple[Panel, Sequence[Verdict]]], found: Mapping[str, Sequence[Replicated]]
) -> dict[str, Any]:
    """One experiment: its words once, the columns of a table over its grid, its panels, its file."""
    panel, table = group[0][0], group[0][0].table
    return {
        "name": panel.name,
        "title": panel.title,
        "notes": re.split(r"`([^`]+)`", table["notes"]),  # every second part is code
        "changes": ", ".join(f"{key} = {in_words(value)}" for key, value in table["changes"].items()),
        "labels": list(dict.fromkeys(curve.label for panel, _ in group for curve in panel.curves)),
        "panels": [_panel(*each, found) for each in group],
        "source": table["source"],
    }


def _panel(panel: Panel, claims: Sequence[Verdict], found: Mapping[str, Sequence[Replicated]]) -> dict[str, Any]:
    curves, wide = pictures.names(panel)
    files = [*(("panel", path) for path in curves), *(("wide", path) for path in wide)]
    images = [(kind, path.stem, base64.b64encode(path.read_bytes()).decode()) for kind, path in files]
    regret = {curve.label: f"{curve.mean[-1]:.1f} {plus_minus(curve.stderr[-1])}" for curve in panel.curves}
    shown: dict[str, Any] = {"numbers": panel.numbers, "regret": regret, "images": images}
    if panel.instances:
        return shown | {"replication": repeated.section(panel, found[panel.stem])}
    return shown | {"claims": claims, "finals": finals.section(panel), "bounds": bounded.section(panel)}
