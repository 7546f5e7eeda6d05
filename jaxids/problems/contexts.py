"""Contextual bandits: the actions, their means and their noise are new at every step, the parameter stays."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jaxtyping import Array, Key

from jaxids import beliefs, checks, nodes
from jaxids.problems.instance import Instance, Problem, is_problem
from jaxids.problems.noise import Noise
from jaxids.problems.repeated import Several
from jaxids.problems.vectors import unit_ball


@partial(nodes.register, data_fields=("base",), meta_fields=())
@dataclass(frozen=True)
class Contextual:
    """Another problem whose instance is drawn anew at every step; its θ* must be the same in all of them."""

    base: Any

    noise = property(lambda self: self.base.noise)
    belief = beliefs.linear  # of actions that change nothing can be kept

    def draw(self, key: Key[Array, ""]) -> Instance:
        """An instance of the shape that all have."""
        return self.base.draw(key)

    def context(self, key: Key[Array, ""]) -> Instance:
        """The instance of one step."""
        return self.base.draw(key)

    def check(self) -> None:
        """As of the base."""
        self.base.check()


def contextual(
    num_actions: int | None = None,
    dim: int | None = None,
    rho: float | tuple[float, float] | None = None,
    *,
    theta: Any = None,
    noise: Noise | None = None,
    base: Problem | None = None,
) -> Contextual:
    """The contextual linear bandit: at every step new actions, uniform in the unit ball, and new noise bounds.

    What is not given is as in `unit_ball`. Regret is against the best action of each step. With `base`, a linear
    problem, the contexts are its instances: those of `problems.linear` never change, which is the bandit without them.
    """
    named = {"num_actions": num_actions, "dim": dim, "rho": rho, "theta": theta, "noise": noise}
    given = {name: value for name, value in named.items() if value is not None}
    if base is None:
        base = unit_ball(**given)
    elif given:
        raise ValueError("base: got one beside other arguments; it takes the place of them all")
    if not is_problem(base) or not beliefs.is_linear(base.belief):
        raise ValueError(f"base: got {checks.shown(base)}; it takes a linear problem, as problems.unit_ball()")
    if isinstance(base, Several):
        raise ValueError("base: got several(…); it takes the problem itself, as contexts are new at every step")
    if isinstance(jax.eval_shape(base.draw, jax.random.key(0)), Instance):
        return Contextual(base)
    raise ValueError(f"base: got {checks.shown(base)}; it takes a problem with finitely many actions")
