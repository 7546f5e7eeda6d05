"""The paper's bounds as numbers: of regret, of their rates, and of martingales, with how often these are violated."""

from jaxids.bounds.allocation import gamma_gram
from jaxids.bounds.cases import CASES, Case, Sums
from jaxids.bounds.concentration import (
    conditional_means,
    conditional_sum,
    freedman,
    freedman_tail,
    spread,
    supermartingale,
)
from jaxids.bounds.coverage import Coverage, interval, violations
from jaxids.bounds.rates import gamma, gamma_linear, gamma_linear_rate, gamma_rbf_rate, rate, regret_rate
from jaxids.bounds.regret import deterministic, randomised, ratio_sum, ratio_sum_any, ratio_sum_of, trivial, ucb_ratio
from jaxids.confidence import beta  # of γ_T in place of log det V_t − log det V_0, which it bounds: β_T

__all__ = [
    "CASES",
    "Case",
    "Coverage",
    "Sums",
    "beta",
    "conditional_means",
    "conditional_sum",
    "deterministic",
    "freedman",
    "freedman_tail",
    "gamma",
    "gamma_gram",
    "gamma_linear",
    "gamma_linear_rate",
    "gamma_rbf_rate",
    "interval",
    "randomised",
    "rate",
    "ratio_sum",
    "ratio_sum_any",
    "ratio_sum_of",
    "regret_rate",
    "spread",
    "supermartingale",
    "trivial",
    "ucb_ratio",
    "violations",
]
