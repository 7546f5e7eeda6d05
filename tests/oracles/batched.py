"""The simulator in vectorised NumPy (float64): arrays have a leading axis of trials, n, and a step is a few calls.

V⁻¹ and θ̂ follow Sherman–Morrison, V⁻¹ ← V⁻¹ − w wᵀ / (ρ² + σ²) with w = V⁻¹x and σ² = xᵀw. Trials run in blocks
whose largest array stays in a core's cache, which is faster than all trials at once.
"""

from typing import NamedTuple

import numpy as np

from jaxids.names import DELTA, LAM, NORM_BOUND, PROPOSALS, THIRTEEN, Plan
from oracles import mixes

__all__ = ["Bandit", "Belief", "block_size", "simulate"]

BLOCK_NUMBERS = 2**16  # in the largest array of a block


class Belief(NamedTuple):
    """The estimate of every trial; `log_det` is log det V_t − log det V_0."""

    theta: np.ndarray  # [n, d]
    cov: np.ndarray  # [n, d, d]
    log_det: np.ndarray  # [n]


class Bandit(NamedTuple):
    """What a policy knows of the instance: features [K, d] and the noise bounds [K] it assumes."""

    actions: np.ndarray
    rho: np.ndarray


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
    plan = THIRTEEN[policy_name]
    rng = np.random.default_rng(seed)
    bandit = Bandit(actions, rho if plan.weighted else np.full(len(rho), rho_bound))
    if plan.deterministic:
        solver = mixes.single
    block = block_size(plan, *actions.shape)
    sizes = [min(block, trials - start) for start in range(0, trials, block)]
    return np.concatenate([_block(plan, bandit, actions @ theta, rho, n, steps, rng, solver) for n in sizes])


def block_size(plan: Plan, num_actions: int, dim: int) -> int:
    """How many trials run together."""
    mixing = plan.family == "IDS" and not plan.deterministic
    widest = num_actions * ((num_actions + 1) // 2 if mixing else dim)
    return max(1, BLOCK_NUMBERS // widest)


def _block(
    plan: Plan,
    bandit: Bandit,
    means: np.ndarray,
    rho: np.ndarray,
    trials: int,
    steps: int,
    rng: np.random.Generator,
    solver: mixes.Solver,
) -> np.ndarray:
    dim = bandit.actions.shape[1]
    cov = np.broadcast_to(np.eye(dim) / LAM, (trials, dim, dim))
    belief = Belief(np.zeros((trials, dim)), cov, np.zeros(trials))
    gaps, regret = means.max() - means, np.zeros(trials)
    for _ in range(steps):
        action = _choose(plan, bandit, belief, rng, solver)
        reward = means[action] + rho[action] * rng.standard_normal(trials)
        belief = _update(belief, bandit.actions[action], reward, bandit.rho[action] ** 2)
        regret += gaps[action]
    return regret


def _update(belief: Belief, x: np.ndarray, reward: np.ndarray, rho2: np.ndarray) -> Belief:
    w = np.einsum("nij,nj->ni", belief.cov, x)
    var = np.einsum("ni,ni->n", x, w)
    scaled = w / (rho2 + var)[:, None]
    residual = reward - np.einsum("ni,ni->n", x, belief.theta)
    return Belief(
        belief.theta + scaled * residual[:, None],
        belief.cov - scaled[:, :, None] * w[:, None, :],
        belief.log_det + np.log1p(var / rho2),
    )


def _choose(plan: Plan, bandit: Bandit, belief: Belief, rng: np.random.Generator, solver: mixes.Solver) -> np.ndarray:
    """The action [n] of every trial."""
    beta = np.sqrt(2 * np.log(1 / DELTA) + belief.log_det) + np.sqrt(LAM) * NORM_BOUND
    if plan.family == "TS":
        return _proposals(bandit, belief, 1, beta if plan.inflated else np.ones_like(beta), rng)[:, 0]
    mean = belief.theta @ bandit.actions.T
    projected = np.tensordot(belief.cov, bandit.actions, (2, 1))  # V⁻¹x of every action: [n, d, K]
    var = np.einsum("kd,ndk->nk", bandit.actions, projected)
    radius = beta[:, None] * np.sqrt(var)
    upper = mean + radius
    if plan.family == "UCB":
        return upper.argmax(axis=1)
    if plan.gain == "F":
        gain = np.log1p(var / bandit.rho**2)
    elif plan.gain == "UCB":
        gain = _about(bandit, upper.argmax(axis=1)[:, None], projected, var)
    else:
        count = PROPOSALS if plan.gain == "E" else 1
        gain = _about(bandit, _proposals(bandit, belief, count, np.ones_like(beta), rng), projected, var)
    first, second, weight = solver(upper.max(axis=1)[:, None] - mean + radius, gain)
    return np.where(rng.random(len(beta)) < weight, second, first)


def _proposals(bandit: Bandit, belief: Belief, count: int, scale: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The best actions [n, p] of p draws θ̂ + scale · L η with L Lᵀ = V⁻¹."""
    eta = rng.standard_normal((len(scale), count, bandit.actions.shape[1]))
    root = np.linalg.cholesky(belief.cov) * scale[:, None, None]
    theta = belief.theta[:, None] + eta @ root.swapaxes(1, 2)
    return (theta @ bandit.actions.T).argmax(axis=-1)


def _about(bandit: Bandit, targets: np.ndarray, projected: np.ndarray, var: np.ndarray) -> np.ndarray:
    """−log(1 − k(x, x')² / (σ(x')² (ρ(x)² + σ(x)²))) of every action x, the mean over targets x' [n, p]."""
    cov = bandit.actions[targets] @ projected  # [n, p, K]
    own = np.take_along_axis(var, targets, axis=1)
    own = np.where(own > 0, own, np.inf)  # the zero vector: nothing is left to learn
    explained = cov**2 / (own[:, :, None] * (bandit.rho**2 + var)[:, None])
    return -np.log1p(-explained).mean(axis=1)
