"""How bounds grow with the steps (Table 1 and the corollary): γ_T, β_T and regret, before anything is run.

    γ_T ≤ r log(1 + T s/r),   s = max_x σ_0(x)²/ρ(x)²,  r = min(rank, T)

since Σ log(1 + σ_t²/ρ²) = log det(I + M) for a matrix M of rank ≤ r and trace ≤ T s. `allocation.gamma_gram` is
a closer bound for finitely many points. Those named `…_rate` leave constants out: they are for slopes, not for levels.

Table 1 has log(T)^d as the rate of γ_T for the RBF kernel, by a citation (Srinivas et al., 2010) that gives
log(T)^(d+1). The latter is right: eigenvalues of which about log(T)^d, up to log log T, are above 1/T, each with up to
log T. So that is what is given here, the paper's with `printed=True`.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks
from jaxids.bounds.arguments import Amount, at_least, numbers


def gamma(rank: Amount, steps: Amount, signal: Amount) -> Float[Array, "..."]:
    """γ_T ≤ r log(1 + T s/r) from the rank of the kernel (d if it is linear), T and s = max_x σ_0(x)²/ρ(x)²."""
    at_least("rank", rank, 1)
    at_least("steps", steps, 1)
    rank, steps, signal = numbers(rank=rank, steps=steps, signal=signal)
    rank = jnp.minimum(rank, steps)
    return rank * jnp.log1p(steps * signal / rank)


def gamma_linear(dim: Amount, steps: Amount, *, lam: Amount, rho: Amount, norm: Amount = 1.0) -> Float[Array, "..."]:
    """γ_T ≤ d log(1 + T L²/(dλρ²)) of features of norm ≤ L in d dimensions, ρ the least noise bound."""
    at_least("dim", dim, 1)
    at_least("steps", steps, 1)
    checks.positives("lam", lam)
    checks.noise_bounds("rho", rho)
    dim, steps, lam, rho, norm = numbers(dim=dim, steps=steps, lam=lam, rho=rho, norm=norm)
    return gamma(dim, steps, norm**2 / (lam * rho**2))


def gamma_linear_rate(dim: Amount, steps: Amount) -> Float[Array, "..."]:
    """The rate of γ_T for linear functions: d log T."""
    at_least("dim", dim, 1)
    at_least("steps", steps, 1)
    dim, steps = numbers(dim=dim, steps=steps)
    return dim * jnp.log(steps)


def gamma_rbf_rate(dim: Amount, steps: Amount, *, printed: bool = False) -> Float[Array, "..."]:
    """The rate of γ_T for the RBF kernel on a set in d dimensions: log(T)^(d+1), as printed log(T)^d."""
    at_least("dim", dim, 1)
    at_least("steps", steps, 1)
    checks.flag("printed", printed)
    dim, steps = numbers(dim=dim, steps=steps)
    return jnp.log(steps) ** (dim if printed else dim + 1)


def rate(
    rho_bound: Amount, beta: Amount, gamma: Amount, steps: Amount, *, delta: Amount | None = None
) -> Float[Array, "..."]:
    """The corollary's rate of regret: R β_T √(T(γ_T + log(1/δ))) of IDS, or with no δ R β_T √(T γ_T) of DIDS."""
    at_least("steps", steps, 1)
    checks.noise_bounds("rho_bound", rho_bound)
    if delta is not None:
        checks.within("delta", delta, 0, 1)
    rho_bound, beta, gamma, steps, level = numbers(
        rho_bound=rho_bound, beta=beta, gamma=gamma, steps=steps, delta=1.0 if delta is None else delta
    )
    return rho_bound * beta * jnp.sqrt(steps * (gamma - jnp.log(level)))


def regret_rate(gamma: Amount, steps: Amount, *, delta: Amount) -> Float[Array, "..."]:
    """The last column of Table 1: (γ_T + log(1/δ))√T."""
    at_least("steps", steps, 1)
    checks.within("delta", delta, 0, 1)
    gamma, steps, delta = numbers(gamma=gamma, steps=steps, delta=delta)
    return (gamma - jnp.log(delta)) * jnp.sqrt(steps)
