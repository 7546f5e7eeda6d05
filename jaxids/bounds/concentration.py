"""Concentration of martingales (Appendix A): how far a sum may be from its conditional means, with probability 1 − δ.

    Freedman     M_T ≤ max{4b log(c/δ), 2√(V_T log(c/δ))},  c = 2 log T + 2,            at one T
    anytime      S_T ≤ √(2(A_T + l) log(√((A_T + l)/l)/δ)),  A_T = ΣC_t²,               at all T at once
    Lemma 3      Σ m_t − X_t ≤ the same with A_T = b M_T,  M_T = Σ m_t,  0 ≤ X_t ≤ b,   at all T at once
                 M_T ≤ 2ΣX_t + 4b log(1/δ) + 8b log(4b) + 1  where b ≥ 1,               at all T at once

What the text has otherwise:
- Freedman's second display has c = 2T + 2 (`printed=True`). Its proof gives ⌈log T/log(5/3)⌉ + 1, which is at most
  2 log T + 2 at every T ≥ 1, since ⌈x⌉ < x + 1 and 1/log(5/3) < 2.
- That proof uses V_T ≤ T b², which X_t ≤ b alone does not give. It is so where |X_t| ≤ b, or where X_t is something in
  an interval of length b less its mean, as in Theorem 1. With X_t ≤ b only (`one_sided=True`), M_T ≤ T b, so nothing is
  to be shown where V_T > T²b²/λ²: twice as many layers do, c = 4 log T + 2.
- Freedman's first display is negative where λ² ≥ β²T. There M_T ≤ T b < λ²b: the probability is 0
  (`printed=True` for the display as it is). It needs |X_t| ≤ b as well.
- The anytime bound is stated for any fixed sequence l_t. Its proof mixes over λ by a density that has to be the same at
  all t, so l is one number. With l_t in proportion to A_t the bound would be of order √A_T at all T, against the law of
  the iterated logarithm; `cases.growing` is an example.
- Lemma 3 takes its second form from the first with l_t = b_t, which by this needs b_t not to change. With l = 1 the
  same steps give the same result for any fixed b_t that do not fall. They use √(ab log(ab)) ≤ a + b log b with a < 1
  where M_T < 3, or with l = 1 where M_T < 4 − 1/b, outside what that lemma says; but there the result is plain, as
  8b log(4b) + 1 > 12.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks, lanes
from jaxids.bounds.arguments import Amount, above, at_least, numbers


def freedman(
    variances: Amount, bound: Amount, steps: Amount, delta: Amount, *, printed: bool = False, one_sided: bool = False
) -> Float[Array, "..."]:
    """What a martingale M_T exceeds with probability at most δ at one T: max{4b log(c/δ), 2√(V_T log(c/δ))}.

    c is 2 log T + 2, with `one_sided` 4 log T + 2, and with `printed` 2T + 2. The differences are within ±b or, with
    `one_sided`, ≤ b.
    """
    checks.within("delta", delta, 0, 1)
    at_least("steps", steps, 1)
    checks.flag("printed", printed)
    checks.flag("one_sided", one_sided)
    variances, bound, steps, delta = numbers(variances=variances, bound=bound, steps=steps, delta=delta)
    layers = 2 * steps + 2 if printed else (4 if one_sided else 2) * jnp.log(steps) + 2
    log = jnp.log(layers) - jnp.log(delta)
    return jnp.maximum(4 * bound * log, 2 * lanes.root(variances) * jnp.sqrt(log))


def freedman_tail(lam: Amount, steps: Amount, growth: Amount = 5 / 3, *, printed: bool = False) -> Float[Array, "..."]:
    """P[M_T ≥ λ max{λb, √V_T}] ≤ (l + 1) exp(−λ²/(2β + 2/3)), l = ⌈log(T/λ²)/log β⌉, β the growth of the layers.

    The differences of M_T are within ±b. A probability, from 0 to 1, unless it is to be what is printed.
    """
    checks.flag("printed", printed)
    at_least("steps", steps, 1)
    above("growth", growth, 1)
    lam, steps, growth = numbers(lam=lam, steps=steps, growth=growth)
    some = lam > 0
    safe = jnp.where(some, lam, 1)
    layers = jnp.ceil((jnp.log(steps) - 2 * jnp.log(safe)) / jnp.log(growth)) + 1
    tail = layers * jnp.exp(-(safe**2) / (2 * growth + 2 / 3))
    return jnp.where(some, tail, jnp.inf) if printed else jnp.where(some, jnp.clip(tail, 0, 1), 1)


def spread(second_moments: Amount, bounds: Amount) -> Float[Array, "..."]:
    """C_t² of a difference ξ ≤ U with E ξ²: E ξ² where that is ≥ U², else (U + E ξ²/U)²/4, which is larger."""
    second, bounds = numbers(second_moments=second_moments, bounds=bounds)
    wide = second >= bounds**2
    safe = jnp.where(wide, 1, bounds)
    return jnp.where(wide, second, (safe + second / safe) ** 2 / 4)


def supermartingale(variances: Amount, delta: Amount, offset: Amount) -> Float[Array, "..."]:
    """The anytime bound, √(2(A_T + l) log(√((A_T + l)/l)/δ)): what S_T exceeds at any T with probability at most δ.

    A_T is ΣC_t², the `variances`, and l, the `offset`, one number for all T.
    """
    checks.within("delta", delta, 0, 1)
    checks.positives("offset", offset)
    variances, delta, offset = numbers(variances=variances, delta=delta, offset=offset)
    log = jnp.log1p(variances / offset) / 2 - jnp.log(delta)
    return jnp.sqrt(2 * (variances + offset) * log)


def conditional_means(means: Amount, bound: Amount, delta: Amount, offset: Amount) -> Float[Array, "..."]:
    """Lemma 3, first form: what Σ m_t − X_t exceeds at any T with probability at most δ, for 0 ≤ X_t ≤ b.

    It is the anytime bound with A_T = b M_T, M_T the sum of the conditional means m_t.
    """
    checks.within("delta", delta, 0, 1)
    checks.positives("offset", offset)
    means, bound, delta, offset = numbers(means=means, bound=bound, delta=delta, offset=offset)
    return supermartingale(bound * means, delta, offset)


def conditional_sum(values: Amount, bound: Amount, delta: Amount) -> Float[Array, "..."]:
    """Lemma 3, second form: what Σ m_t exceeds at any T with probability at most δ, for 0 ≤ X_t ≤ b and a fixed b ≥ 1.

    It is 2ΣX_t + 4b log(1/δ) + 8b log(4b) + 1.
    """
    checks.within("delta", delta, 0, 1)
    at_least("bound", bound, 1)
    values, bound, delta = numbers(values=values, bound=bound, delta=delta)
    return 2 * values + 4 * bound * (2 * (jnp.log(bound) + math.log(4)) - jnp.log(delta)) + 1
