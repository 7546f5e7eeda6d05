"""Numbers about final regrets, or any sample of trials, with their errors: NumPy only, JAX is not imported.

Quantiles and tails of one policy, paired differences of two, and the rule that stops a cell at a standard error.
"""

from jaxids.statistics.pairs import Difference, difference
from jaxids.statistics.samples import Estimate, quantiles, share, tail
from jaxids.statistics.stopping import Stop, Watch, stopped

__all__ = [
    "Difference",
    "Estimate",
    "Stop",
    "Watch",
    "difference",
    "quantiles",
    "share",
    "stopped",
    "tail",
]
