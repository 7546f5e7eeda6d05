"""Two policies on the same fresh instances: when one has less regret than the other, and by how much."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from jaxids.experiment.curves import Curve, paired
from jaxids.plot.labels import short
from jaxids.plot.styles import BLACK, DPI, RC, look

LEAST = 1e-3  # regret of trials that have none, on axes of logarithms
BINS = 12  # of instances by the noise of their best action, equally many in each


class Pair(NamedTuple):
    """Two curves, and for every trial that they share the noise of the best action of its instance."""

    one: Curve
    other: Curve
    noise: np.ndarray


def compare(pairs: Sequence[Pair], others: Sequence[str] = ()) -> Figure:
    """A row for each pair: regret against regret, and their ratio by the noise of the best action."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(8.4, 3.5 * len(pairs)), dpi=DPI, layout="constrained")
        for row, (one, other, noise) in zip(figure.subplots(len(pairs), 2, squeeze=False), pairs, strict=True):
            _, mine, theirs = paired(one, other)
            mine, theirs, color = np.maximum(mine, LEAST), np.maximum(theirs, LEAST), look(one.policy, others).color
            _regrets(row[0], one, other, mine, theirs, color)
            _ratios(row[1], one, other, mine / theirs, noise, color)
    return figure


def _regrets(axes: Any, one: Curve, other: Curve, mine: np.ndarray, theirs: np.ndarray, color: str) -> None:
    ends = min(mine.min(), theirs.min()) * 0.8, max(mine.max(), theirs.max()) * 1.25
    axes.scatter(theirs, mine, s=3, alpha=0.25, lw=0, color=color, rasterized=True)
    axes.plot(ends, ends, color=BLACK, lw=0.8)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        few_ticks(axis)
    axes.set_xlabel(f"regret of {short(other.label)} on an instance", parse_math=False)
    axes.set_ylabel(f"regret of {short(one.label)} on the same", parse_math=False)
    wins = f"{short(one.label)} has less regret on {np.mean(mine < theirs):.0%} of {len(mine)} instances"
    medians = f"median {np.median(mine):.1f} against {np.median(theirs):.1f}"
    means = f"mean {mine.mean():.1f} against {theirs.mean():.1f}"
    axes.set_title(f"{wins}\n{medians}, {means}", loc="left", parse_math=False)


def few_ticks(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 of every decade, so that less than a decade has some and two do not collide."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _ratios(axes: Any, one: Curve, other: Curve, ratio: np.ndarray, best: np.ndarray, color: str) -> None:
    axes.scatter(best, ratio, s=3, alpha=0.15, lw=0, color=color, rasterized=True)
    bins = np.array_split(np.argsort(best, kind="stable"), min(BINS, len(best)))
    centres = [np.median(best[i]) for i in bins]
    low, middle, high = np.transpose([np.quantile(ratio[i], (0.25, 0.5, 0.75)) for i in bins])
    axes.fill_between(centres, low, high, color=BLACK, alpha=0.18, lw=0, label="middle half")
    axes.plot(centres, middle, color=BLACK, lw=1.2, label="median")
    axes.axhline(1, color=BLACK, lw=0.8, ls=(0, (1, 1)))
    axes.set_yscale("log")
    few_ticks(axes.yaxis)
    axes.set_xlabel("ρ(x*), the noise of the best action")
    axes.set_ylabel(f"regret of {short(one.label)} over {short(other.label)}", parse_math=False)
    axes.set_title(f"below 1, {short(one.label)} has less regret", loc="left", parse_math=False)
    axes.legend(loc="upper left", frameon=True, fontsize=7)
