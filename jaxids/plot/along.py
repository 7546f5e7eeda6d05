"""What a policy knows along x at some steps: posterior, noise, gap, gain and ratio, a row each and a column for a step.

In two dimensions each is a map.
"""

import textwrap
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from jaxids.experiment.again import Watched
from jaxids.plot.labels import short
from jaxids.plot.styles import BLACK, BLUE, DPI, ORANGE, PURPLE, RC, VERMILION

COLUMN = 2.6  # inches of a step
ROW = 1.25  # of a quantity along x
MAP = 2.1  # of a map


class Quantity(NamedTuple):
    """A quantity at one step and all points, in words and in colour."""

    name: str
    values: np.ndarray
    color: str
    log: bool = False


def figure(seen: Watched, title: str) -> Figure:
    """One trial: a row for every quantity, a column for every step."""
    columns = [_quantities(seen, i) for i in range(len(seen.steps))]
    flat, rows, count = seen.points.shape[1] == 1, len(columns[0]), len(columns)
    size = (1.0 + COLUMN * count, 0.6 + ROW * rows) if flat else (0.6 + (MAP + 0.5) * count, 0.6 + MAP * rows)
    with matplotlib.rc_context(RC):
        drawn = Figure(figsize=size, dpi=DPI, layout="constrained")
        axes = drawn.subplots(rows, count, squeeze=False, sharex=True, sharey=not flat)
        for i, column in enumerate(columns):
            for row, quantity in enumerate(column):
                (_line if flat else _map)(axes[row, i], seen, i, quantity)
                if flat and i and quantity.name in ("posterior", "noise ρ"):
                    axes[row, i].sharey(axes[row, 0])
                if i == 0:
                    axes[row, 0].set_ylabel(quantity.name if flat else f"{quantity.name}\nx2")
            axes[0, i].set_title(f"step {seen.steps[i]}")
            axes[-1, i].set_xlabel("x" if flat else "x1")
        dotted = ". Dotted: the function" + (", and Ψ of the mix" if seen.ratio is not None else "")
        parts = [short(part) for part in title.splitlines() or [""]]
        parts[-1] += ". Dots: what is played" + (dotted if flat else "")
        title = "\n".join(line for part in parts for line in textwrap.wrap(part, int(size[0] * 15)))
        drawn.suptitle(title, size=8.5, x=0.01, ha="left", parse_math=False)
    return drawn


def _quantities(seen: Watched, i: int) -> list[Quantity]:
    found = [Quantity("posterior", seen.mean[i], BLUE)]
    if seen.points.shape[1] > 1:
        found.append(Quantity("β σ", seen.radius[i], BLUE))
    found += [Quantity("noise ρ", seen.rho, ORANGE), Quantity("gap Δ⁺", seen.gap[i], VERMILION)]
    if seen.gain is not None:
        gain = np.maximum(seen.gain[i], np.finfo(float).tiny)
        found += [Quantity("gain I", gain, PURPLE, log=True)]
        found += [Quantity("ratio Ψ", seen.gap[i].astype(float) ** 2 / gain, BLACK, log=True)]
    return found


def _line(axes: Any, seen: Watched, i: int, quantity: Quantity) -> None:
    """A quantity along x, with the actions of the mix (or the one played) marked on it."""
    order = np.argsort(seen.points[:, 0], kind="stable")
    x, y = seen.points[order, 0], quantity.values[order]
    if quantity.log:
        axes.set_yscale("log")
        axes.set_ylim(*_log_range(quantity))
    axes.plot(x, y, color=quantity.color)
    if quantity.name == "posterior":
        radius = seen.radius[i][order]
        axes.fill_between(x, y - radius, y + radius, color=quantity.color, alpha=0.18, lw=0)
        axes.plot(x, seen.values[order], color=BLACK, lw=0.9, ls=(0, (1, 1)))
    if quantity.name == "ratio Ψ" and seen.ratio is not None:
        axes.axhline(seen.ratio[i], color=BLACK, lw=0.9, ls=(0, (1, 1)))
    for action, share in _played(seen, i):
        place = seen.points[action, 0], quantity.values[action]
        axes.plot(*place, "o", color=quantity.color, ms=3 + 3 * share, mec="white", mew=0.6, zorder=5)
        if quantity.name == "ratio Ψ" and share < 1:
            axes.annotate(f"{share:.0%}", place, (0, 5), textcoords="offset points", ha="center", size=6.5)


def _map(axes: Any, seen: Watched, i: int, quantity: Quantity) -> None:
    """A quantity as a map, with the actions of the mix (or the one played) marked on it."""
    norm: Any = "log" if quantity.log else "linear"
    low, high = _log_range(quantity) if quantity.log else (quantity.values.min(), quantity.values.max())
    values, look = quantity.values.clip(low, high), {"norm": norm, "cmap": "viridis", "rasterized": True}
    x, y = (np.unique(part) for part in seen.points.T)
    if len(x) * len(y) == len(values) == len(np.unique(seen.points, axis=0)):  # a grid
        by_column = values[np.lexsort(seen.points.T[::-1])].reshape(len(x), len(y))
        drawn = axes.pcolormesh(x, y, by_column.T, shading="nearest", **look)
    else:
        drawn = axes.scatter(*seen.points.T, c=values, s=14, **look)
    axes.figure.colorbar(drawn, ax=axes, shrink=0.9)
    axes.grid(False)
    for action, share in _played(seen, i):
        axes.plot(*seen.points[action], "o", color=VERMILION, ms=3 + 3 * share, mec="white", mew=0.8)


def _log_range(quantity: Quantity) -> tuple[float, float]:
    """The largest value and up to six decades below it, or, for the ratio, the least and above it."""
    values = quantity.values
    if quantity.name == "ratio Ψ":
        return values.min() / 2, min(values.max(), values.min() * 1e6) * 2
    return max(values.min(), values.max() / 1e6) / 2, values.max() * 2


def _played(seen: Watched, i: int) -> list[tuple[int, float]]:
    """The actions of the mix with their probabilities; without one, the action played."""
    if seen.ends is None or seen.weight is None:
        return [(int(seen.action[i]), 1.0)]
    first, second = map(int, seen.ends[i])
    weight = float(seen.weight[i])
    return [(a, share) for a, share in ((first, 1 - weight), (second, weight)) if share > 0]
