"""Cells ready to run: where their tiles go, how many they take, and how they are computed, here or elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

import jaxids
from jaxids import policies, series, simulator, workers
from jaxids.experiment import build, cells, kind, policy_names, sound, store
from jaxids.experiment.curves import stem
from jaxids.experiment.keys import Table
from jaxids.experiment.read import Cell, Experiment
from jaxids.experiment.stops import stop_of
from jaxids.experiment.tile_file import Arrays
from jaxids.statistics import Stop


@dataclass(frozen=True)
class Job:
    """A cell ready to run: its policy and folder, and how many tiles of what width it takes."""

    name: str
    cell: Cell
    policy: policies.Policy
    folder: Path
    setting: Table
    trials: int
    width: int
    stop: Stop | None = None

    @property
    def tiles(self) -> int:
        """Tiles are always whole, so that more trials can be added later."""
        return -(-self.trials // self.width)

    @property
    def fits(self) -> cells.Fits:
        """What tells whether a file of tiles is of this cell."""
        return partial(sound.check_tiles, self.setting, _steps(self.setting))

    @property
    def work(self) -> int:
        """Steps of all trials of a tile."""
        return self.width * self.setting["steps"]


def jobs_of(experiment: Experiment, out: Path, like: Table | None = None) -> list[Job]:
    """The cells of an experiment as jobs of this process, or of one `like` another: a `kind.here()`.

    A value that no problem can have is a ValueError.
    """
    jobs, like = [], kind.here() if like is None else like
    for cell in experiment.cells:
        section = "problem."
        try:
            width = build.width_of(cell.setting["problem"], like["platform"])
            section = ""
            policy = build.policy_of(cell.setting)
        except ValueError as error:
            raise ValueError(f"{experiment.path}: {section}{error}") from None
        # what a tile's bits depend on: the cell, and what computes it
        setting: Table = cell.setting | like | {"width": width} | policy_names.source(cell.setting["policy"])
        folder = out / experiment.name / "tiles" / store.cell_folder(setting["policy"], setting)
        name = f"{stem(experiment.name, cell.panel)} {cell.label}"
        jobs.append(
            Job(name, cell, policy, folder, setting, experiment.table["trials"], width, stop_of(experiment.table))
        )
    return jobs


def _steps(setting: Table) -> np.ndarray:
    """The steps at which a cell's series are recorded."""
    return _recorded(setting["steps"], setting["points"])


_recorded = cache(simulator.recorded_steps)  # asked again for every file of a store; nobody writes to it


def described(experiment: Experiment, jobs: Sequence[Job]) -> Table:
    """What `experiment.json` says."""
    found = [
        {"label": job.cell.label, "panel": job.cell.panel, "numbers": job.cell.numbers, "setting": job.setting}
        | {"folder": f"tiles/{job.folder.name}"}
        for job in jobs
    ]
    named = ("title", "notes", "trials", "until", "claims", "compare", "watch", "bounds")
    kept = {name: experiment.table[name] for name in named} | {"changes": experiment.changes}
    return {"jaxids": jaxids.__version__, "source": experiment.source, "cells": found} | kept


def compiled(setting: Table, count: int) -> workers.Run:
    """The run of a cell of so many tiles, ready to start."""
    kept = {name: series.NAMED[name] for name in setting["record"]}
    given = {"key": build.key_of(setting["seed"]), "trials": count * setting["width"], "at": _steps(setting)}
    given |= {"series": kept, "total": series.pulls if setting["pulls"] else None}
    problem = build.problem_of(setting["problem"])  # kept by no job: many would not fit in memory
    return workers.prepared(problem, build.policy_of(setting), **given).compile()


def computed(
    name: str, setting: Table, run: Callable[[], workers.Run], indices: Iterable[int]
) -> Iterator[tuple[int, Arrays]]:
    """Tiles of a cell by its run, as they are stored; what is wrong with one is a ValueError with the cell's name."""
    try:
        ready = run()
        for tile in ready.tiles(indices):
            if not np.all(np.isfinite(tile.series["regret"])):
                raise ValueError("regret is not finite; the numbers of the problem are too large")
            if wrong := [name for name, values in tile.series.items() if np.any(np.isnan(values))]:
                raise ValueError(f"{wrong[0]} is NaN; the numbers of the problem are too large or too small")
            counted = {"pulls": tile.totals} if setting["pulls"] else {}
            yield tile.index, {"steps": ready.at, **tile.series, **counted}
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
