"""Policies by name: functions that make them, and `PAPER`, the paper's thirteen."""

from collections.abc import Callable

from jaxtyping import Array

from jaxids import checks, information, names, ratio
from jaxids.confidence import Band, Solver
from jaxids.knowledge import Knowledge, bounded, known
from jaxids.policies.elimination import Elimination
from jaxids.policies.policy import Policy, check
from jaxids.policies.rivals import EpsilonGreedy, ExploreThenCommit, Greedy
from jaxids.policies.rules import Directed, Optimistic, Thompson, surrogate
from jaxids.types import Number

__all__ = [
    "PAPER",
    "epsilon_greedy",
    "explore_then_commit",
    "greedy",
    "ids",
    "phased_elimination",
    "ts",
    "ucb",
]

_DELTA, _LAM, _NORM = names.DELTA, names.LAM, names.NORM_BOUND


def ucb(
    *,
    scale: Number | None = None,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """W-UCB, or UCB if the `noise` is `bounded`; β_t is multiplied by `scale`."""
    return check(Policy(Optimistic(_scale(scale)), noise, delta, lam, norm_bound))


def ts(
    inflated: bool = False,
    *,
    scale: Number | None = None,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """W-TS; TS if the `noise` is `bounded`; FW-TS if `inflated`; the spread of the draw is multiplied by `scale`."""
    checks.flag("inflated", inflated)
    return check(Policy(Thompson(inflated, _scale(scale)), noise, delta, lam, norm_bound))


def ids(
    gain: information.Information,
    *,
    deterministic: bool = False,
    solver: Solver | None = None,
    gap: Callable[[Band], Array] = surrogate,
    scale: Number | None = None,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """IDS with an information function; DIDS if `deterministic`; β_t is multiplied by `scale`.

    Own functions work on arrays [K, lanes], actions first and trials last, so they reduce with axis=0 only, as
    `band.mean.max(axis=0)`; `per_trial` lifts one that is written for a single trial. On boxes and balls what they give
    at an action must not depend on the band's others: the best of the set are `band.top` and `band.leader`. Gaps and
    gains must not be negative.
    """
    for name, function in {"gain": gain, "solver": ratio.exact if solver is None else solver, "gap": gap}.items():
        checks.function(name, function)
    checks.flag("deterministic", deterministic)
    if deterministic and solver is not None:
        raise ValueError("solver: got one together with deterministic=True, which is ratio.single")
    solver = ratio.single if deterministic else solver or ratio.exact
    return check(Policy(Directed(gain, solver, gap, _scale(scale)), noise, delta, lam, norm_bound))


def greedy(
    *,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """Play the highest estimate."""
    return check(Policy(Greedy(), noise, delta, lam, norm_bound))


def epsilon_greedy(
    epsilon: Number = 1.0,
    power: Number = 1.0,
    *,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """Play any action with probability min(1, epsilon / t^power) at step t, else the highest estimate."""
    checks.not_negative("epsilon", epsilon)
    checks.not_negative("power", power)
    return check(Policy(EpsilonGreedy(epsilon, power), noise, delta, lam, norm_bound))


def explore_then_commit(
    steps: Number = 100,
    *,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """Play any action for some steps, then for ever the one that has the highest estimate then."""
    checks.not_negative("steps", steps)
    return check(Policy(ExploreThenCommit(steps), noise, delta, lam, norm_bound))


def phased_elimination(
    *,
    noise: Knowledge = known,
    delta: Number = _DELTA,
    lam: Number = _LAM,
    norm_bound: Number = _NORM,
) -> Policy:
    """Phased elimination on a G-optimal design, for finitely many actions that do not change."""
    return check(Policy(Elimination(), noise, delta, lam, norm_bound))


def _scale(scale: Number | None) -> Number | None:
    if scale is not None:
        checks.not_negative("scale", scale)
    return scale


def _planned(plan: names.Plan) -> Policy:
    """A policy of the paper, from what sets it apart."""
    noise = known if plan.weighted else bounded
    match plan.family:
        case "UCB":
            return ucb(noise=noise)
        case "TS":
            return ts(plan.inflated, noise=noise)
    gain = {"F": information.f, "UCB": information.ucb, "TS": information.ts, "E": information.e}[plan.gain]
    return ids(gain, deterministic=plan.deterministic, noise=noise)


PAPER: dict[str, Policy] = {name: _planned(plan) for name, plan in names.THIRTEEN.items()}
"""The thirteen by the paper's names: UCB, W-UCB, TS, W-TS, FW-TS, and IDS- and DIDS- with F, UCB, TS and E."""
