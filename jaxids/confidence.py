"""The confidence band of a belief and what follows from it: β_t, upper bounds, the UCB action, the surrogate gap.

β_t = √(2 log(1/δ) + log det V_t − log det V_0) + √λ · norm bound   (Lemmas on linear and on RKHS regression)
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxids import checks, draws, lanes

Number = Float[Array, "..."] | float


def beta(log_det: Number, delta: Number, lam: Number, norm_bound: Number) -> Float[Array, "..."]:
    """β_t from the tracked determinant."""
    checks.within("delta", delta, 0, 1)
    checks.positive("lam", lam)
    checks.not_negative("norm_bound", norm_bound)
    checks.not_negatives("log_det", log_det)
    log_det = checks.real("log_det", log_det, "numbers ≥ 0")
    delta, lam, norm_bound = (jnp.asarray(number, log_det.dtype) for number in (delta, lam, norm_bound))
    return jnp.sqrt(log_det - 2 * jnp.log(delta)) + jnp.sqrt(lam) * norm_bound


@dataclass(frozen=True)
class Band:
    """What a policy knows at one step; each quantity is computed once, when it is first asked for.

    An information function with a loop of its own should ask before the loop, not first inside it: what is computed
    inside a traced loop cannot be kept for later.
    """

    belief: ModuleType
    state: Any
    rho: Float[Array, "K ..."]
    delta: Number
    lam: Number
    norm_bound: Number

    @cached_property
    def mean(self) -> Float[Array, "K ..."]:
        """The estimate of every action's mean."""
        return self.belief.mean(self.state)

    @cached_property
    def var(self) -> Float[Array, "K ..."]:
        """σ_t(x)² of every action."""
        return lanes.shared(self.belief.var(self.state))

    @cached_property
    def beta(self) -> Float[Array, "..."]:
        """β_t."""
        return beta(self.belief.log_det(self.state), self.delta, self.lam, self.norm_bound)

    @cached_property
    def radius(self) -> Float[Array, "K ..."]:
        """β_t σ_t(x), half the width of the band."""
        return self.beta * jnp.sqrt(self.var)

    @cached_property
    def upper(self) -> Float[Array, "K ..."]:
        """The upper confidence bound of every action."""
        return lanes.shared(self.mean + self.radius)

    @cached_property
    def top(self) -> lanes.Best:
        """The UCB action and the largest upper bound."""
        return lanes.first_max(self.upper)

    @cached_property
    def ucb(self) -> Int[Array, "..."]:
        """The UCB action."""
        return self.top.arg

    @cached_property
    def gap(self) -> Float[Array, "K ..."]:
        """Δ_t⁺(x): the largest upper bound less the lower bound of x."""
        return self.top.value - self.mean + self.radius

    def cov_with(self, action: Int[Array, "..."]) -> Float[Array, "K ..."]:
        """The posterior covariance of every action with one."""
        return self.belief.cov_with(self.state, action)

    def sample(self, source: draws.Stream, scale: Number = 1.0) -> Float[Array, "K ..."]:
        """Every action's mean under one posterior draw."""
        return self.belief.sample(self.state, source, scale)
