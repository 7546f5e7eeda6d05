"""Problems: how an instance is drawn, its mean rewards and its noise."""

from jaxids.problems.examples import LowHigh, Probes, low_high, probes
from jaxids.problems.instance import Instance, Problem
from jaxids.problems.linear import Fixed, UnitBall, linear, unit_ball
from jaxids.problems.noise import Noise, gaussian, rademacher, uniform

__all__ = [
    "Fixed",
    "Instance",
    "LowHigh",
    "Noise",
    "Probes",
    "Problem",
    "UnitBall",
    "gaussian",
    "linear",
    "low_high",
    "probes",
    "rademacher",
    "uniform",
    "unit_ball",
]
