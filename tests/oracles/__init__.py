"""The paper's formulas in the most direct NumPy, in float64, and the inputs that tests share."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import draws
from jaxids.beliefs import linear
from jaxids.confidence import Band

TOLERANCE = {np.dtype("float32"): 1e-5, np.dtype("float64"): 1e-9}


class Posterior(NamedTuple):
    """V, θ̂ and log det V − log det V_0 by the normal equations, for actions x[:, k]."""

    precision: np.ndarray
    theta: np.ndarray
    log_det: float


def posterior(actions, played, rewards, rho, lam) -> Posterior:
    """V = λI + Σ x xᵀ/ρ² and θ̂ = V⁻¹ Σ x y/ρ²; rho is the bound of each observation."""
    x = np.asarray(actions, float)[:, played] / np.asarray(rho, float)
    precision = lam * np.eye(len(x)) + x @ x.T
    theta = np.linalg.solve(precision, x @ (np.asarray(rewards, float) / rho))
    return Posterior(precision, theta, np.linalg.slogdet(precision)[1] - len(x) * np.log(lam))


def covariance(precision, actions) -> np.ndarray:
    """xᵀ V⁻¹ x' of every pair of actions."""
    actions = np.asarray(actions, float)
    return actions.T @ np.linalg.solve(precision, actions)


def gain_about(precision, actions, rho, target) -> np.ndarray:
    """log(σ²(x')/σ²(x'|x)) for every x, each from a second posterior that has seen x."""
    before = covariance(precision, actions)[target, target]
    seen = [precision + np.outer(x, x) / r**2 for x, r in zip(np.asarray(actions, float).T, rho, strict=True)]
    return np.log([before / covariance(after, actions)[target, target] for after in seen])


def psi(probs, gap, gain):
    """(Σ μΔ)² / Σ μg over the leading axis, 0 where the gap is, +∞ where only the gain is."""
    gap, gain = (np.sum(probs * np.asarray(v, float), axis=0) for v in (gap, gain))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(gap == 0, 0.0, gap**2 / gain)


def least_psi(gap, gain) -> tuple[float, int, int, float]:
    """The least Ψ over all pairs, by zooming a grid on the logit of the weight: (value, i, j, weight on j)."""
    i, j = np.triu_indices(len(gap))
    gaps, gains = np.stack([gap[i], gap[j]])[:, None], np.stack([gain[i], gain[j]])[:, None]
    middle, width = np.zeros(len(i)), 80.0
    weight, value = np.zeros(len(i)), np.full(len(i), np.inf)
    for _ in range(12):
        logit = middle + width * np.linspace(-1, 1, 41)[:, None]
        weights = np.stack([1 / (1 + np.exp(logit)), 1 / (1 + np.exp(-logit))])
        weights[:, 0], weights[:, -1] = [[1], [0]], [[0], [1]]  # either action alone stays a candidate
        values = psi(weights, gaps, gains)
        row = np.argmin(values, axis=0), np.arange(len(i))
        weight = np.where(values[row] < value, weights[1][row], weight)
        value, middle, width = np.minimum(value, values[row]), logit[row], width / 8
    best = int(np.argmin(value))
    return float(value[best]), int(i[best]), int(j[best]), float(weight[best])


def dual_bound(gap, gain) -> float:
    """max_t min_k 2tΔ_k − t²g_k ≤ min Ψ, by ternary search on log t (for gaps and gains of like size)."""

    def phi(log_t):
        return np.min(2 * np.exp(log_t) * gap - np.exp(2 * log_t) * gain)

    low, high = -30.0, 30.0
    for _ in range(200):
        third = (high - low) / 3
        if phi(low + third) < phi(high - third):
            low += third
        else:
            high -= third
    return phi((low + high) / 2)


KINDS = (
    "plain",
    "wide",
    "scaled",
    "ties",
    "equal gaps",
    "equal gains",
    "zero gains",
    "zero gap",
    "duplicates",
    "curve",
    "line",
)


def gaps_and_gains(rng, actions: int, count: int, dtype) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [actions, count] of every kind in turn: magnitudes from 1e-8 to 1e8, ties, zeros, concave curves."""
    gap, gain = rng.uniform(0.01, 1, (2, actions, count))
    kind = np.arange(count) % len(KINDS)

    def of(name):
        return np.flatnonzero(kind == KINDS.index(name))

    for values in (gap, gain):
        values[:, of("wide")] = 10 ** rng.uniform(-8, 8, (actions, len(of("wide"))))
        values[:, of("scaled")] *= 10 ** rng.uniform(-8, 8, len(of("scaled")))
        values[:, of("ties")] = rng.integers(1, 4, (actions, len(of("ties"))))
    gap[:, of("equal gaps")] = gap[0, of("equal gaps")]
    gain[:, of("equal gains")] = gain[0, of("equal gains")]
    gain[:, of("zero gains")] *= rng.random((actions, len(of("zero gains")))) < 0.5
    gap[rng.integers(0, actions, len(of("zero gap"))), of("zero gap")] = 0
    for values in (gap, gain):
        values[actions // 2 :, of("duplicates")] = values[: actions - actions // 2, of("duplicates")]
    gain[:, of("curve")] = gap[:, of("curve")] ** rng.uniform(0.1, 0.9, len(of("curve")))
    bend = 10.0 ** rng.integers(-6, 0, len(of("line")))  # nearly on a line, where many edges are nearly as good
    near = 1 + bend * rng.standard_normal((actions, len(of("line"))))
    gain[:, of("line")] = rng.uniform(0.1, 1) * (gap[:, of("line")] + rng.uniform(-0.005, 0.5)) * np.abs(near)
    return gap.astype(dtype), gain.astype(dtype)


class Trial(NamedTuple):
    """A belief after some steps, and its normal equations."""

    state: linear.State
    features: np.ndarray
    rho: np.ndarray
    truth: Posterior


def trial(rng, dim=3, actions=8, steps=25, lam=1.0, rho=(0.1, 1.0)) -> Trial:
    """One trial without lanes after random steps, in the precision that is set."""
    dtype = jnp.result_type(float)
    features = rng.uniform(-1, 1, (dim, actions)).astype(dtype)
    bounds = rng.uniform(*rho, actions).astype(dtype)
    played = rng.integers(0, actions, steps)
    rewards = rng.normal(size=steps).astype(dtype)
    state = _observe(linear.init(jnp.asarray(features), lam), features[:, played].T, rewards, bounds[played] ** 2)
    return Trial(state, jnp.asarray(features), bounds, posterior(features, played, rewards, bounds[played], lam))


@jax.jit
def _observe(state, seen, rewards, rho2):
    return jax.lax.scan(lambda s, one: (linear.update(s, *one), None), state, (seen, rewards, rho2))[0]


def band(of: Trial, delta=0.01, lam=1.0, norm_bound=1.0) -> Band:
    """What a policy sees of a trial."""
    return Band(linear, of.state, of.features, jnp.asarray(of.rho), delta, lam, norm_bound)


def streams(rng, *lanes: int, step: int = 3) -> draws.Stream:
    """A stream of random words for every lane."""
    return draws.Stream(jnp.asarray(rng.integers(0, 2**32, (2, *lanes)), jnp.uint32), jnp.uint32(step))


def spread(tree, lanes: int):
    """The same values in every lane."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(jnp.asarray(leaf)[..., None], (*jnp.shape(leaf), lanes)), tree)
