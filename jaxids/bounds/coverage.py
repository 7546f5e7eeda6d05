"""How often the inequalities of Appendix A and Theorem 1 are violated, on processes that meet their assumptions.

An anytime claim is violated by a trial where it is at any T up to the last step.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Key, UInt32

from jaxids import checks, draws
from jaxids.bounds.cases import CASES, Case, Lanes, Sums
from jaxids.statistics.samples import share
from jaxids.types import Number
from jaxids.words import shown


class Coverage(NamedTuple):
    """How often a claim was violated, the interval of 99 % for its rate, and the median of what is left at the end."""

    inequality: str
    process: str
    proven: bool
    delta: float
    trials: int
    violations: int
    rate: float
    low: float
    high: float
    slack: float


def violations(
    *inequalities: str,
    key: Key[Array, ""],
    delta: float = 0.05,
    trials: int = 10_000,
    steps: int = 1000,
    cases: tuple[Case, ...] = CASES,
) -> list[Coverage]:
    """A row for every case, or for those of the claims so named, each on its own trials."""
    checks.key("key", key)
    checks.within("delta", delta, 0, 1)
    trials, steps = checks.count("trials", trials), checks.count("steps", steps)
    if not isinstance(cases, tuple | list) or not all(isinstance(case, Case) for case in cases):
        raise ValueError(f"cases: got {shown(cases)}; it takes a tuple of bounds.Case, as bounds.CASES")
    known = [case.claim.__name__ for case in cases]
    for name in inequalities:
        if name not in known:
            raise ValueError(f"inequalities: got {shown(name)}; it takes names of {', '.join(dict.fromkeys(known))}")
    chosen = [(i, case) for i, case in enumerate(cases) if not inequalities or known[i] in inequalities]
    return [_row(case, jax.random.fold_in(key, i), delta, trials, steps) for i, case in chosen]


def _row(case: Case, key: Key[Array, ""], delta: float, trials: int, steps: int) -> Coverage:
    words = jax.random.bits(key, (2, trials), jnp.uint32)
    violated, slack = jax.device_get(_simulated(words, delta, steps=steps, case=case))
    fails = int(np.count_nonzero(violated))
    names = case.claim.__name__, case.process.__name__, case.proven
    return Coverage(*names, delta, trials, fails, fails / trials, *interval(fails, trials), float(np.median(slack)))


@partial(jax.jit, static_argnames=("steps", "case"))
def _simulated(words: UInt32[Array, "2 n"], delta: Number, *, steps: int, case: Case) -> tuple[Bool[Array, "n"], Lanes]:
    """Which trials violate the claim, and what is left at the end."""
    nothing = jnp.zeros(words.shape[1:])

    def step(at: tuple[Sums, Array, Array], t: Array) -> tuple[tuple[Sums, Array, Array], None]:
        past, violated, _ = at
        draw = draws.uniform(draws.Stream(words, t), 1)[0]
        count = (t + 1).astype(draw.dtype)
        sums = jax.tree.map(jnp.add, past, case.process(past, count, draw))
        left, right = case.claim(sums, count, delta)
        before = violated if case.anytime else jnp.zeros_like(violated)
        return (sums, before | (left > right), right - left), None

    start = Sums(*[nothing] * len(Sums._fields)), nothing > 0, nothing
    return lax.scan(step, start, jnp.arange(steps, dtype=jnp.uint32))[0][1:]


def interval(count: int, trials: int, level: float = 0.99) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a probability, from how often of so many times something came up."""
    checks.within("level", level, 0, 1)
    trials = checks.count("trials", trials)
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count <= trials:
        raise ValueError(f"count: got {shown(count)}; it takes a whole number from 0 to trials, {trials}")
    found = share(count, trials, level)
    return found.low, found.high
