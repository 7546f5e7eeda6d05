"""The page as HTML: one file that needs no other and no network."""

import base64
import itertools
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import jaxids
from jaxids.experiment.curves import Panel
from jaxids.experiment.keys import in_words
from jaxids.experiment.results import Results
from jaxids.report import bounded, finals, pictures, repeated
from jaxids.report.comparisons import plus_minus
from jaxids.report.replication import Replicated, replicated
from jaxids.report.tables import table
from jaxids.report.verdicts import FAILS, HOLDS, LEVEL, MISSING, OPEN, VACUOUS, Verdict, verdicts

__all__ = ["RULE", "STYLE", "page"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.25rem; margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem }
h3 { font-size: 1.05rem; margin-top: 2rem } h4 { font-size: 1rem; margin: 1.5rem 0 0 }
.figures { display: flex; flex-wrap: wrap; gap: 1rem } .figures img { width: 100%; max-width: 35rem; height: auto }
.figures img.wide { max-width: 60rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { text-align: left; padding: .3rem .8rem .3rem 0 }
th { border-bottom: 1px solid #888; font-weight: 600 } td { border-bottom: 1px solid #eee; vertical-align: top }
.finals, .differences { display: block; overflow-x: auto; white-space: nowrap }
td.number { text-align: right; font-variant-numeric: tabular-nums } .quiet { color: #666; font-size: .9em }
.verdict { white-space: nowrap; font-weight: 600 }
.holds { color: #00664b } .does-not-hold { color: #a63d00 } .open, .not-run, .tells-nothing { color: #555 }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto }
"""
RULE = f"""A claim holds when what was measured would be too unlikely if it were false, does not hold when it would be
too unlikely if it were true, and is otherwise open. This is decided for all claims of the page together (Holm’s
method): the probability that even one of its verdicts is wrong is at most {LEVEL:.0%}, as far as Student’s t, corrected
for skewness, is right for means of so many trials. Policies are compared trial by trial: they meet the same instances
and the same noise. A control is the same test on curves for which it must not hold; where it does, the test tells
nothing."""
SOURCES = {
    "paper": "the paper’s own sentence",
    "reading": "the paper’s sentence, with a margin of ours for its words",
    "ours": "ours",
}


def page(results: Results, found: Callable[[Panel], list[Replicated]] = replicated) -> str:
    """The whole page."""
    decided = list(zip(results.panels, verdicts(results.panels), strict=True))
    tally = _tally([claim for _, claims in decided for claim in claims])
    groups = [list(group) for _, group in itertools.groupby(decided, lambda each: each[0].name)]
    names = [group[0][0].name for group in groups]
    links = " · ".join(f'<a href="#{escape(name)}">{escape(name)}</a>' for name in names)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>jaxids: {escape(", ".join(names))}</title><style>{STYLE}</style></head><body>
<h1>Results</h1><p>{links}</p>
{f"<h2>Claims</h2>{tally}<p>{RULE}</p>" if tally else ""}
{"".join(_experiment(group, found) for group in groups)}{bounded.inequalities(results.panels)}
<p class="quiet">jaxids {jaxids.__version__}. Bands and ± are two standard errors.</p>
</body></html>
"""


def _tally(claims: Sequence[Verdict]) -> str:
    """How many claims have which verdict, by whose they are and whether the instance was selected by them."""
    if not claims:
        return ""
    words = [word for word in (HOLDS, FAILS, OPEN, VACUOUS, MISSING) if any(c.verdict == word for c in claims)]
    rows = []
    for source, selected in itertools.product(SOURCES, (False, True)):
        found = [claim.verdict for claim in claims if (claim.source, claim.selected) == (source, selected)]
        on = "was selected for it" if selected else "was not selected for it"
        cells = "".join(f"<td class='number'>{found.count(word)}</td>" for word in words)
        rows += [f"<td>{SOURCES[source]}</td><td>the instance {on}</td>{cells}"] if found else []
    return table("tally", "<th>whose claim</th><th>instance</th>" + "".join(f"<th>{w}</th>" for w in words), rows)


def _experiment(group: Sequence[tuple[Panel, Sequence[Verdict]]], found: Callable[[Panel], list[Replicated]]) -> str:
    """One experiment: its words once, a table over its grid if it has one, its panels, its file."""
    panel, table = group[0][0], group[0][0].table
    changes = ", ".join(f"{key} = {in_words(value)}" for key, value in table["changes"].items())
    changed = f"<p>Run with {escape(changes)} in place of what the file says.</p>" if changes else ""
    grid = _grid([panel for panel, _ in group]) if len(group) > 1 else ""
    return f"""<section id="{escape(panel.name)}"><h2>{escape(panel.title)}</h2>
<p>{_coded(table["notes"])}</p>{changed}{grid}{"".join(_panel(*each, found) for each in group)}
<details><summary>{escape(panel.name)}.toml</summary><pre>{escape(table["source"])}</pre></details></section>
"""


def _coded(text: str) -> str:
    """A text as HTML, what is in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _panel(panel: Panel, claims: Sequence[Verdict], found: Callable[[Panel], list[Replicated]]) -> str:
    curves, wide = pictures.names(panel)
    images = [*(_image(path) for path in curves), *(_image(path, "wide") for path in wide)]
    head = f"<h3>{escape(panel.numbers)}</h3>" if panel.numbers else ""
    if panel.instances:
        return f"""{head}{repeated.section(panel, found(panel))}<div class="figures">{"".join(images)}</div>"""
    return f"""{head}<div class="figures">{"".join(images)}</div>
{_claims(claims)}{finals.section(panel)}{bounded.section(panel)}"""


def _image(path: Path, kind: str = "panel") -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img class="{kind}" alt="{escape(path.stem)}" src="data:image/png;base64,{data}">'


def _claims(claims: Sequence[Verdict]) -> str:
    rows = [
        f"<td>{escape(c.says)}<br><span class='quiet'>{_whose(c)}</span></td>"
        f"<td class='verdict {c.verdict.replace(' ', '-')}'>{c.verdict}</td>"
        f"<td>{'<br>'.join(map(escape, c.measured))}"
        f"<br><span class='quiet'>{escape(c.tested)}; {escape(c.control)}</span></td>"
        for c in claims
    ]
    return table("claims", "<th>claim</th><th>verdict</th><th>measured</th>", rows) if claims else ""


def _whose(claim: Verdict) -> str:
    return SOURCES[claim.source] + ("; the instance was selected for it" if claim.selected else "")


def _grid(panels: Sequence[Panel]) -> str:
    """Final regrets over the grid: a row for each point, a column for each curve."""
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    rows = []
    for panel in panels:
        named = {c.label: f"{c.mean[-1]:.1f} {plus_minus(c.stderr[-1])}" for c in panel.curves}
        cells = "".join(f"<td class='number'>{named.get(label, '–')}</td>" for label in labels)
        rows.append(f"<td>{escape(panel.numbers)}</td>{cells}")
    return table("grid", "<th>final regret</th>" + "".join(f"<th>{escape(label)}</th>" for label in labels), rows)
