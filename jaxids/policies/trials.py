"""Functions written for one trial, lifted to many."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxids import checks, nodes
from jaxids.confidence import Band
from jaxids.programs import as_tree


@partial(nodes.register, data_fields=("function",), meta_fields=())
@dataclass(frozen=True)
class PerTrial:
    """A function of the band of one trial, for all the trials of a tile."""

    function: Any

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives for every trial, trials on the last axis."""
        return _lifted(self.function, *arguments)

    def __getattr__(self, name: str) -> Any:
        """What else a rule has; its memory is lifted too."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.function, name)
        return partial(_lifted, found) if name in ("init", "update") else found


def _lifted(function: Any, *arguments: Any) -> Any:
    """A function of a band and more, of every trial; an axis of trials at a time."""
    if any(isinstance(each, Band) and each.rho.ndim == 1 for each in arguments):
        return function(*arguments)
    leaves, tree = jax.tree.flatten(arguments)
    return jax.vmap(lambda *one: _lifted(function, *tree.unflatten(one)), [_axis(leaf) for leaf in leaves], -1)(*leaves)


def _axis(leaf: Any) -> int | None:
    """Trials are on the last axis; a single number is that of all."""
    return -1 if jnp.ndim(leaf) else None


def per_trial(function: Any) -> PerTrial:
    """A gain, a gap or a rule that is written for one trial, its arrays [K] and its numbers [], for any number of them.

    It may reduce and index as it likes. It is slower than one written for lanes: what it asks of the band is computed
    for it alone.
    """
    checks.function("function", function)
    return PerTrial(as_tree(function))
