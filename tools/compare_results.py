#!/usr/bin/env python3
"""Compare final regrets, bit for bit, between two commits on one machine.

    python tools/compare_results.py save FILE.npz      # at the first commit
    python tools/compare_results.py compare FILE.npz   # at the second; exits with 1 if a final regret differs

It covers the 13 policies of the paper on six finite problems, three policies on a box, and all curves of
`experiments/paper` at 64 trials. It uses the public interface only, so it runs at either commit.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxids
from jaxids import domains, kernels, policies, problems

PAPER = Path(__file__).parents[1] / "experiments/paper"
ON_A_BOX = ("W-UCB", "W-TS", "IDS-UCB")
CLOSE, ENOUGH = 1e-4, 0.95  # on a box, where the order of operations may change: this close in this share of trials


def finite_problems() -> dict[str, problems.Problem]:
    """The finite problems by name."""
    rng = np.random.default_rng(0)
    actions = rng.normal(size=(12, 4)) / 3
    points = np.linspace(0, 1, 40)[:, None]
    noise = 0.1 + 0.4 * points[:, 0]
    return {
        "ball K=30 d=3": problems.unit_ball(30, 3, (0.1, 1.0)),
        "ball K=23 d=4": problems.unit_ball(23, 4, (0.1, 1.0)),
        "ball K=200 d=20": problems.unit_ball(200, 20, (0.1, 1.0)),
        "fixed linear": problems.linear(actions, [0.5, -0.5, 0.5, 0.5], rng.uniform(0.1, 1.0, 12)),
        "kernel": problems.rkhs(points, np.sin(6 * points[:, 0]), noise, kernels.matern52(0.3)),
        "contexts": problems.contextual(15, 3, (0.1, 1.0)),
    }


def final_regrets() -> Iterator[tuple[str, np.ndarray]]:
    """The final regrets of all runs, by name."""
    key = jax.random.key(7)
    for name, problem in finite_problems().items():
        for policy in policies.PAPER:
            result = jaxids.simulate(problem, policies.PAPER[policy], key=key, trials=300, steps=150)
            yield f"{name}: {policy}", result.final
    square = domains.box([0.0, 0.0], [1.0, 1.0])
    box = problems.continuous(
        square, lambda x: jnp.sin(6 * x[0]) * x[1], lambda x: 0.1 + 0.4 * x[0], kernels.matern52(0.3)
    )
    for policy in ON_A_BOX:
        result = jaxids.simulate(box, policies.PAPER[policy], key=key, trials=8, steps=20)
        yield f"box: {policy}", result.final
    with tempfile.TemporaryDirectory() as folder:
        run = [sys.executable, "-m", "jaxids", "run", str(PAPER), "--trials", "64", "--out", folder]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        for curve in jaxids.load(folder):
            yield f"paper: {curve.name}", np.asarray(curve.final)


def main() -> int:
    """Save the final regrets, or compare them with those that were saved."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("save", "compare"):
        sys.exit(__doc__)
    found = dict(final_regrets())
    if sys.argv[1] == "save":
        np.savez(sys.argv[2], **found)
        return 0
    differ = []
    with np.load(sys.argv[2]) as saved:
        if set(saved) != set(found):
            differ.append(f"other runs: {sorted(set(saved) ^ set(found))}")
        for name in sorted(set(saved) & set(found)):
            if np.array_equal(saved[name], found[name]):
                continue
            close = np.mean(np.isclose(saved[name], found[name], rtol=CLOSE, atol=CLOSE))
            print(f"{name}: {close:.1%} of trials within {CLOSE}")
            if not (name.startswith("box") and close >= ENOUGH):
                differ.append(name)
    print(*differ, f"{len(found) - len(differ)} of {len(found)} runs agree", sep="\n")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
