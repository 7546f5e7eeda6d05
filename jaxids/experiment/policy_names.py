"""Policies as experiment files name them: one of the paper's, "ids(ucb, solver=pairs)", or "package.module:name".

An expression calls a function of `policies.makers`: it is bound to the function's signature, and nothing is evaluated.
JAX is imported only to read an expression. One's own module is imported when a cell is built, and a digest of its
source is part of the cell's setting.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from jaxids.experiment import formulas, keys, own_code
from jaxids.experiment.formulas import Call
from jaxids.names import THIRTEEN
from jaxids.words import in_short

TAKES = "names of the paper's policies, expressions as 'ids(ucb, solver=pairs)', or one's own as 'package.module:name'"
OWN = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)", re.ASCII)
LONGEST = 100  # characters of one's own
ELSEWHERE = {"gap", "delta", "lam", "norm_bound"}  # arguments that take code of one's own, or are keys of [estimator]
CHOICES = {
    "gain": ("f", "ucb", "ts", "e"),  # and averaged(n)
    "solver": ("exact", "pairs", "single", "descent"),
    "noise": ("known", "bounded"),
}
NUMBER = ("a number", keys.is_number, float)
KINDS = {
    bool: ("True or False", lambda v: isinstance(v, bool), bool),
    int: ("a whole number from 1 on", lambda v: keys.is_whole(v) and 0 < v < 2**31, int),
}  # of arguments by the type of their default: expected value in words, check, conversion


def written(text: str) -> str:
    """A policy in canonical form, so that spaces, 1 for 1.0 and the order of arguments make no other cell.

    A ValueError says why a text is none.
    """
    if text in THIRTEEN or (OWN.fullmatch(text) and len(text) <= LONGEST):
        return text
    if ".py:" in text:
        raise ValueError("one's own is named by its module, with dots and without '.py'")
    return _bound(text)[2]


@lru_cache
def _bound(text: str) -> tuple[Callable[..., Any], dict[str, Any], str]:
    """The function that an expression calls, its arguments by name, and the call in canonical form; or a ValueError."""
    from jaxids.policies import makers

    call, names = formulas.call(text), [name for name in makers.__all__ if name != "PAPER"]
    if call is None:
        raise ValueError(keys.nearest(text, [*THIRTEEN, *(f"{name}()" for name in names)]))
    if call.name not in names:
        raise ValueError(f"{call.name} makes none, {keys.nearest(call.name, names)}")
    maker = getattr(makers, call.name)
    known = [p for p in inspect.signature(maker).parameters.values() if p.name not in ELSEWHERE]
    try:
        given = inspect.Signature(known).bind_partial(*call.values, **call.named).arguments
    except TypeError as error:
        raise ValueError(f"{call.name} takes {', '.join(p.name for p in known)}: {error}") from None
    arguments, parts = {}, []
    for name, default in ((p.name, p.default) for p in known):
        if name in given or default is inspect.Parameter.empty:
            arguments[name] = _argument(name, default, given.get(name))
            parts.append(f"{name}=" * (default is not inspect.Parameter.empty) + _word(given[name]))
    return maker, arguments, f"{call.name}({', '.join(parts)})"


def _argument(name: str, default: Any, value: Any) -> Any:
    """The value of an argument, or a ValueError that says what it takes: a name, or what is of its default's type."""
    from jaxids import information, policies, ratio

    homes = {"gain": information, "solver": ratio, "noise": policies}
    if name in CHOICES:
        if value in CHOICES[name]:
            return getattr(homes[name], value)
        if name == "gain" and isinstance(value, Call) and value[::2] == ("averaged", {}) and len(value.values) == 1:
            return information.Averaged(_argument("n", 1, value.values[0]))
        raise ValueError(f"{name} takes one of {', '.join(CHOICES[name])}" + ", or averaged(n)" * (name == "gain"))
    takes, fits, kept = KINDS.get(type(default), NUMBER)
    if not fits(value):
        raise ValueError(f"{name} takes {takes}")
    return kept(value)


def _word(value: Any) -> str:
    if isinstance(value, Call):
        return f"{value.name}({', '.join(map(_word, value.values))})"
    return str(value) if isinstance(value, bool | str) else keys.in_words(float(value))


def label(text: str) -> str:
    """What a policy is called in figures: itself, or of one's own the name within its module."""
    own = OWN.fullmatch(text)
    return own[2] if own else text


def built(text: str) -> Any:
    """The policy of a text, or a ValueError in one line; one object for one text, so that it compiles once."""
    from jaxids import policies

    return policies.PAPER[text] if text in THIRTEEN else _built(text, **source(text))


@lru_cache
def _built(text: str, source: str = "") -> Any:
    """The policy of an expression, or of one's own in a module whose source has that digest."""
    from jaxids import policies

    with _named(text):
        if source:
            module, _, name = text.partition(":")
            return own_code.found(module, name, policies.Policy, "a jaxids.policies.Policy")
        maker, arguments, _ = _bound(text)
        return maker(**arguments)


def source(text: str) -> dict[str, str]:
    """For one's own policy, a digest of the source of its module, as it is in a cell's setting."""
    own = OWN.fullmatch(text)
    with _named(text):
        return {"source": own_code.digest(own[1])} if own else {}


@contextmanager
def _named(text: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"policies: got {text!r}; {in_short(str(error))}") from None
