"""The plane of gap and gain, at one step and along a run."""

from typing import Any

import numpy as np

from jaxids import checks
from jaxids.plot.styles import BLACK, BLUE, DOTTED, GREY, ORANGE, VERMILION
from jaxids.ratio import Mix
from jaxids.surfaces.draw import canvas
from jaxids.surfaces.draw.canvas import styled
from jaxids.surfaces.hulls import Plane
from jaxids.surfaces.hulls import plane as plane_of
from jaxids.surfaces.run import Along

COLUMNS = 3  # of small multiples


@styled
def plane(found: Plane, ax: Any = None, *, played: int | None = None) -> Any:
    """Actions by gain and gap, their hull, the optimum and the parabola that touches it, from `surfaces.plane`."""
    canvas.check(found, Plane, "plane")
    gap, gain, ax = np.asarray(found.gap, float), np.asarray(found.gain, float), canvas.axes(ax, (4.6, 3.4))
    (curve_gap, curve_gain), value = np.asarray(found.curve, float), float(found.mix.value)
    ax.fill_between(curve_gain, 0, curve_gap, color=ORANGE, alpha=0.14, lw=0, label="better than Ψ*")
    ax.plot(curve_gain, curve_gap, color=ORANGE, label="Δ² = Ψ* g")
    ax.plot(gain, gap, "o", color=GREY, ms=3, alpha=0.6, mew=0, label="actions")
    ax.plot(gain[found.hull], gap[found.hull], "o-", color=BLUE, ms=4, lw=1.1, label="hull")
    mixed_gap, mixed_gain = np.asarray(found.point, float)
    if mixed_gain > 0 and mixed_gap > 0:
        t = mixed_gap / mixed_gain
        ends = np.array([0.0, curve_gain.max()])
        ax.plot(ends, (value + t**2 * ends) / (2 * t), color=BLACK, lw=0.7, ls=DOTTED, label="the line between")
    for action, share in _played(found.mix):
        low = gap[action] < 0.12 * gap.max()  # where a label below would run into the axis
        look = {"size": 7, "color": VERMILION, "va": "bottom" if low else "top", "zorder": 6}
        ax.plot(gain[action], gap[action], "o", ms=8, mfc="none", mec=VERMILION, mew=1.2, zorder=5)
        place, away = (gain[action], gap[action]), (6, 3 if low else -4)
        canvas.on_white(ax.annotate(f"{action}: {share:.0%}", place, away, textcoords="offset points", **look))
    ax.plot(mixed_gain, mixed_gap, "D", color=VERMILION, ms=4.5, mec="white", mew=0.7, zorder=6, label="IDS")
    if played is not None:
        played = _one(played, len(gap))
        ax.plot(gain[played], gap[played], "x", color=BLACK, ms=5, mew=1.2, zorder=7, label="played")
    ax.set(xlabel="gain g", ylabel="gap Δ", xlim=(0, 1.2 * gain.max() or 1), ylim=(0, 1.06 * gap.max() or 1))
    ax.set_title(f"Ψ* = {value:.3g}", loc="left")
    if ax.get_legend() is None:
        ax.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def _one(played: Any, count: int) -> int:
    """An action by number, or a ValueError."""
    takes = f"a whole number from 0 to {count - 1}"
    given = checks.indices("played", played, count, takes)
    if given.ndim:
        raise ValueError(f"played: got shape {list(given.shape)}; it takes {takes}")
    return int(given)


def _played(mix: Mix) -> list[tuple[int, float]]:
    """The actions of a mix with their probabilities, without those that are not played."""
    weight = float(mix.weight)
    shares = ((int(mix.first), 1 - weight), (int(mix.second), weight))
    return [(action, share) for action, share in shares if share > 0]


@styled
def along(found: Along, axes: Any = None) -> np.ndarray:
    """The plane at every step of `surfaces.along`, one trial, in axes for each; returns them."""
    canvas.check(found, Along, "along")
    if found.gap.ndim != 2:
        raise ValueError(f"found: got gaps of shape {list(found.gap.shape)}; it takes one trial, [R, K]")
    count = len(found.steps)
    if axes is None:
        columns = min(COLUMNS, count)
        rows = -(-count // columns)
        axes = canvas.figure((2.5 * columns + 1.4, 2.3 * rows)).subplots(rows, columns, squeeze=False)
    axes = np.asarray(axes, object).ravel()
    if len(axes) < count:
        raise ValueError(f"axes: got {len(axes)}; it takes {count}, one for each step")
    for i, ax in enumerate(axes[:count]):
        whole = np.issubdtype(found.action.dtype, np.integer)
        plane(plane_of(found.gap[i], found.gain[i]), ax, played=int(found.action[i]) if whole else None)
        ax.set_title(f"step {found.steps[i]}: Ψ* = {found.mix.value[i]:.3g}", loc="left")
        if i != min(COLUMNS, count) - 1:  # one legend, beside the first row
            ax.get_legend().remove()
    for ax in axes[count:]:
        ax.set_axis_off()
    return axes[:count]
