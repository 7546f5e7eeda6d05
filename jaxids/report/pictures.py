"""The pictures of a page: what they show is computed here, and handed to `plot`, which draws it.

Comparisons draw the instances of a run again, watched curves simulate one of its trials again.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from jaxids.experiment import claims, policy_names
from jaxids.experiment.curves import Curve, Panel, paired
from jaxids.experiment.progress import drawing
from jaxids.experiment.results import Results
from jaxids.report.replication import Replicated

FEW = 8  # panels that fit one picture
BOUNDS = "-bounds", "-looseness"
REPLICATED = "-instances"


def draw(results: Results, found: Mapping[str, Sequence[Replicated]]) -> list[Path]:
    """Draw every figure of the page, and all panels in one; matplotlib is imported only now.

    Args:
        results: The results.
        found: The claims of panels with instances, on each of them, by the panels' stems.

    Returns:
        The files.
    """
    from jaxids import checks

    if any(panel.table["compare"] or panel.table["watch"] for panel in results.panels):
        checks.devices()  # trials are drawn or simulated again
    from jaxids.plot import figures

    drawn = list[Path]()
    for panel in drawing(results.panels):
        if panel.instances:
            drawn += _draw_replicated(panel, found[panel.stem])
            continue
        drawn += [*_draw_curves(panel), *_draw_pairs(panel), *_draw_watched(panel), *_draw_bounds(panel)]
    alike = [panel for panel in results.panels if not panel.instances]
    if alike and len(results.panels) <= FEW:
        drawn += figures.save(figures.together(alike), results.folder / "panels")
    return drawn


def names(panel: Panel) -> tuple[list[Path], list[Path]]:
    """The pictures of a panel that there are, those of curves and the wide ones."""
    from jaxids.plot import figures

    if panel.instances:
        return [], [panel.file(REPLICATED, ".png")] if panel.table["claims"] else []
    curves = [panel.file(figures.ending(*view), ".png") for view in figures.views(panel)]
    wide = [panel.file("-pairs", ".png")] if panel.table["compare"] else []
    wide += [panel.file(_ending(curve), ".png") for curve in _watched(panel)]
    wide += [panel.file(end, ".png") for end in BOUNDS] if panel.table["bounds"] else []
    return curves, [path for path in wide if path.exists()]


def _draw_curves(panel: Panel) -> list[Path]:
    """The curves of a panel, regret and what else was recorded."""
    from jaxids.plot import figures

    alone = Results(panel.folder, [panel])
    return [path for name, scale in figures.views(panel) for path in figures.draw(alone, scale, name)]


def _draw_replicated(panel: Panel, claims: Sequence[Replicated]) -> list[Path]:
    """The claims of a panel on each of its instances."""
    from jaxids.plot import figures, replication

    return figures.save(replication.figure(claims), panel.file(REPLICATED)) if claims else []


def _draw_pairs(panel: Panel) -> list[Path]:
    """The comparisons that the experiment asks for, of curves that there are."""
    from jaxids.plot import figures, instances

    named = {curve.label: curve for curve in panel.curves}
    pairs = [(named[a], named[b]) for a, b in panel.table["compare"] if {a, b} <= set(named)]
    pairs = [(one, other) for one, other in pairs if claims.comparable(one.setting, other.setting)]
    met = [instances.Pair(one, other, _noise_of_best(one, other)) for one, other in pairs]
    return figures.save(instances.compare(met, panel.others), panel.file("-pairs")) if met else []


def _noise_of_best(one: Curve, other: Curve) -> np.ndarray:
    """ρ(x*) of the instances that two curves share."""
    from jaxids.experiment import again

    trials, _, _ = paired(one, other)
    met = again.instances(one.setting, trials)
    return np.asarray(met.rho)[np.arange(len(trials)), np.argmax(met.mean, axis=1)]


def _watched(panel: Panel) -> Iterator[Curve]:
    """The curves to watch."""
    wanted = panel.table.get("watch", {}).get("curves", ())
    return (curve for curve in panel.curves if curve.label in wanted and claims.watchable(curve.setting))


def _ending(curve: Curve) -> str:
    return f"-{curve.label}-along"


def _draw_watched(panel: Panel) -> list[Path]:
    """One trial of every curve that the experiment asks to watch, unless its policy's code is another by now."""
    from jaxids.experiment import again
    from jaxids.plot import along, figures

    drawn: list[Path] = []
    for curve in _watched(panel):
        try:
            if policy_names.source(curve.policy).get("source") != curve.setting.get("source"):
                raise ValueError(f"policies: got {curve.policy!r}, whose source has changed since the run")
        except ValueError as error:
            tqdm.write(f"jaxids: {curve.name} is not watched: {error}", file=sys.stderr)
            continue
        trial, steps = panel.table["watch"]["trial"], panel.table["watch"]["steps"]
        words = ", ".join(filter(None, [panel.numbers, curve.label, f"trial {trial}"]))
        figure = along.figure(again.watch(curve.setting, trial, steps), f"{panel.title}\n{words}")
        drawn += figures.save(figure, panel.file(_ending(curve)))
    return drawn


def _draw_bounds(panel: Panel) -> list[Path]:
    """Regret beside its bounds, if the experiment asks for them."""
    if not panel.table["bounds"]:
        return []
    from jaxids.plot import figures, theory
    from jaxids.report.theory import panel_theories

    theories = panel_theories(panel)
    if not theories:
        return []
    title = ", ".join(filter(None, [panel.title, panel.numbers]))
    pictures = theory.beside(theories, title, panel.others), theory.looseness(theories, panel.others)
    return [path for end, each in zip(BOUNDS, pictures, strict=True) for path in figures.save(each, panel.file(end))]
