"""Claims on many instances: how often each holds, how large its effect is, and what that goes with."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from jaxids.plot.figures import DPI
from jaxids.plot.instances import few_ticks
from jaxids.plot.styles import BLACK, RC
from jaxids.report.replication import VERDICTS, Replicated

COLORS = dict(zip(VERDICTS, ("#009E73", "#D55E00", "#BBBBBB", "#777777"), strict=True))
BINS = 30
WIDTH = 34  # letters of a line


def figure(claims: Sequence[Replicated]) -> Figure:
    """A row for each claim: shares, effects, and the feature of an instance that goes most with the effect."""
    with matplotlib.rc_context(RC):
        drawn = Figure(figsize=(9.6, 0.5 + 1.75 * len(claims)), dpi=DPI, layout="constrained")
        rows = drawn.subplots(len(claims), 3, squeeze=False, width_ratios=(1.3, 1, 1))
        for row, claim in zip(rows, claims, strict=True):
            _shares(row[0], claim)
            _effects(row[1], claim)
            _feature(row[2], claim)
    return drawn


def _shares(axes: Any, claim: Replicated) -> None:
    left = 0.0
    for verdict, color in COLORS.items():
        share = claim.share(verdict)
        axes.barh(0, share, left=left, color=color, height=0.5)
        if share > 0.06:
            axes.text(left + share / 2, 0, f"{verdict}\n{share:.0%}", ha="center", va="center", fontsize=7)
        left += share
    axes.set(xlim=(0, 1), ylim=(-0.6, 0.6), yticks=[], xlabel=f"share of {len(claim.verdicts)} instances")
    axes.set_title(fill(claim.says, 60), loc="left", parse_math=False)


def _effects(axes: Any, claim: Replicated) -> None:
    known = claim.effects[np.isfinite(claim.effects)]
    if not len(known):
        return
    low, high = np.quantile(known, (0.01, 0.99))
    high = high if high > low else low + 1e-6
    edges = np.geomspace(max(low, 1e-6), high, BINS) if claim.is_ratio else np.linspace(low, high, BINS)
    parts = [np.clip(claim.effects[(claim.verdicts == v) & np.isfinite(claim.effects)], low, high) for v in VERDICTS]
    axes.hist(parts, edges, stacked=True, color=list(COLORS.values()))
    if claim.is_ratio:
        axes.set_xscale("log")
        few_ticks(axes.xaxis)
    for border in claim.borders:
        axes.axvline(border, color=BLACK, lw=0.8)
    axes.set(xlabel=fill(claim.effect_of, WIDTH), ylabel="instances")


def _feature(axes: Any, claim: Replicated) -> None:
    if claim.telling is None:
        axes.set_axis_off()
        axes.set_title("no feature goes with the effect", loc="left")
        return
    name, correlation = claim.telling
    for verdict, color in COLORS.items():
        chosen = claim.verdicts == verdict
        axes.plot(claim.features[name][chosen], claim.effects[chosen], "o", ms=2.5, color=color, mew=0, alpha=0.8)
    for border in claim.borders:
        axes.axhline(border, color=BLACK, lw=0.6)
    if claim.is_ratio:
        axes.set_yscale("log")
        few_ticks(axes.yaxis)
    axes.set(xlabel=fill(name, WIDTH), ylabel="ratio" if claim.is_ratio else "effect")
    axes.set_title(f"rank correlation {correlation:+.2f}", loc="left")
