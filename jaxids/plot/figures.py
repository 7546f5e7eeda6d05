"""Curves of regret and other series: mean with a band of two standard errors, labels beside the ends of the curves."""

import io
import itertools
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from jaxids.experiment import store
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.results import Results
from jaxids.plot.labels import label_ends, short
from jaxids.plot.styles import DPI, RC, SOLID, styles_of
from jaxids.words import shown

SIZE = 4.0, 2.9  # inches of one panel's axes
MARGINS = 0.75, 1.5, 0.6, 0.45  # left, right (for the labels), bottom, top
SPAN = 10  # times its least mean that a series is at most, on linear axes
SUFFIX = {"linear": "", "log-log": "-loglog", "log-time": "-logtime"}


def draw(results: Results, scale: str = "linear", series: str = "regret") -> list[Path]:
    """Draw a series of every panel that has it, as PDF and PNG in its folder, and return what was written."""
    there = list(dict.fromkeys(name for panel in results.panels for name in panel.series))
    if series not in there:
        raise ValueError(f"series: got {shown(series)}; the results here have {', '.join(there)}")
    drawn = [
        save(together([panel], scale, series), panel.file(ending(series, scale)))
        for panel in results.panels
        if series in panel.series
    ]
    return list(itertools.chain.from_iterable(drawn))


def ending(series: str, scale: str) -> str:
    """How the name of a picture ends."""
    return ("" if series == "regret" else f"-{series}") + SUFFIX[scale]


def views(panel: Panel) -> list[tuple[str, str]]:
    """The pictures of a panel: regret on two scales, every other series on log-log axes, if it spans a decade."""
    found = [("regret", "linear"), ("regret", "log-log")]
    for name in panel.shown[1:]:
        means = np.concatenate([curve.mean[_drawable(curve, "log-log")] for curve in panel.of(name).curves])
        wide = means.size and means.max() > SPAN * means.min()
        found.append((name, "log-log" if wide else "linear"))
    return found


def together(panels: Sequence[Panel], scale: str = "linear", series: str = "regret") -> Figure:
    """Panels in one picture, two in a row."""
    panels = [panel.of(series) for panel in panels]
    columns, rows = min(2, len(panels)), -(-len(panels) // 2)
    longest = max(len(short(curve.label)) for panel in panels for curve in panel.curves)
    left, right, bottom, top = MARGINS
    right = max(right, 0.4 + 0.075 * longest)  # inches
    titles = [_title(panel, left + SIZE[0] + right) for panel in panels]
    top += 0.15 * max(title.count("\n") for title in titles)
    width, height = left + SIZE[0] + right, bottom + SIZE[1] + top
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(columns * width, rows * height), dpi=DPI)
        for i, panel in enumerate(panels):
            x, y = i % 2 * width + left, (rows - 1 - i // 2) * height + bottom
            place = x / (columns * width), y / (rows * height)
            axes = figure.add_axes((*place, SIZE[0] / (columns * width), SIZE[1] / (rows * height)))
            draw_curves(axes, panel.curves, scale, panel.others)
            axes.set_title(titles[i], loc="left", y=1.0, parse_math=False)  # a place not to be searched for
    return figure


def _title(panel: Panel, inches: float) -> str:
    """What a panel is, and below it the point of its grid, in lines that fit."""
    lines = [line for text in (panel.title, panel.numbers) for line in textwrap.wrap(short(text), int(inches * 13))]
    return "\n".join(lines)


def _drawable(curve: Curve, scale: str) -> np.ndarray:
    """The steps whose mean has a place on the axes."""
    return np.isfinite(curve.mean) & ((curve.mean > 0) | (scale != "log-log"))


def draw_curves(axes: Any, curves: Sequence[Curve], scale: str = "linear", others: Sequence[str] = ()) -> None:
    """Draw curves of one series into axes, on linear axes, log-log ones, or with log time alone.

    `others` are the policies of the run that are not of the paper, which look alike in all its figures.
    """
    looks = styles_of([curve.policy for curve in curves], others)
    if scale != "linear":
        axes.set_xscale("log")
    if scale == "log-log":
        axes.set_yscale("log")
    for i, (curve, look) in enumerate(zip(curves, looks, strict=True)):
        here = _drawable(curve, scale)
        steps, mean, band = curve.steps[here], curve.mean[here], 2 * np.nan_to_num(curve.stderr[here])
        every = {"marker": look.marker, "markevery": (0.06 + 0.01 * (i % 4), 0.12)} if look.marker else {}
        axes.plot(steps, mean, color=look.color, ls=look.line, zorder=3 if look.line == SOLID else 4, **every)
        low = np.maximum(mean - band, mean * 1e-3) if scale == "log-log" else mean - band
        axes.fill_between(steps, low, mean + band, color=look.color, alpha=0.18, lw=0)
    _limits(axes, curves, scale)
    axes.set_xlabel("steps" if scale == "linear" else "steps (log)")
    what = curves[0].what.replace("_", " ")
    axes.set_ylabel(f"{what} (log)" if scale == "log-log" else what)
    low, high = axes.get_ylim()
    ends = [float(np.clip(curve.mean[-1], low, high)) for curve in curves]
    label_ends(axes, ends, [curve.label for curve in curves], [look.color for look in looks])


def _limits(axes: Any, curves: Sequence[Curve], scale: str) -> None:
    last = max(curve.steps[-1] for curve in curves)
    tops = [(curve.mean + 2 * np.nan_to_num(curve.stderr))[np.isfinite(curve.mean)] for curve in curves]
    top = max((part.max() for part in tops if part.size), default=0.0)
    if scale == "linear":
        axes.set_xlim(0, last)
    else:
        axes.set_xlim(min(curve.steps[0] for curve in curves), max(last, 2))
    if scale == "log-log":
        positive = list(itertools.chain.from_iterable(curve.mean[_drawable(curve, scale)] for curve in curves))
        if positive:
            axes.set_ylim(min(positive) * 0.8, top * 1.2)
    else:
        low = min(np.min(curve.mean, initial=0.0, where=_drawable(curve, scale)) for curve in curves)
        axes.set_ylim(low * 1.03, top * 1.03 if top > 0 else 1)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PDF and PNG, the same bytes for the same figure."""
    written = []
    for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {"Software": None})):
        buffer = io.BytesIO()
        with matplotlib.rc_context(RC), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for a letter the font lacks
            figure.savefig(buffer, format=suffix[1:], metadata=metadata, dpi=DPI)
        store.keep(path := stem.with_name(stem.name + suffix), buffer.getvalue())
        written.append(path)
    return written
