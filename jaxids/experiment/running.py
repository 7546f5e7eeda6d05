"""Who is at work on a store: while a run lives it keeps a note there of how fast it is, for whoever asks.

The note is called like a part of a file, so that it goes with the parts of a run that died.
"""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from jaxids.experiment import store

NAME = "running"
SECONDS, STALE = 2.0, 30.0  # between two notes, and after how many nobody is believed to be at work


class Pace(NamedTuple):
    """How many runs are at work, and how many steps of a trial they do in a second."""

    runs: int
    rate: float


class Running:
    """Keeps the note of a run, from a thread of its own, given what tells its rate."""

    def __init__(self, out: Path, rate: Callable[[], float]) -> None:
        self._path, self._rate, self._done = store.part_of(out / NAME), rate, threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> "Running":
        store.unfinished.add(str(self._path))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(SECONDS)
        store.unfinished.discard(str(self._path))

    def _keep(self) -> None:
        while not self._done.wait(SECONDS):
            try:
                self._path.write_text(json.dumps({"rate": self._rate(), "time": time.time()}))
            except OSError:  # a full disk is the store's to tell
                continue
        self._path.unlink(missing_ok=True)


def pace(out: Path) -> Pace:
    """How fast runs are at work on a store."""
    rates = []
    for path in out.glob(f".{NAME}~*.part"):
        try:
            note = json.loads(path.read_text())
            if time.time() - note["time"] < STALE and not store.orphaned(path, STALE):
                rates.append(float(note["rate"]))
        except (OSError, ValueError, KeyError, TypeError):  # just being written, or gone
            continue
    return Pace(len(rates), sum(rates))
