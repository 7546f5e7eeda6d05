"""Curves made up for tests, without a run."""

import numpy as np

from jaxids import moments
from jaxids.experiment import cells as held
from jaxids.experiment import claims, store
from jaxids.experiment.curves import Curve, Panel

STEPS = np.array([1, 10, 50, 100, 300, 500, 800, 1000], np.int32)


def curve(
    label, final, policy="UCB", trials=None, steps=STEPS, exponent=0.5, pulls=None, regret=None, actions=3, more=None
):
    """A curve whose trials grow as a power of time to the given final regrets, or with the given regret [trials, R]."""
    final = np.asarray(final, np.float32)
    if regret is None:
        regret = final[:, None] * (steps / steps[-1]).astype(np.float32) ** exponent
    found = moments.merge(moments.empty(len(steps)), regret.T)
    setting = {"policy": policy, "problem": {"actions": actions}}
    trials = np.arange(len(final)) if trials is None else np.asarray(trials)
    read = {"regret": regret, "pulls": pulls}.get
    series = {"regret": moments.Series(found.mean, found.stderr, final), **(more or {})}
    return Curve("made", label, {}, {}, setting, steps, series, trials, len(final), str(final.sum()), read)


def panel(*curves, missing=(), **described):
    """A panel of made-up curves."""
    table = {
        "title": "",
        "notes": "",
        "trials": 1,
        "claims": [],
        "compare": [],
        "bounds": False,
        "source": "",
        "changes": {},
    }
    return Panel(None, "made", table | described, {}, list(curves), list(missing))


def claim(test, *curves, **numbers):
    """A claim on curves."""
    return claims.checked({"says": "so", "test": test, "curves": [c.label for c in curves], **numbers})


def stored(folder, tables, trials=600, width=256, name="made", missing=(), record=(), split=",", **described):
    """A store of an experiment with curves of the given panels, numbers and final regrets, less some tiles."""
    cells = []
    for label, point, numbers, final in tables:
        setting = {
            "policy": label.split(split)[0],
            "width": width,
            "steps": int(STEPS[-1]),
            "panel": point,
            "label": label,
            "record": list(record),
        }
        cell = {"label": label, "panel": point, "numbers": numbers, "setting": setting}
        cells.append(cell | {"folder": f"tiles/{store.cell_folder(setting['policy'], setting)}"})
        padded = np.resize(final, -(-trials // width) * width)
        for index in range(-(-trials // width)):
            if (label, index) not in missing:
                part = curve(label, padded[index * width : (index + 1) * width])
                arrays = {"steps": STEPS, "regret": part.regret.T}
                arrays |= {name: part.regret.T * 10.0 ** -(i + 1) for i, name in enumerate(record)}
                held.write(folder / name / cells[-1]["folder"], index, [arrays])
    table = {"title": "", "notes": "", "trials": trials, "claims": [], "compare": [], "source": "x = 1", "changes": {}}
    store.seal(folder / name / "experiment.json", store.as_json(table | {"cells": cells} | described))
    return folder
