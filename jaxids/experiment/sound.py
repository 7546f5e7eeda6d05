"""Records and tiles that hold what they should: a right checksum says only that nobody changed them since.

Anything else is damage, which names the file, and which a run mends.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxids.experiment import claims, keys, policy_names, problem_keys, schema, store
from jaxids.experiment.keys import Key, Table
from jaxids.experiment.read import RECORD

__all__ = ["FOLDER", "record", "tile"]

FOLDER = re.compile(r"tiles/[\w+-][\w.+-]{0,99}")
_TABLE = Key("a table", lambda v: isinstance(v, dict))
_TEXT = Key("text", lambda v: isinstance(v, str))
_COUNT = Key("a whole number from 1 to 10⁹", lambda v: keys.is_whole(v) and 0 < v <= 10**9)
_TOP = {name: schema.TOP[name] for name in ("title", "notes", "compare", "claims", "watch", "bounds")} | {
    "trials": _COUNT,
    "source": _TEXT,
    "changes": _TABLE,
    "cells": replace(schema.TOP["claims"], default=keys.REQUIRED),
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
    "policy": Key(policy_names.TAKES, lambda v: isinstance(v, str) and not policy_names.fault(v)),
    **{name: schema.TOP[name] for name in ("pulls", "record")},
}
_AGAIN = {"problem": _TABLE, "estimator": _TABLE, "seed": replace(schema.TOP["seed"], default=keys.REQUIRED)}


def record(folder: Path) -> Table:
    """The record of an experiment, or DamagedError."""
    content = store.unseal(path := folder / RECORD)
    if content is None:
        raise store.damaged(path, "its checksum is gone")
    try:
        table = json.loads(content)
        if not isinstance(table, dict):
            raise ValueError("it is not a table")
        table = _checked(table, _TOP)
        table["claims"] = [claims.checked(claim) for claim in table["claims"]]
        table["watch"] = table["watch"] and keys.checked(table["watch"], schema.WATCH, "watch.")
        again = bool(table["watch"] or table["compare"] or table["bounds"])
        return table | {"cells": [_cell(cell, again) for cell in table["cells"]]}
    except (ValueError, RecursionError) as error:
        raise store.damaged(path, str(error)) from None


def _cell(cell: Table, again: bool) -> Table:
    """A cell of a record, with all that it takes to draw or simulate its problem again, if that may be asked for."""
    cell = _checked(cell, _CELL, "cells.")
    setting = _checked(cell["setting"], _SETTING | (_AGAIN if again else {}), "cells.setting.")
    if again:
        problem_keys.problem({"kind": None} | setting["problem"], "cells.setting.problem.")
        keys.checked(setting["estimator"], schema.ESTIMATOR, "cells.setting.estimator.")
    return cell | {"setting": setting}


def _checked(table: Table, known: Mapping[str, Key], section: str = "") -> Table:
    """The table with those keys checked that are known."""
    return table | keys.checked({name: value for name, value in table.items() if name in known}, known, section)


def tile(folder: Path, index: int, setting: Table, steps: np.ndarray | None = None) -> dict[str, np.ndarray] | None:
    """A finished tile of a cell, at the recorded steps if they are known; None if there is none, or DamagedError."""
    arrays = store.read_tile(folder, index)
    if arrays is None:
        return None
    asked = {"steps", "regret", *setting["record"]} | ({"pulls"} if setting["pulls"] else set())
    if arrays.keys() != asked:
        raise store.damaged(store.tile_path(folder, index), "its arrays are not of this cell")
    at, steps = arrays["steps"], arrays["steps"] if steps is None else steps
    for name in sorted(asked, key=lambda name: name != "steps"):
        others = name == "steps" and not np.array_equal(at, steps)
        if others or not _fits(name, arrays[name], at, setting):
            raise store.damaged(store.tile_path(folder, index), f"its {name} are not of this cell")
    return arrays


def _fits(name: str, array: np.ndarray, at: np.ndarray, setting: Table) -> bool:
    """Whether an array is what its name says: steps that increase up to the last, or numbers for every trial."""
    width = setting["width"]
    if not array.size or array.dtype.kind not in "iuf":
        return False
    if name == "steps":
        increasing = array.ndim == 1 and array.dtype.kind in "iu" and bool(np.all(array[1:] > array[:-1]))
        return increasing and array[0] >= 1 and array[-1] == setting["steps"]
    if name == "pulls":
        return array.ndim == 2 and array.shape[1] == width
    sound = np.isfinite(array) if name == "regret" else ~np.isnan(array)  # a ratio may be infinite
    return array.shape == (at.size, width) and bool(np.all(sound))
