"""A number of instances of another problem, each met by many trials."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jaxtyping import Array, Key

from jaxids import checks
from jaxids.problems.instance import Changing, Instance, Problem
from jaxids.types import Number

__all__ = ["Several", "several"]


@partial(jax.tree_util.register_dataclass, data_fields=("base", "count"), meta_fields=())
@dataclass(frozen=True)
class Several:
    """The first instances of another problem in turn: trial i meets that of trial i mod `count`."""

    base: Any
    count: Number

    noise = property(lambda self: self.base.noise)
    belief = property(lambda self: self.base.belief)

    def draw(self, key: Key[Array, ""]) -> Instance:
        """An instance of the base; `tiles.instance_keys` says with which key."""
        return self.base.draw(key)

    def check(self) -> None:
        """As of the base."""
        self.base.check()


def several(base: Problem, count: int) -> Several:
    """So many instances of a problem, instead of a fresh one for every trial: trial i meets the (i mod count)-th.

    So `result.final.reshape(-1, count)` has an instance in every column, if the trials are a multiple of them.
    """
    if not isinstance(base, Problem) or isinstance(base, Changing):
        takes = "a problem that draws an instance for every trial, as problems.unit_ball()"
        raise ValueError(f"base: got {checks.shown(base)}; it takes {takes}")
    return Several(base, checks.count("count", count))
