"""A claim of an experiment file: a sentence about its curves, and the test that decides whether a run bears it out."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from jaxids.experiment import keys
from jaxids.experiment.keys import Key, Table
from jaxids.experiment.schema import CONTINUOUS, LABELS

TESTS = ("less", "same", "lowest", "growth", "never noisier")
SOURCES = ("paper", "reading", "ours")  # the paper's own sentence, one with a margin of ours, one that is ours
CLAIM = {
    "says": Key("text", lambda v: isinstance(v, str) and bool(v)),
    "test": keys.one_of(TESTS),
    "curves": LABELS,
    "margin": keys.positive(0.1),
    "factor": keys.number("a number ≥ 1", lambda v: v >= 1, 1.0),
    "share": keys.number("a number from 0 to below 1", lambda v: 0 <= v < 1, 0.0),
    "control": replace(LABELS, fits=lambda v: v == [] or keys.is_names(v), default=[]),
    "source": keys.one_of(SOURCES, "ours"),
    "selected": keys.FLAG,
}


def checked(claim: Mapping[str, Any]) -> Table:
    """The claim with its defaults, or a ValueError that names what is wrong with it."""
    table = keys.checked(claim, CLAIM, "claims.")
    for key in ("curves", "control") if table["test"] in ("less", "same") else ():
        if len(table[key]) == 1:
            raise ValueError(f"claims.{key}: got {table[key]!r}; {table['test']!r} takes two or more")
    return table


def check_labels(table: Table, labels: Collection[str]) -> None:
    """Claims, comparisons and what is watched speak of curves with these labels; or a ValueError."""
    used = [(f"claims.{key}", claim[key]) for claim in table["claims"] for key in ("curves", "control")]
    used += [("watch.curves", table["watch"].get("curves", []))]
    used += [("compare", pair) for pair in table["compare"]]
    for key, named in used:
        if unknown := [label for label in named if label not in labels]:
            raise ValueError(f"{key}: no curve is called {unknown[0]!r}; {keys.nearest(unknown[0], list(labels))}")


def check_curves(table: Table, settings: Mapping[str, Table]) -> None:
    """Claims and comparisons speak of curves that there are, and of what these record; or a ValueError."""
    check_labels(table, settings)
    for claim in table["claims"]:
        for label in claim["curves"] + claim["control"] if claim["test"] == "never noisier" else ():
            if not (settings[label]["pulls"] and "sigma" in settings[label]["problem"]):
                takes = "curves with sigma and pulls = true"
                raise ValueError(f"claims.test: 'never noisier' takes {takes}, not {label!r}")
    if table["watch"] and table["watch"]["trial"] >= table["trials"]:
        raise ValueError(f"watch.trial: got {table['watch']['trial']}; it takes one below trials = {table['trials']}")
    for label in table["watch"].get("curves", ()):
        if table["watch"]["steps"][-1] > settings[label]["steps"]:
            takes = f"steps up to {settings[label]['steps']}"
            raise ValueError(f"watch.steps: got {table['watch']['steps']}; it takes {takes}")
        if not watchable(settings[label]):
            takes = "curves on points, a box or a ball in one or two dimensions, without sigma"
            raise ValueError(f"watch.curves: got {label!r}; it takes {takes}")
    for pair in table["compare"]:
        if not comparable(*(settings[label] for label in pair)):
            raise ValueError(f"compare: got {pair!r}; it takes curves on one problem whose instance is 'fresh'")


def watchable(setting: Table) -> bool:
    """Whether a setting's points can be drawn, each once."""
    problem = setting["problem"]
    known = problem.get("low") or problem.get("centre") or problem.get("points", [[]])[0]
    dim = len(known) or problem.get("dim", 0)
    return ("kernel" in problem or problem.get("kind") in CONTINUOUS) and "sigma" not in problem and dim <= 2


def comparable(one: Table, other: Table) -> bool:
    """Whether trials of two settings meet the same fresh instances."""
    return one["problem"] == other["problem"] and one["problem"].get("instance") == "fresh"
