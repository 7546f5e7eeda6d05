"""How far a store is: tiles done, missing and damaged of every cell, and the time left at the pace of those at work."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jaxids.experiment import cells, sound, store
from jaxids.experiment.curves import stem
from jaxids.experiment.keys import Table
from jaxids.experiment.load import experiments
from jaxids.experiment.progress import clock, rate
from jaxids.experiment.running import Pace, pace
from jaxids.experiment.stops import Stops, stop_of

BAR = 24  # characters of a bar
BYTES = 2**28  # that are read to the last one, unless all are to be


@dataclass(frozen=True)
class Cell:
    """One curve: how many tiles of what width it takes, how many are done, and what is damaged."""

    name: str
    width: int
    steps: int
    trials: int
    done: int
    damaged: tuple[str, ...]

    @property
    def tiles(self) -> int:
        """All that are asked for."""
        return -(-self.trials // self.width)

    @property
    def missing(self) -> int:
        """Those that are not there, or damaged."""
        return self.tiles - self.done


@dataclass(frozen=True)
class Status:
    """The cells of a store, what is wrong with its records, who is at work, and whether every byte was read."""

    folder: Path
    cells: tuple[Cell, ...]
    damaged: tuple[str, ...]
    pace: Pace
    read: bool

    @property
    def left(self) -> float | None:
        """Seconds, at the pace of those at work; none if nobody is."""
        work = sum(cell.missing * cell.width * cell.steps for cell in self.cells)
        return work / self.pace.rate if work and self.pace.rate else None if work else 0.0

    @property
    def table(self) -> Table:
        """All of it as plain values."""
        found: Table = {"folder": str(self.folder), "damaged": list(self.damaged), "runs": self.pace.runs}
        found |= {"steps_per_second": self.pace.rate, "seconds_left": self.left, "every_byte_read": self.read}
        each: list[dict[str, Any]] = [
            {"cell": cell.name, "tiles": cell.tiles, "done": cell.done, "missing": cell.missing}
            | {"trials": cell.trials, "damaged": list(cell.damaged)}
            for cell in self.cells
        ]
        return found | {"cells": each}


def look(folder: Path, all_bytes: bool = False) -> Status:
    """How far the experiments of a folder are. After so many `BYTES` only names of files are looked at, or never."""
    found, damaged, room = list[Cell](), list[str](), float("inf") if all_bytes else BYTES
    for path in (where := experiments(folder)):
        try:
            table, name = sound.record(path), path.resolve().name
        except store.DamagedError as damage:
            damaged.append(str(damage))
            continue
        for cell in table["cells"]:
            at, named = path / cell["folder"], f"{stem(name, cell['panel'])}/{cell['label']}"
            room -= _size(at) if room >= 0 else 0
            found.append(_cell(at, named, cell["setting"], table, read=room >= 0))
    at_work = pace(folder.resolve().parent if where == [folder] else folder)
    return Status(folder, tuple(found), tuple(damaged), at_work, read=room >= 0)


def _size(folder: Path) -> int:
    """Bytes of tiles; of a file that is packed away meanwhile, none."""
    size = 0
    for each in cells.held(folder):
        with contextlib.suppress(FileNotFoundError):
            size += each.path.stat().st_size
    return size


def _cell(folder: Path, name: str, setting: Table, table: Table, read: bool) -> Cell:
    """A cell, which takes the trials of its experiment, or fewer, if it has stopped by itself."""
    trials, width, fits = table["trials"], setting["width"], partial(sound.check_tiles, setting, None)
    if rule := stop_of(table):
        stops = Stops(rule, width, trials)
        stops.look(cells.look(folder, -(-trials // width), fits).where)
        trials = min(trials, stops.tiles * width) if stops.tiles else trials
    count = -(-trials // width)
    done, damaged = cells.sound(folder, count, fits) if read else (cells.finished(folder, count), [])
    return Cell(name, width, setting["steps"], trials, len(done), tuple(damaged))


def lines(status: Status, unfinished: bool = False) -> Iterator[str]:
    """The status as text, a line for every cell, or for those that are not finished."""
    shown = [cell for cell in status.cells if cell.missing or cell.damaged or not unfinished]
    width = max((len(cell.name) for cell in shown), default=0)
    for cell in shown:
        trials = min(cell.done * cell.width, cell.trials)
        wrong = f", {len(cell.damaged)} damaged" * bool(cell.damaged)
        said = f"{trials}/{cell.trials} trials, {cell.missing} of {cell.tiles} tiles missing{wrong}"
        yield f"{cell.name:{width}s} {_bar(cell)} {said if cell.missing else f'{trials} trials, done'}"
    yield from (message for cell in status.cells for message in cell.damaged)
    yield from status.damaged
    done, tiles = (sum(getattr(cell, what) for cell in status.cells) for what in ("done", "tiles"))
    cells_done = sum(not cell.missing for cell in status.cells)
    yield f"{status.folder}: {cells_done} of {len(status.cells)} cells done, {done} of {tiles} tiles; {_left(status)}"
    if not status.read:
        yield f"of some cells only names of files were read; `jaxids status {status.folder} --check` reads every byte"


def _bar(cell: Cell) -> str:
    """A bar that is filled as far as a cell is done."""
    return ("█" * (BAR * cell.done // max(cell.tiles, 1))).ljust(BAR, "░")


def _left(status: Status) -> str:
    if status.left == 0:
        return "what is damaged is left out" if status.damaged else "nothing is left to do"
    if not status.pace.runs:
        return "no run is at work"
    runs = f"{status.pace.runs} run{'s' * (status.pace.runs > 1)} at work, {rate(status.pace.rate)} steps/s"
    return f"{runs}, {clock(status.left)} left"
