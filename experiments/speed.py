"""Measures NumPy simulators beside jaxids, in µs for one step of one trial.

    python experiments/speed.py [POLICY ...]    # of the paper, on K = 30 actions in d = 3; all, if none is named
    python experiments/speed.py --points        # IDS-UCB with a kernel on 100 points

The simulators are oracles of the tests: one batched over trials, and a loop over trials and steps. jaxids runs on every
core that the process may use, NumPy in one process and in float64. For a comparison core by core run it under
`taskset -c 0`, in equal precision with JAX_ENABLE_X64=1. NumPy's cost of a step does not change along a run, so its
runs are short. Of several runs the fastest counts. Run it while nothing else does.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import batched, loop
from oracles import points as numpy_points

from jaxids import kernels
from jaxids.bench import measure, points
from jaxids.bench.table import line, number
from jaxids.names import THIRTEEN

BATCHED, LOOP = (512, 40), (1, 400)  # trials and steps of a run of each NumPy simulator, at most
COLUMNS = ("policy", "jaxids µs", "pairs µs", "numpy µs", "factor", "loop µs", "factor", "compile s")
WIDTHS = (8, 9, 8, 8, 7, 7, 7, 9)
REFIT = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # observations at which refitting is timed


def compare(setup: measure.Setup) -> None:
    """Time jaxids, the batched simulator and the loop for each policy, and print a row with factors over jaxids."""
    print(measure.headline(setup, measure.machine()))
    print(line(COLUMNS, WIDTHS), flush=True)
    for name in setup.policies:
        ours = measure.measure(name, setup)
        texts = [name, number(ours.jaxids), number(ours.pairs)]
        for simulate, most in ((batched.simulate, BATCHED), (loop.simulate, LOOP)):
            microseconds = time_numpy(simulate, name, setup, most)
            texts += [number(microseconds), f"{number(microseconds / ours.jaxids)}×"]
        print(line([*texts, f"{ours.compile:.2f}"], WIDTHS), flush=True)


def time_numpy(simulate: Callable[..., np.ndarray], name: str, setup: measure.Setup, most: tuple[int, int]) -> float:
    """µs for one step of one trial of a NumPy simulator.

    Args:
        simulate: The simulator.
        name: The policy.
        setup: The size of the run.
        most: Trials and steps, where the setup has more.
    """
    trials, steps = min(setup.trials, most[0]), min(setup.steps, most[1])
    bandit = measure.instance(setup.actions, setup.dim)
    seconds = measure.fastest(lambda: simulate(name, *bandit, trials, steps, seed=0), setup.repeats)
    return seconds * 1e6 / (trials * steps)


def compare_on_points(count: int, trials: int, steps: int, repeats: int) -> dict[str, float]:
    """Time jaxids, a loop with the same rank-one steps, and refitting with all observations anew.

    Args:
        count: The number of points.
        trials: Trials of jaxids.
        steps: Steps of a trial.
        repeats: Runs, of which the fastest counts.

    Returns:
        The microseconds.
    """
    found = points.run(count, trials, steps, repeats)
    for name, kernel in points.KERNELS.items():
        instance = as_numpy(kernel, count)
        seconds = measure.fastest(lambda i=instance: numpy_points.trial(i, steps, np.random.default_rng(0)), repeats)
        found[f"{name} loop"] = by_loop = seconds * 1e6 / steps
        print(f"{name}: loop {number(by_loop)}, {by_loop / found[f'{name} jaxids']:.0f} × jaxids", flush=True)
    instance, rng = as_numpy(points.KERNELS["matern12"], count), np.random.default_rng(0)
    by_loop, ours = found["matern12 loop"], found["matern12 jaxids"]
    for t in REFIT:
        played, rewards = rng.integers(0, count, t), rng.standard_normal(t)
        numpy_points.refit(instance, played, rewards)
        seconds = measure.fastest(lambda p=played, r=rewards: numpy_points.refit(instance, p, r), max(repeats, 5))
        found[f"refit {t}"] = refit = seconds * 1e6
        print(f"refitting at t = {t}: {number(refit)}, {refit / by_loop:.1f} × the loop, {refit / ours:.0f} × jaxids")
    return found


def as_numpy(kernel: kernels.Kernel, count: int) -> numpy_points.Points:
    """The instance of `jaxids bench --kernel`."""
    x, instance = np.linspace(0, 1, count), points.problem(kernel, count).instance
    gram = np.asarray(kernels.gram(kernel, x[:, None]), float)
    return numpy_points.Points(gram, np.asarray(instance.mean, float), np.asarray(instance.rho, float))


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description="Time NumPy simulators beside jaxids.")
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=f"of {', '.join(THIRTEEN)}; default: all")
    parser.add_argument("--points", action="store_true", help="IDS-UCB with a kernel on 100 points instead")
    arguments = parser.parse_args()
    if unknown := set(arguments.policies) - set(THIRTEEN):
        parser.error(f"POLICY: expected names of the paper's policies, got {', '.join(sorted(unknown))}")
    if arguments.points:
        compare_on_points(count=100, trials=500, steps=1000, repeats=3)
    else:
        compare(measure.Setup(arguments.policies or tuple(THIRTEEN)))


if __name__ == "__main__":
    main()
