"""What a store holds: regret curves with their errors, and every trial's regret, as arrays, frames and CSV."""

import csv
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from jaxids.experiment import store
from jaxids.experiment.keys import Table, nearest
from jaxids.experiment.read import in_words

RECORD = "experiment.json"


@dataclass(frozen=True)
class Curve:
    """One policy on one problem: regret [trials, R] of the trials that are there, at `steps` [R]."""

    experiment: str
    label: str
    policy: str
    panel: Table  # the point of the experiment's grid
    numbers: Table  # the point of the curve's own grid
    setting: Table
    steps: np.ndarray
    trials: np.ndarray  # which trials: 0, 1, …, with gaps if a run was stopped
    regret: np.ndarray
    pulls: np.ndarray | None  # [trials, K]
    asked: int  # how many trials the experiment asks for

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean regret at the recorded steps."""
        return self.regret.mean(axis=0, dtype=float)

    @cached_property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean; NaN below two trials."""
        if len(self.trials) < 2:
            return np.full(len(self.steps), np.nan)
        return self.regret.std(axis=0, dtype=float, ddof=1) / np.sqrt(len(self.trials))

    @property
    def final(self) -> np.ndarray:
        """Every trial's regret at the last step."""
        return self.regret[:, -1]

    @property
    def name(self) -> str:
        """The label with the experiment and the point of its grid before it."""
        return f"{_stem(self.experiment, self.panel)}/{self.label}"


@dataclass(frozen=True)
class Panel:
    """Curves to be looked at together: those of one experiment at one point of its grid."""

    folder: Path
    table: Table  # the experiment's experiment.json
    point: Table
    curves: list[Curve]

    @property
    def stem(self) -> str:
        """The experiment and the point, as in names of files."""
        return _stem(self.table["name"], self.point)

    @property
    def title(self) -> str:
        """The experiment's title, and the point."""
        numbers = ", ".join(f"{key} = {in_words(value)}" for key, value in self.point.items())
        return ": ".join(filter(None, [self.table["title"] or self.table["name"], numbers]))


@dataclass(frozen=True)
class Results:
    """The curves of one experiment or of several, in the order of their files."""

    folder: Path
    curves: list[Curve]
    described: dict[str, Table]  # experiment.json of each experiment

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __getitem__(self, name: str) -> Curve:
        """The curve of a label, as 'IDS-UCB', or of a full name, as 'fig1b/IDS-UCB'."""
        found = [curve for curve in self.curves if name in (curve.name, curve.label)]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{name}: {len(found)} curves have this label: {', '.join(c.name for c in found)}")
        raise KeyError(f"{name}: no such curve; {nearest(name, [curve.label for curve in self.curves])}")

    def select(self, **wanted: Any) -> "Results":
        """The curves with these values of `experiment`, `label`, `policy`, or of a key that a grid sweeps over."""
        chosen = [curve for curve in self.curves if wanted.items() <= _facts(curve).items()]
        return Results(self.folder, chosen, self.described)

    def panels(self) -> list[Panel]:
        """The panels of all experiments."""
        groups: dict[str, list[Curve]] = {}
        for curve in self.curves:
            groups.setdefault(_stem(curve.experiment, curve.panel), []).append(curve)
        return [self._panel(curves) for curves in groups.values()]

    def _panel(self, curves: list[Curve]) -> Panel:
        name = curves[0].experiment
        folder = self.folder if (self.folder / RECORD).exists() else self.folder / name
        return Panel(folder, self.described[name], curves[0].panel, curves)

    def rows(self, finals: bool = False) -> Iterator[Table]:
        """One row for every recorded step of every curve, or for the last step of every trial."""
        for curve in self.curves:
            if finals:
                columns = {"trial": curve.trials, "regret": curve.final}
            else:
                columns = {"step": curve.steps, "mean": curve.mean, "stderr": curve.stderr}
            for values in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield _facts(curve) | dict(zip(columns, values, strict=True))

    def write_csv(self, file: TextIO, finals: bool = False) -> None:
        """The rows as CSV."""
        columns = dict.fromkeys(itertools.chain.from_iterable(map(_facts, self.curves)))
        columns |= dict.fromkeys(("trial", "regret") if finals else ("step", "mean", "stderr"))
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows(finals))

    def frame(self, finals: bool = False) -> Any:
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows(finals))

    def dataset(self) -> Any:
        """An xarray dataset: mean and stderr by curve and step, final by curve and trial, NaN where there is none."""
        import xarray

        parts = []
        for curve in self.curves:
            values = {"mean": ("step", curve.mean), "stderr": ("step", curve.stderr), "final": ("trial", curve.final)}
            part = xarray.Dataset(values, {"step": curve.steps, "trial": curve.trials})
            parts.append(part.expand_dims(curve=[curve.name]))
        return xarray.concat(parts, "curve", join="outer")


def load(folder: Path | str) -> Results:
    """The results of one experiment, or of all experiments in a folder, as far as they were run."""
    folder = Path(folder)
    described = [folder] if (folder / RECORD).exists() else sorted(p.parent for p in _below(folder))
    if not described:
        raise ValueError(f"{folder}: no results here; it takes a folder that `jaxids run` wrote to")
    tables = {path: _described(path / RECORD) for path in described}
    curves = [_curve(path, table, cell) for path, table in tables.items() for cell in table["cells"]]
    curves = [curve for curve in curves if curve is not None]
    if not curves:
        raise ValueError(f"{folder}: no tile is finished here yet; `jaxids run` goes on")
    return Results(folder, curves, {table["name"]: table for table in tables.values()})


def _stem(name: str, point: Table) -> str:
    """An experiment and a point of its grid, as in names of files."""
    return "-".join([name, *(f"{key}={in_words(value).replace(' ', '')}" for key, value in point.items())])


def _below(folder: Path) -> list[Path]:
    return list(folder.glob(f"*/{RECORD}"))


def _described(path: Path) -> Table:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise store.DamagedError(f"{path}: damaged; `jaxids run` writes it again") from None


def _facts(curve: Curve) -> Table:
    """What tells a curve from the others."""
    numbers = {key: in_words(v) if isinstance(v, list) else v for key, v in (curve.panel | curve.numbers).items()}
    return {"experiment": curve.experiment, "label": curve.label, "policy": curve.policy} | numbers


def _curve(folder: Path, table: Table, cell: Table) -> Curve | None:
    """A cell as far as it was run, or None if it was not."""
    width, asked = cell["setting"]["width"], table["trials"]
    tiles = {index: store.read_tile(folder / cell["folder"], index) for index in range(-(-asked // width))}
    there = {index: tile for index, tile in tiles.items() if tile is not None}
    if not there:
        return None
    trials = np.concatenate([np.arange(index * width, (index + 1) * width) for index in there])
    kept = trials < asked
    steps = next(iter(there.values()))["steps"]
    arrays = {
        name: np.concatenate([tile[name] for tile in there.values()], axis=1).T[kept]
        for name in ("regret", "pulls")
        if all(name in tile for tile in there.values())
    }
    labels = table["name"], cell["label"], cell["setting"]["policy"], cell["panel"], cell["numbers"], cell["setting"]
    return Curve(*labels, steps, trials[kept], arrays["regret"], arrays.get("pulls"), asked)


def paired(one: Curve, other: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The trials that two curves share, and the final regret of each in them."""
    trials, mine, theirs = np.intersect1d(one.trials, other.trials, assume_unique=True, return_indices=True)
    return trials, one.final[mine].astype(float), other.final[theirs].astype(float)
