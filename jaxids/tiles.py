"""Tiles: a fixed number of trials on the lanes of one compiled loop over steps.

A trial's arithmetic, and with it every bit of its result, is the same whichever trials run beside it, because tiles
are always whole: the last one is padded. Trial i draws everything from `fold_in(key, i)`, with separate streams for
its instance, its noise and its policy, so two policies on one key meet the same bandits and the same noise.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key

from jaxids import draws, lanes, policies
from jaxids.confidence import Band
from jaxids.problems import Instance, Problem

CACHE = 32768  # numbers in the states of one tile on a CPU
ACCELERATOR_LANES = 16384


class Step(NamedTuple):
    """What a `record` hook sees of one step, with lanes on the last axis."""

    choice: policies.Choice
    reward: Float[Array, "..."]
    regret: Float[Array, "..."]  # of all steps up to this one
    instance: Instance
    state: Any  # the belief before the step


Record = Callable[[Step], Any]


@dataclass(frozen=True)
class Tile:
    """The trials of one tile: their regret [R, n] at the recorded steps and what else was kept [R, …, n]."""

    index: int
    regret: np.ndarray
    recorded: Any


class _Carry(NamedTuple):
    step: Int[Array, ""]
    state: Any
    regret: lanes.Sum
    recorded: Any


def play(
    problem: Problem, policy: policies.Policy, instance: Instance, state: Any, noise: draws.Stream, own: draws.Stream
) -> tuple[Any, policies.Choice, Float[Array, "..."]]:
    """One step of every lane: choose, observe, update. Returns the new belief, the choice and its reward."""
    rho = instance.rho if policy.weighted else jnp.broadcast_to(instance.rho_bound, instance.rho.shape)
    band = Band(problem.belief, state, rho, policy.delta, policy.lam, policy.norm_bound)
    choice = policy.rule(band, own)
    action = choice.action
    reward = lanes.pick(instance.mean, action) + lanes.pick(instance.rho, action) * problem.noise(noise)
    after = problem.belief.update(state, action, reward, lanes.pick(rho, action) ** 2)
    return after, choice, reward


def _run_tile(
    problem: Problem,
    policy: policies.Policy,
    key: Key[Array, ""],
    first: Int[Array, ""],
    at: Int[Array, "R"],
    *,
    width: int,
    record: Record | None,
) -> tuple[Float[Array, "R n"], Any]:
    keys = jax.vmap(partial(jax.random.fold_in, key))(first + jnp.arange(width, dtype=jnp.uint32))
    of_instance, of_noise, of_policy = (jax.vmap(jax.random.fold_in, (0, None))(keys, i) for i in range(3))
    instance = lanes.shared(jax.vmap(problem.draw, out_axes=-1)(of_instance))
    noise, own = (lanes.shared(jax.vmap(draws.stream, out_axes=-1)(k)) for k in (of_noise, of_policy))
    gaps = lanes.shared(jnp.max(instance.mean, axis=0) - instance.mean)

    def step(_: Any, carry: _Carry) -> _Carry:
        now = carry.step.astype(jnp.uint32)
        streams = draws.Stream(noise, now), draws.Stream(own, now)
        state, choice, reward = play(problem, policy, instance, carry.state, *streams)
        regret = lanes.add(carry.regret, lanes.pick(gaps, choice.action))
        kept = record(Step(choice, reward, regret.value, instance, carry.state)) if record else None
        return _Carry(carry.step + 1, state, regret, kept)

    def until(carry: _Carry, target: Int[Array, ""]) -> tuple[_Carry, tuple[Array, Any]]:
        carry = lax.fori_loop(carry.step, target, step, carry)
        return carry, (carry.regret.value, carry.recorded)

    start = _Carry(jnp.int32(0), problem.belief.init(instance.features, policy.lam), lanes.sum_from(gaps[0] * 0), None)
    shapes = jax.eval_shape(lambda c: step(0, c), start).recorded
    for leaf in jax.tree.leaves(shapes):
        if leaf.shape[-1:] != (width,):
            raise ValueError(f"record: got an array of shape {list(leaf.shape)}; it takes trials on the last axis")
    start = start._replace(recorded=jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes))
    _, out = lax.scan(until, start, at)
    return out


@cache
def _compiled(platform: str) -> Callable[..., tuple[Array, Any]]:
    """The jitted tile of a platform.

    XLA's CPU compiler drops the barriers of `lanes.shared` before it fuses, and splits small loops over threads that
    are busy with other tiles. Both cost up to a factor of two, so those two passes are left out.
    """
    skipped = {"xla_disable_hlo_passes": "cse_barrier_expander,cpu-parallel-task-assigner"}
    return jax.jit(
        _run_tile, static_argnames=("width", "record"), compiler_options=skipped if platform == "cpu" else None
    )


def tile_width(problem: Problem, platform: str) -> int:
    """How many trials a tile holds: as many as keep its state in cache on a CPU, many more on an accelerator."""
    if platform != "cpu":
        return ACCELERATOR_LANES
    state = jax.eval_shape(lambda: problem.belief.init(problem.draw(jax.random.key(0)).features, 1.0))
    numbers = sum(leaf.size for leaf in jax.tree.leaves(state))
    return int(np.clip(2 ** int(np.log2(max(CACHE // numbers, 1))), 32, 256))


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _default_precision(leaf: Any) -> Array:
    """A number of any kind as the same kind of array, so that none of them compiles anew."""
    return jnp.asarray(leaf, jnp.result_type(float))


def tiles(
    problem: Problem,
    policy: policies.Policy,
    *,
    key: Key[Array, ""],
    trials: int,
    at: np.ndarray,
    record: Record | None = None,
    devices: Sequence[Any] | None = None,
    indices: Sequence[int] | None = None,
) -> Iterator[Tile]:
    """Run tiles (all of them, or those with the given indices) on all cores or GPUs and yield them in order."""
    devices = list(jax.local_devices() if devices is None else devices)
    if not devices:
        raise ValueError("devices: got none; it takes a list of at least one")
    width = tile_width(problem, devices[0].platform)
    indices = range(-(-trials // width)) if indices is None else indices
    if any(not 0 <= index < -(-trials // width) for index in indices):
        raise ValueError(f"indices: got {list(indices)}; it takes tiles from 0 to {-(-trials // width) - 1}")
    run = partial(_compiled(devices[0].platform), width=width, record=record)
    problem, policy = jax.tree.map(_default_precision, (problem, policy))
    placed = [jax.device_put((problem, policy, key), device) for device in devices]
    workers = cores() if devices[0].platform == "cpu" else len(devices)
    for arguments in placed:  # no steps: only compiles, so that two threads do not compile the same thing
        jax.block_until_ready(run(*arguments, 0, np.zeros_like(at)))

    x64 = jnp.result_type(float) == jnp.float64  # a context holds in its own thread only

    def one(index: int) -> Tile:
        with jax.enable_x64(x64):
            regret, recorded = jax.device_get(run(*placed[index % len(devices)], index * width, at))
        count = min(width, trials - index * width)
        return Tile(index, regret[:, :count], jax.tree.map(lambda leaf: leaf[..., :count], recorded))

    with ThreadPoolExecutor(max(workers, len(devices))) as pool:
        yield from pool.map(one, indices)
