"""Policies against the paper's rules in NumPy, and policies as values.

The statistical test has a fixed seed and a false-alarm rate of 1e-4.
"""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import oracles
import pytest
from oracles import covariance, gain_about, least_psi, psi
from scipy import stats

from jaxids import agents, draws, information, policies, ratio
from jaxids.beliefs import linear
from jaxids.confidence import Band
from jaxids.problems import linear as linear_problem
from jaxids.tiles import play

GAINS = ("F", "UCB", "TS", "E")
NAMES = ["UCB", "W-UCB", "TS", "W-TS", "FW-TS", *(f"{rule}-{gain}" for rule in ("IDS", "DIDS") for gain in GAINS)]


@partial(jax.jit, static_argnames="step")
def choose(policy, state, features, rho, words, step=3):
    """A policy's choice on one trial, or on lanes."""
    band = Band(linear, state, features, rho, policy.delta, policy.lam, policy.norm_bound)
    return policy.rule(band, draws.Stream(words, jnp.uint32(step)))


class Paper:
    """The rules of the paper for one trial, naively."""

    def __init__(self, trial, source):
        self.actions, self.rho, self.source = np.asarray(trial.features, float), trial.rho, source
        self.precision, self.theta, log_det = trial.truth
        self.root = np.asarray(trial.state.root.value, float)
        self.beta = np.sqrt(2 * np.log(1 / 0.01) + log_det) + 1
        mean, sigma = self.theta @ self.actions, np.sqrt(np.diag(covariance(self.precision, self.actions)))
        self.upper, self.gap = mean + self.beta * sigma, np.max(mean + self.beta * sigma) - (mean - self.beta * sigma)

    def ucb(self):
        return int(np.argmax(self.upper))

    def ts(self, source, scale=1.0):
        eta = np.asarray(draws.normal(source, len(self.theta)), float)
        return int(np.argmax((self.theta + scale * self.root @ eta) @ self.actions))

    def gain(self, kind):
        source = draws.child(self.source, 1)
        if kind == "F":
            seen = [np.outer(x, x) / r**2 for x, r in zip(self.actions.T, self.rho, strict=True)]
            return np.array(
                [np.subtract(*(np.linalg.slogdet(v)[1] for v in (self.precision + s, self.precision))) for s in seen]
            )
        targets = {
            "UCB": lambda: [self.ucb()],
            "TS": lambda: [self.ts(source)],
            "E": lambda: [self.ts(draws.child(source, i + 1)) for i in range(10)],
        }[kind]()
        return np.mean([gain_about(self.precision, self.actions, self.rho, target) for target in targets], axis=0)


def test_the_thirteen_names():
    assert set(policies.PAPER) == set(NAMES)
    assert {name for name in NAMES if policies.PAPER[name].noise == policies.bounded} == {"UCB", "TS"}
    assert {name for name in NAMES if policies.PAPER[name].noise == policies.known} == {*NAMES} - {"UCB", "TS"}
    assert {(p.delta, p.lam, p.norm_bound) for p in policies.PAPER.values()} == {(0.01, 1.0, 1.0)}


@pytest.mark.parametrize("name", NAMES)
def test_the_choice_is_the_paper_s(name, x64, rng):
    for step in range(6):
        trial, source = oracles.trial(rng, steps=8 * step), oracles.streams(rng)
        paper = Paper(trial, source)
        choice = choose(policies.PAPER[name], trial.state, trial.features, trial.rho, source.words)
        rule, _, kind = name.partition("-")
        if "IDS" not in rule:
            expected = paper.ucb() if name.endswith("UCB") else paper.ts(source, paper.beta if rule == "FW" else 1.0)
            assert int(choice.action) == expected
            continue
        gain = paper.gain(kind)
        np.testing.assert_allclose(choice.gap, paper.gap, rtol=1e-8)
        np.testing.assert_allclose(choice.gain, gain, rtol=1e-6, atol=1e-12)
        if rule == "DIDS":
            assert int(choice.action) == np.argmin(paper.gap**2 / gain)
            continue
        value, first, second, weight = least_psi(paper.gap, gain)
        np.testing.assert_allclose(choice.mix.value, value, rtol=1e-6)
        ours = np.zeros((2, len(gain)))
        np.add.at(ours[0], [int(choice.mix.first), int(choice.mix.second)], [1 - choice.mix.weight, choice.mix.weight])
        np.add.at(ours[1], [first, second], [1 - weight, weight])
        np.testing.assert_allclose(ours[0], ours[1], atol=1e-5)
        drawn = float(draws.uniform(draws.child(source, 2), 1)[0])
        assert int(choice.action) == int(choice.mix.second if drawn < choice.mix.weight else choice.mix.first)


def test_directed_plays_its_mix(rng):
    """Twenty bandits of 1000 lanes each, by a χ² test of the counts: false alarm 1e-4."""
    score, freedom = 0.0, 0
    for _ in range(20):
        trial, lanes = oracles.trial(rng, steps=3), 1000
        seen = oracles.spread((trial.state, trial.features, trial.rho), lanes)
        choice = choose(policies.PAPER["IDS-UCB"], *seen, oracles.streams(rng, lanes).words)
        weight, second = float(choice.mix.weight[0]), np.mean(choice.action == choice.mix.second)
        assert np.all((choice.action == choice.mix.first) | (choice.action == choice.mix.second))
        if 0.01 < weight < 0.99 and choice.mix.first[0] != choice.mix.second[0]:
            score, freedom = score + lanes * (second - weight) ** 2 / (weight * (1 - weight)), freedom + 1
    assert freedom >= 5
    assert stats.chi2.sf(score, freedom) > 1e-4


def test_unweighted_policies_see_one_bound(x64, rng):
    """UCB with ρ in [0.1, 1] chooses and learns as W-UCB does where every action has ρ = rho_bound."""
    features, theta = rng.normal(size=(8, 3)), rng.normal(size=3)
    problem = linear_problem(features, theta, rng.uniform(0.1, 1, 8), rho_bound=1.0)
    instance = problem.instance
    policy = policies.ucb(noise=policies.bounded)
    agent, seen = agents.start(linear, policy, instance), []
    for step in range(15):
        noise, own = oracles.streams(rng, step=step), oracles.streams(rng, step=step)
        agent, _, choice, reward = play(problem, policy, instance, agent, noise, own)
        played, rewards = map(np.asarray, zip(*seen, strict=True)) if seen else (np.zeros(0, int), np.zeros(0))
        truth = oracles.posterior(instance.features, played, rewards, np.ones(len(played)), 1.0)
        paper = Paper(oracles.Trial(agent.belief, instance.features, np.ones(8), truth), own)
        assert int(choice.action) == paper.ucb()
        seen.append((int(choice.action), float(reward)))
    assert len({action for action, _ in seen}) > 1


def test_numbers_are_leaves_and_rules_are_structure(rng):
    policy = policies.ids(information.ucb, delta=0.2, lam=3.0, norm_bound=0.5)
    leaves, tree = jax.tree.flatten(policy)
    assert leaves == [0.2, 3.0, 0.5]
    assert tree == jax.tree.structure(policies.ids(information.ucb))
    assert tree != jax.tree.structure(policies.ids(information.f))
    assert policies.ids(information.Averaged(4)) == policies.ids(information.Averaged(4))
    assert hash(policies.ts(inflated=True)) == hash(policies.ts(inflated=True))

    traces = []

    @jax.jit
    def beta(policy):
        traces.append(policy.rule)
        return policy.delta + policy.lam

    for delta in (0.1, 0.2, 0.3):
        np.testing.assert_allclose(beta(policies.ids(information.Averaged(4), delta=delta)), 1 + delta, rtol=1e-6)
    assert len(traces) == 1
    beta(policies.ids(information.Averaged(5)))
    assert len(traces) == 2


@pytest.mark.parametrize("make", [policies.ucb, policies.ts, partial(policies.ids, information.f)])
@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 0), ("delta", 1), ("delta", -1), ("lam", 0), ("lam", -2), ("norm_bound", -0.1)]
    + [(name, bad) for name in ("delta", "lam", "norm_bound") for bad in (float("nan"), float("inf"), "much")],
)
def test_a_number_out_of_range_is_named(make, name, value):
    with pytest.raises(ValueError, match=rf"{name}: got '?{value}"):
        make(**{name: value})


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("noise", lambda: policies.ucb(noise="no")),
        ("inflated", lambda: policies.ts(inflated=1)),
        ("deterministic", lambda: policies.ids(information.f, deterministic=np.ones(2))),
        ("solver", lambda: policies.ids(information.f, solver=0)),
        ("rule", lambda: policies.check(policies.Policy("UCB"))),
    ],
)
def test_a_flag_or_function_that_is_none_is_named(name, make):
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
        make()


def test_a_solver_is_refused_where_it_would_be_ignored():
    with pytest.raises(ValueError, match=r"solver: .*deterministic"):
        policies.ids(information.f, deterministic=True, solver=ratio.pairs)


def test_a_norm_bound_of_zero_is_taken():
    assert policies.ucb(norm_bound=0.0).norm_bound == 0


def test_one_s_own_information_gap_and_solver(x64, rng):
    """Sample variance as information, the width as gap and a solver that always mixes the ends evenly."""

    def halves(gap, gain):
        last = jnp.int32(gap.shape[0] - 1)
        probs = jnp.zeros_like(gap).at[0].set(0.5).at[-1].add(0.5)
        return ratio.Mix(jnp.int32(0), last, jnp.asarray(0.5), ratio.psi(probs, gap, gain))

    mine = policies.ids(lambda band, source: band.var, solver=halves, gap=lambda band: 2 * band.radius)
    greedy = replace(mine, rule=lambda band, source: policies.Choice(jnp.argmax(band.mean)))
    trial, source = oracles.trial(rng), oracles.streams(rng)
    var = np.diag(covariance(trial.truth.precision, trial.features))
    choice = choose(mine, trial.state, trial.features, trial.rho, source.words)
    beta = np.sqrt(2 * np.log(100) + trial.truth.log_det) + 1
    np.testing.assert_allclose(choice.gain, var, rtol=1e-9)
    np.testing.assert_allclose(choice.gap, 2 * beta * np.sqrt(var), rtol=1e-9)
    np.testing.assert_allclose(choice.mix.value, psi(0.5, choice.gap[jnp.array([0, 7])], var[[0, 7]]), rtol=1e-9)
    assert int(choice.action) in (0, 7)
    best = np.argmax(trial.truth.theta @ trial.features)
    assert int(choose(greedy, trial.state, trial.features, trial.rho, source.words).action) == best


def test_where_nothing_tells_anything_the_least_gap_is_played(dtype, rng):
    silent = policies.ids(lambda band, source: jnp.zeros_like(band.var))
    trial, source = oracles.trial(rng), oracles.streams(rng)
    choice = choose(silent, trial.state, trial.features, trial.rho, source.words)
    assert int(choice.action) == int(np.argmin(choice.gap)) != 0


def even(gap, gain):
    """A solver that always tosses a fair coin between the first two actions."""
    lanes = gap.shape[1:]
    return ratio.Mix(jnp.zeros(lanes, jnp.int32), jnp.ones(lanes, jnp.int32), jnp.full(lanes, 0.5), gap[0])


def test_the_coin_is_not_the_proposal_s_draw(rng):
    """The coin of IDS comes from a place of its own in the trial's stream; 500 lanes tell it from the gain's place."""
    source, one = oracles.streams(rng, 500), oracles.trial(rng)
    seen = oracles.spread((one.state, one.features, jnp.asarray(one.rho, jnp.float32)), 500)
    action = np.asarray(choose(policies.ids(information.ts, solver=even), *seen, source.words).action)
    coin, other = (np.asarray(draws.uniform(draws.child(source, site), 1)[0]) for site in (2, 1))
    np.testing.assert_array_equal(action, coin < 0.5)
    assert 100 < np.count_nonzero(action != (other < 0.5)) < 400


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("gain", lambda band, source: jnp.ones(8)),
        ("gain", lambda band, source: 1.0),
        ("gain", lambda band, source: None),
        ("gain", lambda band, source: band.var > 0),
        ("gap", lambda band: band.var[:3]),
    ],
)
def test_what_a_function_of_the_user_returns_is_checked(name, function, rng):
    one = oracles.trial(rng)
    seen = oracles.spread((one.state, one.features, jnp.asarray(one.rho, jnp.float32)), 4)
    policy = policies.ids(function) if name == "gain" else policies.ids(information.f, gap=function)
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes floats of shape \[8, 4\]"):
        choose(policy, *seen, oracles.streams(rng, 4).words)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("gain", policies.ids(lambda band: band.var)),
        ("gap", policies.ids(information.f, gap=lambda band, source: band.gap)),
        ("solver", policies.ids(information.f, solver=lambda gap: ratio.exact(gap, gap))),
        ("solver", policies.ids(information.f, solver=lambda gap, gain: (0, 1))),
    ],
)
def test_a_function_that_cannot_be_called_so_is_named(name, policy, rng):
    one = oracles.trial(rng)
    seen = oracles.spread((one.state, one.features, jnp.asarray(one.rho, jnp.float32)), 4)
    with pytest.raises(ValueError, match=rf"^{name}: got .*; it takes "):
        choose(policy, *seen, oracles.streams(rng, 4).words)
