"""Records and tiles that hold what they should: a right checksum says only that nobody changed them since.

Anything else is damage, which names the file, and which a run mends.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxids.experiment import claims, keys, policy_names, schema, store
from jaxids.experiment.keys import Key, Table
from jaxids.experiment.read import RECORD
from jaxids.experiment.tile_file import TileFile

FOLDER = re.compile(r"tiles/[\w+-][\w.+-]{0,99}")
_OLD = re.compile(rb'^ "jaxids": "(0\.[0-5]\.[^"]*)"', re.MULTILINE)  # as `store.as_json` writes a key of the whole
_TABLE, _TEXT = replace(schema.TABLE, default=keys.REQUIRED), replace(schema.TEXT, default=keys.REQUIRED)
_COUNT = keys.count(keys.REQUIRED)
_TOP = {name: schema.TOP[name] for name in ("title", "notes", "compare", "claims", "watch", "bounds", "until")} | {
    "trials": _COUNT,
    "source": _TEXT,
    "changes": _TABLE,
    "cells": replace(schema.TABLES, default=keys.REQUIRED),
}
_CELL = {
    "label": _TEXT,
    "panel": _TABLE,
    "numbers": _TABLE,
    "setting": _TABLE,
    "folder": Key("tiles/ and a name", lambda v: isinstance(v, str) and bool(FOLDER.fullmatch(v))),
}
_SETTING = {
    "width": _COUNT,
    "steps": _COUNT,
    "policy": replace(_TEXT, takes=policy_names.TAKES, kept=policy_names.written),
    **{name: schema.TOP[name] for name in ("pulls", "record")},
}
_AGAIN = {"problem": _TABLE, "estimator": _TABLE, "seed": replace(keys.SEED, default=keys.REQUIRED)}


def record(folder: Path) -> Table:
    """The record of an experiment, or DamagedError."""
    content = store.unseal(path := folder / RECORD)
    if content is None:
        raise store.damaged(path, "its checksum is gone")
    check_version(path, content)
    try:
        table = _checked(store.from_json(content), _TOP)
        table["claims"] = [claims.checked(claim) for claim in table["claims"]]
        table["until"] = table["until"] and keys.checked(table["until"], schema.UNTIL, "until.")
        table["watch"] = table["watch"] and keys.checked(table["watch"], schema.WATCH, "watch.")
        again = bool(table["watch"] or table["compare"] or table["bounds"])
        return table | {"cells": [_cell(cell, again) for cell in table["cells"]]}
    except ValueError as error:
        raise store.damaged(path, str(error)) from None


def check_version(path: Path, content: bytes) -> None:
    """Raise DamagedError if a record was written by a version before 0.6, whose tile files are not read."""
    if old := _OLD.search(content):
        version = old[1].decode()
        raise store.DamagedError(
            f"{path}: a store of jaxids {version}, which is not continued; run it with another --out"
        )


def _cell(cell: Table, again: bool) -> Table:
    """A cell of a record, with all that it takes to draw or simulate its problem again, if that may be asked for."""
    cell = _checked(cell, _CELL, "cells.")
    setting = _checked(cell["setting"], _SETTING | (_AGAIN if again else {}), "cells.setting.")
    if again:
        schema.problem({"kind": None} | setting["problem"], "cells.setting.problem.")
        keys.checked(setting["estimator"], schema.ESTIMATOR, "cells.setting.estimator.")
    return cell | {"setting": setting}


def _checked(table: Table, known: Mapping[str, Key], section: str = "") -> Table:
    """The table with those keys checked that are known."""
    return table | keys.checked({name: value for name, value in table.items() if name in known}, known, section)


def check_tiles(setting: Table, steps: np.ndarray | None, file: TileFile) -> None:
    """Raise DamagedError unless a tile file holds what a cell with this setting asks for.

    Args:
        setting: of the cell.
        steps: the recorded steps, if they are known.
        file: the tile file.
    """
    asked = {"steps", "regret", *setting["record"]} | ({"pulls"} if setting["pulls"] else set())
    if set(file.dtype.names or ()) != asked:
        raise store.damaged(file.path, "its arrays are not of this cell")
    for name in sorted(asked, key=lambda name: name != "steps"):
        if not _shaped(name, file, setting):
            raise store.damaged(file.path, f"its {name} are not of this cell")
    if steps is not None and not np.array_equal(file.steps, steps):
        raise store.damaged(file.path, "its steps are not of this cell")
    for name, (mean, _, _) in file.series.items():
        if not np.all(np.isfinite(mean) if name == "regret" else ~np.isnan(mean)):  # a ratio may be infinite
            raise store.damaged(file.path, f"its {name} are not of this cell")


def _shaped(name: str, file: TileFile, setting: Table) -> bool:
    """Whether an array is what its name says: steps that increase up to the last, or numbers for every trial."""
    kind, shape = file.dtype[name].base.kind, file.dtype[name].shape
    steps, width = file.steps, setting["width"]
    if name == "steps":
        whole = kind in "iu" and shape == steps.shape and steps.ndim == 1 and steps.dtype.kind in "iu"
        return whole and bool(np.all(np.diff(steps, prepend=0) > 0)) and steps[-1] == setting["steps"]
    if name == "pulls":
        return kind in "iuf" and len(shape) == 2 and shape[1] == width and shape[0] > 0
    return name in file.series and kind in "iuf" and shape == (steps.size, width)
