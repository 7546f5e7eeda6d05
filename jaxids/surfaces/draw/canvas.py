"""What pictures share: their style, axes, and colours by the logarithm of Ψ. Matplotlib is imported to draw."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from jaxids.plot.styles import DPI, RC
from jaxids.words import shown

DECADES = 3  # of Ψ above the least that colours tell apart
Function = TypeVar("Function", bound=Callable[..., Any])


def styled(function: Function) -> Function:
    """A function that draws in the style of all of jaxids' figures, and leaves that of others as it was."""

    @wraps(function)
    def drawn(*arguments: Any, **options: Any) -> Any:
        import matplotlib

        with matplotlib.rc_context(RC):
            return function(*arguments, **options)

    return cast(Function, drawn)


def check(found: Any, kind: type, function: str) -> None:
    """A ValueError unless a picture is asked of what its function gave."""
    if not isinstance(found, kind):
        raise ValueError(f"found: got {shown(found)}; it takes what surfaces.{function} gave")


def check_names(names: Any, count: int) -> None:
    """A ValueError unless there is a name for each."""
    several = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
    if not several or len(names) != count:
        raise ValueError(f"names: got {shown(names)}; it takes {count} strings")


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure."""
    return figure(size).subplots() if ax is None else ax


def figure(size: tuple[float, float]) -> Any:
    """A figure that pyplot does not know."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, dpi=DPI, layout="constrained")


def on_white(text: Any) -> None:
    """A text that can be read above lines and colours."""
    from matplotlib.patheffects import withStroke

    text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def colours(values: np.ndarray) -> dict[str, Any]:
    """Colours by the logarithm of Ψ, from the least on; what is 0 or +∞ is at an end."""
    from matplotlib.colors import LogNorm

    some = values[np.isfinite(values) & (values > 0)]
    low, high = (some.min(), some.max()) if some.size else (1.0, 10.0)
    high = min(max(high, low * 1.01), low * 10**DECADES)
    return {"norm": LogNorm(low, high, clip=True), "cmap": "viridis"}


def bar(ax: Any, drawn: Any, values: np.ndarray, label: str) -> None:
    """A bar of colours beside the axes, with plain numbers, and a tip if some values lie beyond."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    beyond = "max" if values.max() > drawn.norm.vmax else "neither"
    bar = ax.figure.colorbar(drawn, ax=ax, label=label, shrink=0.9, extend=beyond)
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
