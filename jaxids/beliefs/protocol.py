"""What a belief is to everything else: a module, or any object, with these functions of a pure state.

`features` is what the belief sees of the actions it is asked about, [d, K, …]: feature vectors, points of a box, or,
for the kernel belief, the root of the Gram matrix that its state began with. `x` is what it sees of one action: `at`
gives it from an index, `look` from a point. All arrays may have lanes after their own axes.
"""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float

from jaxids import draws
from jaxids.types import Number

__all__ = ["Belief"]


@runtime_checkable
class Belief(Protocol):
    """A least-squares estimate of the mean reward."""

    def update(self, state: Any, x: Any, reward: Any, rho2: Any, /) -> Any:
        """The state after one reward whose noise has the bound ρ²."""
        ...

    def mean(self, state: Any, features: Any, /) -> Float[Array, "K ..."]:
        """The estimate of every action's mean."""
        ...

    def var(self, state: Any, features: Any, /) -> Float[Array, "K ..."]:
        """σ_t(x)² of every action."""
        ...

    def cov_with(self, state: Any, features: Any, x: Any, /) -> Float[Array, "K ..."]:
        """The posterior covariance of every action with one."""
        ...

    def log_det(self, state: Any, /) -> Float[Array, "..."]:
        """log det V_t − log det V_0, by which β_t grows."""
        ...


class Sampled(Belief, Protocol):
    """A belief on finitely many actions, with joint posterior samples."""

    def at(self, features: Any, action: Any, /) -> Any:
        """What the belief sees of one action, by its index."""
        ...

    def init(self, features: Any, lam: Number, /) -> Any:
        """The state before any observation."""
        ...

    def sample(self, state: Any, features: Any, source: draws.Stream, scale: Number = 1.0, /) -> Float[Array, "K ..."]:
        """Every action's mean under one posterior draw."""
        ...


class Drawn(Belief, Protocol):
    """A belief on a box or ball, with posterior draws that are functions of a point."""

    def look(self, state: Any, point: Any, /) -> Any:
        """What the belief sees of one action, a point [p]."""
        ...

    def var_of(self, state: Any, x: Any, /) -> Float[Array, "..."]:
        """σ_t(x)² of one action."""
        ...

    def draw(self, state: Any, basis: Any, source: draws.Stream, scale: Number = 1.0, /) -> Any:
        """One draw of the whole function, with the prior's basis if there is a kernel."""
        ...

    def drawn(self, state: Any, function: Any, features: Any, /) -> Float[Array, "K ..."]:
        """The values of a draw at points."""
        ...
