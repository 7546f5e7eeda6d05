"""What a problem is to the simulator: something that draws an instance for every trial.

An instance is one bandit. The simulator asks it for the band of a belief, for the mean and noise of an action, and for
what an action loses; so finitely many actions, boxes and balls (`problems.continuous`), and action sets that change
(`problems.contextual`) are the same to it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxids import beliefs, checks, lanes
from jaxids.confidence import Band
from jaxids.problems.noise import Noise
from jaxids.types import Number

SOME = 8  # trials whose features are compared
ROUNDING = 1e-6  # share by which a drawn noise bound may be above the largest there is


class Instance(NamedTuple):
    """One bandit: what the belief sees of its actions, their means, noise bounds, and one bound for all."""

    features: Float[Array, "d K ..."]
    mean: Float[Array, "K ..."]
    rho: Float[Array, "K ..."]
    rho_bound: Float[Array, "..."]

    def prior(self, belief: Any, lam: Number) -> Any:
        """The belief's state before any observation."""
        return belief.init(self.features, lam)

    def band(self, belief: Any, state: Any, bounds: Callable[[Any, Array], Array], *numbers: Number) -> Band:
        """What is known at the actions, with the noise bounds that are assumed of them, δ, λ and the norm bound."""
        return Band(belief, state, self.features, bounds(self.features, self.rho), *numbers)

    def mean_of(self, action: Int[Array, "..."]) -> Float[Array, "..."]:
        """The mean reward of an action."""
        return lanes.pick(self.mean, action)

    def rho_of(self, action: Int[Array, "..."]) -> Float[Array, "..."]:
        """The noise bound of an action."""
        return lanes.pick(self.rho, action)

    def losses(self) -> Float[Array, "K ..."]:
        """How far every action's mean is below the best: what `lost` takes, computed once."""
        return jnp.max(self.mean, axis=0) - self.mean

    def lost(self, losses: Float[Array, "K ..."], action: Int[Array, "..."]) -> Float[Array, "..."]:
        """The regret of an action."""
        return lanes.pick(losses, action)

    def most_lost(self) -> Float[Array, "..."]:
        """S: the largest regret of any action."""
        return jnp.max(self.losses(), axis=0)

    def sound(self) -> Bool[Array, "..."]:
        """Whether means and noise bounds are finite, the bounds above 0, and none above the one for all."""
        fits = (self.rho > 0) & (self.rho <= self.rho_bound * (1 + ROUNDING)) & jnp.isfinite(self.rho_bound)
        return lanes.all_finite(self.mean) & lanes.all_finite(jnp.where(fits, self.rho, jnp.nan))


@runtime_checkable
class Problem(Protocol):
    """What the simulator asks of a problem."""

    @property
    def noise(self) -> Noise:
        """The noise of scale one."""
        ...

    @property
    def belief(self) -> Any:
        """The belief that suits the instances."""
        ...

    def draw(self, key: Key[Array, ""]) -> Any:
        """The instance of one trial."""
        ...

    def check(self) -> None:
        """Raise a ValueError that names an argument out of its range."""
        ...


@runtime_checkable
class Changing(Protocol):
    """A problem whose actions change from step to step."""

    def context(self, key: Key[Array, ""]) -> Instance:
        """The instance of one step of a trial, all of the same shape and one function of the features."""
        ...


def is_problem(value: Any) -> TypeGuard[Problem]:
    """Whether a value is a problem; a class has the methods of its instances, but is none."""
    return isinstance(value, Problem) and not isinstance(value, type)


def sized(problem: Any, steps: int) -> Any:
    """The problem with room for the observations of so many steps, where its belief has to know."""
    return problem.sized(steps) if hasattr(problem, "sized") else problem


def check_draws(problem: Problem) -> None:
    """A ValueError if what a problem draws is not an instance, or its parts do not fit together."""
    if not is_problem(problem):
        raise ValueError(
            f"problem: got {checks.shown(problem)}; it takes one of jaxids.problems, as problems.unit_ball()"
        )
    with checks.naming("problem", problem, "one whose draw takes a key and gives a jaxids.problems.Instance of arrays"):
        drawn = jax.eval_shape(problem.draw, jax.random.key(0))
    if hasattr(drawn, "function"):  # a box or ball, looked at when it was made
        return
    if not isinstance(drawn, Instance):
        raise ValueError(f"problem: it draws {type(drawn).__name__}; it takes one that draws jaxids.problems.Instance")
    for name, part in drawn._asdict().items():
        if not hasattr(part, "shape"):
            raise ValueError(f"{name}: got a {type(part).__name__}; it takes an array of floats")
    count = drawn.features.shape[-1:]
    expected = {"mean": count, "rho": count, "rho_bound": ()}
    if len(drawn.features.shape) != 2 or 0 in drawn.features.shape:
        raise ValueError(f"features: got shape {list(drawn.features.shape)}; they take [d, K]")
    for name, part in drawn._asdict().items():
        if part.shape != expected.get(name, part.shape) or not jnp.issubdtype(part.dtype, jnp.floating):
            takes = f"floats of shape {list(expected.get(name, part.shape))}, with features [d, K = {count[0]}]"
            raise ValueError(f"{name}: got {part.dtype} of shape {list(part.shape)}; it takes {takes}")
    if problem.belief is beliefs.shared and not type(problem).__module__.startswith("jaxids."):
        _check_same(problem)


def _check_same(problem: Problem) -> None:
    """A ValueError if features of some trials differ, of which the belief keeps those of one."""
    draw = jax.jit(lambda key: problem.draw(key).features)
    first, *others = (draw(jax.random.key(seed)) for seed in range(SOME))
    if not all(jnp.array_equal(first, other) for other in others):
        takes = "beliefs.kept, or beliefs.linear, where they differ from trial to trial"
        raise ValueError(f"belief: got beliefs.shared, for features that all trials share; it takes {takes}")
