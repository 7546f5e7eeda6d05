"""The regret-information ratio and its minimisers."""

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
