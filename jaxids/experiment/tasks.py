"""Tasks of a cluster: some tiles of a cell that follow each other, computed by one worker and stored here.

Tasks are dealt by this process, a few to every worker that is fit. Those of a worker that is gone are dealt again. A
tile depends on its index alone, so who computes it, and with which others, changes no bit.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxids.experiment import cells, store, worker
from jaxids.experiment.jobs import Job
from jaxids.experiment.progress import Progress
from jaxids.experiment.team import Team
from jaxids.experiment.tile_file import Arrays
from jaxids.experiment.todo import Todo

__all__ = ["run"]

SECONDS, BYTES = 1.0, 2**24  # that a task takes, and that it brings, about
AHEAD = 2  # tasks under way or waiting, for every thread of a worker
LOOK = 0.5  # seconds between looks at who is there
IDLE = 0.005  # seconds to wait when nothing has come
TRIES = 10  # of a task whose workers die


class Task(NamedTuple):
    """Tiles of a job, by its number, from the first on, and how often it was dealt before."""

    job: int
    first: int
    number: int
    tries: int = 0


def run(team: Team, todos: Sequence[Todo], progress: Progress) -> None:
    """Have a team compute what is left to do, and store it as it comes."""
    Dealer(team, todos, progress).run()


class Dealer:
    """Deals the missing tiles of jobs to a team, and stores them as they come."""

    def __init__(self, team: Team, todos: Sequence[Todo], progress: Progress) -> None:
        self._team, self._todos, self._progress = team, todos, progress
        self._jobs = jobs = [todo.job for todo in todos]
        missing = [todo.missing for todo in todos]
        self._todo = ((i, index) for i, todo in enumerate(todos) for index in todo.still())
        self._next = next(self._todo, None)
        self._again, self._under_way = list[Task](), dict[Any, tuple[Task, str]]()
        self._missing = Counter((i, index // cells.BLOCK) for i, part in enumerate(missing) for index in part)
        self._done = [job.tiles - len(part) for job, part in zip(jobs, missing, strict=True)]
        self._writers = dict[int, cells.Writer]()
        self._sizes = dict[str, float]()  # tasks in a step of a trial, by policy
        self._stopped, self._come = set[int](), Counter[int]()  # jobs, and how many tiles of each have come
        self._looked, self._waiting = float("-inf"), False

    def run(self) -> None:
        """Until all is stored."""
        try:
            while self._next or self._again or self._under_way:
                if time.monotonic() - self._looked > LOOK:
                    self._look()
                self._deal()
                for future, result in self._team.come():
                    self._take(*self._under_way.pop(future, (None, "")), result)
                if not self._team.ready():
                    time.sleep(IDLE)
        finally:  # what has come is kept, whatever comes next
            for writer in self._writers.values():
                writer.flush()

    def _look(self) -> None:
        """Who is there; tasks of those who are not are to be dealt again. Tiles that wait for others are written."""
        for line in self._team.look():
            self._progress.say(line)
        for future, (task, address) in list(self._under_way.items()):
            if address not in self._team.fit:
                del self._under_way[future]
                future.cancel()
                self._deal_again(task, address)
        if (waiting := not self._team.fit) != self._waiting:
            self._waiting = waiting
            self._progress.say("no worker is left; waiting for some" if waiting else "workers are there again")
        for writer in self._writers.values():
            writer.flush()
        self._looked = time.monotonic()

    def _deal_again(self, task: Task, address: str) -> None:
        if task.tries == TRIES:
            where = f"{self._jobs[task.job].name}: tiles from {task.first} on"
            raise ValueError(f"{where}: {TRIES + 1} workers died of them, the last {address}; is there enough memory?")
        self._again.append(task._replace(tries=task.tries + 1))

    def _deal(self) -> None:
        """First one task to every thread, then another."""
        load = Counter(address for _, address in self._under_way.values())
        for depth in range(1, AHEAD + 1):
            for address, threads in self._team.fit.items():
                while load[address] < depth * threads and (task := self._drawn()):
                    job = self._jobs[task.job]
                    what = job.name, store.as_json(job.setting), job.tiles, task.first, task.number
                    self._under_way[self._team.ask(address, worker.tiles, *what)] = task, address
                    load[address] += 1

    def _drawn(self) -> Task | None:
        """The next task, if there is one: tiles of a job that follow each other, for about a second."""
        if self._again:
            return self._again.pop()
        if self._next is None:
            return None
        (i, first), number = self._next, 0
        while self._next == (i, first + number) and number < max(1, self._size(self._jobs[i])):
            self._next, number = next(self._todo, None), number + 1
        return Task(i, first, number)

    def _size(self, job: Job) -> float:
        return 1 / (self._sizes.get(job.setting["policy"], 1.0) * job.work)

    def _take(self, task: Task | None, address: str, result: Any) -> None:
        """Store what has come, unless it was taken from its worker meanwhile."""
        if task is None:
            return
        if result is None:  # its worker died
            self._deal_again(task, address)
            return
        job, (found, seconds) = self._jobs[task.job], result
        size = sum(array.nbytes for arrays in found for array in arrays.values())
        self._sizes[job.setting["policy"]] = max(seconds / SECONDS, size / BYTES) / (task.number * job.work)
        if task.job in self._stopped:  # meanwhile
            return
        self._come[task.job] += task.number
        for index, arrays in enumerate(found, task.first):
            self._store(task.job, index, arrays)
        asked = min(job.trials, self._todos[task.job].count * job.width)
        self._progress.mixed(job.name, self._done[task.job] * job.width, asked, task.number * job.work)

    def _store(self, number: int, index: int, arrays: Arrays) -> None:
        """Store a tile that has come, or wait with it for those before it; then it may be known where the job stops."""
        todo = self._todos[number]
        if index >= todo.count:
            return
        for tile in todo.come(index, arrays):
            self._write(number, *tile)
        if todo.stopped and number not in self._stopped:
            self._stopped.add(number)
            self._progress.less((len(todo.missing) - self._come[number]) * todo.job.work)

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
