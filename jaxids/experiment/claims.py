"""A claim of an experiment file: a sentence about its curves, and the test that decides whether a run bears it out."""

from collections.abc import Mapping
from typing import Any

from jaxids.experiment import keys
from jaxids.experiment.keys import Key, Table

TESTS = ("less", "same", "lowest", "growth", "never noisier")
_MARGIN = Key("a number > 0", lambda v: keys.is_number(v) and v > 0, 0.1)
CLAIM = {
    "says": Key("text", lambda v: isinstance(v, str) and bool(v)),
    "test": Key("one of " + ", ".join(map(repr, TESTS)), lambda v: v in TESTS),
    "curves": Key(
        "a list of labels of curves",
        lambda v: isinstance(v, list) and len(v) > 0 and all(isinstance(name, str) for name in v),
    ),
    "margin": _MARGIN,
    "factor": Key("a number ≥ 1", lambda v: keys.is_number(v) and v >= 1, 1.0),
}


def checked(claim: Mapping[str, Any]) -> Table:
    """The claim with its defaults, or a ValueError that names what is wrong with it."""
    table = keys.checked(claim, CLAIM, "claims.")
    if table["test"] in ("less", "same") and len(table["curves"]) < 2:
        raise ValueError(f"claims.curves: got {table['curves']!r}; {table['test']!r} takes two or more")
    if table["test"] == "lowest" and len(table["curves"]) != 1:
        raise ValueError(f"claims.curves: got {table['curves']!r}; 'lowest' takes one, compared with all others")
    return table
