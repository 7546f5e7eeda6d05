"""Results from a folder that `jaxids run` wrote to, as far as they are there."""

import hashlib
import json
import os
from functools import partial
from pathlib import Path

import numpy as np

from jaxids import moments
from jaxids.experiment import sound, store
from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table
from jaxids.experiment.read import RECORD
from jaxids.experiment.results import Results
from jaxids.words import shown


def load(folder: Path | str, damaged: list[str] | None = None) -> Results:
    """The results of one experiment, or of all experiments in a folder, as far as they were run.

    A damaged file is an error, or, given a list to say so in, a reason to leave its experiment out.
    """
    if not isinstance(folder, str | os.PathLike):
        raise ValueError(f"folder: got {shown(folder)}; it takes the path of one that `jaxids run` wrote to")
    folder, panels = Path(folder), []
    found = [folder] if (folder / RECORD).exists() else sorted(path.parent for path in folder.glob(f"*/{RECORD}"))
    if not found:
        raise ValueError(f"{folder}: no results here; it takes a folder that `jaxids run` wrote to")
    for path in found:
        try:
            panels += _panels(path)
        except store.DamagedError as damage:
            if damaged is None:
                raise
            damaged.append(str(damage))
    results = Results(folder, [panel for panel in panels if panel.curves])
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
    width, asked, path = cell["setting"]["width"], panel.table["trials"], panel.folder / cell["folder"]
    indices, final, digest = [], [], hashlib.sha256()
    steps, seen = np.zeros(0, np.int32), dict[str, moments.Moments]()
    for index in range(-(-asked // width)):
        if (tile := sound.tile(path, index, width, steps if seen else None)) is None:
            continue
        steps, count = tile["steps"], min(width, asked - index * width)
        for name in {"regret", "simple"} & tile.keys():
            seen[name] = moments.merge(seen.get(name, moments.empty(len(steps))), tile[name][:, :count])
        indices.append(index)
        final.append(tile["regret"][-1, :count])
        digest.update(f"{path.name} {index} {count}".encode() + store.checksum_of(path, index))
    if not seen:
        return None
    trials = np.concatenate([np.arange(i * width, min((i + 1) * width, asked)) for i in indices])
    return Curve(
        experiment=panel.name,
        label=cell["label"],
        panel=cell["panel"],
        numbers=cell["numbers"],
        setting=cell["setting"],
        steps=steps,
        mean=seen["regret"].mean,
        stderr=seen["regret"].stderr,
        simple=seen["simple"].mean if "simple" in seen else None,
        simple_stderr=seen["simple"].stderr if "simple" in seen else None,
        trials=trials,
        final=np.concatenate(final),
        asked=asked,
        digest=digest.hexdigest(),
        read=partial(_read, path, indices, len(trials)),
    )


def _read(path: Path, indices: list[int], count: int, name: str) -> np.ndarray | None:
    parts = []
    for index in indices:
        tile = store.read_tile(path, index)
        if tile is None or name not in tile:
            return None
        parts.append(tile[name].T)
    return np.concatenate(parts)[:count]
