"""Tiles: a fixed number of trials on the lanes of one compiled loop over steps.

A trial's arithmetic, and with it every bit of its result, is the same whichever trials run beside it, because tiles
are always whole: the last one is padded. Trial i draws everything from `fold_in(key, i)`, with separate streams for
its instance, its noise and its policy, so two policies on one key meet the same bandits and the same noise.
"""

from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from jaxids import checks, compiler, draws, faults, lanes, policies
from jaxids.confidence import Band
from jaxids.problems import Instance, Problem

CACHE = 32768  # numbers in the states of one tile on a CPU
ACCELERATOR_LANES = 16384


class Step(NamedTuple):
    """What the hooks `record` and `total` see of one step, with lanes on the last axis."""

    choice: policies.Choice
    reward: Float[Array, "..."]
    regret: Float[Array, "..."]  # of all steps up to this one
    instance: Instance
    state: Any  # the belief before the step
    recommended: Int[Array, "..."]  # the action of the highest estimate after it
    band: Band  # what was known before it


Hook = Callable[[Step], Any]


class _Carry(NamedTuple):
    step: Int[Array, ""]
    state: Any
    regret: lanes.Sum
    fault: faults.Fault
    series: Any
    recorded: Any
    totals: Any


def band_of(problem: Problem, policy: policies.Policy, instance: Instance, state: Any) -> Band:
    """What a policy knows in a state: with each action's noise bound, or one for all if it is not weighted."""
    rho = instance.rho if policy.weighted else jnp.broadcast_to(instance.rho_bound, instance.rho.shape)
    return Band(problem.belief, state, rho, policy.delta, policy.lam, policy.norm_bound)


def play(
    problem: Problem, policy: policies.Policy, instance: Instance, state: Any, noise: draws.Stream, own: draws.Stream
) -> tuple[Any, policies.Choice, Float[Array, "..."]]:
    """One step of every lane: choose, observe, update. Returns the new belief, the choice and its reward."""
    band = band_of(problem, policy, instance, state)
    choice = policies.check_choice(policy.rule(band, own), band)
    action = choice.action
    reward = lanes.pick(instance.mean, action) + lanes.pick(instance.rho, action) * problem.noise(noise)
    after = problem.belief.update(state, action, reward, lanes.pick(band.rho, action) ** 2)
    return after, choice, reward


def trial_keys(key: Key[Array, ""], trials: UInt32[Array, "n"]) -> tuple[Key[Array, "n"], ...]:
    """The keys of trials, by their numbers: of their instances, of their noise and of their policies."""
    keys = jax.vmap(partial(jax.random.fold_in, key))(trials)
    return tuple(jax.vmap(jax.random.fold_in, (0, None))(keys, i) for i in range(3))


def _run_tile(
    problem: Problem,
    policy: policies.Policy,
    key: Key[Array, ""],
    first: Int[Array, ""],
    at: Int[Array, "R"],
    *,
    width: int,
    series: tuple[tuple[str, Hook], ...],
    record: Hook | None,
    total: Hook | None,
) -> tuple[dict[str, Float[Array, "R n"]], Any, Any, faults.Fault]:
    of_instance, of_noise, of_policy = trial_keys(key, first + jnp.arange(width, dtype=jnp.uint32))
    instance = lanes.shared(jax.vmap(problem.draw, out_axes=-1)(of_instance))
    noise, own = (lanes.shared(jax.vmap(draws.stream, out_axes=-1)(k)) for k in (of_noise, of_policy))
    gaps = lanes.shared(jnp.max(instance.mean, axis=0) - instance.mean)

    def step(_: Any, carry: _Carry) -> _Carry:
        now = carry.step.astype(jnp.uint32)
        streams = draws.Stream(noise, now), draws.Stream(own, now)
        state, choice, reward = play(problem, policy, instance, carry.state, *streams)
        regret = lanes.add(carry.regret, lanes.pick(gaps, choice.action))
        recommended = lanes.first_max(problem.belief.mean(state)).arg  # compiled only if a hook asks for it
        band = band_of(problem, policy, instance, carry.state)
        seen = Step(choice, reward, regret.value, instance, carry.state, recommended, band)
        numbers = {name: _hooked(name, hook, seen) for name, hook in series}
        kept, added = _hooked("record", record, seen), _hooked("total", total, seen)
        totals, overflow = _plus(carry.totals, added), _overflows(carry.totals, added)
        fault = faults.after(carry.fault, carry.step, choice, reward, instance.rho.shape[0], overflow)
        return _Carry(carry.step + 1, state, regret, fault, numbers, kept, totals)

    def until(carry: _Carry, target: Int[Array, ""]) -> tuple[_Carry, tuple[Any, Any]]:
        carry = lax.fori_loop(carry.step, target, step, carry)
        return carry, ({"regret": carry.regret.value, **carry.series}, carry.recorded)

    belief, none = problem.belief.init(instance.features, policy.lam), lanes.sum_from(gaps[0] * 0)
    start = _Carry(jnp.int32(0), belief, none, faults.at_start(instance), None, None, None)
    shapes = jax.eval_shape(lambda c: step(0, c), start)
    recorded, totals = _zeros("record", shapes.recorded, width), _zeros("total", shapes.totals, width)
    numbers = {name: _one_each(name, shape, width) for name, shape in shapes.series.items()}
    start = start._replace(series=numbers, recorded=recorded, totals=jax.tree.map(_sum_of, totals))
    end, (regret, kept) = lax.scan(until, start, at)
    totals = jax.tree.map(lambda t: getattr(t, "value", t), end.totals, is_leaf=_is_sum)
    return regret, kept, totals, end.fault


def _hooked(name: str, hook: Hook | None, seen: Step) -> Any:
    """What a hook keeps of a step, or a ValueError if it cannot be called so, or gives what is no array."""
    if hook is None:
        return None
    takes = "a function of a step that gives arrays"
    with checks.naming(name, hook, takes):
        given = hook(seen)
    for leaf in jax.tree.leaves(given):
        if not isinstance(leaf, jax.Array):
            raise ValueError(f"{name}: got {checks.shown(hook)}, which gives {checks.shown(leaf)}; it takes {takes}")
    return given


def _zeros(name: str, shapes: Any, width: int) -> Any:
    """Zeros in place of what a hook returned, or a ValueError if its trials are not on the last axis."""
    for leaf in jax.tree.leaves(shapes):
        if leaf.shape[-1:] != (width,):
            raise ValueError(f"{name}: got an array of shape {list(leaf.shape)}; it takes trials on the last axis")
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def _one_each(name: str, shape: Any, width: int) -> Array:
    """Zeros in place of a series, or a ValueError if it is not one number for every trial."""
    if getattr(shape, "shape", None) != (width,):
        got = f"one of shape {list(shape.shape)}" if hasattr(shape, "shape") else checks.shown(shape)
        raise ValueError(f"record: got {name}, {got}; it takes one number for every trial")
    return jnp.zeros(shape.shape, shape.dtype)


def _sum_of(zeros: Array) -> Array | lanes.Sum:
    """Where a total begins: floats as a compensated sum, truth values and whole numbers as 32 bits or more."""
    if jnp.issubdtype(zeros.dtype, jnp.floating):
        return lanes.sum_from(zeros.astype(jnp.promote_types(zeros.dtype, jnp.float32)))
    if zeros.dtype not in map(jnp.dtype, ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64")):
        raise ValueError(f"total: got {zeros.dtype}; it takes truth values, whole numbers that fit int32, or floats")
    return zeros.astype(jnp.promote_types(zeros.dtype, jnp.int32))


def _plus(totals: Any, added: Any) -> Any:
    """Totals with one step more; before the first step, what that step adds."""
    if totals is None:
        return added
    return jax.tree.map(lambda t, a: lanes.add(t, a) if _is_sum(t) else t + a, totals, added, is_leaf=_is_sum)


def _overflows(totals: Any, added: Any) -> Bool[Array, "..."]:
    """In which lanes a total of whole numbers wraps around."""
    pairs = zip(*(jax.tree.leaves(tree, is_leaf=_is_sum) for tree in (totals, added)), strict=False)
    wraps = [(t + a < t) != (a < 0) for t, a in pairs if not _is_sum(t)]
    return reduce(jnp.logical_or, (jnp.any(w, axis=tuple(range(w.ndim - 1))) for w in wraps), jnp.asarray(False))


def _is_sum(value: Any) -> bool:
    return isinstance(value, lanes.Sum)


@cache
def compiled(platform: str) -> Callable[..., tuple[Array, Any, Any, faults.Fault]]:
    """The jitted tile of a platform."""
    return jax.jit(_run_tile, static_argnames=("width", "series", "record", "total"), compiler_options=compiler.options(platform))


def tile_width(problem: Problem, platform: str) -> int:
    """How many trials a tile holds: on a CPU as many as keep its state in cache, but enough to be worth a loop."""
    if platform != "cpu":
        return ACCELERATOR_LANES
    state = jax.eval_shape(lambda: problem.belief.init(problem.draw(jax.random.key(0)).features, 1.0))
    numbers = sum(leaf.size for leaf in jax.tree.leaves(state))
    fit, least = (2 ** int(np.log2(max(room // numbers, 1))) for room in (CACHE, 32 * CACHE))
    return int(np.clip(fit, np.clip(least, 8, 64), 256))
