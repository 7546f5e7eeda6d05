"""Problems: how an instance is drawn, its mean rewards and its noise."""

from jaxids.problems import functions
from jaxids.problems.examples import LowHigh, Probes, low_high, probes
from jaxids.problems.instance import Instance, Problem, check_draws
from jaxids.problems.linear import Fixed, UnitBall, linear, unit_ball
from jaxids.problems.noise import Noise, gaussian, rademacher, uniform
from jaxids.problems.rkhs import Functions, expansions, gp, norm, rkhs

__all__ = [
    "Fixed",
    "Functions",
    "Instance",
    "LowHigh",
    "Noise",
    "Probes",
    "Problem",
    "UnitBall",
    "check_draws",
    "expansions",
    "functions",
    "gaussian",
    "gp",
    "linear",
    "low_high",
    "norm",
    "probes",
    "rademacher",
    "rkhs",
    "uniform",
    "unit_ball",
]
