"""Functions as arguments of compiled ones: what they are made of are leaves, what they do is structure."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.tree_util import Partial
from jaxtyping import Array

from jaxids import nodes
from jaxids.types import Point

__all__ = ["Structure", "as_program", "as_tree", "settled"]


@partial(nodes.register, data_fields=(), meta_fields=("function",))
@dataclass(frozen=True, repr=False)
class Structure:
    """A plain function as a pytree without leaves."""

    function: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        return self.function(*arguments)

    def __getattr__(self, name: str) -> Any:
        """What else it has, as the memory of a rule."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return repr(self.function)


def as_tree(value: Any) -> Any:
    """A pytree as it is; any other function as one."""
    return Structure(value) if callable(value) and jax.tree_util.all_leaves([value]) else value


class _Program:
    """What a function of a point computes: equal to another that computes the same, whatever object it is."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr, self.text = jaxpr, f"{jaxpr} {list(_inner(jaxpr))}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Program) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, consts: list[Array], x: Point) -> Any:
        return jaxpr_as_fun(ClosedJaxpr(self.jaxpr, consts))(x)[0]


def _inner(jaxpr: Any) -> Iterator[str]:
    """Digests of the arrays inside a program, which its text leaves out."""
    for equation in jaxpr.eqns:
        for value in (*equation.params.values(), *equation.invars):
            if hasattr(value, "jaxpr"):
                yield from (hashlib.sha256(np.asarray(const).tobytes()).hexdigest() for const in value.consts)
                yield from _inner(value.jaxpr)
            elif np.ndim(getattr(value, "val", 0)):
                yield hashlib.sha256(np.asarray(value.val).tobytes()).hexdigest()


def as_program(function: Callable[[Point], Any], dim: int) -> Partial:
    """A function of a point [dim] that can be passed to a compiled one, and is not taken for what it once was."""
    closed = jax.make_jaxpr(lambda x: function(x))(jnp.zeros(dim))  # a new one: JAX remembers what it traced
    return Partial(_Program(closed.jaxpr), closed.consts)


def settled(function: Callable[[Point], Any], dim: int) -> Any:
    """A pytree as it is, its numbers leaves; any other function of a point as the program that it is now."""
    return as_program(function, dim) if jax.tree_util.all_leaves([function]) else function
