"""Dataclasses as pytrees whose structure knows its class.

Up to jaxlib 0.10 at least, structures of `jax.tree_util.register_dataclass` are equal whatever the classes, as soon as
their numbers of fields and static values are; only hashes differ. JAX's tables look at seven bits of a hash before they
compare, so in about one process in a hundred UCB's program was taken for W-UCB's, whose estimators have no fields. The
structures of `register` here compare classes, and `kinds` tells those of anybody's pytree apart, as `jitted` does.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import GetAttrKey

MOST = 64  # results that a cache holds
Node = TypeVar("Node")
Result = TypeVar("Result")


def register(node: type[Node], data_fields: Sequence[str], meta_fields: Sequence[str]) -> type[Node]:
    """Register a dataclass as JAX does: some of its fields are data, the others static."""

    def static(value: Any) -> tuple[Any, ...]:
        return tuple(getattr(value, name) for name in meta_fields)

    def flatten(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(value, name) for name in data_fields), static(value)

    def with_keys(value: Any) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        return tuple((GetAttrKey(name), getattr(value, name)) for name in data_fields), static(value)

    def unflatten(meta: tuple[Any, ...], data: Iterable[Any]) -> Node:
        return node(**dict(zip((*data_fields, *meta_fields), (*data, *meta), strict=True)))

    jax.tree_util.register_pytree_with_keys(node, with_keys, unflatten, flatten)
    return node


def kinds(tree: Any) -> tuple[type, ...]:
    """The classes of a pytree from its root on."""

    def walk(structure: Any) -> Iterator[type]:
        if (known := structure.node_data()) is not None:
            yield known[0]
        for child in structure.children():
            yield from walk(child)

    return tuple(walk(jax.tree.structure(tree)))


def cached_by_shape(function: Callable[..., Result]) -> Callable[..., Result]:
    """Cache results of a function by the structure, shapes and dtypes of its first argument, and by the others.

    Args:
        function: Takes a pytree, then hashable arguments; what it returns does not depend on the tree's numbers.

    Returns:
        The same function, which holds the newest `MOST` results.
    """
    known: dict[Any, tuple[Result]] = {}

    @wraps(function)
    def called(tree: Any, *others: Hashable) -> Result:
        leaves, structure = jax.tree.flatten(tree)
        shapes = tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in leaves)
        key = structure, shapes, others, jnp.result_type(float)
        found = known.get(key)
        if found is None:
            found = known[key] = (function(tree, *others),)
            for oldest in list(known)[:-MOST]:  # a copy: other threads may add some
                known.pop(oldest, None)
        return found[0]

    return called


def jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of pytrees compiled by JAX, anew where their classes differ; arguments are given by place."""

    def traced(kinds: tuple[type, ...], *arguments: Any) -> Any:
        return function(*arguments)

    traced.__name__ = traced.__qualname__ = function.__name__  # as JAX tells of it
    compiled = jax.jit(traced, static_argnums=0)

    @wraps(function)
    def called(*arguments: Any) -> Any:
        return compiled(kinds(arguments), *arguments)

    return called
