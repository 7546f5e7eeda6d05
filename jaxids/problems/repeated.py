"""A number of instances of another problem, each met by many trials."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jaxtyping import Array, Key

from jaxids import checks, nodes
from jaxids.problems.instance import Changing, Instance, Problem, is_problem
from jaxids.types import Number

MOST = 2**24  # whole numbers that a program has exactly, as a float32


@partial(nodes.register, data_fields=("base", "count"), meta_fields=())
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
    takes = "a problem that draws an instance for every trial, as problems.unit_ball()"
    if not is_problem(base) or isinstance(base, Changing):
        raise ValueError(f"base: got {checks.shown(base)}; it takes {takes}")
    refuse_several(base)
    with checks.naming("base", base, takes):
        drawn = jax.eval_shape(base.draw, jax.random.key(0))
    if not isinstance(drawn, Instance):
        raise ValueError(f"base: got one that draws {type(drawn).__name__}; it takes one with finitely many actions")
    if (count := checks.count("count", count)) > MOST:
        raise ValueError(f"count: got {count}; it takes at most {MOST:,} instances")
    return Several(base, count)


def refuse_several(base: Any) -> None:
    """A ValueError for instances in turn inside another problem: the simulator sees them outermost only."""
    if isinstance(base, Several):
        raise ValueError("base: got several(…); it takes the problem whose instances these are (several(…) comes last)")
