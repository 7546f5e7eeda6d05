"""Functions as arguments of compiled ones: plain functions are static structure, pytrees keep their numbers as leaves.

JAX compares static structure to find what it has compiled, and holds the functions in it. So arrays that such a
function closes over are constants of the program: they must not change in place, and where they vary from call to call
`jax.tree_util.Partial(function, arrays)` makes them leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import jax

from jaxids import nodes


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


def by_identity(function: Callable[..., Any]) -> Any:
    """Return `as_tree` of a function, where an object that is called equals no other object.

    Objects may compare by numbers that change in place. Methods compare the objects that they are bound to by identity.
    """
    plain = isinstance(function, FunctionType | MethodType) or not jax.tree_util.all_leaves([function])
    return as_tree(function if plain else function.__call__)
