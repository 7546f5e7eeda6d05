"""Labels beside the ends of curves, where they hide nothing and need no legend."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

LONGEST = 200  # characters of a text in a figure: drawing takes a second for some thousands
LINE = 1.25  # height of a line of text, in font sizes
COLUMN = 0.06  # where labels begin, in widths of the axes beyond their right side


def short(text: str) -> str:
    """A text without what is too much of it."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def apart(places: np.ndarray, least: float, low: float, high: float) -> np.ndarray:
    """The places nearest to those given that keep their order, some distance and, if there is room, a range.

    Less its rank times the distance, a place has only to increase: isotonic regression, cut at the ends of the range.
    """
    order = np.argsort(places, kind="stable")
    targets = places[order] - least * np.arange(len(places))
    blocks: list[tuple[float, int]] = []
    for target in targets:  # pool adjacent violators
        total, count = float(target), 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            before, held = blocks.pop()
            total, count = total + before, count + held
        blocks.append((total, count))
    increasing = np.concatenate([np.full(count, total / count) for total, count in blocks])
    spread = np.empty(len(places))
    spread[order] = increasing.clip(low, max(low, high - least * (len(places) - 1))) + least * np.arange(len(places))
    return spread


def label_ends(axes: Any, ends: Sequence[float], texts: Sequence[str], colors: Sequence[str]) -> None:
    """Write each text to the right of the axes, at its curve's end or as near as the others let it be."""
    size = axes.xaxis.label.get_size()
    height = axes.get_window_extent().height / axes.figure.dpi * 72
    to_axes = axes.transData + axes.transAxes.inverted()
    ends_in_axes = to_axes.transform([(axes.get_xlim()[1], end) for end in ends])[:, 1]
    places = apart(ends_in_axes, LINE * size / height, low=0.0, high=1.0)
    for end, place, text, color in zip(ends_in_axes, places, texts, colors, strict=True):
        leader = {"color": color, "lw": 0.6, "clip_on": False, "transform": axes.transAxes}
        axes.plot([1, 1 + 0.6 * COLUMN, 1 + 0.85 * COLUMN], [end, place, place], **leader)
        letters = {"color": _darker(color), "size": size, "va": "center", "parse_math": False}
        axes.text(1 + COLUMN, place, short(text), transform=axes.transAxes, **letters)


def _darker(color: str) -> tuple[float, ...]:
    """A colour with a quarter of black, so that small letters stand out from the page."""
    return tuple(0.75 * part for part in to_rgb(color))
