"""Results from a folder that `jaxids run` wrote to, as far as they are there."""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from jaxids import moments
from jaxids.experiment import cells, sound, store
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.experiment.read import RECORD
from jaxids.experiment.results import Results
from jaxids.experiment.stops import Stops, stop_of
from jaxids.experiment.tile_file import Arrays, TileFile
from jaxids.names import THIRTEEN
from jaxids.statistics import Stop
from jaxids.words import in_short, shown

__all__ = ["load"]


def load(folder: Path | str, damaged: list[str] | None = None) -> Results:
    """The results of one experiment, or of all experiments in a folder, as far as they were run.

    A damaged file is an error, or, given a list to say so in, a reason to leave its experiment out.
    """
    if not isinstance(folder, str | os.PathLike):
        raise ValueError(f"folder: got {shown(folder)}; it takes the path of one that `jaxids run` wrote to")
    folder, panels = Path(folder), []
    for path in experiments(folder):
        try:
            panels += _panels(path)
        except store.DamagedError as damage:
            if damaged is None:
                raise
            damaged.append(str(damage))
    used = dict.fromkeys(cell["setting"]["policy"] for panel in panels for cell in panel.table["cells"])
    others = tuple(policy for policy in used if policy not in THIRTEEN)
    results = Results(folder, [replace(panel, others=others) for panel in panels if panel.curves])
    if not len(results) and damaged:
        raise ValueError(damaged[0])
    if not len(results):
        raise ValueError(f"{folder}: no tile is finished here yet; `jaxids run` goes on")
    return results


def experiments(folder: Path) -> list[Path]:
    """The folders of experiments: the one given, or those in it; a ValueError if there is none."""
    try:
        found = [folder] if (folder / RECORD).exists() else sorted(path.parent for path in folder.glob(f"*/{RECORD}"))
    except (OSError, ValueError):  # a name that no folder can have, or one that is not to be read
        found = []
    if not found:
        raise ValueError(f"{in_short(str(folder))}: no results here; it takes a folder that `jaxids run` wrote to")
    return found


def _panels(folder: Path) -> list[Panel]:
    table, panels, name = sound.record(folder), dict[str, Panel](), folder.resolve().name
    for cell in table["cells"]:
        panel = panels.setdefault(json.dumps(cell["panel"]), Panel(folder, name, table, cell["panel"], [], []))
        curve = _curve(panel, cell)
        if curve is None:
            panel.missing.append(cell["label"])
        else:
            panel.curves.append(curve)
    return list(panels.values())


def _curve(panel: Panel, cell: Table) -> Curve | None:
    """A cell as far as it was run, or None if it was not. Of its tiles only the summaries are read."""
    setting, asked, path = cell["setting"], panel.table["trials"], panel.folder / cell["folder"]
    fits, until = partial(sound.check_tiles, setting, None), stop_of(panel.table)
    where, stopped = _found(path, fits, setting["width"], asked, until)
    if not where:
        return None
    names, indices = ("regret", *setting["record"]), list(where)
    trials = _trials(indices, setting["width"], asked)
    series, digest = _summed(path, where, fits, names, trials)
    return Curve(
        experiment=panel.name,
        label=cell["label"],
        panel=cell["panel"],
        numbers=cell["numbers"],
        setting=setting,
        steps=where[indices[0]].steps,
        series=series,
        trials=trials,
        asked=asked,
        digest=digest,
        read=partial(_read, path, indices, len(trials), ("pulls", *names), fits),
        until=until,
        stopped=stopped,
    )


def _found(path: Path, fits: cells.Fits, width: int, asked: int, until: Stop | None) -> tuple[cells.Where, bool]:
    """Where the tiles of a cell are, as many as count, and whether it stopped by itself; DamagedError if one is not."""
    found = cells.look(path, -(-asked // width), fits)
    if found.damaged:
        raise found.damaged[0]
    if until:
        stops = Stops(until, width, asked)
        stops.look(found.where)
        if stops.tiles is not None:
            return {index: found.where[index] for index in range(stops.tiles)}, True
    return found.where, False


def _summed(
    path: Path, where: cells.Where, fits: cells.Fits, names: tuple[str, ...], trials: np.ndarray
) -> tuple[dict[str, moments.Series], str]:
    """The series of tiles, summed in their order, and a digest of what they are made from."""
    digest, left = hashlib.sha256(), len(trials)
    parts: dict[str, list[tuple[moments.Moments, np.ndarray]]] = {name: [] for name in names}
    before = first = next(iter(where.values()))
    width = first.summary("regret", first.first)[0].trials
    for index, file in where.items():
        if file is not before and not np.array_equal(file.steps, first.steps):
            raise store.damaged(file.path, "its steps are not of this cell")
        before = file
        cut = _tile(path, file, index, fits) if left < width else None  # not all of its trials are asked for
        for name in names:
            if cut is None:
                parts[name].append(file.summary(name, index))
            else:
                parts[name].append((moments.of(cut[name][:, :left]), cut[name][-1, :left]))
        digest.update(f"{path.name} {index} {min(left, width)} {file.sha256[index - file.first].decode()}".encode())
        left -= width
    return {name: _series(*zip(*parts[name], strict=True)) for name in names}, digest.hexdigest()


def _series(parts: Sequence[moments.Moments], finals: Sequence[np.ndarray]) -> moments.Series:
    """A series over the trials of all parts."""
    found = functools.reduce(moments.joined, parts, moments.empty(len(parts[0].mean)))
    mean = np.where(np.isnan(found.mean), np.inf, found.mean)
    return moments.Series(mean, found.stderr, np.concatenate(finals))


def _tile(path: Path, file: TileFile, index: int, fits: cells.Fits) -> Arrays:
    """The arrays of a tile, from the file where it was found, or where it was packed meanwhile."""
    try:
        return file.arrays(index)
    except FileNotFoundError:
        return next(cells.tiles(path, [index], fits))


def _trials(indices: list[int], width: int, asked: int) -> np.ndarray:
    """The numbers of the trials in some tiles."""
    kind = np.int32 if asked < 2**31 else np.int64
    if len(indices) == indices[-1] + 1:  # nearly always all of them
        return np.arange(min(len(indices) * width, asked), dtype=kind)
    return np.concatenate([np.arange(i * width, min((i + 1) * width, asked), dtype=kind) for i in indices])


def _read(
    path: Path, indices: list[int], count: int, known: tuple[str, ...], fits: cells.Fits, name: str
) -> np.ndarray | None:
    if name not in known:
        raise ValueError(f"name: got {shown(name)}; it takes one of {', '.join(known)}")
    found, at = np.zeros(0), 0
    for tile in cells.tiles(path, indices, fits):
        if name not in tile:
            return None
        values = tile[name].T[: count - at]
        found = found if at else np.empty((count, *values.shape[1:]), values.dtype)
        found[at : at + len(values)] = values
        at += len(values)
    return found
