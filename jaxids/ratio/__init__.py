"""The regret-information ratio and its minimisers."""

from jaxids.ratio.descent import descent, simplex
from jaxids.ratio.exact import exact
from jaxids.ratio.mixes import Mix, best_weight, blend, mix, pairs, psi, quotient, single

__all__ = ["Mix", "best_weight", "blend", "descent", "exact", "mix", "pairs", "psi", "quotient", "simplex", "single"]
