"""Information gain functions (Appendix D): (band, stream) → the gain of evaluating each of the band's actions, [K].

They are written once, for finitely many actions, boxes and balls.

`f` counts what an observation says about the whole function, the others what it says about one action x':

    I_t(x) = log(σ_t(x')² / σ_t(x'|x)²) = −log(1 − c²),   c² = k_t(x, x')² / (σ_t(x')² (ρ(x)² + σ_t(x)²)).

Where ρ is small c² comes close to 1. So what is computed is the same without that difference: of σ_t(x)², f(x')
explains e = k_t(x, x')²/σ_t(x')² and leaves l = σ_t(x)² − e, which is noise to who wants to know f(x'), and

    I_t(x) = log(1 + e / (ρ(x)² + l)),   for x = x' the I^F of x', log(1 + σ_t(x)²/ρ(x)²).
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks, draws, lanes, names
from jaxids.confidence import Action, Band

__all__ = ["Averaged", "Information", "about", "e", "f", "ts", "ucb"]

Information = Callable[[Band, draws.Stream], Float[Array, "K ..."]]  # the gain at the band's actions


def f(band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
    """I^F: twice the mutual information of the observation and f."""
    return lanes.log1p(band.var / band.rho**2)


def ucb(band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
    """I^UCB: what the observation says about the UCB action."""
    return about(band, band.ucb)


def ts(band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
    """I^TS: what the observation says about the best action of one posterior draw."""
    return about(band, band.best(source))


@dataclass(frozen=True)
class Averaged:
    """I^E: the mean of I^TS over several proposals."""

    proposals: int = names.PROPOSALS

    def __post_init__(self) -> None:
        """Refuse a number of proposals that the streams cannot tell apart."""
        if checks.count("proposals", self.proposals) > 255:
            raise ValueError(f"proposals: got {self.proposals}; it takes a whole number from 1 to 255")

    def __call__(self, band: Band, source: draws.Stream) -> Float[Array, "K ..."]:
        """The gain of every action."""
        _ = band.some_quiet  # asked before the loop over proposals
        return band.average(source, self.proposals, lambda target: about(band, target))


e = Averaged()  # I^E with the paper's ten proposals


def about(band: Band, target: Action) -> Float[Array, "K ..."]:
    """What an observation of each action says about the target action."""
    own = band.var_of(target)
    known = own <= 0  # nothing is left to learn about an action of no variance, such as the zero vector
    cov = band.cov_with(target)
    explained = lanes.shared(jnp.where(known, 0, cov * (cov / jnp.where(known, 1, own))))
    return band.left(target, explained, lambda left: lanes.log1p(explained / (band.rho**2 + left)))
