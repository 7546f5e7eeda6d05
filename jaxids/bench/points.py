"""Times IDS-UCB with a kernel on K points, in µs for one step of one trial."""

import jax
import numpy as np

from jaxids import kernels, policies, problems
from jaxids.bench.measure import fastest
from jaxids.bench.table import number
from jaxids.simulator import simulate

KERNELS = {"rbf": kernels.rbf(0.1), "matern12": kernels.matern12(0.2)}  # of low rank, and of full


def run(count: int, trials: int, steps: int, repeats: int) -> dict[str, float]:
    """Measure and print; returns the microseconds."""
    print(f"IDS-UCB with a kernel on K = {count} points, {trials} trials × {steps} steps; µs for one step of one trial")
    found: dict[str, float] = {}
    for name, kernel in KERNELS.items():
        points = problem(kernel, count)
        half, whole = (_time(points, trials, part, repeats) for part in (steps // 2, steps))
        rank = points.instance.features.shape[0]
        print(f"{name}, rank {rank}: {number(whole)} (of half as many steps {number(half)})")
        found |= {f"{name} jaxids": whole, f"{name} half": half}
    return found


def problem(kernel: kernels.Kernel, count: int) -> problems.Fixed:
    """The function sin 6x at points of [0, 1], with noise bounds from 0.1 to 0.6."""
    x = np.linspace(0, 1, count)
    return problems.rkhs(x[:, None], np.sin(6 * x), 0.1 + 0.5 * x, kernel)


def _time(points: problems.Fixed, trials: int, steps: int, repeats: int) -> float:
    def call(trials: int, steps: int) -> None:
        simulate(points, policies.PAPER["IDS-UCB"], key=jax.random.key(0), trials=trials, steps=steps, at=[steps])

    call(1, 1)  # compiles
    return fastest(lambda: call(trials, steps), repeats) * 1e6 / (trials * steps)
