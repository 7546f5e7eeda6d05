"""The final regret of a curve in a few numbers, each with its standard error."""

from collections.abc import Sequence

from jaxids.experiment.curves import Curve
from jaxids.experiment.keys import Table
from jaxids.statistics import Estimate, quantiles

__all__ = ["CHANCES", "summary"]

CHANCES = {"median": 0.5, "quantile_90": 0.9, "quantile_99": 0.99}


def summary(curve: Curve, above: Sequence[float] = ()) -> Table:
    """How many trials, mean, median and upper quantiles, and the probability of more than some borders."""
    found = dict(zip(CHANCES, quantiles(curve.final, list(CHANCES.values())), strict=True))
    found |= {f"above_{repr(float(border)).removesuffix('.0')}": curve.tail(border) for border in above}
    row = {"trials": len(curve.trials), "mean": float(curve.mean[-1]), "stderr": float(curve.stderr[-1])}
    return row | {key: value for name, each in found.items() for key, value in _named(name, each).items()}


def _named(name: str, found: Estimate) -> Table:
    return {name: found.value, f"{name}_stderr": found.stderr, f"{name}_low": found.low, f"{name}_high": found.high}
