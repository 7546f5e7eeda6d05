"""Users' functions keep trials apart, and on boxes points: looked at before a run, because no result would tell.

Arrays have trials on the last axis, so a gain that reduces over all axes mixes them and still has the right shape. So a
policy or hook with a function that is not of this package plays a few steps of a few trials together, and of each
alone. On a box or ball a gap or gain is asked for at a few points together, and at each alone.
"""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxids import agents, checks, draws, policies, tiles
from jaxids.policies.trials import PerTrial
from jaxids.problems import Instance, Problem
from jaxids.programs import Structure
from jaxids.tiles import Hook

__all__ = ["check"]

TRIALS, STEPS, POINTS = 3, 2, 4
CLOSE = 1e-3  # within which two ways of computing the same agree
_passed: set[Any] = set()


def check(problem: Problem, policy: policies.Policy, hooks: Mapping[str, Hook]) -> None:
    """A ValueError that names a function of the policy, or a hook, which mixes trials, or gives NaN or less than 0."""
    own = {name: hook for name, hook in hooks.items() if not _ours(hook)}
    parts = {name: part for name, part in _parts(policy.rule).items() if not _ours(part)}
    if not (own or parts):
        return
    shapes = tuple((np.shape(leaf), jnp.result_type(leaf)) for leaf in jax.tree.leaves((problem, policy)))
    key = jax.tree.structure((problem, policy)), shapes, tuple(own.items()), jnp.result_type(float)
    if key in _passed:
        return
    trials = tiles.begun(problem, jax.random.key(0), jnp.arange(TRIALS, dtype=jnp.uint32))
    if isinstance(trials.instance, Instance):
        _check_trials(problem, policy, parts, own, trials)
    elif isinstance(policy.rule, policies.Directed):
        _check_points(problem, policy, parts)
    _passed.add(key)


def _parts(rule: Any) -> dict[str, Any]:
    """The functions a rule is made of, by the names of their arguments."""
    if isinstance(rule, policies.Directed):
        return {"gain": rule.information, "gap": rule.gap, "solver": rule.solver}
    return {"policy": rule}


def _ours(function: Any) -> bool:
    """Whether a function is of this package; one that is lifted from a single trial is whatever it is there."""
    while isinstance(function, Structure | PerTrial):
        function = function.function
    home = getattr(function, "__module__", None) or type(function).__module__
    return home == "jaxids" or home.startswith("jaxids.")


def _check_trials(
    problem: Problem, policy: policies.Policy, parts: Mapping[str, Any], own: Mapping[str, Hook], trials: tiles.Trials
) -> None:
    together = _seen(problem, policy, own, trials)
    for i in range(TRIALS):
        alone = _seen(problem, policy, own, _only(trials, i))
        for name, function in {**parts, **own}.items():
            pairs = zip(jax.tree.leaves(together[name]), jax.tree.leaves(alone[name]), strict=True)
            for both, one in pairs:
                _compare(name, function, np.asarray(both)[..., i], np.asarray(one)[..., 0], f"trial {i}", "trials")
    for name in {"gap", "gain"} & parts.keys():
        _not_negative(name, parts[name], together[name])


def _seen(problem: Problem, policy: policies.Policy, own: Mapping[str, Hook], trials: tiles.Trials) -> dict[str, Any]:
    """What every part gave in the last of a few steps."""
    agent, regret = agents.start(problem.belief, policy, trials.instance), tiles.no_regret(trials)
    for step in range(STEPS):
        agent, regret, seen = tiles.stepped(problem, policy, jnp.int32(step), trials, agent, regret)
    choice, solved = seen.choice, seen.choice.mix  # pyright: ignore[reportPossiblyUnbound]
    found = {"gap": choice.gap, "gain": choice.gain, "solver": None if solved is None else (solved.weight, solved.value)}
    found["policy"] = choice.action, choice.score
    return found | {name: hook(seen) for name, hook in own.items()}  # pyright: ignore[reportPossiblyUnbound]


def _only(trials: tiles.Trials, i: int) -> tiles.Trials:
    part = slice(i, i + 1)
    return jax.tree.map(lambda leaf: leaf[..., part], trials._replace(contexts=None))._replace(
        contexts=trials.contexts[part]
    )


def _check_points(problem: Problem, policy: policies.Policy, parts: Mapping[str, Any]) -> None:
    instance = problem.draw(jax.random.key(0))
    band = agents.band_of(problem.belief, policy, instance, agents.start(problem.belief, policy, instance))
    source = draws.Stream(jnp.zeros(2, jnp.uint32), jnp.uint32(0))
    points = instance.domain.spread(POINTS).T
    band.top, policy.rule.surfaces(band, source)  # what belongs to the whole set is found
    together = dict(zip(("gap", "gain"), policy.rule.surfaces(band.at(points), source), strict=True))
    for name in {"gap", "gain"} & parts.keys():
        for i in range(points.shape[1]):
            alone = policy.rule.surfaces(band.at(points[:, i : i + 1]), source)[name == "gain"]
            _compare(name, parts[name], together[name][i], alone[0], f"point {i}", "points")
        _not_negative(name, parts[name], together[name])


def _compare(name: str, function: Any, both: Any, alone: Any, where: str, what: str) -> None:
    both, alone = np.asarray(both, float), np.asarray(alone, float)
    if np.allclose(both, alone, rtol=CLOSE, atol=CLOSE * np.max(np.abs(alone), initial=0), equal_nan=True):
        return
    worst = np.unravel_index(np.argmax(np.abs(both - alone)), both.shape)
    takes = {
        "trials": "one that keeps trials apart: reduce with axis=0 only, or write it for one trial, policies.per_trial(…)",
        "points": "one whose value at an action does not depend on the band's others: the best of the set is band.most",
    }[what]
    got = f"{checks.shown(function)}, which gives {where} {both[worst]:g} beside other {what} and {alone[worst]:g} alone"
    raise ValueError(f"{name}: got {got}; it takes {takes}")


def _not_negative(name: str, function: Any, values: Array) -> None:
    values = np.asarray(values)
    if not np.all(values >= 0):
        worst = values[~(values >= 0)].flat[0]
        raise ValueError(f"{name}: got {checks.shown(function)}, which gives {worst:g}; it takes one that gives numbers ≥ 0")
