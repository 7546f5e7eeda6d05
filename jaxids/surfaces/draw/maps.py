"""Maps of Ψ over pairs of actions, the simplex of three, pairs of points, and of where IDS mixes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxids import checks
from jaxids.plot.styles import BLACK, VERMILION
from jaxids.surfaces.diagrams import Phases
from jaxids.surfaces.draw.canvas import axes, bar, check, check_names, colours, on_white, styled
from jaxids.surfaces.shapes import Between, Simplex

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]])  # of the simplex


@styled
def pairs(values: Any, ax: Any = None) -> Any:
    """The least Ψ over the weights of every pair, from `surfaces.pairs` [K, K, W]; the diagonal has single actions."""
    takes = "numbers [K, K, W], as of surfaces.pairs"
    try:
        values = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ValueError(f"values: got {checks.shown(values)}; it takes {takes}") from None
    if values.ndim != 3 or values.shape[0] != values.shape[1] or values.size == 0:
        raise ValueError(f"values: got shape {list(values.shape)}; it takes {takes}")
    least, ax = values.min(axis=2), axes(ax, (4.4, 3.6))
    drawn = ax.imshow(least, origin="lower", interpolation="nearest", **colours(least))
    first, second = np.unravel_index(np.argmin(least), least.shape)
    for x, y in {(first, second), (second, first)}:
        ax.plot(x, y, "s", ms=7, mfc="none", mec=VERMILION, mew=1.4)
    best = f"{first} alone" if first == second else f"{first} with {second}"
    ax.set_title(f"least Ψ = {least.min():.3g}: action {best}", loc="left")
    ax.set(xlabel="action", ylabel="action")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    ax.grid(False)
    bar(ax, drawn, least, "least Ψ of the pair (log)")
    return ax


@styled
def simplex(found: Simplex, ax: Any = None, *, names: Sequence[str] | None = None) -> Any:
    """Ψ over the distributions on three actions, from `surfaces.simplex`: a corner for each, the least marked."""
    from matplotlib.tri import Triangulation

    check(found, Simplex, "simplex")
    names = [f"action {action}" for action in found.actions] if names is None else names
    check_names(names, 3)
    points, value = np.asarray(found.points, float), np.asarray(found.value, float)
    look, ax = colours(value), axes(ax, (4.4, 3.7))
    norm = look["norm"]
    shown = np.nan_to_num(value, posinf=norm.vmax).clip(norm.vmin, norm.vmax)
    mesh = Triangulation(*(points @ CORNERS).T)
    drawn = ax.tripcolor(mesh, shown, shading="gouraud", rasterized=True, **look)
    ax.tricontour(mesh, np.log(shown), 9, colors="white", linewidths=0.5, alpha=0.7)
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color=BLACK, lw=0.8)
    best = int(np.argmin(value))
    ax.plot(*(points[best] @ CORNERS), "o", color=VERMILION, ms=7, mec="white", mew=1.0, clip_on=False, zorder=5)
    for name, corner, away in zip(names, CORNERS, ((-1, -1), (1, -1), (0, 1)), strict=True):
        letters = {"ha": "center", "va": "top" if away[1] < 0 else "bottom", "parse_math": False}
        ax.annotate(name, corner, (6 * away[0], 6 * away[1]), textcoords="offset points", **letters)
    shares = ", ".join(f"{share:.0%}" for share in points[best])
    ax.set_title(f"least Ψ = {value[best]:.3g} at {shares}", loc="left", pad=16)
    ax.set(aspect="equal", xlim=(-0.04, 1.04), ylim=(-0.04, 0.91))
    ax.set_axis_off()
    bar(ax, drawn, value, "Ψ (log)")
    return ax


@styled
def between(found: Between, points: Any, others: Any = None, ax: Any = None) -> Any:
    """The least Ψ of pairs of points, from `surfaces.between`: along x where they are on a line, else by number."""
    check(found, Between, "between")
    value, weight = np.asarray(found.value, float), np.asarray(found.weight, float)
    sides = [_ticks("points", points, value.shape[0]), _ticks("others", others, value.shape[1])]
    sides = sides if others is not None else [sides[0], _ticks("points", points, value.shape[1])]
    ax = axes(ax, (4.6, 3.7))
    drawn = ax.pcolormesh(_borders(sides[1]), _borders(sides[0]), value, rasterized=True, **colours(value))
    mixes = (weight > 0) & (weight < 1)
    if min(mixes.shape) > 1 and mixes.any() and not mixes.all():  # contours need two rows and two columns
        ax.contour(sides[1], sides[0], mixes, [0.5], colors="white", linewidths=0.7)
    i, j = np.unravel_index(np.argmin(value), value.shape)
    ax.plot(sides[1][j], sides[0][i], "o", color=VERMILION, ms=6, mec="white", mew=1.0, clip_on=False, zorder=5)
    played = f"{weight[i, j]:.0%} at {sides[1][j]:.3g}" + (f", else {sides[0][i]:.3g}" if weight[i, j] < 1 else "")
    ax.set_title(f"least Ψ = {value[i, j]:.3g}: {played}\nwhite: where the mix needs both", loc="left")
    line = np.ndim(points) == 2 and np.shape(points)[1] == 1
    ax.set(xlabel="the other x" if line else "the other point", ylabel="x" if line else "point")
    ax.grid(False)
    bar(ax, drawn, value, "least Ψ of the pair (log)")
    return ax


def _ticks(name: str, points: Any, count: int) -> np.ndarray:
    """Where points stand on an axis: their coordinate, if they have one and are in order, else their number."""
    if points is None:
        return np.arange(count)
    given = checks.shape(name, points, (count, "p"))
    line = given.shape[1] == 1 and bool(np.all(np.diff(given[:, 0]) > 0))
    return given[:, 0] if line else np.arange(count)


def _borders(places: np.ndarray) -> np.ndarray:
    """Of cells around places: half-way between them, and as far beyond the ends; a single one is 1 wide."""
    half = np.diff(places) / 2 if len(places) > 1 else np.array([0.5])
    return np.concatenate([places[:1] - half[:1], places[:-1] + half[: len(places) - 1], places[-1:] + half[-1:]])


@styled
def phases(found: Phases, ax: Any = None, *, names: tuple[str, str] = ("first", "second")) -> Any:
    """Where IDS mixes, by the weight on the action of more gain, and where it plays one: from `surfaces.phases`."""
    check(found, Phases, "phases")
    check_names(names, 2)
    ax = axes(ax, (4.6, 3.5))
    x, y = np.asarray(found.first, float), np.asarray(found.second, float)
    weight = np.where(found.mixes, found.mix.weight, np.nan).T
    drawn = ax.pcolormesh(_borders(x), _borders(y), weight, vmin=0, vmax=1, cmap="cividis", rasterized=True)
    ax.set_facecolor("#f4f4f4")
    ids = np.asarray(found.actions, int)
    kinds = np.unique(ids.reshape(-1, 2), axis=0, return_inverse=True)
    labels = kinds[1].reshape(ids.shape[:2]).T
    for kind, (low, high) in enumerate(kinds[0]):
        here = labels == kind
        if min(here.shape) > 1 and not here.all():
            ax.contour(x, y, here, [0.5], colors=BLACK, linewidths=0.6)
        if here.mean() > 0.02:
            row, column = _inside(here)
            text = f"{low}" if low == high else f"{low} + {high}"
            on_white(ax.text(x[column], y[row], text, ha="center", va="center", size=8))
    ax.set_title(f"IDS mixes two actions in {found.mixes.mean():.0%} of the problems", loc="left")
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.grid(False)
    ax.figure.colorbar(drawn, ax=ax, label="weight on the action of more gain", shrink=0.9)
    return ax


def _inside(here: np.ndarray) -> tuple[int, int]:
    """A cell of a region as far as can be from its boundary, in steps along rows and columns; the middle of several."""
    padded = np.pad(here, 1)
    depth, layer = here.astype(int), padded
    while layer.any():
        layer = layer & np.roll(layer, 1, 0) & np.roll(layer, -1, 0) & np.roll(layer, 1, 1) & np.roll(layer, -1, 1)
        depth += layer[1:-1, 1:-1]
    inmost = np.argwhere(depth == depth.max())
    row, column = inmost[len(inmost) // 2]
    return int(row), int(column)
