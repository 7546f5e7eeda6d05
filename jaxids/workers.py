"""Tiles on every core or GPU: a few ahead of the one who asks for them, in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle
from threading import RLock
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from jaxids import apart, faults, nodes, policies, ways
from jaxids.fields.rough import Grid
from jaxids.policies.alike import alike
from jaxids.problems import Changing, Instance, Problem, check_draws, sized
from jaxids.tiles import Hook, compiled, halves
from jaxids.widths import tile_width

Program = Callable[[int], Any]  # a tile by the number of its first trial
AHEAD = 2  # tiles under way or waiting to be taken, for every worker
_lowering = RLock()  # a hook that is traced may simulate


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


def _concurrent_tiles(problem: Problem) -> int:
    """Number of tiles of a problem that may run at once on the CPU.

    With a rough kernel on a box or ball it is one: two programs that draw from its posterior at once never end (jaxlib
    0.10.2, with every setting of XLA's threads that was tried).
    """
    parts = jax.tree.leaves(problem, is_leaf=lambda part: isinstance(part, Grid))
    return 1 if any(isinstance(part, Grid) for part in parts) else cores()


def _default_precision(leaf: Any) -> Array:
    """A number of any kind as the same kind of array, so that none of them compiles anew; other arrays as they are."""
    if isinstance(leaf, jax.Array | np.ndarray) and not jnp.issubdtype(leaf.dtype, jnp.floating):
        return jnp.asarray(leaf)
    return jnp.asarray(leaf, jnp.result_type(float))


def placed(tree: Any, device: Any) -> Any:
    """A problem, a policy and a key on a device, every number of one kind."""
    return jax.device_put(jax.tree.map(_default_precision, tree), device)


def _compile(jitted: Any, *arguments: Any, **static: Any) -> Callable[..., Any]:
    """Compile a jitted function for arguments like these; the result takes no static ones.

    JAX compiles what it has lowered once, and other threads wait for it. Two threads may lower the same function twice
    (JAX 0.8), so they take turns at that.
    """
    with _lowering:
        lowered = jitted.lower(*arguments, **static)
    return lowered.compile()


@dataclass
class Run:
    """The trials of a policy on a problem, checked: to be compiled, in any thread, and run by tiles."""

    trials: int
    width: int
    at: np.ndarray
    devices: list[Any]
    arguments: list[tuple[Problem, policies.Policy, Key[Array, ""]]]  # on each device
    static: dict[str, Any]
    x64: bool
    programs: list[Program] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return -(-self.trials // self.width)

    def compile(self) -> "Run":
        """The run, ready to start; a program that is compiled already is not compiled again."""
        with jax.enable_x64(self.x64):  # a context holds in its own thread only
            pairs = zip(self.devices, self.arguments, strict=True)
            self.programs = [self._program(device, *arguments) for device, arguments in pairs]
        return self

    def _program(self, device: Any, problem: Problem, policy: policies.Policy, key: Key[Array, ""]) -> Program:
        """The tile by its first trial; on a CPU its beginning is a program of its own, which policies share."""
        at, static = self.at, self.static  # a program that knew the run would keep its problem in memory
        if device.platform != "cpu":
            whole = _compile(compiled(device.platform), problem, policy, key, 0, at, width=self.width, **static)
            return lambda first: whole(problem, policy, key, first, at)
        begin, rest = halves(device.platform)
        given = {"width": self.width, "kinds": nodes.kinds(problem)}
        trials = begin.eval_shape(problem, key, 0, **given)
        begins = _compile(begin, problem, key, 0, **given)
        if isinstance(trials.instance, Instance):
            policy = placed(alike(policy, len(trials.instance.rho)), device)
            static = static | {"kinds": nodes.kinds((problem, policy))}
        plays = _compile(rest, problem, policy, trials, at, **static)
        return lambda first: plays(problem, policy, begins(problem, key, first), at)

    def tiles(self, indices: Iterable[int] | None = None) -> Iterator[Tile]:
        """Run tiles, all of them or those with the given indices, and yield them in order.

        Indices are asked for only shortly before they run. Whoever stops early waits for no tile under way.
        """
        if not self.programs:
            self.compile()
        workers = _concurrent_tiles(self.arguments[0][0]) if self.devices[0].platform == "cpu" else len(self.devices)
        pool, pending = ThreadPoolExecutor(workers), deque[Future[Tile]]()
        places = cycle(range(len(self.devices)))
        try:
            for index, place in zip(range(self.count) if indices is None else indices, places, strict=False):
                if not 0 <= index < self.count:
                    raise ValueError(f"indices: got {index}; it takes tiles from 0 to {self.count - 1}")
                pending.append(pool.submit(self._one, index, place))
                if len(pending) >= AHEAD * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _one(self, index: int, place: int) -> Tile:
        first = index * self.width
        with jax.enable_x64(self.x64):
            out = jax.device_get(self.programs[place](first))
        *kept, fault = jax.tree.map(lambda leaf: leaf[..., : self.trials - first], out)
        faults.check(fault, first)
        faults.check_totals(kept[-1], first)
        return Tile(index, *kept)


def prepared(
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
) -> Run:
    """A run whose arguments are checked and on their devices; what is wrong with them is a ValueError."""
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
    static: dict[str, Any] = {"series": tuple((series or {}).items()), "record": record, "total": total}
    static |= {"kinds": nodes.kinds((problem, policy))}
    everywhere = [placed((problem, policy, key), device) for device in devices]
    static |= {"way": ways.chosen(problem, platform, int(at[-1]))}
    return Run(trials, width, at, devices, everywhere, static, jnp.result_type(float) == jnp.float64)


def run(*arguments: Any, indices: Iterable[int] | None = None, **more: Any) -> Iterator[Tile]:
    """Prepare a run, compile it and yield its tiles, all of them or those with the given indices."""
    yield from prepared(*arguments, **more).compile().tiles(indices)
