"""A policy at work: what it carries from step to step, how it chooses, and what it learns from a reward."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxids import checks, draws, lanes, policies
from jaxids.confidence import Action, Band
from jaxids.policies.policy import check_choice


class Agent(NamedTuple):
    """The belief's state, that of what is known of the noise, and the rule's memory."""

    belief: Any
    noise: Any
    memory: Any


def start(belief: Any, policy: policies.Policy, instance: Any) -> Agent:
    """Before the first step."""
    fresh = Agent(instance.prior(belief, policy.lam), policy.noise.init(instance), ())
    if not hasattr(policy.rule, "init"):
        return fresh
    return fresh._replace(memory=memory_of(policy.rule, band_of(belief, policy, instance, fresh)))


def memory_of(rule: Any, band: Band) -> Any:
    """A rule's memory before the first step, or a ValueError if it is not made of arrays and numbers."""
    with checks.naming("policy", rule, "a rule whose init takes a band and gives arrays"):
        memory = rule.init(band)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.result_type(leaf)), memory)


def band_of(belief: Any, policy: policies.Policy, instance: Any, agent: Agent) -> Band:
    """What the policy knows of an instance."""

    def bounds(features: Any, rho: Array) -> Array:
        return policy.noise.bounds(agent.noise, features, rho, instance.rho_bound)

    band = instance.band(belief, agent.belief, bounds, policy.delta, policy.lam, policy.norm_bound)
    return band.scaled(policy.scale)


def choose(policy: policies.Policy, agent: Agent, band: Band, source: draws.Stream) -> policies.Choice:
    """What the policy plays."""
    memory = (agent.memory,) if hasattr(policy.rule, "init") else ()
    choice = check_choice(policy.rule(band, source, *memory), band)
    return choice._replace(action=lanes.shared(choice.action))


def learn(
    policy: policies.Policy, agent: Agent, band: Band, choice: policies.Choice, reward: Float[Array, "..."]
) -> Agent:
    """After a reward."""
    action: Action = choice.action
    belief = band.belief.update(agent.belief, band.seen(action), reward, band.rho_of(action) ** 2)
    noise = policy.noise.update(agent.noise, band, action, reward)
    return Agent(belief, noise, _remembered(policy.rule, agent.memory, band, choice, reward))


def _remembered(rule: Any, memory: Any, band: Band, choice: policies.Choice, reward: Float[Array, "..."]) -> Any:
    """A rule's memory after a step, or a ValueError if it is not of the same shapes and types as before."""
    if not hasattr(rule, "init"):
        return ()
    with checks.naming("policy", rule, "a rule whose update takes memory, band, choice and reward"):
        after = rule.update(memory, band, choice, reward)
    before, now = _described(memory), _described(after)
    if before != now:
        takes = f"what init gave, {before}; a number for each trial begins as jnp.zeros_like(band.beta)"
        raise ValueError(f"policy: got {checks.shown(rule)}, whose update gives {now}; it takes {takes}")
    return after


def _described(memory: Any) -> str:
    """The shapes and types of a memory in words."""
    leaves, structure = jax.tree.flatten(memory)
    words = [f"{jnp.result_type(leaf)} {list(jnp.shape(leaf))}" for leaf in leaves]
    return str(jax.tree.unflatten(structure, words)).replace("'", "")
