"""IDS-UCB with a kernel on K points in NumPy (float64), one trial at a time.

It keeps the posterior covariance and changes it by its Schur complement, O(K²) a step. `refit` solves with the
covariance of all t observations anew, as a general library does, in O(t³).
"""

from typing import NamedTuple

import numpy as np

from jaxids.names import DELTA, NORM_BOUND
from oracles import mixes

__all__ = ["Points", "refit", "trial"]


class Points(NamedTuple):
    """The instance: a Gram matrix, values and noise bounds at K points."""

    gram: np.ndarray
    values: np.ndarray
    rho: np.ndarray


def trial(points: Points, steps: int, rng: np.random.Generator, solver: mixes.Solver = mixes.exact) -> float:
    """The regret of one trial of IDS-UCB, λ = 1."""
    cov, mean, log_det, regret = points.gram.copy(), np.zeros(len(points.rho)), 0.0, 0.0
    for _ in range(steps):
        action = _choose(mean, cov, log_det, points.rho, rng, solver)
        reward = points.values[action] + points.rho[action] * rng.standard_normal()
        column, noise = cov[action].copy(), points.rho[action] ** 2
        total = noise + column[action]
        mean += column * ((reward - mean[action]) / total)
        cov -= np.outer(column, column / total)
        log_det += np.log1p(column[action] / noise)
        regret += points.values.max() - points.values[action]
    return regret


def _choose(
    mean: np.ndarray, cov: np.ndarray, log_det: float, rho: np.ndarray, rng: np.random.Generator, solver: mixes.Solver
) -> int:
    var = np.maximum(np.diagonal(cov), 0)
    radius = (np.sqrt(log_det - 2 * np.log(DELTA)) + NORM_BOUND) * np.sqrt(var)
    upper = mean + radius
    best = int(np.argmax(upper))
    explained = cov[best] ** 2 / (var[best] * (rho**2 + var))
    gain = np.maximum(-np.log1p(-np.minimum(explained, 1 - 1e-15)), 1e-150)
    first, second, weight = solver(upper[best] - mean + radius, gain)
    return int(second if rng.random() < weight else first)


def refit(points: Points, played: np.ndarray, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean [K] and covariance [K, K] from the actions played and their rewards, both [t]."""
    cross = points.gram[:, played]
    noisy = points.gram[np.ix_(played, played)] + np.diag(points.rho[played] ** 2)
    solved = np.linalg.solve(noisy, np.column_stack([cross.T, rewards]))
    return cross @ solved[:, -1], points.gram - cross @ solved[:, :-1]
