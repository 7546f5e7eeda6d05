"""An experiment's table unfolded into cells.

The grid at the top makes panels, each a comparison of its own. `policies` at the top and every table of `[[curves]]`,
with its own changes to the problem and its own grid, make the curves of a panel. A cell is one curve of one panel:
one policy on one problem, to be simulated.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jaxids.experiment import keys, policy_names, schema
from jaxids.experiment.keys import Key, Table, in_words
from jaxids.names import BOUNDS
from jaxids.words import in_short, shown

Place = tuple[str, str]  # a section, empty at the top, and a key
BRACES = re.compile(r"\{(\w+)\}")
SHARED = {("", "steps"), ("", "seed")}  # by all curves of a panel, which are compared trial by trial


@dataclass(frozen=True)
class Cell:
    """One curve of one panel: its label, the numbers its grids gave it, and everything its result depends on."""

    label: str
    panel: Table
    numbers: Table
    setting: Table


def cells(table: Table) -> Iterator[Cell]:
    """The cells of a checked table."""
    top = swept(table["grid"], table["problem"], "grid.")
    grids = [_own_grid(table, curves, top) for curves in table["curves"]]
    for panel in _points(top):
        labels = set[str]()
        for curves, own in zip(table["curves"], grids, strict=True):
            for numbers in _points(own):
                for policy in curves["policies"]:
                    setting = _setting(table, curves, panel | numbers, policy)
                    label = _label(curves["label"], policy, _named(numbers), setting)
                    if label in labels:
                        raise ValueError(f"curves.label: two curves are called {label!r}; give one another label")
                    labels.add(label)
                    yield Cell(label, _named(panel), _named(numbers), setting)


def _own_grid(table: Table, curves: Table, top: Mapping[Place, list[Any]]) -> dict[Place, list[Any]]:
    """The grid of some curves, or a ValueError that names a key that is fixed or swept over elsewhere."""
    fixed = {(section, key) for section in ("problem", "estimator") for key in curves[section]}
    own = swept(curves["grid"], table["problem"] | curves["problem"], "curves.grid.")
    for _, key in (fixed | own.keys()) & top.keys():
        raise ValueError(f"curves.{key}: the grid at the top sweeps over it")
    for _, key in SHARED & own.keys():
        raise ValueError(f"curves.grid.{key}: all curves share it; it takes the grid at the top")
    return own


def places(problem: Mapping[str, Any]) -> dict[Place, Key]:
    """All keys of an experiment with such a problem, by where they are."""
    sections = {"": schema.TOP, "estimator": schema.ESTIMATOR, "problem": schema.problem_keys(problem)}
    return {(section, name): key for section, known in sections.items() for name, key in known.items()}


def place(name: str, problem: Mapping[str, Any], within: str = "") -> Place:
    """Where the key of a name is, which may have its section before it."""
    known = places(problem)
    for where in known:
        if name in (where[1], ".".join(where)):
            return where
    raise ValueError(f"{within}{in_short(name)}: unknown key; {keys.nearest(name, [key for _, key in known])}")


def swept(grid: Mapping[str, Any], problem: Mapping[str, Any], within: str) -> dict[Place, list[Any]]:
    """A grid by the places of its keys, or a ValueError that names one it cannot sweep over."""
    flat: Table = {}
    for name, values in grid.items():
        flat |= {f"{name}.{key}": v for key, v in values.items()} if isinstance(values, dict) else {name: values}
    found = {}
    for name, values in flat.items():
        where = place(name, problem, within)
        key = places(problem)[where]
        if not key.sweeps:
            raise ValueError(f"{within}{name}: a grid cannot sweep over it; it takes numbers of the experiment")
        if not isinstance(values, list) or not values:
            raise ValueError(f"{within}{name}: got {shown(values)}; it takes a list of one value or more")
        found[where] = [keys.value_of(f"{within}{name}", value, key) for value in values]
        if keys.twice(found[where]):
            raise ValueError(f"{within}{name}: got {shown(values)}; it takes no value twice")
    return found


def _points(grid: Mapping[Place, list[Any]]) -> Iterator[dict[Place, Any]]:
    """The points of a grid, the last key changing fastest; one without numbers if it is empty."""
    return (dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values()))


def _named(point: Mapping[Place, Any]) -> Table:
    return {key: value for (_, key), value in point.items()}


def _setting(table: Table, curves: Table, point: Mapping[Place, Any], policy: str) -> Table:
    """Everything the result of a cell depends on, but for the number of trials."""
    sections = {name: table[name] | curves[name] for name in ("problem", "estimator")}
    sections[""] = {name: table[name] for name in ("steps", "points", "seed", "record")}
    sections[""]["pulls"] = table["pulls"] or curves["pulls"]
    if table["bounds"]:
        sections[""]["record"] = list(dict.fromkeys([*table["record"], *BOUNDS]))
    for (section, key), value in point.items():
        sections[section][key] = value
    problem = schema.problem(sections["problem"])
    if sections[""]["pulls"] and not schema.countable(problem):
        what = f"kind = {problem['kind']!r}" if "contexts" not in problem else schema.MOVING
        raise ValueError(f"pulls: got true together with {what}; it takes actions to be counted")
    return {
        **sections[""],
        "policy": policy,
        "problem": problem,
        "estimator": keys.checked(sections["estimator"], schema.ESTIMATOR, "estimator."),
    }


def _label(pattern: str, policy: str, numbers: Table, setting: Table) -> str:
    """A curve's label: the pattern with names of keys in braces filled in, else the policy and its grid's numbers."""
    known = {"policy": policy_names.label(policy), **setting["problem"], **setting["estimator"]}
    pattern = pattern or ", ".join(["{policy}", *(f"{name} = {{{name}}}" for name in numbers)])
    if unknown := [name for name in BRACES.findall(pattern) if name not in known]:
        raise ValueError(f"curves.label: got {{{unknown[0]}}} in {pattern!r}; in braces it takes {', '.join(known)}")
    return BRACES.sub(lambda found: in_words(known[found[1]]), pattern)
