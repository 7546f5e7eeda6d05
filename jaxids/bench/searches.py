"""Times one compiled search for an action of the unit square, RBF, after some observations."""

import jax
import numpy as np

from jaxids import domains, fields, kernels, policies
from jaxids.bench.measure import fastest

OBSERVATIONS = (20, 100)
SEARCHES = ("W-UCB", "W-TS", "DIDS-UCB", "IDS-UCB")


def run(repeats: int) -> dict[str, float]:
    """Measure and print; returns the milliseconds."""
    found = {}
    for count in OBSERVATIONS:
        for name in SEARCHES:
            found[f"search {name} {count}"] = took = _search(name, count, repeats)
            print(f"{name} on a square with {count} observations: {took:.1f} ms for one action")
    return found


def _search(name: str, count: int, repeats: int) -> float:
    rng, box = np.random.default_rng(0), domains.box([0.0, 0.0], [1.0, 1.0])
    field = fields.fit(box, rng.random((count, 2)), rng.standard_normal(count), 0.3, kernels.rbf(0.3))

    def call() -> None:
        jax.block_until_ready(policies.choose(policies.PAPER[name], field, jax.random.key(0)))

    call()  # compiles
    return fastest(call, repeats) * 1e3
