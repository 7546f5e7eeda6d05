"""The regret-information ratio Ψ(μ) = E_μ[Δ]² / E_μ[g] and its minimisers over distributions μ on the actions.

Gaps and gains are [K, …], numbers ≥ 0 with actions on the first axis; axes after it are lanes, each one by itself.
A solver gives a `Mix` of two actions, its parts of shape […]. Ψ is 0 where the gap is 0, +∞ where only the gain is.
"""

from jaxids.ratio.bracket import exact
from jaxids.ratio.gradient import descent, simplex
from jaxids.ratio.mixes import Mix, best_weight, blend, mix, never_mixes, pairs, psi, quotient, single

__all__ = [
    "Mix",
    "best_weight",
    "blend",
    "descent",
    "exact",
    "mix",
    "never_mixes",
    "pairs",
    "psi",
    "quotient",
    "simplex",
    "single",
]
