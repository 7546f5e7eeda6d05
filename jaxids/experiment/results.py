"""Curves of one experiment or of several, by name, as frames and as CSV."""

import csv
import importlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from jaxids.experiment.curves import Curve, Panel, summary
from jaxids.experiment.keys import Table, in_words, nearest
from jaxids.moments import Series
from jaxids.statistics import Difference
from jaxids.words import in_short, shown

__all__ = ["Results"]


@dataclass(frozen=True, repr=False)
class Results:
    """The panels of one experiment or of several; iterating gives their curves."""

    folder: Path
    panels: list[Panel]

    @property
    def curves(self) -> list[Curve]:
        """All curves, in the order of their files."""
        return [curve for panel in self.panels for curve in panel.curves]

    def __iter__(self) -> Iterator[Curve]:
        return iter(self.curves)

    def __len__(self) -> int:
        return len(self.curves)

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}: {', '.join(curve.name for curve in self.curves)})"

    def __contains__(self, name: object) -> bool:
        """Whether a curve has this label or full name, or is this curve."""
        named = isinstance(name, str)
        return any(name is curve or (named and name in (curve.name, curve.label)) for curve in self.curves)

    def __getitem__(self, name: str) -> Curve:
        """The curve of a label, as 'IDS-UCB', or of a full name, as 'fig1b/IDS-UCB'."""
        if not isinstance(name, str):
            raise KeyError(f"{shown(name)}: no such curve; it takes a label or a full name")
        found = [curve for curve in self.curves if name in (curve.name, curve.label)]
        if len(found) == 1:
            return found[0]
        said = in_short(name)
        if found:
            raise KeyError(f"{said}: {len(found)} curves have this label: {', '.join(c.name for c in found)}")
        known = [name for curve in self.curves for name in (curve.label, curve.name)]
        raise KeyError(f"{said}: no such curve; {nearest(said, list(dict.fromkeys(known)))}")

    def select(self, **wanted: Any) -> "Results":
        """The curves with these values of `experiment`, `label`, `policy`, or of a key that a grid sweeps over."""
        known = _keys(map(_facts, self.curves))
        for key in wanted:
            if key not in known:
                said = in_short(key)
                raise ValueError(f"{said}: got {shown(wanted[key])}; {nearest(said, known)}")
        for key, value in wanted.items():
            there = dict.fromkeys(facts[key] for facts in map(_facts, self.curves) if key in facts)
            if isinstance(value, np.ndarray) or _alike(value) not in map(_alike, there):
                raise ValueError(f"{key}: got {shown(value)}; it takes one of {shown(list(there))}")
        wanted = {key: _alike(value) for key, value in wanted.items()}
        chosen = [
            replace(panel, curves=[curve for curve in panel.curves if wanted.items() <= _alikes(curve).items()])
            for panel in self.panels
        ]
        return Results(self.folder, [panel for panel in chosen if panel.curves])

    def rows(self, finals: bool = False) -> Iterator[Table]:
        """One row for every recorded step of every curve, or for the last step of every trial."""
        for curve in self.curves:
            columns = _columns(curve, finals)
            for values in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield _facts(curve) | dict(zip(columns, values, strict=True))

    def write_csv(self, file: TextIO, finals: bool = False) -> None:
        """The rows as CSV."""
        tables = [*map(_facts, self.curves), *(_columns(curve, finals) for curve in self.curves)]
        _write(file, tables, self.rows(finals))

    def statistics(self, above: Sequence[float] = ()) -> Iterator[Table]:
        """One row for every curve: mean, quantiles and tails above some borders of its final regret, with errors.

        Last, how much more it is than the panel's least mean: the difference, its standard error paired trial by trial
        and as if it were not, and the correlation over trials.
        """
        for panel in self.panels:
            panel = panel.of("regret")
            least, differences = panel.differences()
            for curve in panel.curves:
                row = _facts(curve) | summary(curve, above)
                if found := differences.get(curve.label):
                    row |= {"against": least.label, "difference": found.mean, "difference_stderr": found.stderr}
                    row |= {"difference_unpaired": found.unpaired, "correlation": found.correlation}
                yield row

    def write_statistics(self, file: TextIO, above: Sequence[float] = ()) -> None:
        """These rows as CSV."""
        rows = list(self.statistics(above))
        _write(file, [*map(_facts, self.curves), *rows], rows)

    def differences(self, reference: str | None = None) -> dict[str, Difference]:
        """By full name, how much more final regret a curve has than that of a label in its panel, or of least mean.

        >>> results.differences("IDS-UCB")["fig1b/W-UCB"].stderr
        """
        panels = [panel.of("regret") for panel in self.panels]
        labels = dict.fromkeys(curve.label for panel in panels for curve in panel.curves)
        if reference is not None and reference not in labels:
            raise ValueError(f"reference: got {shown(reference)}; {nearest(str(reference), list(labels))}")
        having = [panel for panel in panels if reference is None or reference in (c.label for c in panel.curves)]
        return {
            f"{panel.stem}/{label}": found
            for panel in having
            for label, found in panel.differences(reference)[1].items()
        }

    def frame(self, finals: bool = False) -> Any:
        """The rows as a pandas frame."""
        return _extra("pandas").DataFrame(self.rows(finals))

    def dataset(self) -> Any:
        """An xarray dataset: mean and stderr by curve and step, final by curve and trial, NaN where there is none.

        Those of another series have its name: `ratio`, `ratio_stderr`, `ratio_final`.
        """
        xarray, parts = _extra("xarray"), []
        for curve in self.curves:
            values: Table = {name: ("step", column) for name, column in _moments(curve).items()}
            for name, column in _finals(curve).items():
                values["final" if name == "regret" else f"{name}_final"] = ("trial", column)
            part = xarray.Dataset(values, {"step": curve.steps, "trial": curve.trials})
            parts.append(part.expand_dims(curve=[curve.name]))
        return xarray.concat(parts, "curve", join="outer")


def _write(file: TextIO, tables: Iterable[Table], rows: Iterable[Table]) -> None:
    """Write rows as CSV, with the keys of some tables as columns."""
    writer = csv.DictWriter(file, _keys(tables), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _keys(tables: Iterable[Table]) -> list[str]:
    """The keys of some tables, each once, in their order."""
    return list(dict.fromkeys(itertools.chain.from_iterable(tables)))


def _columns(curve: Curve, finals: bool) -> dict[str, np.ndarray]:
    """Columns over recorded steps, or over trials."""
    return {"trial": curve.trials} | _finals(curve) if finals else {"step": curve.steps} | _moments(curve)


def _moments(curve: Curve) -> dict[str, np.ndarray]:
    """Columns over steps: mean and standard error of the regret, then of every other series by its name."""
    others = {f"{name}{end}": part for name in curve.others for end, part in _named(curve.series[name])}
    return {"mean": curve.series["regret"].mean, "stderr": curve.series["regret"].stderr} | others


def _named(series: Series) -> tuple[tuple[str, np.ndarray], ...]:
    return ("", series.mean), ("_stderr", series.stderr)


def _finals(curve: Curve) -> dict[str, np.ndarray]:
    """Columns over trials: the last value of every series."""
    return {name: curve.series[name].final for name in ("regret", *curve.others)}


def _plain(value: Any) -> Any:
    """A value that can be compared and written in one column."""
    return in_words(list(value)) if isinstance(value, list | tuple) else value


def _alike(value: Any) -> Any:
    """The same for values that differ in spaces only, as formulas may."""
    plain = _plain(value)
    return "".join(plain.split()) if isinstance(plain, str) else plain


def _alikes(curve: Curve) -> Table:
    return {key: _alike(value) for key, value in _facts(curve).items()}


def _facts(curve: Curve) -> Table:
    """What tells a curve from the others."""
    numbers = {key: _plain(value) for key, value in (curve.panel | curve.numbers).items()}
    return {"experiment": curve.experiment, "label": curve.label, "policy": curve.policy} | numbers


def _extra(package: str) -> Any:
    """A package that jaxids does without, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ImportError(f"{package} is not installed; `pip install 'jaxids[frames]'` brings it") from None
