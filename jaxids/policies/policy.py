"""A policy: a rule that chooses, given the confidence band of a belief, and the numbers of its estimator.

A rule is `(band, stream) → Choice`. One with a memory has `init(band)`, which gives the memory before the first step,
is called as `(band, stream, memory) → Choice`, and has `update(memory, band, choice, reward)`, which gives the next. A
rule is a pytree: its numbers are leaves, so that a sweep over them compiles once, and what it does is structure.
`stream.step` is the number of the step, from 0 on. A rule that remembers actions says so, `remembers_actions = True`,
and is refused where these change.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxids import checks, draws, names, nodes, ratio
from jaxids.confidence import Action, Band
from jaxids.knowledge import Knowledge, known
from jaxids.programs import as_tree
from jaxids.types import Number


class Choice(NamedTuple):
    """The action played and how it came about: IDS tells its mix, gap and gain, others what the action is best by."""

    action: Action
    mix: ratio.Mix | None = None
    gap: Float[Array, "K ..."] | None = None
    gain: Float[Array, "K ..."] | None = None
    score: Float[Array, "K ..."] | None = None


@partial(
    nodes.register,
    data_fields=("rule", "noise", "delta", "lam", "norm_bound", "scale"),
    meta_fields=(),
)
@dataclass(frozen=True)
class Policy:
    """A rule and its estimator: what it knows of the noise, δ, λ, the bound on the norm, and a scale of β_t."""

    rule: Any
    noise: Knowledge = known
    delta: Number = names.DELTA
    lam: Number = names.LAM
    norm_bound: Number = names.NORM_BOUND
    scale: Number | None = None

    def __post_init__(self) -> None:
        """A plain function is structure."""
        object.__setattr__(self, "rule", as_tree(self.rule))


def check(policy: Policy) -> Policy:
    """The policy itself, or a ValueError that names what is wrong with it."""
    if not isinstance(policy, Policy):
        raise ValueError(
            f"policy: got {checks.shown(policy)}; it takes one of jaxids.policies, as policies.PAPER['IDS-UCB']"
        )
    checks.function("rule", policy.rule)
    if isinstance(rule := getattr(policy.rule, "function", policy.rule), type):
        raise ValueError(f"rule: got the class {rule.__name__}; it takes one made of it, {rule.__name__}(…)")
    if not isinstance(policy.noise, Knowledge):
        raise ValueError(f"noise: got {checks.shown(policy.noise)}; it takes policies.known or policies.bounded")
    checks.within("delta", policy.delta, 0, 1)
    checks.positive("lam", policy.lam)
    checks.not_negative("norm_bound", policy.norm_bound)
    if policy.scale is not None:
        checks.not_negative("scale", policy.scale)
    return policy


def checked(name: str, value: Any, band: Band) -> Float[Array, "K ..."]:
    """What a user's function returned, or a ValueError if it is not one real number for every action and trial."""
    shape, kind = getattr(value, "shape", ()), getattr(value, "dtype", type(value).__name__)
    if shape != band.rho.shape or not jnp.issubdtype(kind, jnp.floating):
        takes = f"floats of shape {list(band.rho.shape)}, actions first, trials last (reduce with axis=0)"
        raise ValueError(f"{name}: got {kind} of shape {list(shape)}; it takes {takes}")
    return value


def check_choice(choice: Any, band: Band) -> Choice:
    """What a rule returned, or a ValueError if it is not an action for every trial.

    A rule that does not say what it decided by is held to the upper bounds: they must be finite.
    """
    if not isinstance(choice, Choice):
        raise ValueError(f"policy: got a rule that returns {checks.shown(choice)}; it takes one that returns a Choice")
    shape, kind = getattr(choice.action, "shape", None), getattr(choice.action, "dtype", type(choice.action).__name__)
    wanted, number, takes = band.handle
    if shape != wanted or not jnp.issubdtype(kind, number):
        raise ValueError(f"policy: got an action that is {kind} of shape {list(shape or ())}; it takes {takes}")
    if choice.score is not None and (
        getattr(choice.score, "shape", (0,))[1:] != band.rho.shape[1:]
        or not jnp.issubdtype(choice.score.dtype, jnp.floating)
    ):
        takes = f"floats with an action on the first axis and trials {list(band.rho.shape[1:])} after it"
        raise ValueError(f"score: got {checks.shown(choice.score)}; it takes {takes}")
    decided = choice.score is not None or choice.gap is not None
    return choice if decided else choice._replace(score=band.upper)


def choose(policy: Policy, band: Band, key: Key[Array, ""]) -> Choice:
    """What a policy plays, given what is known: `.action`, and for IDS `.mix`. Compiles once for bands of one shape."""
    check(policy)
    checks.key("key", key)
    if not isinstance(band, Band):
        raise ValueError(f"band: got {checks.shown(band)}; it takes one of confidence or fields, as of fields.fit")
    if hasattr(policy.rule, "init"):
        raise ValueError(f"policy: got {checks.shown(policy.rule)}, which has a memory; it takes a rule without")
    return _chosen(policy, band, key)


@nodes.jitted
def _chosen(policy: Policy, band: Band, key: Key[Array, ""]) -> Choice:
    source = draws.Stream(draws.stream(key), jnp.uint32(0))
    band = band.scaled(policy.scale)
    return check_choice(policy.rule(band, source), band)
