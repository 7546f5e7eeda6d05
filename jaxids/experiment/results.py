"""Curves of one experiment or of several, by name, as frames and as CSV."""

import csv
import importlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from jaxids.experiment.curves import Curve, Panel
from jaxids.experiment.keys import Table, in_words, nearest
from jaxids.words import shown


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
        return any(name is curve or name in (curve.name, curve.label) for curve in self.curves)

    def __getitem__(self, name: str) -> Curve:
        """The curve of a label, as 'IDS-UCB', or of a full name, as 'fig1b/IDS-UCB'."""
        found = [curve for curve in self.curves if name in (curve.name, curve.label)]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{name}: {len(found)} curves have this label: {', '.join(c.name for c in found)}")
        known = dict.fromkeys(name for curve in self.curves for name in (curve.label, curve.name))
        raise KeyError(f"{name}: no such curve; {nearest(name, list(known))}")

    def select(self, **wanted: Any) -> "Results":
        """The curves with these values of `experiment`, `label`, `policy`, or of a key that a grid sweeps over."""
        known = dict.fromkeys(itertools.chain.from_iterable(map(_facts, self.curves)))
        for key in wanted:
            if key not in known:
                raise ValueError(f"{key}: got {wanted[key]!r}; {nearest(key, list(known))}")
        for key, value in wanted.items():
            there = dict.fromkeys(facts[key] for facts in map(_facts, self.curves) if key in facts)
            if _alike(value) not in map(_alike, there):
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
            if finals:
                columns = {"trial": curve.trials, "regret": curve.final}
            else:
                columns = {"step": curve.steps, "mean": curve.mean, "stderr": curve.stderr}
                if curve.simple is not None and curve.simple_stderr is not None:
                    columns |= {"simple": curve.simple, "simple_stderr": curve.simple_stderr}
            for values in zip(*(column.tolist() for column in columns.values()), strict=True):
                yield _facts(curve) | dict(zip(columns, values, strict=True))

    def write_csv(self, file: TextIO, finals: bool = False) -> None:
        """The rows as CSV."""
        columns = dict.fromkeys(itertools.chain.from_iterable(map(_facts, self.curves)))
        columns |= dict.fromkeys(("trial", "regret") if finals else ("step", "mean", "stderr"))
        if not finals and any(curve.simple is not None for curve in self.curves):
            columns |= dict.fromkeys(("simple", "simple_stderr"))
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows(finals))

    def frame(self, finals: bool = False) -> Any:
        """The rows as a pandas frame."""
        return _extra("pandas").DataFrame(self.rows(finals))

    def dataset(self) -> Any:
        """An xarray dataset: mean and stderr by curve and step, final by curve and trial, NaN where there is none."""
        xarray, parts = _extra("xarray"), []
        for curve in self.curves:
            values = {"mean": ("step", curve.mean), "stderr": ("step", curve.stderr), "final": ("trial", curve.final)}
            if curve.simple is not None:
                values |= {"simple": ("step", curve.simple), "simple_stderr": ("step", curve.simple_stderr)}
            part = xarray.Dataset(values, {"step": curve.steps, "trial": curve.trials})
            parts.append(part.expand_dims(curve=[curve.name]))
        return xarray.concat(parts, "curve", join="outer")


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
