"""Figures and page of a folder of results, made when what they are made from has changed."""

import hashlib
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from os.path import isfile  # which answers for names no file can have
from pathlib import Path

import jaxids
from jaxids.experiment import store
from jaxids.experiment.curves import Panel
from jaxids.experiment.load import load
from jaxids.experiment.results import Results
from jaxids.report import repeated
from jaxids.report.pictures import draw
from jaxids.report.replication import Replicated, replicated
from jaxids.report.verdicts import verdicts


def update(folder: Path, names: Collection[str] = ()) -> None:
    """Draw the figures and write the page, unless they are there, and print the claims (of some experiments)."""
    damaged: list[str] = []
    results = load(folder, damaged)
    for message in damaged:
        print(f"jaxids: left out: {message}", file=sys.stderr)
    record, page, inputs = folder / "report.json", folder / "report.html", _digest(results)
    made = _recorded(record, inputs)
    is_made = bool(made) and _unchanged(folder, made) == set(made)
    named = [panel for panel in results.panels if not names or panel.name in names]
    found = {panel.stem: replicated(panel) for panel in (named if is_made else results.panels) if panel.instances}
    if not is_made:
        from jaxids.report import markup

        drawn = draw(results, found)
        store.keep(page, markup.page(results, found).encode())
        files = {str(file.relative_to(folder)): _sha256(file) for file in [*drawn, page]}
        old = {name: value for name, value in _recorded(record).items() if _is_figure(folder, name)}
        for name in _unchanged(folder, old) - set(files):  # figures of what is no longer asked for
            (folder / name).unlink()
        store.keep(record, store.as_json({"inputs": inputs, "files": files}))
    for line in summary(results.panels, names, found):
        print(line)
    print(page)


def summary(
    panels: Sequence[Panel], names: Collection[str], found: Mapping[str, Sequence[Replicated]]
) -> Iterator[str]:
    """Yield the claims of some experiments as lines of text, decided together with those of all.

    Args:
        panels: All panels of the page.
        names: The experiments, or none for all.
        found: The claims of panels with instances, on each of them, by the panels' stems.
    """
    for panel, claims in zip(panels, verdicts(panels), strict=True):
        for claim in claims if not names or panel.name in names else ():
            yield f"{panel.stem:9s} {claim.verdict:13s}  {claim.says}"
            yield from (f"{'':25s}{line}" for line in [*claim.measured, f"({claim.tested}; {claim.control})"])
        if panel.instances and (not names or panel.name in names):
            yield from (f"{panel.stem:9s} {line}" for line in repeated.lines(found[panel.stem]))


def _digest(results: Results) -> str:
    """A digest of all that figures and page are made from."""
    return hashlib.sha256(store.as_json([jaxids.__version__, *map(_inputs, results.panels)])).hexdigest()


def _inputs(panel: Panel) -> list[object]:
    """What the pictures and the part of the page on a panel are made from."""
    table = {name: value for name, value in panel.table.items() if name != "cells"}  # those of all panels
    curves = [[curve.label, curve.setting, curve.digest] for curve in panel.curves]
    return [panel.name, panel.point, table, panel.missing, panel.others, curves]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _recorded(record: Path, inputs: str | None = None) -> dict[str, str]:
    """The files that were made last, if from these inputs, and their checksums; none if that is not known."""
    try:
        made = json.loads(store.read(record) or b"{}")
        files = made["files"] if inputs in (None, made["inputs"]) else {}
        return {name: value for name, value in files.items() if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # never made, or damaged
        return {}


def _unchanged(folder: Path, files: dict[str, str]) -> set[str]:
    return {name for name, value in files.items() if isfile(folder / name) and _sha256(folder / name) == value}


def _is_figure(folder: Path, name: str) -> bool:
    """Whether a file is a figure in the folder itself: not one that `..`, a link or a whole path leads to."""
    folder = folder.resolve()
    path = folder / name
    inside = path.is_relative_to(folder) and isfile(path) and path.resolve() == path
    return inside and path.suffix in (".pdf", ".png")
