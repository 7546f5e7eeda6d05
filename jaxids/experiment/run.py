"""Run experiments: simulate the tiles that are not in the store yet, and put them there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxids
from jaxids import ahead, policies, series, simulator, ways, workers
from jaxids.experiment import build, policy_names, sound, store
from jaxids.experiment.curves import stem
from jaxids.experiment.keys import Table
from jaxids.experiment.progress import Progress
from jaxids.experiment.read import RECORD, Cell, Experiment

__all__ = ["Job", "jobs_of", "run"]


@dataclass(frozen=True)
class Job:
    """A cell ready to run: its policy and folder, and how many tiles of what width it takes."""

    name: str
    cell: Cell
    policy: policies.Policy
    folder: Path
    setting: Table
    trials: int
    width: int

    @property
    def tiles(self) -> int:
        """Tiles are always whole, so that more trials can be added later."""
        return -(-self.trials // self.width)


def run(experiments: Sequence[Experiment], out: Path) -> int:
    """Bring the store of every experiment up to date and return how many tiles that took."""
    got = jax.config.jax_default_prng_impl  # pyright: ignore
    if got != build.GENERATOR:  # own code may draw by it
        raise ValueError(f"JAX_DEFAULT_PRNG_IMPL: got {got!r}; it takes {build.GENERATOR!r}, the default")
    prepared = [(experiment, jobs_of(experiment, out)) for experiment in experiments]  # mistakes come before any work
    everything, messages = [job for _, jobs in prepared for job in jobs], list[str]()
    if (out / RECORD).exists():
        raise ValueError(f"--out: got {out}, the folder of one experiment; it takes the folder for all")
    store.clean(out)
    for experiment, jobs in prepared:
        record = out / experiment.name / RECORD
        if store.seal(record, store.as_json(_described(experiment, jobs))):
            messages.append(f"{record}: was of another setting, or damaged; written again, finished tiles are kept")
        for job in jobs:
            if store.keep(job.folder / "cell.json", store.as_json(job.setting)):
                messages.append(f"{job.folder / 'cell.json'}: damaged; written again")
    missing = [sum(1 for index in range(job.tiles) if not _finished(job, index, messages)) for job in everything]
    left = sum(count * job.width * job.setting["steps"] for count, job in zip(missing, everything, strict=True))
    progress = Progress(left)
    for message in messages:
        progress.say(message)
    try:
        todo = [(job, count) for job, count in zip(everything, missing, strict=True) if count]
        with ahead.made(partial(_prepared, jnp.result_type(float)), (job for job, _ in todo)) as runs:
            for (job, count), ready in zip(todo, runs, strict=True):
                _run_job(job, count, progress, ready)
    finally:
        progress.close()
    for experiment, jobs in prepared:  # once more: another run may have left its own
        store.seal(out / experiment.name / RECORD, store.as_json(_described(experiment, jobs)))
    return sum(missing)


def jobs_of(experiment: Experiment, out: Path) -> list[Job]:
    """The cells of an experiment as jobs, or a ValueError that names a value no problem can have."""
    jobs = []
    for cell in experiment.cells:
        section = "problem."
        try:
            width = build.width_of(build.problem_of(cell.setting["problem"]))
            section = ""
            policy = build.policy_of(cell.setting)
        except ValueError as error:
            raise ValueError(f"{experiment.path}: {section}{error}") from None
        setting = _full(cell.setting, width)
        folder = out / experiment.name / "tiles" / store.cell_folder(setting["policy"], setting)
        name = f"{stem(experiment.name, cell.panel)} {cell.label}"
        jobs.append(Job(name, cell, policy, folder, setting, experiment.table["trials"], width))
    return jobs


def _full(setting: Table, width: int) -> Table:
    """The setting with what a tile's bits depend on besides."""
    platform = jax.local_devices()[0].platform
    versions = {"jaxids": jaxids.__version__, "jax": jax.__version__, "platform": platform} | ways.setting(platform)
    versions |= {"precision": jnp.result_type(float).name, "width": width}
    return setting | versions | _generator() | policy_names.source(setting["policy"])


def _generator() -> Table:
    """Settings of JAX's generator that are not the default: they change what is drawn."""
    settings = {"jax_threefry_partitionable": True, "jax_random_seed_offset": 0}
    return {name: now for name, default in settings.items() if (now := getattr(jax.config, name)) != default}


def _steps(setting: Table) -> np.ndarray:
    """The steps at which a cell's series are recorded."""
    return simulator.recorded_steps(setting["steps"], setting["points"])


def _described(experiment: Experiment, jobs: Sequence[Job]) -> Table:
    """What `experiment.json` says."""
    cells = [
        {"label": job.cell.label, "panel": job.cell.panel, "numbers": job.cell.numbers, "setting": job.setting}
        | {"folder": f"tiles/{job.folder.name}"}
        for job in jobs
    ]
    kept = {
        name: experiment.table[name] for name in ("title", "notes", "trials", "claims", "compare", "watch", "bounds")
    }
    kept |= {"changes": experiment.changes}
    return {"jaxids": jaxids.__version__, "source": experiment.source, "cells": cells} | kept


def _finished(job: Job, index: int, messages: list[str] | None = None) -> bool:
    try:
        return sound.tile(job.folder, index, job.setting, _steps(job.setting)) is not None
    except store.DamagedError as damage:
        if messages is not None:
            messages.append(str(damage))
        return False


def _missing(job: Job, progress: Progress) -> Iterator[int]:
    """Tiles that are not there at the moment they are asked for: another run may have been quicker."""
    progress.compiled()
    for index in range(job.tiles):
        if not _finished(job, index):
            yield index


def _prepared(precision: np.dtype, job: Job) -> workers.Run:
    """The run of a job, compiled; in a thread of its own, where the precision is to be set."""
    with jax.enable_x64(precision == np.float64):
        total = series.pulls if job.setting["pulls"] else None
        kept = {name: series.NAMED[name] for name in job.setting["record"]}
        problem = build.problem_of(job.setting["problem"])  # kept by no job: many would not fit in memory
        key, at = build.key_of(job.setting["seed"]), _steps(job.setting)
        given = {"key": key, "trials": job.tiles * job.width, "at": at, "series": kept, "total": total}
        return workers.prepared(problem, job.policy, **given).compile()


def _named(name: str, ready: Callable[[], workers.Run], indices: Iterator[int]) -> Iterator[workers.Tile]:
    """Tiles of a run, when it is compiled, or what is wrong with one, with the name of its job before it."""
    try:
        yield from ready().tiles(indices)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _run_job(job: Job, count: int, progress: Progress, ready: Callable[[], workers.Run]) -> None:
    progress.curve(job.name, (job.tiles - count) * job.width, job.trials, job.setting["steps"])
    at = _steps(job.setting)
    for tile in _named(job.name, ready, _missing(job, progress)):
        if not np.all(np.isfinite(tile.series["regret"])):
            raise ValueError(f"{job.name}: regret is not finite; the numbers of the problem are too large")
        if wrong := [name for name, values in tile.series.items() if np.any(np.isnan(values))]:
            raise ValueError(f"{job.name}: {wrong[0]} is NaN; the numbers of the problem are too large or too small")
        arrays = {"steps": at, **tile.series, **({"pulls": tile.totals} if job.setting["pulls"] else {})}
        store.write_tile(job.folder, tile.index, arrays)
        progress.advance(job.width)
