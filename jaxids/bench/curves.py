"""The picture of `scaling`: processor time of a step and time to compile, over d and over K."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

AXES = {"dim": "dimension d", "actions": "actions K"}
VALUES = {"step": "processor time of a step, µs", "compile": "time to compile, s"}


def draw(rows: Sequence[Any], path: str, about: dict[str, Any]) -> None:
    """Write the picture; its format is that of the name."""
    figure(rows, about).savefig(path, dpi=150)


def figure(rows: Sequence[Any], about: dict[str, Any]) -> Figure:
    """Over d at the K that most rows have, and over K at the d that most have."""
    drawn = Figure(figsize=(8, 6), layout="constrained")
    axes: Any = drawn.subplots(2, 2, sharey="row", sharex="col")
    for column, along in enumerate(AXES):
        across = next(other for other in AXES if other != along)
        fixed = _most([getattr(row, across) for row in rows])
        chosen = [row for row in rows if getattr(row, across) == fixed]
        for row, value in enumerate(VALUES):
            _curves(axes[row, column], chosen, along, value)
        axes[0, column].set_title(f"{'K' if along == 'dim' else 'd'} = {fixed}")
        _guide(axes[0, column], chosen, along)
        axes[1, column].set_xlabel(AXES[along])
    for row, words in enumerate(VALUES.values()):
        axes[row, 0].set_ylabel(words)
        _plain(axes[row, 0].yaxis, LogLocator(subs=(1, 3) if row == 0 else (1, 2, 5)))
    for column, along in enumerate(AXES):
        _plain(axes[1, column].xaxis, FixedLocator(sorted({getattr(row, along) for row in rows})))
    low, high = axes[1, 0].get_ylim()
    axes[1, 0].set_ylim(min(low, 1), max(high, 10))  # a decade at least
    axes[0, 0].legend(frameon=False)
    drawn.suptitle(", ".join(f"{name} {value}" for name, value in about.items()), fontsize="small", color="0.4")
    return drawn


def _plain(axis: Any, locator: Any) -> None:
    """Ticks as plain numbers."""
    axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e6 else f"{value:g}"))
    axis.set_tick_params(labelsize="small")


def _most(values: Sequence[int]) -> int:
    """The value that is there most often: what the other axis is looked at for."""
    return max(sorted(set(values)), key=values.count)


def _curves(axes: Any, rows: Sequence[Any], along: str, value: str) -> None:
    for name in dict.fromkeys(row.policy for row in rows):
        own = sorted((getattr(row, along), getattr(row, value)) for row in rows if row.policy == name)
        axes.loglog(*zip(*own, strict=True), "o-", ms=4, label=name)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)


def _guide(axes: Any, rows: Sequence[Any], along: str) -> None:
    """A line of slope one through the last of the highest curve: as K·d grows."""
    top = max(rows, key=lambda row: (getattr(row, along), row.step))
    ends = [min(getattr(row, along) for row in rows), getattr(top, along)]
    axes.loglog(ends, [top.step * end / ends[1] for end in ends], "--", color="0.5", lw=1, label="∝ K·d")
