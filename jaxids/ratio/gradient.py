"""The minimum of Ψ by gradient descent on the simplex, for reference and for information a closed form cannot take.

With ν the shares of the regret, ν_k ∝ μ_k Δ_k, the ratio is a product, Ψ = 1 / (Σ ν_k/Δ_k · Σ ν_k g_k/Δ_k), so
−log Ψ is a sum of two concave functions of ν that do not care about scale. Adam descends on the logits of ν.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int

from jaxids import checks, lanes
from jaxids.ratio.mixes import Mix, Vector, edge, mix, quotient, vectors


def simplex(gap: Any, gain: Any, *, steps: int = 500, rate: float = 1.0) -> Vector:
    """A distribution [K, …] on the actions that nearly minimises Ψ, from gaps and gains [K, …]."""
    gap, gain = vectors(gap, gain)
    steps, rate = _numbers(steps, rate)
    tiny = jnp.finfo(gap.dtype).tiny
    log_gap, log_gain = jnp.log(jnp.maximum(gap, tiny)), jnp.log(jnp.maximum(gain, tiny))

    def log_psi(logits: Vector) -> Float[Array, ""]:
        log_share = jax.nn.log_softmax(logits, axis=0)
        terms = log_share - log_gap, log_share - log_gap + log_gain
        return -jnp.sum(sum(jax.nn.logsumexp(term, axis=0) for term in terms))

    optimizer = optax.adam(optax.cosine_decay_schedule(rate, steps), eps=1e-12)

    def step(_: Int[Array, ""], carry: tuple[Vector, Any]) -> tuple[Vector, Any]:
        logits, state = carry
        updates, state = optimizer.update(jax.grad(log_psi)(logits), state)
        return jnp.asarray(optax.apply_updates(logits, updates)), state

    # start where each of the two sums is largest, so that no good action begins out of reach
    logits = jnp.logaddexp(jax.nn.log_softmax(-log_gap, axis=0), jax.nn.log_softmax(log_gain - log_gap, axis=0))
    logits, _ = lax.fori_loop(0, steps, step, (logits, optimizer.init(logits)))
    return jax.nn.softmax(logits - log_gap, axis=0)


def descent(gap: Any, gain: Any, *, steps: int = 500, rate: float = 1.0) -> Mix:
    """Descend, then round to two actions: the one with the largest share of the regret, and its best partner."""
    gap, gain = vectors(gap, gain)
    steps, rate = _numbers(steps, rate)
    fixed = lax.stop_gradient(gap), lax.stop_gradient(gain)
    share = simplex(*fixed, steps=steps, rate=rate) * fixed[0]
    first = lanes.first_max(jnp.where(jnp.any(share > 0, axis=0), share, -fixed[0])).arg
    second = _partner(*fixed, first)
    first = _partner(*fixed, second)
    return mix(gap, gain, jnp.minimum(first, second), jnp.maximum(first, second))


def _numbers(steps: Any, rate: Any) -> tuple[int, float]:
    checks.positive("rate", rate)
    return checks.count("steps", steps), float(rate)


def _partner(gap: Vector, gain: Vector, action: Int[Array, "..."]) -> Int[Array, "..."]:
    own = lanes.pick(gap, action), lanes.pick(gain, action)
    together = jnp.minimum(edge(*own, gap, gain), edge(gap, gain, *own))
    return lanes.first_min(jnp.minimum(together, quotient(gap, gain))).arg
