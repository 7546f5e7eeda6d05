"""What a problem is to the simulator: something that draws an instance for every trial."""

from types import ModuleType
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxids import checks
from jaxids.problems.noise import Noise


class Instance(NamedTuple):
    """One bandit: what the belief sees of its actions, their means, noise bounds, and one bound for all."""

    features: Float[Array, "d K"]
    mean: Float[Array, "K"]
    rho: Float[Array, "K"]
    rho_bound: Float[Array, ""]


@runtime_checkable
class Problem(Protocol):
    """What the simulator asks of a problem."""

    @property
    def noise(self) -> Noise:
        """The noise of scale one."""
        ...

    @property
    def belief(self) -> ModuleType:
        """The belief that suits the instances."""
        ...

    def draw(self, key: Key[Array, ""]) -> Instance:
        """The instance of one trial."""
        ...

    def check(self) -> None:
        """Raise a ValueError that names an argument out of its range."""
        ...


def check_draws(problem: Problem) -> None:
    """A ValueError if what a problem draws is not an instance, or its parts do not fit together."""
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem: got {checks.shown(problem)}; it takes one of jaxids.problems, as problems.unit_ball()"
        )
    drawn = jax.eval_shape(problem.draw, jax.random.key(0))
    if not isinstance(drawn, Instance):
        raise ValueError(f"problem: it draws {type(drawn).__name__}; it takes one that draws jaxids.problems.Instance")
    count = drawn.features.shape[-1:]
    expected = {"mean": count, "rho": count, "rho_bound": ()}
    if len(drawn.features.shape) != 2 or 0 in drawn.features.shape:
        raise ValueError(f"features: got shape {list(drawn.features.shape)}; they take [d, K]")
    for name, part in drawn._asdict().items():
        if part.shape != expected.get(name, part.shape) or not jnp.issubdtype(part.dtype, jnp.floating):
            takes = f"floats of shape {list(expected.get(name, part.shape))}, with features [d, K = {count[0]}]"
            raise ValueError(f"{name}: got {part.dtype} of shape {list(part.shape)}; it takes {takes}")
