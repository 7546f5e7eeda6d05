"""Records and tiles that hold what they should: a right checksum says only that nobody changed them since.

Anything else is damage, which names the file, and which a run mends.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxids.experiment import bundles, claims, keys, policy_names, schema, store
from jaxids.experiment.keys import Key, Table
from jaxids.experiment.read import RECORD

FOLDER = re.compile(r"tiles/[\w+-][\w.+-]{0,99}")
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
    try:
        table = _checked(store.from_json(content), _TOP)
        table["claims"] = [claims.checked(claim) for claim in table["claims"]]
        table["until"] = table["until"] and keys.checked(table["until"], schema.UNTIL, "until.")
        table["watch"] = table["watch"] and keys.checked(table["watch"], schema.WATCH, "watch.")
        again = bool(table["watch"] or table["compare"] or table["bounds"])
        return table | {"cells": [_cell(cell, again) for cell in table["cells"]]}
    except ValueError as error:
        raise store.damaged(path, str(error)) from None


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


def summary(setting: Table, steps: np.ndarray | None, bundle: bundles.Bundle) -> bundles.Summary:
    """The summary of a file of tiles of a cell, at the recorded steps if they are known, or DamagedError."""
    asked = {"steps", "regret", *setting["record"]} | ({"pulls"} if setting["pulls"] else set())
    if bundle.kinds.keys() != asked:
        raise store.damaged(bundle.path, "its arrays are not of this cell")
    for name in sorted(asked, key=lambda name: name != "steps"):
        if not _shaped(name, bundle, setting):
            raise store.damaged(bundle.path, f"its {name} are not of this cell")
    found = bundle.summary()
    if steps is not None and not np.array_equal(found.steps, steps):
        raise store.damaged(bundle.path, "its steps are not of this cell")
    for name, (mean, _, _) in found.series.items():
        if not np.all(np.isfinite(mean) if name == "regret" else ~np.isnan(mean)):  # a ratio may be infinite
            raise store.damaged(bundle.path, f"its {name} are not of this cell")
    return found


def _shaped(name: str, bundle: bundles.Bundle, setting: Table) -> bool:
    """Whether an array is what its name says: steps that increase up to the last, or numbers for every trial."""
    (kind, shape), steps, width = bundle.kinds[name], np.asarray(bundle.steps), setting["width"]
    if name == "steps":
        whole = kind[1] in "iu" and shape == [steps.size] and steps.ndim == 1 and steps.dtype.kind in "iu"
        return whole and bool(np.all(np.diff(steps, prepend=0) > 0)) and steps[-1] == setting["steps"]
    if name == "pulls":
        return kind[1] in "iuf" and len(shape) == 2 and shape[1] == width and shape[0] > 0
    return name in bundle.finals and kind[1] in "iuf" and shape == [steps.size, width]
