"""Tiles: a fixed number of trials on the lanes of one compiled loop over steps.

A trial's arithmetic, and with it every bit of its result, is the same whichever trials run beside it, because tiles
are always whole: the last one is padded. Trial i draws everything from `fold_in(key, i)`, with separate streams for
its instance, its noise, its policy and its contexts, so two policies on one key meet the same bandits and the same
noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

from jaxids import agents, checks, compiler, draws, faults, lanes, layouts, loops, policies, sums
from jaxids.confidence import Action, Band
from jaxids.problems import Changing, Instance, Problem, Several

__all__ = [
    "Hook",
    "Step",
    "Trials",
    "begun",
    "compiled",
    "halves",
    "hooked",
    "instance_keys",
    "no_regret",
    "play",
    "stepped",
    "trial_keys",
]

CPU = loops.Way()
HOOKS = ("series", "record", "total")


@dataclass(frozen=True)
class Step:
    """What the hooks `record` and `total` see of one step, with lanes on the last axis (on boxes, one trial)."""

    choice: policies.Choice
    reward: Float[Array, "..."]
    regret: Float[Array, "..."]  # of all steps up to this one
    instance: Any  # of this step
    agent: agents.Agent  # before the step
    band: Band  # what it knew
    after: Callable[[], Band]
    number: Int[Array, ""]  # of the step, from 1 on

    @cached_property
    def recommended(self) -> Action:
        """The action of the highest estimate after the step."""
        return self.after().leader.action


Hook = Callable[[Step], Any]


class _Carry(NamedTuple):
    """What goes from step to step, all of it with lanes on the last axis."""

    agent: agents.Agent
    regret: lanes.Sum
    fault: faults.Fault
    series: Any
    recorded: Any
    totals: Any


class Trials(NamedTuple):
    """What the trials of a tile are from beginning to end."""

    instance: Any
    losses: Array
    noise: UInt32[Array, "2 ..."]
    own: UInt32[Array, "2 ..."]
    contexts: Key[Array, "..."]


def play(
    problem: Problem,
    policy: policies.Policy,
    instance: Any,
    agent: agents.Agent,
    noise: draws.Stream,
    own: draws.Stream,
) -> tuple[agents.Agent, Band, policies.Choice, Float[Array, "..."]]:
    """One step: choose, observe, learn. Returns the agent after it, what it knew, its choice and the reward."""
    band = agents.band_of(problem.belief, policy, instance, agent)
    choice = agents.choose(policy, agent, band, own)
    reward = instance.mean_of(choice.action) + instance.rho_of(choice.action) * problem.noise(noise)
    return agents.learn(policy, agent, band, choice, reward), band, choice, reward


def trial_keys(key: Key[Array, ""], trials: UInt32[Array, "n"]) -> tuple[Key[Array, "n"], ...]:
    """The keys of trials, by their numbers: of their instances, their noise, their policies and their contexts."""
    keys = draws.fold_in(key, trials)
    return tuple(draws.fold_in(keys, jnp.arange(4, dtype=jnp.uint32)[:, None]))


def instance_keys(problem: Problem, key: Key[Array, ""], trials: UInt32[Array, "n"]) -> Key[Array, "n"]:
    """The keys of the instances of trials: each its own, or those of a few trials in turn."""
    if isinstance(problem, Several):
        trials = trials % jnp.asarray(problem.count).astype(jnp.uint32)
    return trial_keys(key, trials)[0]


def begun(problem: Problem, key: Key[Array, ""], trials: UInt32[Array, "n"]) -> Trials:
    """Trials by their numbers, before the first step."""
    _, of_noise, of_policy, of_contexts = trial_keys(key, trials)
    instance = lanes.shared(jax.vmap(problem.draw, out_axes=-1)(instance_keys(problem, key, trials)))
    noise, own = lanes.shared(jnp.moveaxis(draws.stream(jnp.stack([of_noise, of_policy])), 0, 1))
    return Trials(instance, lanes.shared(instance.losses()), noise, own, of_contexts)


def _now(problem: Problem, trials: Trials, step: Int[Array, ""]) -> tuple[Any, Array]:
    """The instance at a step, and what `lost` takes."""
    if not isinstance(problem, Changing):
        return trials.instance, trials.losses
    keys = jax.vmap(jax.random.fold_in, (0, None))(trials.contexts, step)
    instance = lanes.shared(jax.vmap(problem.context, out_axes=-1)(keys))
    return instance, lanes.shared(instance.losses())


class _Hooks(NamedTuple):
    """What is kept of a step besides regret: named series, arrays of any kind, and sums."""

    series: tuple[tuple[str, Hook], ...]
    record: Hook | None
    total: Hook | None


def stepped(
    problem: Problem,
    policy: policies.Policy,
    step: Int[Array, ""],
    trials: Trials,
    agent: agents.Agent,
    regret: lanes.Sum,
) -> tuple[agents.Agent, lanes.Sum, Step]:
    """One step of every trial: the agent and the regret after it, and what there is to see of it."""
    now = step.astype(jnp.uint32)
    instance, losses = _now(problem, trials, step)
    streams = draws.Stream(trials.noise, now), draws.Stream(trials.own, now)
    new, band, choice, reward = play(problem, policy, instance, agent, *streams)
    regret = lanes.add(regret, instance.lost(losses, choice.action))
    after = partial(agents.band_of, problem.belief, policy, instance, new)  # computed only if a hook asks for it
    return new, regret, Step(choice, reward, regret.value, instance, agent, band, after, step + 1)


def _step(
    problem: Problem, policy: policies.Policy, hooks: _Hooks, step: Int[Array, ""], trials: Trials, carry: _Carry
) -> _Carry:
    agent, regret, seen = stepped(problem, policy, step, trials, carry.agent, carry.regret)
    series = {
        name: _after(hook, (carry.series or {}).get(name), hooked(name, hook, seen)) for name, hook in hooks.series
    }
    kept, added = hooked("record", hooks.record, seen), hooked("total", hooks.total, seen)
    totals, overflow = sums.plus(carry.totals, added), sums.overflows(carry.totals, added, carry.fault.kind.ndim)
    sound = seen.instance.sound() if isinstance(problem, Changing) else None
    above = seen.instance.above(seen.choice.action) if hasattr(seen.instance, "above") else None
    fault = faults.after(carry.fault, step, seen.band, seen.choice, seen.reward, overflow, sound, above)
    return _Carry(agent, regret, fault, series, kept, totals)


def _begin(
    problem: Problem, key: Key[Array, ""], first: Int[Array, ""], *, width: int, kinds: tuple[type, ...] = ()
) -> Trials:
    """The trials of a tile from a number on; `nodes.kinds` of the problem keep its program apart from another's."""
    return begun(problem, key, jnp.asarray(first, jnp.uint32) + jnp.arange(width, dtype=jnp.uint32))


def _rest(
    problem: Problem,
    policy: policies.Policy,
    trials: Trials,
    at: Int[Array, "R"],
    *,
    series: tuple[tuple[str, Hook], ...],
    record: Hook | None,
    total: Hook | None,
    way: loops.Way = CPU,
    kinds: tuple[type, ...] = (),
) -> tuple[dict[str, Float[Array, "R n"]], Any, Any, faults.Fault]:
    """All steps of trials, and what is recorded of them; `nodes.kinds` of problem and policy keep programs apart."""
    width, hooks = trials.noise.shape[-1], _Hooks(series, record, total)
    step, start = partial(_step, problem, policy, hooks), partial(_started, problem, policy)
    if not isinstance(trials.instance, Instance):  # one trial at a time
        axes = jax.tree.map(lambda _: -1, trials)._replace(contexts=0)
        step, start = jax.vmap(step, (None, axes, -1), -1), jax.vmap(start, (axes,), -1)
    carry = start(trials)
    shapes = jax.eval_shape(step, jnp.int32(0), trials, carry) if any(hooks) else carry  # tracing takes long
    carry = carry._replace(
        series={name: _one_each(name, hook, shapes.series[name], width) for name, hook in series},
        recorded=_zeros("record", shapes.recorded, width),
        totals=jax.tree.map(sums.start, _zeros("total", shapes.totals, width)),
    )
    end, (numbers, kept) = loops.run(way, step, trials, carry, at, _kept)
    return numbers, kept, sums.values(end.totals), end.fault


def _run_tile(
    problem: Problem,
    policy: policies.Policy,
    key: Key[Array, ""],
    first: Int[Array, ""],
    at: Int[Array, "R"],
    *,
    width: int,
    way: loops.Way = CPU,
    **hooks: Any,
) -> tuple[dict[str, Float[Array, "R n"]], Any, Any, faults.Fault]:
    with layouts.laid_out(way.layout):
        return _rest(problem, policy, _begin(problem, key, first, width=width), at, way=way, **hooks)


def _kept(carry: _Carry) -> tuple[dict[str, Array], Any]:
    """What is recorded of a step."""
    return {"regret": carry.regret.value, **sums.values(carry.series)}, carry.recorded


def _started(problem: Problem, policy: policies.Policy, trials: Trials) -> _Carry:
    agent = agents.start(problem.belief, policy, trials.instance)
    return _Carry(agent, no_regret(trials), faults.at_start(trials.instance.sound()), None, None, None)


def no_regret(trials: Trials) -> lanes.Sum:
    """The regret before the first step."""
    return lanes.sum_from(jnp.zeros(trials.noise.shape[1:], trials.losses.dtype))


def hooked(name: str, hook: Hook | None, seen: Step) -> Any:
    """What a hook keeps of a step, or a ValueError if it cannot be called so, or gives what is no array."""
    if hook is None:
        return None
    takes = "a function of a step that gives arrays"
    with checks.naming(name, hook, takes):
        given = hook(seen)
    leaves = jax.tree.leaves(given)
    for leaf in leaves or [given]:
        if not isinstance(leaf, jax.Array):
            raise ValueError(f"{name}: got {checks.shown(hook)}, which gives {checks.shown(leaf)}; it takes {takes}")
    return given


def _zeros(name: str, shapes: Any, width: int) -> Any:
    """Zeros in place of what a hook returned, or a ValueError if its trials are not on the last axis."""
    for leaf in jax.tree.leaves(shapes):
        if leaf.shape[-1:] != (width,):
            raise ValueError(f"{name}: got an array of shape {list(leaf.shape)}; it takes trials on the last axis")
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def _after(hook: Hook, so_far: Any, value: Any) -> Any:
    """A series after a step: what the step gives, or what runs on with it."""
    return hook.after(so_far, value) if isinstance(hook, sums.Running) else value


def _one_each(name: str, hook: Hook, shape: Any, width: int) -> Any:
    """Where a series begins, or a ValueError if it is not one number for every trial."""
    if getattr(shape, "shape", None) != (width,):
        got = f"one of shape {list(shape.shape)}" if hasattr(shape, "shape") else checks.shown(shape)
        raise ValueError(f"record: got {name}, {got}; it takes one number for every trial")
    zeros = jnp.zeros(shape.shape, shape.dtype)
    return hook.start(zeros) if isinstance(hook, sums.Running) else zeros


def _jitted(function: Callable[..., Any], platform: str, *static: str) -> Any:
    """A function for a platform."""
    return jax.jit(function, static_argnames=static, compiler_options=compiler.options(platform))


@cache
def compiled(platform: str) -> Callable[..., tuple[dict[str, Array], Any, Any, faults.Fault]]:
    """The jitted tile of a platform."""
    return _jitted(_run_tile, platform, "width", *HOOKS, "way", "kinds")


@cache
def halves(platform: str) -> tuple[Any, Any]:
    """The jitted tile as two programs: its beginning, which is one for all policies, and the rest."""
    return _jitted(_begin, platform, "width", "kinds"), _jitted(_rest, platform, *HOOKS, "way", "kinds")
