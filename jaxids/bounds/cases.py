"""Processes that meet the assumptions of the inequalities of Appendix A and Theorem 1, and what is claimed of them.

A process gives what a step adds, from uniform draws and the sums so far; a claim says of the sums what is at most what.
Claims that are not proven stand beside those that are, as controls: a test that could not tell them apart would say
nothing.

- `counterexample` is the paper's: I_t is Bernoulli(1/2) until the first 1, then 0. So ΣI_t ≤ 1, while ΣE[I_t] is T/2
  with probability 2^(1−T): no bound of the latter by the former does without log(1/δ).
- `growing` has steps in proportion to the standard deviation so far: log A_t grows as t, so a thousand steps show the
  iterated logarithm, and that the anytime bound for supermartingales fails for an offset l_t in proportion to A_t.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import ratio
from jaxids.bounds import concentration, regret
from jaxids.types import Number

Lanes = Float[Array, "n"]
Sides = tuple[Lanes, Lanes]  # what is claimed to be at most what
OFFSET, SHARE = 100.0, 0.15  # of the anytime bound: as it is proven, and in proportion to A_T
MOST = 1e30  # of a sum of squares


class Sums(NamedTuple):
    """What a step adds, or all steps so far have: X_t, m_t, E[ξ_t²], C_t², Δ_t and Ψ_t."""

    value: Lanes
    mean: Lanes
    second: Lanes
    spread: Lanes
    gap: Lanes
    ratio: Lanes


class Case(NamedTuple):
    """A claim about the sums of a process, for all T at once or one, and whether it is proven."""

    claim: Callable[[Sums, Float[Array, ""], Number], Sides]
    process: Callable[[Sums, Float[Array, ""], Lanes], Sums]
    anytime: bool = True
    proven: bool = True


def _sums(like: Lanes, **given: Lanes) -> Sums:
    return Sums(**{name: given.get(name, jnp.zeros_like(like)) + 0 * like for name in Sums._fields})


def skewed(past: Sums, step: Array, draw: Lanes) -> Sums:
    """1 with probability p, else −p/(1 − p): p is a half while the sum is negative and 1/50 after."""
    chance = jnp.where(past.value < 0, 0.5, 0.02)
    second = chance / (1 - chance)
    value = jnp.where(draw < chance, 1.0, -second)
    return _sums(draw, value=value, second=second, spread=concentration.spread(second, jnp.ones_like(draw)))


def walk(past: Sums, step: Array, draw: Lanes) -> Sums:
    """−1 or 1."""
    one = jnp.ones_like(draw)
    return _sums(draw, value=jnp.where(draw < 0.5, -one, one), second=one, spread=one)


def growing(past: Sums, step: Array, draw: Lanes) -> Sums:
    """Plus or minus a fifth of √(1 + A): the variance so far grows by a 25th in every step."""
    square = jnp.where(past.spread < MOST, 0.04 * (1 + past.spread), 0)
    value = jnp.where(draw < 0.5, -1, 1) * jnp.sqrt(square)
    return _sums(draw, value=value, second=square, spread=square)


def urn(past: Sums, step: Array, draw: Lanes) -> Sums:
    """0 or 1, the more likely the more often it came up: means between 0 and 1 that differ by trial."""
    mean = (1 + past.value) / (1 + step)
    return _sums(draw, value=(draw < mean).astype(draw.dtype), mean=mean)


def counterexample(past: Sums, step: Array, draw: Lanes) -> Sums:
    """Bernoulli(1/2) until the first 1, then 0."""
    mean = jnp.where(past.value > 0, 0, 0.5)
    return _sums(draw, value=(draw < mean).astype(draw.dtype), mean=mean)


def policy(past: Sums, step: Array, draw: Lanes) -> Sums:
    """An action of gap 1 that tells much, the likelier the more it was played, and one of gap 0."""
    often, gains = (1 + past.gap) / (1 + step), jnp.asarray([0.01, 0.3])
    far = draw < often
    mean = ratio.blend(often, *gains)
    value = jnp.where(far, gains[1], gains[0])
    return _sums(draw, value=value, mean=mean, gap=far.astype(draw.dtype), ratio=ratio.quotient(often, mean))


def freedman(sums: Sums, step: Array, delta: Number) -> Sides:
    """Freedman's consequence, at one T."""
    return sums.value, concentration.freedman(sums.second, 1.0, step, delta)


def supermartingale(sums: Sums, step: Array, delta: Number) -> Sides:
    """The anytime bound with one offset."""
    return sums.value, concentration.supermartingale(sums.spread, delta, OFFSET)


def growing_offset(sums: Sums, step: Array, delta: Number) -> Sides:
    """The anytime bound with an offset in proportion to A_T, which is a fixed sequence where the process has one."""
    return sums.value, concentration.supermartingale(sums.spread, delta, SHARE * sums.spread)


def conditional_means(sums: Sums, step: Array, delta: Number) -> Sides:
    """The first form of Lemma 3."""
    return sums.mean - sums.value, concentration.conditional_means(sums.mean, 1.0, delta, 1.0)


def conditional_sum(sums: Sums, step: Array, delta: Number) -> Sides:
    """The second form of Lemma 3."""
    return sums.mean, concentration.conditional_sum(sums.value, 1.0, delta)


def no_constants(sums: Sums, step: Array, delta: Number) -> Sides:
    """The second form of Lemma 3 without its terms in δ and b: ΣE[X_t] ≤ 2ΣX_t + 1."""
    return sums.mean, 2 * sums.value + 1


def randomised(sums: Sums, step: Array, delta: Number) -> Sides:
    """Theorem 1 with the tight constant."""
    bounds = {"delta": delta, "gap_bound": 1.0, "gain_bound": 1.0}
    return sums.gap, regret.randomised(sums.ratio, sums.value, step, printed=False, **bounds)


CASES = (
    Case(freedman, skewed, anytime=False),
    Case(freedman, walk, anytime=False),
    Case(supermartingale, skewed),
    Case(supermartingale, walk),
    Case(supermartingale, growing),
    Case(growing_offset, growing, proven=False),
    Case(conditional_means, urn),
    Case(conditional_means, counterexample),
    Case(conditional_sum, urn),
    Case(conditional_sum, counterexample),
    Case(no_constants, counterexample, proven=False),
    Case(randomised, policy),
)
"""What `violations` tries: each claim on a process, the unproven ones as controls."""
