"""What a belief is to everything else: a module, or any object, with these functions of a pure state.

`features` is what the belief sees of the actions it is asked about, [d, K, …]: feature vectors, points of a box, or,
for the kernel belief, the root of the Gram matrix that its state began with. `x` is what it sees of one action: `at`
gives it from an index, `look` from a point. All arrays may have lanes after their own axes.

Besides, a belief on finitely many actions has `init(features, lam)` and `sample(state, features, stream, scale)`, every
action's mean in a posterior draw. On a box or ball one has `var_of(state, x)`, `draw(state, basis, stream, scale)`,
one posterior draw of the whole function, and `drawn(state, draw, features)`, its values at points.

It may have `var_given(state, features, x)`, every action's variance if f(x) were known. Without it that is a
difference: off by rounding of σ², so gains about another action are off by about ε σ²/ρ² where that action is close.
"""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float


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
