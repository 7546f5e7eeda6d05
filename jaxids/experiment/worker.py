"""What a worker of a cluster does: some tiles of a cell, one after the other, on the thread it is asked on."""

import time
from functools import lru_cache

from jaxids import compilation_cache, workers
from jaxids.experiment import kind, policy_names, store
from jaxids.experiment.jobs import compiled, computed
from jaxids.experiment.tile_file import Arrays

__all__ = ["tiles"]

KEPT = 8  # runs that are ready: their problems may be large


def tiles(name: str, content: bytes, count: int, first: int, number: int) -> tuple[list[Arrays], float]:
    """Some tiles of a cell of so many, given its setting as JSON, and the seconds they took once compiled."""
    setting = store.from_json(content)
    now = kind.here() | policy_names.source(setting["policy"])
    if not now.items() <= setting.items():
        raise ValueError(f"{name}: a worker is not what it was when it was asked; it takes one that stays")
    began = 0.0

    def ready() -> workers.Run:
        nonlocal began
        run = _compiled(content, count)
        began = time.perf_counter()
        return run

    found, seconds = list[Arrays](), 0.0
    for index in range(first, first + number):  # one by one, on one thread: the cluster has as many tasks as threads
        found += (arrays for _, arrays in computed(name, setting, ready, [index]))
        seconds += time.perf_counter() - began
    return found, seconds


@lru_cache(KEPT)
def _compiled(content: bytes, count: int) -> workers.Run:
    """The run of a cell; threads that ask at once share its program."""
    compilation_cache.switch_on(quiet=True)
    return compiled(store.from_json(content), count)
