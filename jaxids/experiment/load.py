"""Results from a folder that `jaxids run` wrote to, as far as they are there."""

import hashlib
import json
import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from jaxids import moments
from jaxids.experiment import sound, store
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.experiment.read import RECORD
from jaxids.experiment.results import Results
from jaxids.names import THIRTEEN
from jaxids.words import in_short, shown

__all__ = ["load"]


def load(folder: Path | str, damaged: list[str] | None = None) -> Results:
    """The results of one experiment, or of all experiments in a folder, as far as they were run.

    A damaged file is an error, or, given a list to say so in, a reason to leave its experiment out.
    """
    if not isinstance(folder, str | os.PathLike):
        raise ValueError(f"folder: got {shown(folder)}; it takes the path of one that `jaxids run` wrote to")
    folder, panels = Path(folder), []
    try:
        found = [folder] if (folder / RECORD).exists() else sorted(path.parent for path in folder.glob(f"*/{RECORD}"))
    except (OSError, ValueError):  # a name that no folder can have, or one that is not to be read
        found = []
    if not found:
        raise ValueError(f"{in_short(str(folder))}: no results here; it takes a folder that `jaxids run` wrote to")
    for path in found:
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


def _panels(folder: Path) -> list[Panel]:
    table, panels = sound.record(folder), dict[str, Panel]()
    for cell in table["cells"]:
        new = Panel(folder, folder.resolve().name, table, cell["panel"], [], [])
        panel = panels.setdefault(json.dumps(cell["panel"]), new)
        curve = _curve(panel, cell)
        if curve is None:
            panel.missing.append(cell["label"])
        else:
            panel.curves.append(curve)
    return list(panels.values())


def _curve(panel: Panel, cell: Table) -> Curve | None:
    """A cell as far as it was run, or None if it was not. One tile is in memory at a time."""
    setting, asked, path = cell["setting"], panel.table["trials"], panel.folder / cell["folder"]
    width, digest, steps, indices = setting["width"], hashlib.sha256(), None, list[int]()
    kept = {name: _Kept() for name in ("regret", *setting["record"])}
    for index in _tiles(path, -(-asked // width)):
        if (tile := sound.tile(path, index, setting, steps)) is None:
            continue
        steps, count = tile["steps"], min(width, asked - index * width)
        for name, series in kept.items():
            series.add(tile[name][:, :count])
        indices.append(index)
        digest.update(f"{path.name} {index} {count}".encode() + store.checksum_of(path, index))
    if steps is None:
        return None
    trials = np.concatenate([np.arange(i * width, min((i + 1) * width, asked)) for i in indices])
    return Curve(
        experiment=panel.name,
        label=cell["label"],
        panel=cell["panel"],
        numbers=cell["numbers"],
        setting=cell["setting"],
        steps=steps,
        series={name: series.done() for name, series in kept.items()},
        trials=trials,
        asked=asked,
        digest=digest.hexdigest(),
        read=partial(_read, path, indices, len(trials), ("pulls", *kept)),
    )


def _tiles(path: Path, count: int) -> list[int]:
    """The tiles there are among the first so many: of those asked for, nearly all may be missing."""
    names = [int(file.stem) for file in path.glob("*.npz") if re.fullmatch(r"[0-9]{5,10}", file.stem)]
    return sorted(i for i in set(names) if i < count)


class _Kept:
    """A series of tiles that come one by one."""

    def __init__(self) -> None:
        self._moments: moments.Moments | None = None
        self._final: list[np.ndarray] = []

    def add(self, values: np.ndarray) -> None:
        """More trials, on the last axis of [R, n]."""
        before = moments.empty(len(values)) if self._moments is None else self._moments
        with np.errstate(invalid="ignore"):  # a ratio may be infinite
            self._moments = moments.merge(before, values)
        self._final.append(values[-1])

    def done(self) -> moments.Series:
        """Of all trials."""
        assert self._moments is not None
        mean = np.where(np.isnan(self._moments.mean), np.inf, self._moments.mean)
        return moments.Series(mean, self._moments.stderr, np.concatenate(self._final))


def _read(path: Path, indices: list[int], count: int, known: tuple[str, ...], name: str) -> np.ndarray | None:
    if name not in known:
        raise ValueError(f"name: got {shown(name)}; it takes one of {', '.join(known)}")
    parts = []
    for index in indices:
        tile = store.read_tile(path, index)
        if tile is None or name not in tile:
            return None
        parts.append(tile[name].T)
    return np.concatenate(parts)[:count]
