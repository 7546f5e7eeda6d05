"""Policies as experiment files name them: one of the paper's, "ids(ucb, solver=pairs)", or "package.module:name".

Whether a text is one is known without JAX, by the tables of `names`; nothing is evaluated. One's own module is imported
only when a cell is built, and a digest of its source is part of the cell's setting.
"""

import re
from functools import lru_cache
from typing import Any

from jaxids.experiment import formulas, keys, own_code
from jaxids.experiment.formulas import Call
from jaxids.names import GAINS, MAKERS, NOISE, SOLVERS, THIRTEEN, VALUES, Kind
from jaxids.words import in_short

__all__ = ["TAKES", "built", "fault", "label", "source", "written"]

TAKES = "names of the paper's policies, expressions as 'ids(ucb, solver=pairs)', or one's own as 'package.module:name'"
OWN = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
LONGEST = 100  # characters of one's own
_NAMES: dict[Kind, tuple[str, ...]] = {"gain": GAINS, "solver": SOLVERS, "noise": NOISE}


def fault(text: str) -> str:
    """Why a text is no policy; empty if it is one."""
    if text in THIRTEEN or (OWN.fullmatch(text) and len(text) <= LONGEST):
        return ""
    made = formulas.call(text)
    if ".py:" in text:
        return "one's own is named by its module, with dots and without '.py'"
    if made is None:
        return keys.nearest(text, [*THIRTEEN, *(f"{maker}()" for maker in MAKERS)])
    if made.name not in MAKERS:
        return f"{made.name} makes none, {keys.nearest(made.name, list(MAKERS))}"
    return _arguments_fault(made)


def _arguments_fault(made: Call) -> str:
    maker = MAKERS[made.name]
    known = maker.first | maker.more
    given = list(zip(maker.first, made.values, strict=False)) + list(made.named.items())
    for name, value in given:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            return f"{made.name} has no argument {name}, {takes}"
        if not _is(known[name], value):
            return f"{name} takes {VALUES[known[name]]}"
    if len(made.values) > len(maker.first):
        return f"{made.name} takes {len(maker.first)} by place at most"
    if len(dict(given)) < len(given):
        return "an argument is given twice"
    missing = [name for name in list(maker.first)[: maker.least] if name not in dict(given)]
    return f"{missing[0]} is missing, which takes {VALUES[known[missing[0]]]}" if missing else ""


def _is(kind: Kind, value: Any) -> bool:
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "gain" and isinstance(value, Call):
        return value.name == "averaged" and not value.named and len(value.values) == 1 and _is("count", value.values[0])
    if kind in _NAMES:
        return value in _NAMES[kind]
    return keys.is_number(value) and (kind == "number" or (keys.is_whole(value) and 0 < value < 2**31))


def written(text: str) -> str:
    """A policy in one way of writing it, so that spaces, 1 for 1.0 and names of places make no other cell."""
    made = formulas.call(text)
    if text in THIRTEEN or made is None:
        return text
    given = _arguments(made)
    parts = [f"{name}={_word(value)}" for name, value in given.items()]
    if made.name == "ids":
        parts[0] = parts[0].removeprefix("gain=")
    return f"{made.name}({', '.join(parts)})"


def _arguments(made: Call) -> dict[str, Any]:
    """The arguments by name, in the order of the table."""
    maker = MAKERS[made.name]
    given = dict(zip(maker.first, made.values, strict=False)) | made.named
    return {name: given[name] for name in (maker.first | maker.more) if name in given}


def _word(value: Any) -> str:
    if isinstance(value, Call):
        return f"{value.name}({', '.join(map(_word, value.values))})"
    return str(value) if isinstance(value, bool | str) else keys.in_words(float(value))


def label(text: str) -> str:
    """What a policy is called in figures: itself, or of one's own the name within its module."""
    own = OWN.fullmatch(text)
    return own[2] if own else text


def built(text: str) -> Any:
    """The policy of a text, or a ValueError in one line."""
    from jaxids import policies

    own = OWN.fullmatch(text)
    if text in THIRTEEN:
        return policies.PAPER[text]
    try:
        return _own(own[1], own[2], own_code.digest(own[1])) if own else _made(text)
    except ValueError as error:
        raise ValueError(f"policies: got {text!r}; {in_short(str(error))}") from None


@lru_cache
def _made(text: str) -> Any:
    """The policy of an expression, one object for one text, so that it compiles once."""
    from jaxids import information, policies, ratio

    made = formulas.call(text)
    assert made is not None
    kinds, homes = MAKERS[made.name].first | MAKERS[made.name].more, {"gain": information, "solver": ratio}

    def meaning(kind: Kind, value: Any) -> Any:
        if isinstance(value, Call):
            return information.Averaged(int(value.values[0]))
        if kind in _NAMES:
            return getattr(homes.get(kind, policies), value)
        return float(value) if kind == "number" else value

    try:
        maker = getattr(policies, made.name)
        return maker(**{name: meaning(kinds[name], value) for name, value in _arguments(made).items()})
    except (AttributeError, TypeError) as error:
        raise ValueError(f"it cannot be made: {error}") from None


@lru_cache
def _own(module: str, name: str, digest: str) -> Any:
    """The policy of that name in a module of that digest, one object for both."""
    from jaxids import policies

    return own_code.found(module, name, policies.Policy, "a jaxids.policies.Policy")


def source(text: str) -> dict[str, str]:
    """For one's own policy, a digest of the source of its module, as it is in a cell's setting."""
    own = OWN.fullmatch(text)
    try:
        return {"source": own_code.digest(own[1])} if own else {}
    except ValueError as error:
        raise ValueError(f"policies: got {text!r}; {in_short(str(error))}") from None
