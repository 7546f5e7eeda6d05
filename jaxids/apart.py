"""Users' functions keep trials apart, and on boxes points: looked at before a run, because no result would tell.

Arrays have trials on the last axis, so a gain that reduces over all axes mixes them and still has the right shape. So
each function that is not of this package is evaluated for a few trials together and for each alone. On a box or ball a
gap or gain is asked for at a few points together, and at each alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, UInt32

from jaxids import agents, checks, draws, nodes, policies, tiles
from jaxids.confidence import Band, floored, solved
from jaxids.policies.trials import PerTrial
from jaxids.problems import Instance, Problem
from jaxids.programs import Structure
from jaxids.sums import Running
from jaxids.tiles import Hook

TRIALS, STEPS, POINTS = 3, 4, 4
CLOSE = 1e-3  # within which two ways of computing the same agree
TAKES = {
    "trials": "one that keeps trials apart: reduce with axis=0 only, or write it for one trial, policies.per_trial(…)",
    "points": "one whose value at an action does not depend on the band's others: the best are band.top, band.leader",
}


class _Glimpse(NamedTuple):
    """A few trials after a few steps, with lanes on the last axis."""

    instance: Instance
    agent: agents.Agent
    words: UInt32[Array, "2 n"]


def check(problem: Problem, policy: policies.Policy, hooks: Mapping[str, Hook]) -> None:
    """A ValueError that names a function of the policy, or a hook, which mixes trials, or gives NaN or less than 0."""
    own = {name: hook for name, hook in hooks.items() if not _ours(hook)}
    parts = {name: part for name, part in _parts(problem, policy).items() if not _ours(part)}
    if own or parts:
        _check((problem, policy), tuple(own.items()))


@nodes.cached_by_shape
def _check(both: tuple[Problem, policies.Policy], own: tuple[tuple[str, Hook], ...]) -> None:
    problem, policy = both
    parts = {name: part for name, part in _parts(problem, policy).items() if not _ours(part)}
    if isinstance(jax.eval_shape(problem.draw, jax.random.key(0)), Instance):
        _check_trials(problem, policy, parts, dict(own))
    elif {"gap", "gain"} & parts.keys():
        _check_points(problem, policy, parts)


def _parts(problem: Problem, policy: policies.Policy) -> dict[str, Any]:
    """The functions that a run is made of, by the names of their arguments."""
    rule, noise = policy.rule, {"noise": policy.noise, "noise of the problem": problem.noise}
    if isinstance(rule, policies.Directed):
        return {"gain": rule.information, "gap": rule.gap, "solver": rule.solver} | noise
    return {"policy": rule} | noise


def _ours(function: Any) -> bool:
    """Whether a function is of this package; one that is lifted from a single trial is whatever it is there."""
    while isinstance(function, Structure | PerTrial | Running):
        function = function.function
    home = getattr(function, "__module__", None) or type(function).__module__
    return home == "jaxids" or home.startswith("jaxids.")


@nodes.jitted
def _glimpsed(problem: Problem, plain: policies.Policy) -> _Glimpse:
    """Trials after steps that play any action, whatever the policy's rule."""
    trials = tiles.begun(problem, jax.random.key(0), jnp.arange(TRIALS, dtype=jnp.uint32))

    def step(t: Array, agent: agents.Agent) -> agents.Agent:
        band, source = (
            agents.band_of(problem.belief, plain, trials.instance, agent),
            draws.Stream(trials.own, t.astype(jnp.uint32)),
        )
        choice = policies.Choice(band.uniform(source))
        return agents.learn(plain, agent, band, choice, trials.instance.mean_of(choice.action))

    agent = agents.start(problem.belief, plain, trials.instance)
    return _Glimpse(trials.instance, lax.fori_loop(0, STEPS, step, agent), trials.own)


def _check_trials(problem: Problem, policy: policies.Policy, parts: Mapping[str, Any], own: Mapping[str, Hook]) -> None:
    problem, policy = jax.tree.map(jnp.asarray, (problem, policy))
    evaluated = jax.jit(partial(_evaluated, problem, policy, parts, own))
    glimpse = _glimpsed(problem, replace(policy, rule=policies.Greedy()))
    together = evaluated(glimpse)
    for i in range(TRIALS):
        alone = evaluated(jax.tree.map(partial(_lane, i), glimpse))
        for name, function in {**parts, **own}.items():
            for both, one in zip(jax.tree.leaves(together[name]), jax.tree.leaves(alone[name]), strict=True):
                if name == "policy" and np.shape(both) == np.shape(one):  # a memory that all trials share, as a clock
                    _compare(name, function, both, one, f"trial {i}", "trials")
                elif np.shape(both)[-1:] == (TRIALS,):  # else it has lost the trials, and is refused for that
                    _compare(name, function, np.asarray(both)[..., i], np.asarray(one)[..., 0], f"trial {i}", "trials")
    for name in {"gap", "gain"} & parts.keys():
        _not_negative(name, parts[name], together[name])


def _lane(number: int, leaf: Array) -> Array:
    """One trial of an array; what all trials share, on a last axis of length one, as it is."""
    return leaf if leaf.shape[-1] == 1 else leaf[..., number : number + 1]


def _evaluated(
    problem: Problem, policy: policies.Policy, parts: Mapping[str, Any], own: Mapping[str, Hook], glimpse: _Glimpse
) -> dict[str, Any]:
    """What every function gives."""
    band = agents.band_of(problem.belief, policy, glimpse.instance, glimpse.agent)
    source = draws.Stream(glimpse.words, jnp.uint32(STEPS))
    action, reward = band.uniform(draws.child(source, 5)), draws.uniform(draws.child(source, 6), 1)[0]
    after = policy.noise.update(glimpse.agent.noise, band, action, reward)
    found: dict[str, Any] = {"noise": (band.rho, after), "noise of the problem": problem.noise(source)}
    if isinstance(policy.rule, policies.Directed) and {"gap", "gain", "solver"} & parts.keys():
        found["gap"], found["gain"] = gap, gain = policy.rule.surfaces(band, source)
        if "solver" in parts:
            mix = solved(policy.rule.solver, gap, floored(gain))
            found["solver"] = mix.weight, mix.value
    if "policy" in parts:
        found["policy"] = _played(problem.belief, policy, glimpse, band)
    return found | _hooked(policy, own, glimpse, band, source)


def _played(belief: Any, policy: policies.Policy, glimpse: _Glimpse, band: Band) -> Any:
    """What a rule plays and remembers in a few steps; actions may turn at a tie, which takes two equal ones."""
    agent, found = _remembering(policy, glimpse.agent, band), []
    for step in range(STEPS, 2 * STEPS if hasattr(policy.rule, "init") else STEPS + 1):
        band = agents.band_of(belief, policy, glimpse.instance, agent)
        choice = agents.choose(policy, agent, band, draws.Stream(glimpse.words, jnp.uint32(step)))
        agent = agents.learn(policy, agent, band, choice, glimpse.instance.mean_of(choice.action))
        found.append((choice.action, agent.memory))
    return found


def _remembering(policy: policies.Policy, agent: agents.Agent, band: Band) -> agents.Agent:
    return agent._replace(memory=agents.memory_of(policy.rule, band)) if hasattr(policy.rule, "init") else agent


def _hooked(
    policy: policies.Policy, own: Mapping[str, Hook], glimpse: _Glimpse, band: Band, source: draws.Stream
) -> dict[str, Any]:
    """What hooks give of a step whose choice has the shape of the policy's, and any numbers."""
    if not own:
        return {}
    agent = _remembering(policy, glimpse.agent, band)
    shapes = jax.eval_shape(
        lambda: agents.choose(policy, agent, replace(band), source)
    )  # which keeps nothing in the band
    choice = jax.tree.map(partial(_any_numbers, source, band.rho.shape[0]), shapes)
    reward = draws.uniform(draws.child(source, 3), 1)[0]
    seen = tiles.Step(choice, reward, reward, glimpse.instance, agent, band, lambda: band, jnp.int32(STEPS + 1))
    return {name: tiles.hooked(name, hook, seen) for name, hook in own.items()}


def _any_numbers(source: draws.Stream, actions: int, shape: jax.ShapeDtypeStruct) -> Array:
    if not shape.shape:
        return jnp.zeros((), shape.dtype)  # one number for all trials
    rows = int(np.prod(shape.shape[:-1]))
    numbers = draws.uniform(draws.child(source, 4), rows).reshape(shape.shape)
    return (
        numbers.astype(shape.dtype)
        if jnp.issubdtype(shape.dtype, jnp.floating)
        else (actions * numbers).astype(shape.dtype)
    )


@nodes.jitted
def _learned(problem: Problem, plain: policies.Policy) -> tuple[Any, agents.Agent]:
    """A trial on a box or ball after rewards that differ: under the prior all points look alike."""
    instance: Any = problem.draw(jax.random.key(0))
    agent = agents.start(problem.belief, plain, instance)
    for i, point in enumerate(instance.domain.spread(2 * POINTS)[POINTS:]):
        band = agents.band_of(problem.belief, plain, instance, agent)
        agent = agents.learn(plain, agent, band, policies.Choice(point), jnp.asarray(i / POINTS, point.dtype))
    return instance, agent


def _check_points(problem: Problem, policy: policies.Policy, parts: Mapping[str, Any]) -> None:
    instance, agent = _learned(problem, replace(policy, rule=policies.Greedy()))
    band: Any = agents.band_of(problem.belief, policy, instance, agent)
    source = draws.Stream(jnp.zeros(2, jnp.uint32), jnp.uint32(0))
    points = instance.domain.spread(POINTS).T
    policy.rule.surfaces(band, source)  # what belongs to the whole set is found
    together = policy.rule.surfaces(band.at(points), source)
    for name in {"gap", "gain"} & parts.keys():
        which = int(name == "gain")
        for i in range(points.shape[1]):
            alone = policy.rule.surfaces(band.at(points[:, i : i + 1]), source)[which]
            _compare(name, parts[name], together[which][i], alone[0], f"point {i}", "points")
        _not_negative(name, parts[name], together[which])


def _compare(name: str, function: Any, both: Any, alone: Any, where: str, what: str) -> None:
    both, alone = np.asarray(both, float), np.asarray(alone, float)
    finite = np.isfinite(both) & np.isfinite(alone)  # what is not ends the run, which says at which step
    off = np.abs(np.where(finite, both, 0) - np.where(finite, alone, 0))
    if np.all(off <= CLOSE * np.max(np.abs(alone), where=finite, initial=0)):
        return
    worst = np.unravel_index(np.argmax(off), off.shape)
    got = (
        f"{checks.shown(function)}, which gives {where} {both[worst]:g} beside other {what} and {alone[worst]:g} alone"
    )
    raise ValueError(f"{name}: got {got}; it takes {TAKES[what]}")


def _not_negative(name: str, function: Any, values: Any) -> None:
    given = np.asarray(values)
    if not np.all(given >= 0):
        got = f"{checks.shown(function)}, which gives {given[~(given >= 0)].flat[0]:g}"
        raise ValueError(f"{name}: got {got}; it takes one that gives numbers ≥ 0")
