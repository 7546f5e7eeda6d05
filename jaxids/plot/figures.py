"""Regret curves: mean with a band of two standard errors, labels beside the ends of the curves."""

import io
import itertools
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from jaxids.experiment import store
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.results import Results
from jaxids.plot.labels import label_ends
from jaxids.plot.styles import RC, SOLID, styles_of

SIZE = 4.0, 2.9  # inches of one panel's axes
MARGINS = 0.75, 1.5, 0.6, 0.45  # left, right (for the labels), bottom, top
DPI = 160
SUFFIX = {"linear": "", "log-log": "-loglog", "log-time": "-logtime"}


def draw(results: Results, scale: str = "linear") -> list[Path]:
    """Draw every panel, as PDF and PNG in its experiment's folder, and return what was written."""
    drawn = [save(together([p], scale), p.file(SUFFIX[scale])) for p in results.panels]
    return list(itertools.chain.from_iterable(drawn))


def draw_simple(results: Results, scale: str = "log-log") -> list[Path]:
    """Draw the simple regret of every panel that has it."""
    written = []
    for panel in results.panels:
        if curves := [curve for each in panel.curves if (curve := each.of_simple)]:
            figure = together([replace(panel, curves=curves)], scale, "simple regret")
            written += save(figure, panel.file(f"-simple{SUFFIX[scale]}"))
    return written


def together(panels: Sequence[Panel], scale: str = "linear", what: str = "regret") -> Figure:
    """Panels in one picture, two in a row."""
    columns, rows = min(2, len(panels)), -(-len(panels) // 2)
    longest = max(len(curve.label) for panel in panels for curve in panel.curves)
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
            regret(axes, panel.curves, scale, what)
            axes.set_title(titles[i], loc="left", parse_math=False)
    return figure


def _title(panel: Panel, inches: float) -> str:
    """What a panel is, and below it the point of its grid, in lines that fit."""
    lines = [line for text in (panel.title, panel.numbers) for line in textwrap.wrap(text, int(inches * 13))]
    return "\n".join(lines)


def regret(axes: Any, curves: Sequence[Curve], scale: str = "linear", what: str = "regret") -> None:
    """Draw curves into axes, on linear axes, log-log ones, or with log time alone."""
    looks = styles_of([curve.policy for curve in curves])
    if scale != "linear":
        axes.set_xscale("log")
    if scale == "log-log":
        axes.set_yscale("log")
    for i, (curve, look) in enumerate(zip(curves, looks, strict=True)):
        shown = curve.mean > 0 if scale == "log-log" else curve.steps > 0
        steps, mean, band = curve.steps[shown], curve.mean[shown], 2 * np.nan_to_num(curve.stderr[shown])
        every = {"marker": look.marker, "markevery": (0.06 + 0.01 * (i % 4), 0.12)} if look.marker else {}
        axes.plot(steps, mean, color=look.color, ls=look.line, zorder=3 if look.line == SOLID else 4, **every)
        low = np.maximum(mean - band, mean * 1e-3) if scale == "log-log" else mean - band
        axes.fill_between(steps, low, mean + band, color=look.color, alpha=0.18, lw=0)
    _limits(axes, curves, scale)
    axes.set_xlabel("steps" if scale == "linear" else "steps (log)")
    axes.set_ylabel(f"{what} (log)" if scale == "log-log" else what)
    ends = [max(curve.mean[-1], axes.get_ylim()[0]) for curve in curves]
    label_ends(axes, ends, [curve.label for curve in curves], [look.color for look in looks])


def _limits(axes: Any, curves: Sequence[Curve], scale: str) -> None:
    last = max(curve.steps[-1] for curve in curves)
    top = max(np.max(curve.mean + 2 * np.nan_to_num(curve.stderr)) for curve in curves)
    if scale == "linear":
        axes.set_xlim(0, last)
    else:
        axes.set_xlim(min(curve.steps[0] for curve in curves), max(last, 2))
    if scale == "log-log":
        positive = list(itertools.chain.from_iterable(curve.mean[curve.mean > 0] for curve in curves))
        if positive:
            axes.set_ylim(min(positive) * 0.8, top * 1.2)
    else:
        axes.set_ylim(0, top * 1.03 if top > 0 else 1)


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
