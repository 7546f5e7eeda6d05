"""Policies: what to play, given the confidence band of a belief. `PAPER` names the thirteen of the paper."""

from jaxids.knowledge import bounded, known
from jaxids.policies.elimination import Elimination
from jaxids.policies.makers import (
    PAPER,
    epsilon_greedy,
    explore_then_commit,
    greedy,
    ids,
    phased_elimination,
    ts,
    ucb,
)
from jaxids.policies.policy import Choice, Policy, check, choose
from jaxids.policies.rivals import EpsilonGreedy, ExploreThenCommit, Greedy
from jaxids.policies.rules import Directed, Optimistic, Thompson, surrogate
from jaxids.policies.trials import per_trial

__all__ = [
    "PAPER",
    "Choice",
    "Directed",
    "Elimination",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "Greedy",
    "Optimistic",
    "Policy",
    "Thompson",
    "bounded",
    "check",
    "choose",
    "epsilon_greedy",
    "explore_then_commit",
    "greedy",
    "ids",
    "known",
    "per_trial",
    "phased_elimination",
    "surrogate",
    "ts",
    "ucb",
]
