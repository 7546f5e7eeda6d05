"""What the thirteen policies play on a continuous action set.

A policy is the same object as on finitely many actions: what it does with a confidence band there, it does here with a
`Surface`.
"""

import jax
import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array

from jaxids import draws, information, policies, ratio
from jaxids.continuous import search
from jaxids.continuous.surface import Function, Information, Point, Surface, about, about_ucb, f
from jaxids.domains import Domain


def choose(policy: policies.Policy, surface: Surface, domain: Domain, source: draws.Stream) -> Point:
    """What a policy plays, given what is known."""
    rule = policy.rule
    if rule is policies.optimistic:
        return search.ucb(surface, domain)
    if isinstance(rule, policies.Thompson):
        return search.thompson(surface, domain, source, surface.beta if rule.inflated else 1.0)
    if not (isinstance(rule, policies.Directed) and rule.gap is policies.surrogate):
        raise ValueError(f"policy: got the rule {rule!r}; on a continuous set it takes those of policies.PAPER")
    if rule.solver not in (ratio.exact, ratio.pairs, ratio.single):
        raise ValueError(f"solver: got {rule.solver!r}; on a continuous set it takes ratio.exact, pairs or single")
    gain = _gain(rule.information, domain, draws.child(source, 1))
    if rule.solver is ratio.single:
        return search.dids(surface, domain, gain).first
    pair = search.ids(surface, domain, gain)
    second = draws.uniform(draws.child(source, 2), 1)[0] < pair.weight
    return jnp.where(second, pair.second, pair.first)


def _gain(gain: information.Information, domain: Domain, source: draws.Stream) -> Information:
    """The information function of a policy, on a surface."""
    if gain in (information.f, information.ucb):
        return f if gain is information.f else about_ucb
    if gain is information.ts:
        return Partial(_about_draw, domain, source)
    if not isinstance(gain, information.Averaged):
        raise ValueError(f"policy: got the gain {gain!r}; on a continuous set it takes those of jaxids.information")
    return Partial(_about_draws, domain, source, jnp.arange(1, gain.proposals + 1))


def _about_draw(domain: Domain, source: draws.Stream, surface: Surface, _: Point) -> Function:
    return about(surface, search.thompson(surface, domain, source)[None])


def _about_draws(domain: Domain, source: draws.Stream, sites: Array, surface: Surface, _: Point) -> Function:
    return about(surface, jax.vmap(lambda i: search.thompson(surface, domain, draws.child(source, i)))(sites))
