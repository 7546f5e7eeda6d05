"""An experiment file: a TOML table of problem, noise, policies and grids, unfolded into cells.

The grid at the top makes panels, each a comparison of its own. `policies` at the top and every table of `[[curves]]`,
with its own changes to the problem and its own grid, make the curves of a panel. A cell is one curve of one panel:
one policy on one problem, to be simulated.
"""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxids.experiment import claims, keys
from jaxids.experiment.keys import Table


@dataclass(frozen=True)
class Cell:
    """One curve of one panel: its label, the numbers its grids gave it, and everything its result depends on."""

    label: str
    panel: Table
    numbers: Table
    setting: Table


@dataclass(frozen=True)
class Experiment:
    """A checked experiment: what its file says, and the cells it unfolds into."""

    path: Path
    source: str
    table: Table
    cells: list[Cell]

    @property
    def name(self) -> str:
        """The name of its file, and of its folder of results."""
        return self.path.stem


def read(path: Path, changes: Mapping[str, Any] | None = None) -> Experiment:
    """Read and check an experiment file, with values of some keys changed; mistakes are ValueErrors that name it."""
    try:
        source = path.read_text(encoding="utf-8")
        table = tomllib.loads(source)
        for name, value in (changes or {}).items():
            _change(table, name, value)
        table = _checked(table)
        cells = list(_cells(table))
        if not changes:  # a change may take curves away; claims on them are then not decided
            _check_claims(table, {cell.label: cell.setting for cell in cells})
        return Experiment(path, source, table, cells)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file in UTF-8") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def files(paths: Sequence[Path]) -> list[Path]:
    """The experiment files among files and folders, each name once."""
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            near = keys.nearest(path.name, sorted(p.name for p in path.parent.glob("*")) or ["nothing"])
            raise ValueError(f"{path}: no such file or folder; {near}")
        inside = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"{path}: no experiment files (*.toml) in this folder")
        for file in inside:
            if found.setdefault(file.stem, file).resolve() != file.resolve():
                raise ValueError(f"{file}: another experiment has the same name, {found[file.stem]}")
    return list(found.values())


def _change(table: Table, name: str, value: Any) -> None:
    """Set a key, given by its own name or with its section before it."""
    if name.startswith("grid."):
        table.setdefault("grid", {})[name.removeprefix("grid.")] = value
        return
    section, key = _located(name, table.get("problem", {}))
    swept = [table.get("grid", {}), *(curves.get("grid", {}) for curves in table.get("curves", []))]
    if any(key in _flat(grid) for grid in swept if isinstance(grid, dict)):
        raise ValueError(f"{name}: the file's grid sweeps over it; set grid.{key} to a list")
    (table.setdefault(section, {}) if section else table)[key] = value


def _located(name: str, problem: Any, within: str = "") -> tuple[str, str]:
    """The section and the key that a name stands for."""
    known = dict.fromkeys(keys.TOP, "") | dict.fromkeys(keys.ESTIMATOR, "estimator") | {"kind": "problem"}
    known |= dict.fromkeys(_problem_keys(problem), "problem")
    paths = {f"{section}.{key}" if section else key: (section, key) for key, section in known.items()}
    if name in paths:
        return paths[name]
    if name in known:
        return known[name], name
    raise ValueError(f"{within}{name}: unknown key; {keys.nearest(name, list(known))}")


def _problem_keys(problem: Any) -> Mapping[str, keys.Key]:
    kind = problem.get("kind", keys.KIND.default) if isinstance(problem, dict) else problem
    return keys.PROBLEMS[keys.value_of("problem.kind", kind, keys.KIND)]


def _flat(grid: Mapping[str, Any]) -> Table:
    """A grid by the names of its keys, with or without their sections before them."""
    flat = {}
    for name, value in grid.items():
        flat |= value if isinstance(value, dict) else {name.split(".")[-1]: value}
    return flat


def _checked(table: Table) -> Table:
    """The whole table with every section checked and every default filled in."""
    table = keys.checked(table, keys.TOP)
    changed = [keys.checked(curves, keys.CURVES, "curves.") for curves in table["curves"]]
    for curves in changed:
        if not curves["policies"]:
            raise ValueError(f"curves.policies: missing; it takes {keys.CURVES['policies'].takes}")
    alike = {"label": "", "problem": {}, "estimator": {}, "grid": {}}
    first = [{"policies": table["policies"], **alike}] if table["policies"] else []
    if not first + changed:
        raise ValueError(f"policies: missing; it takes {keys.TOP['policies'].takes}")
    return table | {"curves": first + changed, "claims": [claims.checked(claim) for claim in table["claims"]]}


def _cells(table: Table) -> Iterator[Cell]:
    labels: set[tuple[str, str]] = set()
    for panel in _points(table["grid"], table["problem"]):
        for curves in table["curves"]:
            for numbers in _points(curves["grid"], table["problem"] | curves["problem"]):
                for policy in curves["policies"]:
                    setting = _setting(table, curves, panel | numbers, policy)
                    label = _label(curves["label"], policy, numbers, setting)
                    if (repr(panel), label) in labels:
                        raise ValueError(f"curves.label: two curves are called {label!r}; give one another label")
                    labels.add((repr(panel), label))
                    yield Cell(label, panel, numbers, setting)


def _check_claims(table: Table, settings: Mapping[str, Table]) -> None:
    """Claims and comparisons speak of curves that there are, and of what these record."""
    used = {"claims.curves": [claim["curves"] for claim in table["claims"]], "compare": table["compare"]}
    for key, lists in used.items():
        for label in itertools.chain.from_iterable(lists):
            if label not in settings:
                raise ValueError(f"{key}: no curve is called {label!r}; {keys.nearest(label, list(settings))}")
    for claim in table["claims"]:
        for label in claim["curves"] if claim["test"] == "never noisier" else ():
            if not (settings[label]["pulls"] and "sigma" in settings[label]["problem"]):
                raise ValueError(
                    f"claims.test: 'never noisier' takes curves with sigma and pulls = true, not {label!r}"
                )


def _points(grid: Table, problem: Table) -> Iterator[Table]:
    """The points of a grid, the last key changing fastest; one without numbers if it is empty."""
    for name, values in (flat := _flat(grid)).items():
        section, key = _located(name, problem, "grid.")
        known = {"": keys.TOP, "estimator": keys.ESTIMATOR}.get(section) or {
            **_problem_keys(problem),
            "kind": keys.KIND,
        }
        if not known[key].sweeps:
            raise ValueError(f"grid.{name}: a grid cannot sweep over it; it takes numbers of the experiment")
        if not isinstance(values, list) or not values:
            raise ValueError(f"grid.{name}: got {values!r}; it takes a list of values")
        for value in values:
            keys.value_of(f"grid.{name}", value, known[key])
        if any(value in values[:i] for i, value in enumerate(values)):
            raise ValueError(f"grid.{name}: got {values!r}; it takes no value twice")
    for point in itertools.product(*flat.values()):
        yield dict(zip(flat, point, strict=True))


def _setting(table: Table, curves: Table, numbers: Table, policy: str) -> Table:
    """Everything the result of a cell depends on, but for the number of trials."""
    problem, estimator = table["problem"] | curves["problem"], table["estimator"] | curves["estimator"]
    top = {name: table[name] for name in ("steps", "points", "seed", "pulls")}
    for name, value in numbers.items():
        section, key = _located(name, problem)
        {"": top, "problem": problem, "estimator": estimator}[section][key] = value
    kind = problem.pop("kind", keys.KIND.default)
    problem = {"kind": kind, **keys.checked(problem, _problem_keys({"kind": kind}), "problem.")}
    problem = {name: value for name, value in problem.items() if value is not None}
    return top | {
        "policy": policy,
        "problem": problem,
        "estimator": keys.checked(estimator, keys.ESTIMATOR, "estimator."),
    }


def _label(pattern: str, policy: str, numbers: Table, setting: Table) -> str:
    """A curve's label: the pattern with names of keys in braces filled in, else the policy and its grid's numbers."""
    shown = {"policy": policy} | {name: in_words(value) for name, value in flat_numbers(setting).items()}
    pattern = pattern or ", ".join(["{policy}", *(f"{name} = {{{name}}}" for name in numbers)])
    try:
        return pattern.format_map(shown)
    except (KeyError, ValueError, IndexError, AttributeError):
        raise ValueError(f"curves.label: got {pattern!r}; in braces it takes {', '.join(shown)}") from None


def flat_numbers(setting: Table) -> Table:
    """All keys of a setting by their own names."""
    return {name: setting[name] for name in ("steps", "seed")} | setting["problem"] | setting["estimator"]


def in_words(value: Any) -> str:
    """A number or a range as a reader writes it."""
    if isinstance(value, list):
        return "[" + ", ".join(map(in_words, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
