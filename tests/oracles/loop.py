"""A bandit simulator as papers publish it: one trial after another, one step at a time, NumPy (float64) in a step.

It keeps V_t and Σ x y/ρ² themselves, and inverts and factors anew at every step: no recursion that could drift.
"""

import numpy as np

from jaxids.names import DELTA, LAM, NORM_BOUND, PROPOSALS, THIRTEEN, Plan
from oracles import mixes

__all__ = ["Posterior", "simulate", "trial"]


def simulate(
    policy_name: str,
    actions: np.ndarray,
    theta: np.ndarray,
    rho: np.ndarray,
    rho_bound: float,
    trials: int,
    steps: int,
    seed: int,
    solver: mixes.Solver = mixes.pairs,
) -> np.ndarray:
    """Final regret [trials] of a policy on one linear bandit: actions [K, d], theta [d], rho [K]."""
    rng = np.random.default_rng(seed)
    instance = actions, actions @ theta, rho, rho_bound
    played = (trial(policy_name, *instance, steps, rng, solver=solver)[1] for _ in range(trials))
    return np.array([regret[-1] for regret in played])


def trial(
    policy_name: str,
    actions: np.ndarray,
    means: np.ndarray,
    rho: np.ndarray,
    rho_bound: float,
    steps: int,
    rng: np.random.Generator,
    noise: np.ndarray | None = None,
    solver: mixes.Solver = mixes.pairs,
) -> tuple[np.ndarray, np.ndarray]:
    """Actions and cumulative regret [steps] of one trial; noise [steps] of scale one is drawn where it is not given."""
    plan = THIRTEEN[policy_name]
    assumed = rho if plan.weighted else np.full(len(rho), rho_bound)
    if plan.deterministic:
        solver = mixes.single
    precision, moment = LAM * np.eye(actions.shape[1]), np.zeros(actions.shape[1])
    chosen = np.zeros(steps, int)
    for t in range(steps):
        action = _choose(plan, Posterior(actions, assumed, precision, moment, rng), solver)
        x = actions[action]
        reward = means[action] + rho[action] * (rng.standard_normal() if noise is None else noise[t])
        precision = precision + np.outer(x, x) / assumed[action] ** 2
        moment = moment + x * reward / assumed[action] ** 2
        chosen[t] = action
    return chosen, np.cumsum(means.max() - means[chosen])


class Posterior:
    """θ̂ = V⁻¹ Σ x y/ρ², the band mean(x) ± β_t σ_t(x) with σ_t(x)² = xᵀ V⁻¹ x, and posterior draws."""

    def __init__(
        self,
        actions: np.ndarray,
        rho: np.ndarray,
        precision: np.ndarray,
        moment: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        self.actions, self.rho, self.rng = actions, rho, rng
        self.cov = np.linalg.inv(precision)
        self.theta = self.cov @ moment
        self.mean = actions @ self.theta
        log_det = np.linalg.slogdet(precision)[1] - len(moment) * np.log(LAM)
        self.beta = np.sqrt(2 * np.log(1 / DELTA) + log_det) + np.sqrt(LAM) * NORM_BOUND

    def joint(self) -> np.ndarray:
        """The posterior covariance of every two actions [K, K]."""
        return self.actions @ self.cov @ self.actions.T

    def best_of_draw(self, scale: float = 1.0) -> int:
        """The best action of one draw θ̂ + scale · L η with L Lᵀ = V⁻¹."""
        eta = self.rng.standard_normal(len(self.theta))
        return int(np.argmax(self.actions @ (self.theta + scale * np.linalg.cholesky(self.cov) @ eta)))


def _choose(plan: Plan, posterior: Posterior, solver: mixes.Solver) -> int:
    if plan.family == "TS":
        return posterior.best_of_draw(posterior.beta if plan.inflated else 1.0)
    joint = posterior.joint()
    radius = posterior.beta * np.sqrt(np.diag(joint))
    upper = posterior.mean + radius
    if plan.family == "UCB":
        return int(np.argmax(upper))
    gap = upper.max() - (posterior.mean - radius)
    first, second, weight = solver(gap, _gain(plan, posterior, joint, int(np.argmax(upper))))
    return int(second if posterior.rng.random() < weight else first)


def _gain(plan: Plan, posterior: Posterior, joint: np.ndarray, ucb: int) -> np.ndarray:
    """I_t of every action: F about the whole function, the others about one action or the mean over several."""
    if plan.gain == "F":
        return np.log(1 + np.diag(joint) / posterior.rho**2)
    if plan.gain == "UCB":
        return _about(ucb, joint, posterior.rho)
    draws = PROPOSALS if plan.gain == "E" else 1
    return np.mean([_about(posterior.best_of_draw(), joint, posterior.rho) for _ in range(draws)], axis=0)


def _about(target: int, joint: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """log(σ(x')² / σ(x'|x)²), where observing x leaves σ(x'|x)² = σ(x')² − k(x, x')² / (ρ(x)² + σ(x)²)."""
    own = joint[target, target]
    if own <= 0:  # the zero vector: nothing is left to learn
        return np.zeros(len(rho))
    return np.log(own / (own - joint[target] ** 2 / (rho**2 + np.diag(joint))))
