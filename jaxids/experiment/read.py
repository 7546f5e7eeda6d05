"""Experiment files: TOML, read and checked, with values of some keys changed."""

import contextlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxids.experiment import claims, keys, schema, unfold
from jaxids.experiment.keys import Table
from jaxids.experiment.unfold import Cell
from jaxids.words import in_short

NAME = re.compile(r"[^\W_][\w .+=-]{0,99}")
RECORD = "experiment.json"  # in a folder of results
LONGEST = 1500  # characters of a message: labels are of any length
RESERVED = ("report.html", "report.json", "panels.pdf", "panels.png")


@dataclass(frozen=True)
class Experiment:
    """A checked experiment: what its file says, what was changed, and the cells it unfolds into."""

    path: Path
    source: str
    changes: Table
    table: Table
    cells: list[Cell]

    @property
    def name(self) -> str:
        """The name of its file, and of its folder of results."""
        return self.path.stem


def read(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Read and check an experiment file, with values of some keys changed; mistakes are ValueErrors that name it."""
    try:
        if not NAME.fullmatch(path.stem) or path.stem in RESERVED:
            takes = "a letter, then letters, digits or .+=-_"
            raise ValueError(f"the name serves for a folder of results; it takes {takes}")
        if path.exists() and not path.is_file():  # a pipe may never begin, a device never end
            raise ValueError("not a regular file; it takes a text file in TOML")
        source = path.read_text(encoding="utf-8")
        given = _parsed(source)
        table = _checked(given)
        labels = set[str]()
        with contextlib.suppress(ValueError):  # a change may be what makes it a file that unfolds
            labels |= {cell.label for cell in unfold.cells(table)} if changes else set()
        for name, value in (changes or {}).items():
            _change(given, name, value)
            table = _checked(given)
        cells = list(unfold.cells(table))
        settings = {cell.label: cell.setting for cell in cells}
        if not changes:
            claims.check_curves(table, settings)
        elif labels:  # a change may take curves away; claims on them are then not decided
            claims.check_labels(table, labels | settings.keys())
        return Experiment(path, source, dict(changes or {}), table, cells)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file in UTF-8") from None
    except RecursionError:
        raise ValueError(f"{path}: lists or tables within each other, too many to read") from None
    except ValueError as error:
        raise ValueError(f"{path}: {in_short(str(error), LONGEST)}") from None


def _parsed(source: str) -> Table:
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python's own, on whole numbers of thousands of digits
        raise ValueError("a number of too many digits to read") from None


def files(paths: Sequence[Path]) -> list[Path]:
    """The experiment files among files and folders, each name once."""
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            near = keys.nearest(path.name, sorted(p.name for p in path.parent.glob("*")) or ["nothing"])
            raise ValueError(f"{path}: no such file or folder; {near}")
        inside = _inside(path, set()) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path}: no experiment files (*.toml) in this folder or those below it")
        for file in inside:
            if found.setdefault(file.stem, file).resolve() != file.resolve():
                raise ValueError(f"{file}: another experiment has the same name, {found[file.stem]}")
    return list(found.values())


def _inside(folder: Path, visited: set[Path]) -> list[Path]:
    """The experiment files in a folder and those below it that are neither hidden nor hold results."""
    visited.add(folder.resolve())  # links may lead anywhere, also up again
    found = sorted(folder.glob("*.toml"))
    for path in sorted(folder.iterdir()):
        left_out = path.name.startswith(".") or (path / RECORD).exists()
        if path.is_dir() and not left_out and path.resolve() not in visited:
            found += _inside(path, visited)
    return found


def _checked(table: Mapping[str, Any]) -> Table:
    """The table with its keys, those of its curves (the policies at the top come first) and of its claims filled in."""
    checked = keys.checked(table, schema.TOP, sections=schema.SECTIONS)
    if not checked["policies"] and not checked["curves"]:
        raise ValueError(f"policies: missing; it takes {schema.TOP['policies'].takes}")
    first = [{"policies": checked["policies"]}] if checked["policies"] else []
    checked["curves"] = [keys.checked(each, schema.CURVES, "curves.") for each in first + checked["curves"]]
    checked["watch"] = checked["watch"] and keys.checked(checked["watch"], schema.WATCH, "watch.")
    if "until" in table:
        checked["until"] = keys.checked(checked["until"], schema.UNTIL, "until.")
        checked["trials"] = table.get("trials", schema.MOST)
    checked["claims"] = [claims.checked(claim) for claim in checked["claims"]]
    return checked


def _change(table: Table, name: str, value: Any) -> None:
    """Set a key at the top and in the curves that have their own, or, as `grid.key`, what grids sweep over."""
    tables = [table, *table.get("curves", [])]
    section, key = where = unfold.place(name.removeprefix("grid."), table.get("problem", {}))
    sweeping = [each for each in tables if where in _grid(table, each)]
    if name.startswith("grid."):
        for each in sweeping or [table]:
            swept = _grid(table, each) | {where: value}
            each["grid"] = {".".join(filter(None, place)): values for place, values in swept.items()}
    elif sweeping:
        raise ValueError(f"{name}: the file's grid sweeps over it; set grid.{key} to a list")
    elif not section:
        table[key] = value
    else:
        for each in tables:
            if each is table or key in each.get(section, {}):
                each[section] = each.get(section, {}) | {key: value}


def _grid(table: Table, curves: Table) -> dict[unfold.Place, list[Any]]:
    """What some curves sweep over, by its place."""
    problem = table.get("problem", {}) | curves.get("problem", {})
    return unfold.swept(curves.get("grid", {}), problem, "grid.")
