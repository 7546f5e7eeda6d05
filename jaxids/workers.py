"""Tiles on every core or GPU: a few ahead of the one who asks for them, in order."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxids import apart, faults, policies, ways
from jaxids.problems import Changing, Problem, check_draws, sized
from jaxids.tiles import Hook, compiled, tile_width

__all__ = ["Tile", "cores", "placed", "run"]

AHEAD = 2  # tiles under way or waiting to be taken, for every worker


@dataclass(frozen=True)
class Tile:
    """The trials of one tile: series [R, n], "regret" among them, and what was kept [R, …, n], totals […, n]."""

    index: int
    series: dict[str, np.ndarray]
    recorded: Any
    totals: Any


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _default_precision(leaf: Any) -> Array:
    """A number of any kind as the same kind of array, so that none of them compiles anew; other arrays as they are."""
    if isinstance(leaf, jax.Array | np.ndarray) and not jnp.issubdtype(leaf.dtype, jnp.floating):
        return jnp.asarray(leaf)
    return jnp.asarray(leaf, jnp.result_type(float))


def placed(tree: Any, device: Any) -> Any:
    """A problem, a policy and a key on a device, every number of one kind."""
    return jax.device_put(jax.tree.map(_default_precision, tree), device)


def run(
    problem: Problem,
    policy: policies.Policy,
    *,
    key: Key[Array, ""],
    trials: int,
    at: np.ndarray,
    series: Mapping[str, Hook] | None = None,
    record: Hook | None = None,
    total: Hook | None = None,
    devices: Sequence[Any] | None = None,
    indices: Iterable[int] | None = None,
) -> Iterator[Tile]:
    """Run tiles, all of them or those with the given indices, and yield them in order.

    Indices are asked for only shortly before they run. Whoever stops early waits for no tile under way.
    """
    devices = list(jax.local_devices() if devices is None else devices)
    if not devices:
        raise ValueError("devices: got none; it takes a list of at least one")
    check_draws(problem)
    if isinstance(problem, Changing) and getattr(policy.rule, "remembers_actions", False):
        raise ValueError(f"policy: got {policy.rule!r} on actions that change; it takes a rule that keeps no action")
    problem = sized(problem, int(at[-1]))
    own = {"record": record, "total": total, **(series or {})}
    hooks = {name: hook for name, hook in own.items() if hook is not None}
    apart.check(problem, policy, hooks)
    platform = devices[0].platform
    width = tile_width(problem, platform)
    count = -(-trials // width)
    tile = partial(compiled(platform), width=width, series=tuple((series or {}).items()), record=record, total=total)
    everywhere = [placed((problem, policy, key), device) for device in devices]
    first = partial(tile, *everywhere[0], 0)
    tile = partial(tile, way=ways.chosen(problem, policy, platform, at, hooks, first))
    if platform == "cpu":
        for arguments in everywhere:  # no steps: only compiles, so that two threads do not compile the same thing
            jax.block_until_ready(tile(*arguments, 0, np.zeros_like(at)))
    x64 = jnp.result_type(float) == jnp.float64  # a context holds in its own thread only

    def one(index: int, arguments: Any) -> Tile:
        with jax.enable_x64(x64):
            out = jax.device_get(tile(*arguments, index * width, at))
        *kept, fault = jax.tree.map(lambda leaf: leaf[..., : trials - index * width], out)
        faults.check(fault, index * width)
        faults.check_totals(kept[-1], index * width)
        return Tile(index, *kept)

    workers = cores() if platform == "cpu" else len(devices)
    pool, pending = ThreadPoolExecutor(workers), deque[Future[Tile]]()
    try:
        for index, arguments in zip(range(count) if indices is None else indices, cycle(everywhere), strict=False):
            if not 0 <= index < count:
                raise ValueError(f"indices: got {index}; it takes tiles from 0 to {count - 1}")
            pending.append(pool.submit(one, index, arguments))
            if len(pending) >= AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
