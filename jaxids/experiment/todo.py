"""What is left of a job: the tiles that are missing, as long as they are, and where it stops by itself."""

import time
from collections.abc import Collection, Iterator, Sequence

from jaxids.experiment import cells
from jaxids.experiment.jobs import Job
from jaxids.experiment.stops import Stops
from jaxids.experiment.tile_file import Arrays

LISTED, SHARE = 1.0, 0.05  # seconds for which a listing of a folder is believed at least, and what it may take of them


class Todo:
    """A job and those of its tiles that are missing, of all or of a part: `begun` tiles are there of its `trials`."""

    def __init__(self, job: Job, share: Sequence[int], there: Collection[int]) -> None:
        self.job, self._stops = job, Stops(job.stop, job.width, job.trials) if job.stop else None
        self._waiting, self.stored = dict[int, Arrays](), 0
        self._look()
        self.missing = [index for index in share if index not in there and index < self.count]
        self.begun, self.trials = len(share) - len(self.missing), min(job.trials, len(share) * job.width)

    @property
    def stopped(self) -> bool:
        """Whether the job has stopped by itself."""
        return self._stops is not None and self._stops.tiles is not None

    @property
    def count(self) -> int:
        """How many tiles the job has in the end, as far as that is known."""
        return (self._stops and self._stops.tiles) or self.job.tiles

    def still(self) -> Iterator[int]:
        """Tiles that are not there at the moment they are asked for: another run may have been quicker."""
        there, until = self._listed()
        damaged = there & set(self.missing)  # there by name only
        for index in self.missing:
            if time.monotonic() > until:
                self._look()
                there, until = self._listed()
            if index >= self.count:
                return
            if index not in there or index in damaged:
                yield index

    def come(self, index: int, arrays: Arrays) -> Iterator[tuple[int, Arrays]]:
        """The tiles to be stored now that one has come: it, or, if a rule looks at them, those whose turn it is."""
        self._waiting[index] = arrays
        if self._stops:
            self._stops.add(index, arrays["regret"][-1])
        for each in sorted(self._waiting):
            if each < (self._stops.seen if self._stops else self.count):
                self.stored += 1
                yield each, self._waiting.pop(each)
        if self.stopped:
            self._waiting.clear()

    def _look(self) -> None:
        """Look at what is in the store, if where to stop depends on it."""
        if self._stops:
            self._stops.look(cells.look(self.job.folder, self.job.tiles, self.job.fits).where)

    def _listed(self) -> tuple[set[int], float]:
        """Which tiles are there, and until when to believe that."""
        began = time.monotonic()
        there = cells.finished(self.job.folder, self.job.tiles)
        now = time.monotonic()
        return there, now + max(LISTED, (now - began) / SHARE)
