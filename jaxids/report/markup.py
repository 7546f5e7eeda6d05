"""The page as HTML: one file that needs no other and no network."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path

import jaxids
from jaxids.experiment.results import Curve, Panel, Results
from jaxids.report.verdicts import FAILS, HOLDS, MISSING, OPEN, WIDE, Verdict, verdicts

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.25rem; margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1.5rem }
.figures { display: flex; flex-wrap: wrap; gap: 1rem } .figures img { width: 100%; max-width: 35rem; height: auto }
.figures img.wide { max-width: 60rem }
table { border-collapse: collapse; margin: 1rem 0 } th, td { text-align: left; padding: .3rem .8rem .3rem 0 }
th { border-bottom: 1px solid #888; font-weight: 600 } td { border-bottom: 1px solid #eee; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums } .quiet { color: #666; font-size: .9em }
.verdict { white-space: nowrap; font-weight: 600 }
.holds { color: #00664b } .does-not-hold { color: #a63d00 } .within-error, .not-run { color: #555 }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto }
"""
RULE = """A claim holds when it is true at every value within two standard errors of what was measured, does not hold
when it is false at every such value, and is otherwise within error. Policies are compared trial by trial: they meet the
same instances and the same noise."""


def page(results: Results) -> str:
    """The whole page."""
    decided = [(panel, verdicts(panel)) for panel in results.panels()]
    found = [claim.verdict for _, claims in decided for claim in claims]
    tally = ", ".join(f"{found.count(word)} {word}" for word in (HOLDS, FAILS, OPEN, MISSING) if word in found)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>jaxids: {", ".join(map(html.escape, results.described))}</title><style>{STYLE}</style></head><body>
<h1>Results: {", ".join(map(html.escape, results.described))}</h1>
{f"<p>Claims: {tally}. {RULE}</p>" if tally else ""}
{"".join(_section(panel, claims) for panel, claims in decided)}
<p class="quiet">jaxids {jaxids.__version__}. Bands and ± are two standard errors.</p>
</body></html>
"""


def _section(panel: Panel, claims: Sequence[Verdict]) -> str:
    name, pairs = panel.table["name"], panel.folder / f"{panel.stem}-pairs.png"
    images = [_image(panel.folder / f"{panel.stem}{end}.png") for end in ("", "-loglog")]
    images += [_image(pairs, "wide")] if panel.table["compare"] and pairs.exists() else []
    return f"""<section id="{html.escape(panel.stem)}"><h2>{html.escape(panel.title)}</h2>
<p>{html.escape(panel.table["notes"])}</p><div class="figures">{"".join(images)}</div>
{_claims(claims)}{_finals(panel.curves)}
<details><summary>{html.escape(name)}.toml</summary><pre>{html.escape(panel.table["source"])}</pre></details></section>
"""


def _image(path: Path, kind: str = "panel") -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img class="{kind}" alt="{html.escape(path.stem)}" src="data:image/png;base64,{data}">'


def _claims(claims: Sequence[Verdict]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(c.says)}</td><td class='verdict {c.verdict.replace(' ', '-')}'>{c.verdict}</td>"
        f"<td>{'<br>'.join(map(html.escape, c.measured))}"
        f"<br><span class='quiet'>{html.escape(c.tested)}</span></td></tr>"
        for c in claims
    )
    head = "<tr><th>claim</th><th>verdict</th><th>measured</th></tr>"
    return f"<table class='claims'>{head}{rows}</table>" if claims else ""


def _finals(curves: Sequence[Curve]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(c.label)}</td><td class='number'>{c.mean[-1]:.1f}</td>"
        f"<td class='number'>± {WIDE * c.stderr[-1]:.1f}</td>"
        f"<td class='number'>{len(c.trials)}{f' of {c.asked}' * (len(c.trials) < c.asked)}</td></tr>"
        for c in curves
    )
    head = f"<tr><th>policy</th><th colspan='2'>regret after {curves[0].steps[-1]} steps</th><th>trials</th></tr>"
    return f"<table class='finals'>{head}{rows}</table>"
