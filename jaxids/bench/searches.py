"""Times one compiled search for an action of the unit square, RBF, after some observations."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jaxids import continuous, domains, kernels
from jaxids.bench.measure import fastest

OBSERVATIONS = (20, 100)
SEARCHES = {"UCB": continuous.ucb, "IDS-UCB": continuous.ids}


def run(repeats: int) -> dict[str, float]:
    """Measure and print; returns the milliseconds."""
    found = {}
    for count in OBSERVATIONS:
        for name, search in SEARCHES.items():
            found[f"search {name} {count}"] = took = _search(search, count, repeats)
            print(f"{name} on a square with {count} observations: {took:.1f} ms for one action")
    return found


def _search(search: Callable[..., Any], count: int, repeats: int) -> float:
    rng, box = np.random.default_rng(0), domains.box([0.0, 0.0], [1.0, 1.0])
    state = continuous.fit(box, kernels.rbf(0.3), rng.random((count, 2)), rng.standard_normal(count), 0.3)
    call = jax.jit(lambda state: search(continuous.of_history(state, 2.0, 0.3), box))
    jax.block_until_ready(call(state))  # compiles
    return fastest(lambda: jax.block_until_ready(call(state)), repeats) * 1e3
