"""A policy at work: what it carries from step to step, how it chooses, and what it learns from a reward."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float

from jaxids import draws, policies
from jaxids.confidence import Action, Band
from jaxids.policies.policy import check_choice

__all__ = ["Agent", "band_of", "choose", "learn", "start"]


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
    return fresh._replace(memory=policy.rule.init(band_of(belief, policy, instance, fresh)))


def band_of(belief: Any, policy: policies.Policy, instance: Any, agent: Agent) -> Band:
    """What the policy knows of an instance."""

    def bounds(features: Any, rho: Array) -> Array:
        return policy.noise.bounds(agent.noise, features, rho, instance.rho_bound)

    return instance.band(belief, agent.belief, bounds, policy.delta, policy.lam, policy.norm_bound)


def choose(policy: policies.Policy, agent: Agent, band: Band, source: draws.Stream) -> policies.Choice:
    """What the policy plays."""
    memory = (agent.memory,) if hasattr(policy.rule, "init") else ()
    return check_choice(policy.rule(band, source, *memory), band)


def learn(
    policy: policies.Policy, agent: Agent, band: Band, choice: policies.Choice, reward: Float[Array, "..."]
) -> Agent:
    """After a reward."""
    action: Action = choice.action
    belief = band.belief.update(agent.belief, band.seen(action), reward, band.rho_of(action) ** 2)
    noise = policy.noise.update(agent.noise, band, action, reward)
    memory = policy.rule.update(agent.memory, band, choice, reward) if hasattr(policy.rule, "init") else ()
    return Agent(belief, noise, memory)
