"""Functions written for one trial, lifted to many."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxids import checks
from jaxids.confidence import Band
from jaxids.programs import as_tree

__all__ = ["PerTrial", "per_trial"]


@partial(jax.tree_util.register_dataclass, data_fields=("function",), meta_fields=())
@dataclass(frozen=True)
class PerTrial:
    """A function of the band of one trial, for all the trials of a tile."""

    function: Any

    def __call__(self, band: Band, *rest: Any) -> Any:
        """What the function gives for every trial, trials on the last axis."""
        if band.rho.ndim == 1:
            return self.function(band, *rest)
        leaves, tree = jax.tree.flatten((band, *rest))
        return jax.vmap(lambda *one: self.function(*tree.unflatten(one)), [_axis(leaf) for leaf in leaves], -1)(*leaves)


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
