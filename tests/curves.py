"""Curves made up for tests, without a run."""

import json

import numpy as np

from jaxids.experiment import store
from jaxids.experiment.results import Curve

STEPS = np.array([1, 10, 50, 100, 300, 500, 800, 1000], np.int32)


def curve(label, final, policy="UCB", trials=None, steps=STEPS, exponent=0.5, pulls=None):
    """A curve whose trials grow as a power of time to the given final regrets."""
    final = np.asarray(final, np.float32)
    regret = final[:, None] * (steps / steps[-1]).astype(np.float32) ** exponent
    trials = np.arange(len(final)) if trials is None else np.asarray(trials)
    return Curve("made", label, policy, {}, {}, {"policy": policy}, steps, trials, regret, pulls, len(final))


def stored(folder, tables, trials=600, width=256, name="made", missing=(), **described):
    """A store of an experiment with curves of the given panels, numbers and final regrets, less some tiles."""
    cells = []
    for label, panel, numbers, final in tables:
        setting = {
            "policy": label.split(",")[0],
            "width": width,
            "steps": int(STEPS[-1]),
            "panel": panel,
            "label": label,
        }
        cell = {"label": label, "panel": panel, "numbers": numbers, "setting": setting}
        cells.append(cell | {"folder": f"tiles/{store.cell_folder(setting['policy'], setting)}"})
        padded = np.resize(final, -(-trials // width) * width)
        for index in range(-(-trials // width)):
            if (label, index) not in missing:
                part = curve(label, padded[index * width : (index + 1) * width])
                arrays = {"steps": STEPS, "regret": part.regret.T}
                store.write_tile(folder / name / cells[-1]["folder"], index, arrays)
    table = {"name": name, "title": "", "notes": "", "trials": trials, "claims": [], "compare": [], "source": "x = 1"}
    store.write(folder / name / "experiment.json", json.dumps(table | {"cells": cells} | described).encode())
    return folder
