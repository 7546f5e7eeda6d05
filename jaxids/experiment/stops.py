"""Where a cell stops that is run until its standard error reaches a target: the rule, on the tiles of a store.

Whoever runs, loads or reports on a store asks here, and tiles are looked at in their order, so all have one answer.
"""

import numpy as np

from jaxids.experiment import cells
from jaxids.experiment.keys import Table
from jaxids.statistics import Stop, Watch


def stop_of(table: Table) -> Stop | None:
    """The rule of an experiment, if it has one."""
    return Stop(**table["until"]) if table.get("until") else None


class Stops:
    """The rule at work on one cell, whose tiles have a width and at most so many trials in all."""

    def __init__(self, stop: Stop, width: int, trials: int) -> None:
        self._watch, self._width, self._trials = Watch(stop), width, trials

    def look(self, where: cells.Where) -> None:
        """Look at tiles of a store."""
        for index, file in where.items():
            if self.add(index, file.summary("regret", index)[1]):
                return

    def add(self, index: int, finals: np.ndarray) -> bool:
        """Look at a tile, given the final regrets of its trials; tells whether the cell has stopped."""
        return self._watch.add(index, finals[: self._trials - index * self._width])

    @property
    def seen(self) -> int:
        """How many tiles have been looked at, from the first on."""
        return self._watch.tiles

    @property
    def tiles(self) -> int | None:
        """After how many tiles it stopped; None if it has not yet."""
        return self._watch.tiles if self._watch.done else None
