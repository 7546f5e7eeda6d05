"""What a problem is to the simulator: something that draws an instance for every trial."""

from types import ModuleType
from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Float, Key

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
