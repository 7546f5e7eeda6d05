"""Policies as ones that differ in numbers: the same choices, and fewer programs."""

from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import compilations
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import (
    agents,
    domains,
    information,
    kernels,
    nodes,
    policies,
    problems,
    ratio,
    simulate,
    tiles,
    workers,
)
from jaxids.knowledge import Known
from jaxids.policies.alike import FEW, Drawn, Given, Least, Told, alike
from jaxids.ratio.bracket import either

NAMES = list(policies.PAPER)
DIRECTED = ["IDS-F", "DIDS-F", "IDS-UCB", "DIDS-UCB", "IDS-TS", "DIDS-TS"]
PROGRAMS = [["UCB", "W-UCB"], ["TS", "W-TS", "FW-TS"], DIRECTED, ["IDS-E", "DIDS-E"]]


@cache
def player(actions, steps=40):
    """Plays a few trials step by step; one program for policies of one structure."""
    problem = problems.unit_ball(actions, 2, (0.1, 1.0))
    trials = tiles.begun(problem, jax.random.key(3), jnp.arange(4, dtype=jnp.uint32))

    @jax.jit
    def played(policy):
        def step(state, number):
            agent, regret, seen = tiles.stepped(problem, policy, number, trials, *state)
            mix = seen.choice.mix
            return (agent, regret), (seen.choice.action, seen.reward, None if mix is None else mix.value)

        agent = agents.start(problem.belief, policy, trials.instance)
        return jax.lax.scan(step, (agent, tiles.no_regret(trials)), jnp.arange(steps))[1]

    return played


@pytest.mark.parametrize(
    ("name", "actions"),
    at_scale(
        [*((name, 7) for name in NAMES), ("IDS-UCB", 2), ("DIDS-UCB", 2)],
        [(name, 7) for name in ("W-UCB", "FW-TS", "IDS-UCB", "DIDS-E")],
    ),
)
def test_the_choices_are_the_same(name, actions, x64):
    own, shared = (player(actions)(policy) for policy in (policies.PAPER[name], alike(policies.PAPER[name], actions)))
    np.testing.assert_array_equal(own[0], shared[0])
    np.testing.assert_array_equal(own[1], shared[1])
    if own[2] is not None:
        np.testing.assert_allclose(own[2], shared[2], rtol=1e-9)


def test_what_becomes_a_number_sets_policies_apart(x64):
    """The control: with the number turned, the choices are those of another."""
    for one, other in (("UCB", "W-UCB"), ("W-TS", "FW-TS"), *combinations(DIRECTED, 2)):
        left, right = (player(7)(alike(policies.PAPER[name], 7))[0] for name in (one, other))
        assert np.any(left != right)
    assert alike(policies.PAPER["UCB"], 7).noise == Given(0.0)
    assert alike(policies.PAPER["W-UCB"], 7).noise == Given(1.0)
    assert alike(policies.PAPER["FW-TS"], 7).rule == Drawn(1.0)
    assert alike(policies.PAPER["DIDS-F"], 7).rule.mixed == 0
    assert alike(policies.PAPER["IDS-F"], 7).rule == Least(Told(0.0), policies.PAPER["IDS-F"].rule.gap, 1.0)


def test_with_many_actions_a_gain_is_by_itself():
    """A draw of all of them takes long to compile."""
    for actions, kind in ((FEW, Told), (FEW + 1, type(policies.PAPER["IDS-F"].rule.information))):
        assert type(alike(policies.PAPER["IDS-F"], actions).rule.information) is kind


@partial(nodes.register, data_fields=(), meta_fields=("function",))
@dataclass(frozen=True)
class Tempered:
    """A gain of one's own that is made of another."""

    function: Any

    def __call__(self, *arguments):
        return jnp.sqrt(self.function(*arguments))


def test_a_policy_that_has_no_like_stays_as_it_is():
    pairs = policies.ids(policies.PAPER["IDS-F"].rule.information, solver=ratio.pairs)
    for policy in (policies.greedy(), pairs, policies.phased_elimination()):
        assert alike(policy, 7).rule is policy.rule

    class Own(policies.Thompson, Known):
        """A rule, and what is known of the noise, of one's own."""

    mine = policies.Policy(Own(), Own())
    assert alike(mine, 7) == mine
    gain = Tempered(information.ucb)
    assert alike(policies.ids(gain), 7).rule.information is gain


@pytest.mark.parametrize("finite", [True, False])
def test_a_search_is_not_made_longer(finite, monkeypatch):
    """On a box DIDS stays what it is; on points it is asked for as one that differs from IDS in a number."""
    rules = []
    monkeypatch.setattr(workers, "_compile", lambda jitted, *given, **_: rules.extend(_rules(given)))
    box = problems.continuous(domains.box([0.0], [1.0]), lambda x: x[0], 0.5)
    given = {"key": jax.random.key(0), "trials": 2, "at": np.array([3], np.int32)}
    problem = problems.unit_ball(3, 2) if finite else box
    workers.prepared(problem, policies.PAPER["DIDS-UCB"], **given).compile()
    assert [type(rule) for rule in rules] == [Least if finite else policies.Directed]


def _rules(given):
    return [each.rule for each in given if isinstance(each, policies.Policy)]


@pytest.mark.parametrize("problem", at_scale(["contexts", "kernel", "many dimensions", "scaled"], ["contexts"]))
def test_results_are_those_of_the_policy_itself(problem, monkeypatch):
    """On other problems, and with a scale of β_t, by the simulator itself; the control is another policy."""
    points = np.linspace(0, 1, 5)[:, None]
    given = {
        "contexts": problems.contextual(4, 2, (0.1, 1.0)),
        "kernel": problems.rkhs(points, np.sin(5 * points[:, 0]), 0.3, kernels.rbf(0.3)),
        "many dimensions": problems.unit_ball(4, 13, (0.1, 1.0)),
        "scaled": problems.unit_ball(4, 2, (0.1, 1.0)),
    }[problem]
    scale = 0.5 if problem == "scaled" else None
    names = {"many dimensions": ("TS", "W-TS"), "scaled": ("IDS-F", "IDS-UCB")}.get(problem, ("IDS-TS", "IDS-UCB"))
    both = [replace(policies.PAPER[name], scale=scale) for name in names]
    run = partial(simulate, given, key=jax.random.key(1), trials=8, steps=25)
    shared = [run(policy).final for policy in both]
    monkeypatch.setattr(workers, "alike", lambda policy, actions: policy)
    np.testing.assert_allclose(run(both[0]).final, shared[0], rtol=1e-5)
    assert np.any(np.abs(shared[0] - shared[1]) > 1e-3)


@pytest.mark.parametrize("names", PROGRAMS, ids=" ".join)
def test_policies_that_are_alike_run_as_one_program(names):
    problem, found = problems.unit_ball(5, 2, (0.1, 1.0)), {}
    jax.clear_caches()
    before = compilations.count()
    for name in names:
        found[name] = simulate(problem, policies.PAPER[name], key=jax.random.key(0), trials=3, steps=30).final
    assert compilations.count() - before == 2  # how trials begin is one of its own
    assert len({tuple(final) for final in found.values()}) == len(names)


def test_one_solver_for_both_is_either(rng, dtype):
    gap, gain = (jnp.asarray(rng.uniform(0.1, 1, (6, 50)), dtype) for _ in range(2))
    for mixed, solver in ((True, ratio.exact), (False, ratio.single)):
        for own, shared in zip(solver(gap, gain), either(gap, gain, jnp.asarray(mixed)), strict=True):
            np.testing.assert_allclose(own, shared, rtol=1e-6)
    assert np.any(ratio.exact(gap, gain).second != ratio.single(gap, gain).second)
