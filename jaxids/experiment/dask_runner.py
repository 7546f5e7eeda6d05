"""Tasks of a Dask cluster: each computes consecutive tiles of a cell, and this process stores them as they arrive.

There are a few tasks for every thread of the compatible workers, and Dask decides which worker computes which of them.
Tasks whose workers died are submitted again. A tile depends on its index alone, so who computes it, and with which
others, changes no bit.
"""

import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from jaxids import compilation_cache, workers
from jaxids.experiment import cells, kind, policy_names, store
from jaxids.experiment.dask_workers import WorkerPool
from jaxids.experiment.jobs import compiled, computed
from jaxids.experiment.progress import Progress
from jaxids.experiment.tile_file import Arrays
from jaxids.experiment.todo import Todo
from jaxids.words import in_short

SECONDS, BYTES = 1.0, 2**24  # that a task takes, and that its tiles have, about
AHEAD = 2  # tasks in flight for every thread of a worker
UPDATE = 0.5  # seconds between looks at which workers are connected
IDLE = 0.005  # seconds to sleep when nothing has arrived
DEATHS = 10  # of workers that a task may cost
DIED = ("KilledWorker", "NoValidWorkerError", "CancelledError", "FutureCancelledError")  # no fault of the task itself
CACHED = 8  # runs that a worker keeps compiled: their problems may be large


def compute(name: str, content: bytes, count: int, first: int, number: int) -> tuple[list[Arrays], float]:
    """Compute consecutive tiles of a cell, on a worker.

    Args:
        name: The name of the cell in messages.
        content: The setting of the cell, as JSON.
        count: The number of tiles of the cell.
        first: The index of the first tile to compute.
        number: The number of tiles to compute.

    Returns:
        The tiles, and the seconds they took once their program was compiled.
    """
    setting = store.from_json(content)
    now = kind.here() | policy_names.source(setting["policy"])
    if not now.items() <= setting.items():
        raise ValueError(f"{name}: a worker is not what it was when it was asked; it takes one that stays")
    run = partial(_compiled, content, count)
    list(computed(name, setting, run, []))  # compile
    begin, indices = time.perf_counter(), range(first, first + number)
    # One by one, as the cluster has as many tasks as threads.
    tiles = [arrays for index in indices for _, arrays in computed(name, setting, run, [index])]
    return tiles, time.perf_counter() - begin


@lru_cache(CACHED)
def _compiled(content: bytes, count: int) -> workers.Run:
    """Compile the run of a cell; threads that ask at once share its program."""
    compilation_cache.switch_on(quiet=True)
    return compiled(store.from_json(content), count)


class Task(NamedTuple):
    """Consecutive tiles of a job.

    Attributes:
        job: The index of the job.
        first: The index of the first tile.
        number: The number of tiles.
        deaths: How many workers died of it before.
    """

    job: int
    first: int
    number: int
    deaths: int = 0


def run(pool: WorkerPool, todos: Sequence[Todo], progress: Progress) -> None:
    """Compute the missing tiles of jobs on a cluster, and store them.

    Args:
        pool: The workers.
        todos: The jobs and their missing tiles.
        progress: Where to report progress.
    """
    _Runner(pool, todos, progress).run()


class _Runner:
    """The tasks in flight, and what became of the tiles of every job."""

    def __init__(self, pool: WorkerPool, todos: Sequence[Todo], progress: Progress) -> None:
        self._pool, self._todos, self._progress = pool, todos, progress
        self._jobs = jobs = [todo.job for todo in todos]
        missing = [todo.missing for todo in todos]
        self._todo = ((i, index) for i, todo in enumerate(todos) for index in todo.still())
        self._next = next(self._todo, None)
        self._again, self._in_flight = list[Task](), dict[Any, tuple[Task, frozenset[str]]]()
        self._missing = Counter((i, index // cells.BLOCK) for i, part in enumerate(missing) for index in part)
        self._done = [job.tiles - len(part) for job, part in zip(jobs, missing, strict=True)]
        self._writers = dict[int, cells.Writer]()
        self._sizes = dict[str, float]()  # tasks in a step of a trial, by policy
        self._stopped, self._arrived = set[int](), Counter[int]()  # jobs, and how many tiles of each have arrived
        self._updated, self._waiting = float("-inf"), False

    def run(self) -> None:
        """Submit tasks and store tiles until all are there."""
        try:
            while self._next or self._again or self._in_flight:
                if time.monotonic() - self._updated > UPDATE:
                    self._update()
                self._submit()
                arrived = list(self._pool.results())
                for future, result in arrived:
                    if future in self._in_flight:  # others were cancelled meanwhile
                        self._take(*self._in_flight.pop(future), result)
                if not arrived:
                    time.sleep(IDLE)
        finally:  # keep what has arrived, also after an error
            for writer in self._writers.values():
                writer.flush()

    def _update(self) -> None:
        """Look which workers are connected, retry tasks whose workers are all gone, and write tiles that wait."""
        for line in self._pool.update():
            self._progress.say(line)
        for future, (task, addresses) in list(self._in_flight.items()):
            # Dask waits for one of its workers to come back, and tells of no result that is lost while it is fetched.
            if addresses.isdisjoint(self._pool.compatible) or future.status in ("error", "cancelled"):
                del self._in_flight[future]
                future.cancel()
                self._retry(task, 1, min(addresses))
        if (waiting := not self._pool.compatible) != self._waiting:
            self._waiting = waiting
            self._progress.say("no worker is left; waiting for some" if waiting else "workers are there again")
        for writer in self._writers.values():
            writer.flush()
        self._updated = time.monotonic()

    def _retry(self, task: Task, deaths: int, address: str) -> None:
        """Submit a task again, unless too many workers died of it.

        Dask's own count (`allowed-failures`) begins anew where all workers of a task are gone, and its `retries` are of
        tasks that raise, which ends a run.
        """
        task = task._replace(deaths=task.deaths + deaths)
        if task.deaths > DEATHS:
            where = f"{self._jobs[task.job].name}: tiles from {task.first} on"
            raise ValueError(
                f"{where}: {task.deaths} workers died of them, the last {address}; is there enough memory?"
            )
        self._again.append(task)

    def _submit(self) -> None:
        """Bring the number of tasks in flight to `AHEAD` for every thread."""
        threads = self._pool.compatible
        while len(self._in_flight) < AHEAD * sum(threads.values()) and (task := self._next_task()):
            job = self._jobs[task.job]
            what = job.name, store.as_json(job.setting), job.tiles, task.first, task.number
            self._in_flight[self._pool.submit(compute, *what)] = task, frozenset(threads)

    def _next_task(self) -> Task | None:
        """The next task, if there is one: consecutive tiles of a job, for about a second."""
        if self._again:
            return self._again.pop()
        if self._next is None:
            return None
        (i, first), number = self._next, 0
        job = self._jobs[i]
        size = 1 / (self._sizes.get(job.setting["policy"], 1.0) * job.work)
        while self._next == (i, first + number) and number < max(1, size):
            self._next, number = next(self._todo, None), number + 1
        return Task(i, first, number)

    def _take(self, task: Task, addresses: frozenset[str], result: Any) -> None:
        """Store the tiles of a task, retry it if its worker died, or raise what it raised."""
        if type(result).__name__ in DIED:
            if type(result).__name__ == "KilledWorker":
                self._retry(task, result.allowed_failures + 1, result.last_worker.address)
            else:
                self._retry(task, 0, min(addresses))
            self._updated = float("-inf")  # others may be connected now
            return
        if isinstance(result, Exception):
            raise _one_line(result)
        job, (tiles, seconds) = self._jobs[task.job], result
        size = sum(array.nbytes for arrays in tiles for array in arrays.values())
        self._sizes[job.setting["policy"]] = max(seconds / SECONDS, size / BYTES) / (task.number * job.work)
        if task.job in self._stopped:  # meanwhile
            return
        self._arrived[task.job] += task.number
        for index, arrays in enumerate(tiles, task.first):
            self._store(task.job, index, arrays)
        asked = min(job.trials, self._todos[task.job].count * job.width)
        self._progress.mixed(job.name, self._done[task.job] * job.width, asked, task.number * job.work)

    def _store(self, number: int, index: int, arrays: Arrays) -> None:
        """Store a tile, or keep it until those before it are there; then it may be known where the job stops."""
        todo = self._todos[number]
        if index >= todo.count:
            return
        for tile in todo.come(index, arrays):
            self._write(number, *tile)
        if todo.stopped and number not in self._stopped:
            self._stopped.add(number)
            self._progress.less((len(todo.missing) - self._arrived[number]) * todo.job.work)

    def _write(self, number: int, index: int, arrays: Arrays) -> None:
        """Write a tile; a block that is finished then is packed."""
        job = self._jobs[number]
        writer = self._writers.setdefault(number, cells.Writer(job.folder, job.fits))
        writer.add(index, arrays)
        self._done[number] += 1
        block = number, index // cells.BLOCK
        self._missing[block] -= 1
        if not self._missing[block]:
            writer.flush()
            cells.pack(job.folder, job.tiles, job.fits, block[1:])
        if self._done[number] == job.tiles:
            del self._writers[number]


def _one_line(error: Exception) -> Exception:
    """Return an error of a task as it would be in this process, or in one line if no plain run raises its type."""
    if isinstance(error, ValueError | MemoryError | RuntimeError):
        return error
    return ValueError(f"a worker failed with {type(error).__name__}: {in_short(str(error))}")
