"""The simulator: many independent trials of one policy on one problem, and their regret."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxids import checks, moments, policies, workers
from jaxids.moments import Series
from jaxids.problems import Problem, check_draws
from jaxids.series import NAMED
from jaxids.tiles import Hook

__all__ = ["Result", "recorded_steps", "simulate"]

POINTS = 200  # steps recorded when the caller names none


@dataclass(frozen=True)
class Result:
    """Series over trials by name, "regret" among them: mean and standard error at `steps`, every trial's at the last.

    `mean`, `stderr` and `final` are those of the regret.
    """

    steps: np.ndarray
    series: dict[str, Series]
    recorded: Any = None
    totals: Any = None

    mean = property(lambda self: self.series["regret"].mean)
    stderr = property(lambda self: self.series["regret"].stderr)
    final = property(lambda self: self.series["regret"].final)


def simulate(
    problem: Problem,
    policy: policies.Policy,
    *,
    key: Key[Array, ""],
    trials: int,
    steps: int,
    at: Any = None,
    record: Hook | Mapping[str, Hook] | Sequence[str] | None = None,
    total: Hook | None = None,
    devices: Sequence[Any] | None = None,
) -> Result:
    """Play a policy on a problem in many independent trials.

    `at` are the steps to record, or how many (by default 200), half of them even in time and half in log time. `record`
    are names of series, as ["simple_regret", "ratio"], or a dictionary of functions of a step that give one number for
    every trial; they come back in `result.series`. A function alone may give any arrays, which come back as
    `result.recorded` with axes [trials, at, …]. It is called with a `jaxids.tiles.Step`, whose arrays have trials on
    the last axis. What `total` returns is summed over all steps, as `result.totals` [trials, …]. `devices` are all of
    the default platform's; on a CPU tiles run on as many threads as there are cores. With one trial the standard error
    is NaN.
    """
    checks.untraced("simulate", problem=problem, policy=policy, key=key)
    trials, steps = checks.count("trials", trials), checks.count("steps", steps)
    checks.key("key", key)
    check_draws(problem)
    problem.check()
    policies.check(policy)
    series, hook = _recorded(record)
    if total is not None:
        checks.function("total", total)
    if devices is not None and not (isinstance(devices, Sequence) and all(isinstance(d, jax.Device) for d in devices)):
        raise ValueError(f"devices: got {checks.shown(devices)}; it takes a list of them, as of jax.devices()")
    at = recorded_steps(steps, at)
    until = at if at[-1] == steps else np.append(at, np.int32(steps))
    found, first, whole = dict[str, moments.Moments](), 0, None
    run = partial(workers.run, problem, policy, key=key, trials=trials, at=until, devices=devices)
    for tile in run(series=series, record=hook, total=total):
        for name, values in tile.series.items():
            found[name] = moments.merge(found.get(name, moments.empty(len(at))), values[: len(at)])
        final = {name: values[-1] for name, values in tile.series.items()}
        recorded = jax.tree.map(lambda leaf: leaf[: len(at)], tile.recorded)
        whole = _filled(whole, (final, recorded, tile.totals), first, trials)
        first += len(final["regret"])
    final, recorded, totals = jax.tree.map(lambda leaf: np.moveaxis(leaf, -1, 0), whole)
    return Result(at, {name: Series(m.mean, m.stderr, final[name]) for name, m in found.items()}, recorded, totals)


def _recorded(record: Any) -> tuple[dict[str, Hook], Hook | None]:
    """The series to keep by name, and the hook whose arrays are kept as they are."""
    if record is None or callable(record):
        return {}, record
    known = f"a function of a step, a dictionary of them, or a list of names of {', '.join(NAMED)}"
    if isinstance(record, Mapping):
        for name, hook in record.items():
            checks.function("record", hook, known)
            if not isinstance(name, str) or name == "regret":
                raise ValueError(f"record: got {checks.shown(name)} as a name; it takes text, and not 'regret'")
        return dict(record), None
    if isinstance(record, str) or not isinstance(record, Sequence) or any(name not in NAMED for name in record):
        raise ValueError(f"record: got {checks.shown(record)}; it takes {known}")
    return {name: NAMED[name] for name in record}, None


def _filled(whole: Any, part: Any, first: int, trials: int) -> Any:
    """Arrays with all trials on the last axis, those of a tile filled in: nothing else of the tile is kept."""
    if whole is None:
        whole = jax.tree.map(lambda leaf: np.empty((*leaf.shape[:-1], trials), leaf.dtype), part)
    for array, leaf in zip(jax.tree.leaves(whole), jax.tree.leaves(part), strict=True):
        array[..., first : first + leaf.shape[-1]] = leaf
    return whole


def recorded_steps(steps: int, at: Any = None) -> np.ndarray:
    """The steps to record: those given, or so many, `POINTS` if not said, half of them even in time, half in log time.

    The last step is among them. Where early ones fall together others take their place: as many points make programs of
    one shape, whatever the number of steps.
    """
    if at is None or (isinstance(at, int | np.integer) and not isinstance(at, bool)):
        points = checks.count("at", POINTS if at is None else at)
        even, early = np.linspace(0, steps, -(-points // 2) + 1)[1:], np.geomspace(1, steps, points // 2 + 1)[:-1]
        chosen = np.unique(np.concatenate([even, early]).round().clip(1))
        others = np.setdiff1d(np.unique(np.linspace(1, steps, min(steps, 8 * points)).round()), chosen)
        more = np.linspace(0, len(others) - 1, min(points - len(chosen), len(others))).round().astype(int)
        return np.union1d(chosen, others[more]).astype(np.int32)
    takes = f"increasing whole numbers from 1 to steps = {steps}, or how many of them"
    given = checks.number("at", list(at) if isinstance(at, range) else at, takes)
    if given.ndim != 1 or given.size == 0 or np.any(np.diff(given, prepend=0) < 1) or given[-1] > steps:
        raise ValueError(f"at: got {checks.shown(at)}; it takes {takes}")
    if np.any(given != given.round()):
        raise ValueError(f"at: got {given[given != given.round()][0]:g}; it takes {takes}")
    return given.astype(np.int32)
