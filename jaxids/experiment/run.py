"""Run experiments: compute the tiles that are not in the store yet, and put them there."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxids import ahead, workers
from jaxids.experiment import build, cells, kind, store
from jaxids.experiment.fit import CELL
from jaxids.experiment.jobs import Job, compiled, computed, described, jobs_of
from jaxids.experiment.keys import Table
from jaxids.experiment.parts import Part, shares
from jaxids.experiment.progress import Progress
from jaxids.experiment.read import RECORD, Experiment
from jaxids.experiment.running import Running
from jaxids.experiment.todo import Todo

__all__ = ["jobs_of", "run"]

Compute = Callable[[Sequence[Todo], Progress], None]  # compute what is left to do, and store it
Finished = Callable[[str], None]


def run(
    experiments: Sequence[Experiment],
    out: Path,
    part: Part | None = None,
    cluster: str | None = None,
    finished: Finished = lambda name: None,
) -> int:
    """Bring the store of every experiment up to date, or do a part of that, and return how many tiles it took.

    A cluster is one that `cluster.named` knows; its workers compute, and this process stores. Without one, `finished`
    is told the name of each experiment that becomes so, in another thread.
    """
    build.check_generator()
    if cluster is None:
        here = kind.here() | {"processor": kind.processor()}
        return _brought(experiments, out, here, part, part is not None, partial(_run_here, finished))
    from jaxids.experiment import cluster as clusters
    from jaxids.experiment import fit, tasks, team

    say = Progress(0).say
    with clusters.opened(cluster, say) as client, closing(team.Team(client, fit.policies_of(experiments))) as crew:
        like = crew.settle(experiments, out, say)
        return _brought(experiments, out, like, None, True, partial(tasks.run, crew))


def _brought(
    experiments: Sequence[Experiment], out: Path, like: Table, part: Part | None, alike: bool, compute: Compute
) -> int:
    """Bring stores up to date with tiles of a kind and processor; cells of another may be refused."""
    of, like = like["processor"], {name: value for name, value in like.items() if name != "processor"}
    prepared = [(experiment, jobs_of(experiment, out, like)) for experiment in experiments]  # mistakes come first
    jobs = [job for _, jobs in prepared for job in jobs]
    if part and (ends := [experiment.path for experiment in experiments if experiment.table["until"]]):
        takes = "one run or --cluster, as where it stops depends on all its tiles"
        raise ValueError(f"--part: got one with {ends[0]}, which has until; that takes {takes}")
    if (out / RECORD).exists():
        raise ValueError(f"--out: got {out}, the folder of one experiment; it takes the folder for all")
    store.clean(out)
    messages = [*_of_one_processor(jobs, of, alike), *_recorded(prepared, out)]
    todos = list[Todo]()
    for job, share in zip(jobs, shares([job.tiles for job in jobs], part), strict=True):
        there, damaged = cells.sound(job.folder, job.tiles, job.fits)
        todos.append(Todo(job, share, there))
        messages += damaged
    progress = Progress(sum(len(todo.missing) * todo.job.work for todo in todos))
    for message in messages:
        progress.say(message)
    with Running(out, progress.rate):
        try:
            compute(todos, progress)
            for todo in todos:
                cells.pack(todo.job.folder, todo.count, todo.job.fits)
        finally:
            progress.close()
    for experiment, own in prepared:  # once more: another run may have left its own
        store.seal(out / experiment.name / RECORD, store.as_json(described(experiment, own)))
    return sum(todo.stored for todo in todos)


def _run_here(finished: Finished, todos: Sequence[Todo], progress: Progress) -> None:
    """Compute tiles in this process; the programs of the next jobs are compiled meanwhile, and the last one stored."""
    x64, todos = jnp.result_type(float) == np.float64, [todo for todo in todos if todo.missing]

    def ready(todo: Todo) -> workers.Run:
        with jax.enable_x64(x64):  # a context holds in its own thread only
            return compiled(todo.job.setting, todo.job.tiles)

    with ahead.made(ready, todos) as runs, ThreadPoolExecutor(1, "storing") as storing:
        under_way = list[Future[None]]()
        for todo, run, following in zip(todos, runs, [*todos, None][1:], strict=True):
            writer = _run_job(todo, run, progress, under_way)
            begun = [storing.submit(_store, writer, todo)]  # whatever became of the one before
            if following is None or _experiment(following) != _experiment(todo):
                begun.append(storing.submit(finished, _experiment(todo)))
            _ended(under_way)
            under_way = begun
        _ended(under_way)


def _store(writer: cells.Writer, todo: Todo) -> None:
    """Write the last tiles of a job, and pack them all."""
    writer.flush()
    cells.pack(todo.job.folder, todo.count, todo.job.fits)


def _ended(under_way: Sequence[Future[None]]) -> None:
    """Wait for what other threads do, or raise what went wrong there."""
    for each in under_way:
        each.result()


def _experiment(todo: Todo) -> str:
    """The name of the experiment that a job belongs to."""
    return todo.job.folder.parents[1].name


def _recorded(prepared: Sequence[tuple[Experiment, list[Job]]], out: Path) -> Iterator[str]:
    """Write down what is asked for, and tell what was in its place."""
    for experiment, jobs in prepared:
        record = out / experiment.name / RECORD
        was = "of another setting" if _whole(record) else "damaged"
        if store.seal(record, store.as_json(described(experiment, jobs))):
            yield f"{record}: was {was}; written again, finished tiles are kept"


def _whole(record: Path) -> bool:
    """Whether a file is what was written."""
    try:
        return store.unseal(record) is not None
    except store.DamagedError:
        return False


def _of_one_processor(jobs: Sequence[Job], processor: str, alike: bool) -> Iterator[str]:
    """Write down every cell with its processor, and tell of one that is another's, or refuse, if all are to be alike.

    Another processor rounds differently: its tiles would not be those of one machine.
    """
    known = [_processor(job) for job in jobs]
    yield from _others(zip(jobs, known, strict=True), processor, alike)
    new = [job for job, of in zip(jobs, known, strict=True) if of is None]
    for job in new:
        path, content = job.folder / CELL, store.as_json(job.setting | {"processor": processor})
        if not path.exists():
            store.write(path, content, replace=False)  # of two who find none, the first wins
        elif _processor(job) is None:
            store.write(path, content)
            yield f"{path}: damaged; written again"
    yield from _others(((job, _processor(job)) for job in new), processor, alike)  # another run may have been first


def _others(known: Iterable[tuple[Job, str | None]], processor: str, alike: bool) -> Iterator[str]:
    """Tell of the first cell that is another processor's, or refuse it."""
    for job, of in known:
        if of not in (None, processor):
            said = f"{job.folder}: of another processor, {of}; this is {processor}"
            if alike:
                raise ValueError(f"{said}, whose rounding differs; it takes the same, or another --out")
            yield f"{said}, and tiles that are missing get its rounding"
            return


def _processor(job: Job) -> str | None:
    """The processor of a cell, if it is written down."""
    try:
        known = store.from_json(store.read(job.folder / CELL) or b"")
    except ValueError:
        return None
    of = known.pop("processor", None)
    return str(of) if of and known == job.setting else None


def _run_job(
    todo: Todo, run: Callable[[], workers.Run], progress: Progress, under_way: Sequence[Future[None]]
) -> cells.Writer:
    """Compute the tiles of a job; the last of them wait in the writer. What goes wrong meanwhile elsewhere ends it."""
    job = todo.job
    progress.curve(job.name, todo.begun * job.width, todo.trials, job.setting["steps"])
    writer = cells.Writer(job.folder, job.fits)

    def indices() -> Iterator[int]:
        progress.compiled()
        yield from todo.still()

    try:
        for index, arrays in computed(job.name, job.setting, run, indices()):
            if index >= todo.count:
                break
            for tile in todo.come(index, arrays):
                writer.add(*tile)
            progress.advance(job.width)
            _ended([each for each in under_way if each.done()])
    except BaseException:  # what is finished is kept, whatever comes next
        writer.flush()
        raise
    if todo.stopped:
        progress.stopped(todo.count * job.width)
    return writer
