"""What a worker of a cluster does: some tiles of a cell, one after the other, on the thread it is asked on."""

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

from jaxids.experiment import kind, policy_names, store
from jaxids.experiment.bundles import Arrays
from jaxids.experiment.jobs import computed
from jaxids.experiment.keys import Table

__all__ = ["tiles"]

_compiling, _compiled = threading.Lock(), set[bytes]()  # cells whose programs this process has


def tiles(name: str, content: bytes, count: int, first: int, number: int) -> tuple[list[Arrays], float]:
    """Some tiles of a cell of so many, given its setting as JSON, and the seconds they took once compiled."""
    setting = store.from_json(content)
    now = kind.here() | policy_names.source(setting["policy"])
    if not now.items() <= setting.items():
        raise ValueError(f"{name}: a worker is not what it was when it was asked; it takes one that stays")
    cell = hashlib.sha256(content).digest()
    found = [_one(name, setting, count, index, cell) for index in range(first, first + number)]
    return [arrays for arrays, _ in found], sum(seconds for _, seconds in found)


def _one(name: str, setting: Table, count: int, index: int, cell: bytes) -> tuple[Arrays, float]:
    with ExitStack() as turn:
        if cell not in _compiled:
            turn.enter_context(_compiling)  # threads do not compile one program at the same time
        began = 0.0

        def asked() -> Iterator[int]:
            """A tile is asked for when its program is there."""
            nonlocal began
            _compiled.add(cell)
            turn.close()
            began = time.perf_counter()
            yield index

        ((_, arrays),) = computed(name, setting, count, asked())
        return arrays, time.perf_counter() - began
