"""Regret and other series of one policy on one problem, and the curves that are looked at together."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from jaxids.experiment.keys import Table, in_words, nearest
from jaxids.moments import Series
from jaxids.names import BOUNDS
from jaxids.statistics import Difference, Estimate, Stop, difference, quantiles, tail
from jaxids.words import shown

__all__ = ["Curve", "Panel"]

LONGEST = 120  # bytes of a file's name; file systems take 255, and it gets a suffix
DIGITS = 12  # of a digest
CHANCES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}
UNSAFE = re.compile(r"[^A-Za-z0-9.,=+()\[\] -]")  # in a label or formula; the experiment is named by a file as it is


@dataclass(frozen=True, repr=False)
class Curve:
    """What one policy did on one problem: series by name, "regret" and what else the experiment records.

    `mean`, `stderr` and `final` are those of one of them: of the regret, or of another as `curve.of("ratio")`.
    """

    experiment: str
    label: str
    panel: Table  # the point of the experiment's grid
    numbers: Table  # the point of the curve's own grid
    setting: Table
    steps: np.ndarray
    series: dict[str, Series]  # mean and stderr at `steps` [R], final [trials]
    trials: np.ndarray  # which trials: 0, 1, …, with gaps if a run was stopped
    asked: int  # how many trials the experiment asks for
    digest: str  # of the tiles it comes from
    read: Callable[[str], np.ndarray | None]  # every trial's series [trials, R], or pulls, by name; None if not kept
    what: str = "regret"
    until: Stop | None = None  # the standard error at which the experiment stops it
    stopped: bool = False  # whether it was reached: then `trials` are all there will be, whatever was asked for

    mean = property(lambda self: self.series[self.what].mean)
    stderr = property(lambda self: self.series[self.what].stderr)
    final = property(lambda self: self.series[self.what].final)

    def __repr__(self) -> str:
        return f"Curve({self.name!r}: {len(self.trials)} trials of {self.steps[-1]} steps)"

    @property
    def policy(self) -> str:
        """The policy, as the file names it."""
        return self.setting["policy"]

    @property
    def name(self) -> str:
        """The label with the experiment and the point of its grid before it."""
        return f"{stem(self.experiment, self.panel)}/{self.label}"

    @property
    def regret(self) -> np.ndarray:
        """Every trial's regret [trials, R], read from disk each time."""
        regret = self.read("regret")
        assert regret is not None
        return regret

    @property
    def others(self) -> list[str]:
        """The names of the series besides regret."""
        return [name for name in self.series if name != "regret"]

    def of(self, series: str) -> "Curve":
        """The same with mean, standard error and finals of another series."""
        if series not in self.series:
            raise ValueError(f"series: got {shown(series)}; {self.name} has {', '.join(self.series)}")
        return replace(self, what=series)

    def quantile(self, chance: float) -> Estimate:
        """A quantile of the last values, as (value, stderr, low, high): see `jaxids.statistics.quantiles`."""
        return quantiles(self.final, [chance])[0]

    def tail(self, above: float) -> Estimate:
        """The probability of a last value above a border, as (value, stderr, low, high)."""
        return tail(self.final, above)

    def minus(self, other: "Curve") -> Difference:
        """How much more its last values are than another's on the trials of both, which must be one or more."""
        _, mine, theirs = shared(self, other)
        if not len(mine):
            takes = f"a curve with trials of {self.name}, which has none of its"
            raise ValueError(f"other: got {other.name}; it takes {takes}")
        return difference(mine, theirs)

    @property
    def pulls(self) -> np.ndarray | None:
        """How often every trial took every action [trials, K], if the experiment asks for it, read from disk."""
        return self.read("pulls")


@dataclass(frozen=True)
class Panel:
    """Curves to be looked at together: those of one experiment at one point of its grid."""

    folder: Path
    name: str  # of the experiment
    table: Table  # its experiment.json
    point: Table
    curves: list[Curve]
    missing: list[str]  # labels of curves without a finished tile
    others: tuple[str, ...] = ()  # policies of all that was loaded with it, but for the paper's

    @property
    def stem(self) -> str:
        """The experiment and the point, as in names of curves."""
        return stem(self.name, self.point)

    def file(self, ending: str, suffix: str = "") -> Path:
        """Where a picture of it is kept: at its stem and an ending, if they make a good name for a file."""
        return self.folder / (file_name(self.name, self.point, ending) + suffix)

    @property
    def instances(self) -> int:
        """On how many instances, met in turn, its curves were run; 0 if each trial has its own, or all have one."""
        found = {curve.setting.get("problem", {}).get("instances", 0) for curve in self.curves}
        return found.pop() if len(found) == 1 else 0

    @property
    def series(self) -> list[str]:
        """The names of the series that its curves have, regret first."""
        return list(dict.fromkeys(name for curve in self.curves for name in ("regret", *curve.others)))

    @property
    def shown(self) -> list[str]:
        """Those of them that stand for themselves, not for the bounds that the page shows instead."""
        return [name for name in self.series if not (self.table["bounds"] and name in BOUNDS)]

    def of(self, series: str) -> "Panel":
        """Those of its curves that have a series, as curves of it."""
        return replace(self, curves=[curve.of(series) for curve in self.curves if series in curve.series])

    def differences(self, reference: str | None = None) -> tuple[Curve, dict[str, Difference]]:
        """A curve, by its label or of least mean, and by label how much more others are that share trials with it."""
        named = {curve.label: curve for curve in self.curves}
        if reference is not None and reference not in named:
            raise ValueError(f"reference: got {shown(reference)}; {nearest(str(reference), list(named))}")
        least = named[reference] if reference is not None else min(self.curves, key=lambda curve: curve.mean[-1])
        others = [curve for curve in self.curves if curve is not least and len(shared(curve, least)[0])]
        return least, {curve.label: curve.minus(least) for curve in others}

    @property
    def title(self) -> str:
        """The experiment's title, or its name."""
        return self.table["title"] or self.name

    @property
    def numbers(self) -> str:
        """The point in words."""
        return ", ".join(f"{key} = {in_words(value)}" for key, value in self.point.items())


def summary(curve: Curve, above: Sequence[float] = ()) -> Table:
    """Number, mean, median, upper quantiles and tails above some borders of a curve's last values, with errors."""
    found = dict(zip(CHANCES, quantiles(curve.final, list(CHANCES.values())), strict=True))
    found |= {f"above_{repr(float(border)).removesuffix('.0')}": curve.tail(border) for border in above}
    row = {"trials": len(curve.trials), "mean": float(curve.mean[-1]), "stderr": float(curve.stderr[-1])}
    for name, each in found.items():
        row |= {name: each.value} | {f"{name}_{part}": getattr(each, part) for part in ("stderr", "low", "high")}
    return row


def stem(name: str, point: Table) -> str:
    """An experiment and a point of its grid, as in names of curves."""
    return "-".join([name, *(f"{key}={in_words(value).replace(' ', '')}" for key, value in point.items())])


def file_name(name: str, point: Table, ending: str) -> str:
    """The same as a file's name: short, of harmless signs, and with a digest where that or a formula leaves doubts."""
    full = stem(name, point) + ending
    harmless = name + UNSAFE.sub("_", full.removeprefix(name))
    plain = all(value.isalnum() for value in point.values() if isinstance(value, str))
    if plain and harmless == full and len(full.encode()) <= LONGEST:
        return full
    digest = hashlib.sha256(json.dumps([name, point, ending], sort_keys=True).encode()).hexdigest()[:DIGITS]
    return f"{harmless.encode()[: LONGEST - DIGITS - 1].decode(errors='ignore')}-{digest}"


def shared(one: Curve, other: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The trials that two curves share, and the last values of each in them, as they are kept."""
    count = min(len(one.trials), len(other.trials))
    if np.array_equal(one.trials[:count], other.trials[:count]):  # nearly always: then nothing is searched or copied
        return one.trials[:count], one.final[:count], other.final[:count]
    trials, mine, theirs = np.intersect1d(one.trials, other.trials, assume_unique=True, return_indices=True)
    return trials, one.final[mine], other.final[theirs]


def paired(one: Curve, other: Curve) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same in double precision."""
    trials, mine, theirs = shared(one, other)
    return trials, mine.astype(float), theirs.astype(float)
