"""Times IDS-UCB with a kernel on K points: jaxids, a NumPy loop with the same rank-one steps, and refitting anew.

The loop keeps the posterior covariance and changes it by its Schur complement, O(K²) a step, one trial at a time.
Refitting solves with the covariance of all t observations at every step, as a general library does, in O(t³).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import kernels, policies, problems
from jaxids.bench import mixes
from jaxids.bench.measure import fastest
from jaxids.bench.table import number
from jaxids.names import DELTA, NORM_BOUND
from jaxids.simulator import simulate

__all__ = ["Points", "run", "trial"]

KERNELS = {"rbf": kernels.rbf(0.1), "matern12": kernels.matern12(0.2)}  # of low rank, and of full
REFIT = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # observations at which refitting is timed


@dataclass(frozen=True)
class Points:
    """The instance both sides play: a Gram matrix, values and noise bounds at K points of [0, 1]."""

    gram: np.ndarray
    values: np.ndarray
    rho: np.ndarray


def run(count: int, trials: int, steps: int, repeats: int) -> dict[str, float]:
    """Measure and print; returns the microseconds."""
    print(f"IDS-UCB with a kernel on K = {count} points, {trials} trials × {steps} steps; µs for one step of one trial")
    found: dict[str, float] = {}
    for name, kernel in KERNELS.items():
        found |= _compare(name, kernel, count, trials, steps, repeats)
    loop, ours, instance = found["matern12 loop"], found["matern12 jaxids"], _points(KERNELS["matern12"], count)
    for t in REFIT:
        found[f"refit {t}"] = refit = _refit(instance, t, repeats)
        print(f"refitting at t = {t}: {number(refit)}, {refit / loop:.1f} × the loop, {refit / ours:.0f} × jaxids")
    dearer = [t for t in REFIT if found[f"refit {t}"] > loop]
    print(f"refitting costs more than a step of the loop from t = {dearer[0]} on" if dearer else "the loop costs more")
    return found


def _points(kernel: kernels.Kernel, count: int) -> Points:
    x = np.linspace(0, 1, count)
    return Points(np.asarray(kernels.gram(kernel, jnp.asarray(x[:, None])), float), np.sin(6 * x), 0.1 + 0.5 * x)


def _compare(name: str, kernel: kernels.Kernel, count: int, trials: int, steps: int, repeats: int) -> dict[str, float]:
    instance = _points(kernel, count)
    problem = problems.rkhs(np.linspace(0, 1, count)[:, None], instance.values, instance.rho, kernel)
    early, whole = (_jaxids(problem, trials, part, repeats) for part in (steps // 2, steps))
    by_loop, rank = _loop(instance, steps, repeats), problem.instance.features.shape[0]
    half = f"(of half as many steps {number(early)})"
    print(f"{name}, rank {rank}: jaxids {number(whole)} {half}, loop {number(by_loop)}, factor {by_loop / whole:.0f}")
    return {f"{name} jaxids": whole, f"{name} half": early, f"{name} loop": by_loop}


def _jaxids(problem: problems.Fixed, trials: int, steps: int, repeats: int) -> float:
    def call(trials: int, steps: int) -> None:
        simulate(problem, policies.PAPER["IDS-UCB"], key=jax.random.key(0), trials=trials, steps=steps, at=[steps])

    call(1, 1)  # compiles
    return fastest(lambda: call(trials, steps), repeats) * 1e6 / (trials * steps)


def _loop(points: Points, steps: int, repeats: int) -> float:
    return fastest(lambda: trial(points, steps, np.random.default_rng(0)), repeats) * 1e6 / steps


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


def _refit(points: Points, t: int, repeats: int) -> float:
    """µs to bring the posterior at all points up to date with t observations, from nothing."""
    rng = np.random.default_rng(0)
    played, rewards = rng.integers(0, len(points.rho), t), rng.standard_normal(t)

    def fit() -> None:
        cross = points.gram[:, played]
        noisy = points.gram[np.ix_(played, played)] + np.diag(points.rho[played] ** 2)
        solved = np.linalg.solve(noisy, np.column_stack([cross.T, rewards]))
        _ = cross @ solved[:, -1], points.gram - cross @ solved[:, :-1]

    fit()
    return fastest(fit, max(repeats, 5)) * 1e6
