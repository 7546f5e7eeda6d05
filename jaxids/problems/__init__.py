"""Problems: how an instance is drawn, its mean rewards and its noise."""

from jaxids.problems import functions
from jaxids.problems.contexts import Contextual, contextual
from jaxids.problems.examples import LowHigh, Probes, low_high, probes
from jaxids.problems.instance import Changing, Instance, Problem, check_draws, sized
from jaxids.problems.landscape import Continuous, Landscape, continuous
from jaxids.problems.noise import Noise, gaussian, rademacher, uniform
from jaxids.problems.points import Functions, expansions, gp, norm, rkhs
from jaxids.problems.repeated import Several, several
from jaxids.problems.vectors import Fixed, UnitBall, linear, unit_ball

__all__ = [
    "Changing",
    "Contextual",
    "Continuous",
    "Fixed",
    "Functions",
    "Instance",
    "Landscape",
    "LowHigh",
    "Noise",
    "Probes",
    "Problem",
    "Several",
    "UnitBall",
    "check_draws",
    "contextual",
    "continuous",
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
    "several",
    "sized",
    "uniform",
    "unit_ball",
]
