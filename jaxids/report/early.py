"""Curves of experiments that are finished, drawn while others still run."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType

from jaxids.experiment import store
from jaxids.experiment.curves import Panel
from jaxids.experiment.load import load
from jaxids.experiment.results import Results

__all__ = ["Early", "digest", "draw_curves"]

Drawn = dict[str, list[Path]]  # by the digest of a panel


def digest(panel: Panel) -> str:
    """A digest of all that the pictures of a panel are made from."""
    table = {name: value for name, value in panel.table.items() if name != "cells"}  # those of all panels
    curves = [[curve.label, curve.setting, curve.digest] for curve in panel.curves]
    about = [panel.name, panel.point, table, panel.missing, panel.others, curves]
    return hashlib.sha256(store.as_json(about)).hexdigest()


def draw_curves(panel: Panel) -> list[Path]:
    """Draw the curves of a panel, regret and what else was recorded."""
    from jaxids.plot import figures

    one = Results(panel.folder, [panel])
    return [path for name, scale in figures.views(panel) for path in figures.draw(one, scale, name)]


class Early:
    """Draws in one thread of its own; what goes wrong there goes wrong again when it is asked for.

    So does what looks different beside other experiments, whose policies of one's own take colours away.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._pool, self._begun = folder, ThreadPoolExecutor(1, "drawing"), list[Future[Drawn]]()

    def __enter__(self) -> "Early":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)  # the settings of matplotlib are the next one's then

    def finished(self, name: str) -> None:
        """Begin with an experiment of which nothing is missing."""
        self._begun.append(self._pool.submit(self._draw, name))

    def _draw(self, name: str) -> Drawn:
        return {digest(panel): draw_curves(panel) for panel in load(self._folder / name).panels if not panel.instances}

    def wait(self) -> None:
        """Wait until nothing is drawn any more: matplotlib's settings are those of the whole process."""
        wait(self._begun)

    def curves(self, panel: Panel) -> list[Path]:
        """The curves of a panel, as drawn before, if it has not changed since, else drawn now."""
        now = digest(panel)
        for begun in self._begun:
            if not begun.exception() and now in begun.result():
                return begun.result()[now]
        return draw_curves(panel)
