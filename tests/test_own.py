"""Policies of one's own: functions for one trial, functions that mix trials, rules with numbers and with a memory."""

import dataclasses
from functools import partial

import compilations
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import information, knowledge, policies, problems, ratio, series, simulate
from jaxids.policies import elimination

KEY = jax.random.key(4)
BALL = problems.unit_ball(6, 2)
FIXED = problems.linear([[1, 0], [0, 0.9], [0.5, 0.5]], [0.6, 0.8], [0.3, 0.6, 1.0])
CONTEXTS = problems.contextual(6, 2)


def run(policy, problem=BALL, trials=300, steps=60, **more):
    return simulate(problem, policy, key=KEY, trials=trials, steps=steps, **more)


def relative(band, source):
    """A gain for one trial: it reduces over everything there is."""
    return band.var / band.var.max()


def relative_in_lanes(band, source):
    return band.var / band.var.max(axis=0)


def below(band):
    return band.upper.max() - band.mean


@pytest.mark.parametrize("problem", [BALL, CONTEXTS], ids=["instance", "contexts"])
def test_a_gain_for_one_trial_is_that_for_lanes(problem):
    lifted = policies.ids(policies.per_trial(relative), gap=policies.per_trial(below))
    lanes = policies.ids(relative_in_lanes, gap=lambda band: band.upper.max(axis=0) - band.mean)
    actions = [run(p, problem, record=lambda step: step.choice.action).recorded for p in (lifted, lanes)]
    assert np.mean(actions[0] == actions[1]) > 0.999  # rounding may turn a tie
    assert len(np.unique(actions[0])) > 3


def test_a_rule_for_one_trial_is_lifted_with_its_memory():
    class Alternating:  # written for one trial: numbers have no axes
        def init(self, band):
            return jnp.int32(0)

        def __call__(self, band, source, memory):
            return policies.Choice(memory)

        def update(self, memory, band, choice, reward):
            return (memory + 1) % band.mean.shape[0]

    result = run(
        policies.Policy(policies.per_trial(Alternating())), record=lambda step: step.choice.action, at=range(1, 61)
    )
    assert np.array_equal(result.recorded, np.broadcast_to(np.arange(60) % 6, (300, 60)))


@pytest.mark.parametrize(
    ("policy", "more", "said"),
    [
        (policies.ids(relative), {}, "gain: got <function relative .*, which gives trial . .* beside other trials and"),
        (
            policies.ids(information.f, gap=below),
            {},
            "gap: got <function below .* it takes one that keeps trials apart",
        ),
        (policies.ids(lambda band, source: band.var - 1), {}, "gain: got .*, which gives -.*; it takes .* numbers ≥ 0"),
        (policies.ids(lambda band, source: band.var * jnp.nan), {}, "gain: got .*, which gives nan; it takes .* ≥ 0"),
        (
            policies.ids(information.f, solver=lambda gap, gain: ratio.exact(gap - gap.min() + 0.1, gain)),
            {},
            "solver: got .*, which gives trial",
        ),
        (
            policies.Policy(
                lambda band, source: policies.Choice(jnp.full_like(band.ucb, jnp.argmax(band.mean.sum(1))))
            ),
            {},
            "policy: got .*, which gives trial",
        ),
        (
            policies.ucb(),
            {"record": lambda step: step.regret - step.regret.mean()},
            "record: got .*, which gives trial",
        ),
        (policies.ucb(), {"total": lambda step: step.reward / step.reward.max()}, "total: got .*, which gives trial"),
    ],
)
def test_functions_that_mix_trials_are_refused_before_the_run(policy, more, said):
    before = compilations.count()
    with pytest.raises(ValueError, match=rf"^{said}"):
        run(policy, **more)
    assert compilations.count() == before


def test_what_keeps_trials_apart_passes():
    run(policies.ids(relative_in_lanes), trials=5, steps=3, total=lambda step: step.regret > 1)
    run(policies.ids(policies.per_trial(relative)), trials=5, steps=3, record=lambda step: step.choice.mix.weight)


def test_a_sweep_over_a_rule_s_numbers_compiles_once():
    makes = {
        "scale of β": lambda n: policies.ucb(scale=n),
        "scale of β in IDS": lambda n: policies.ids(information.ucb, scale=n),
        "ε": lambda n: policies.epsilon_greedy(epsilon=n, power=n),
        "steps": lambda n: policies.explore_then_commit(10 * n),
    }
    for name, make in makes.items():
        finals = [run(make(0.5)).final]
        before = compilations.count()
        finals += [run(make(n)).final for n in (0.1, 1.0, 2.0)]
        assert compilations.count() == before, name
        assert len({final.tobytes() for final in finals}) == 4, name


def test_a_scale_of_one_changes_nothing_and_a_smaller_one_explores_less():
    plain, one, less = (run(policies.ucb(scale=s), steps=400).final for s in (None, 1.0, 0.2))
    assert np.array_equal(plain, one)
    assert less.mean() < 0.5 * plain.mean()


def test_greedy_takes_the_highest_estimate():
    def is_leader(step):
        return step.choice.action == jnp.argmax(step.band.mean, axis=0)

    assert np.all(run(policies.greedy(), total=is_leader).totals == 60)
    assert run(policies.ucb(), total=is_leader).totals.mean() < 50


def test_epsilon_greedy_explores_on_schedule():
    """Of 300 × 400 steps, those off the leader are binomial: 4.5 standard errors, 7e-6 false alarms."""

    def off(step):
        return (step.choice.action != jnp.argmax(step.band.mean, axis=0)).astype(jnp.float32)

    at = np.arange(1, 401)
    found = run(policies.epsilon_greedy(4.0, 0.5), steps=400, at=at, record={"off": off}).series["off"].mean
    share = np.minimum(1, 4 / np.sqrt(at)) * 5 / 6
    error = np.sqrt(np.sum(share * (1 - share)) / 300)
    assert abs(np.sum(found) - np.sum(share)) < 4.5 * error
    assert abs(np.sum(found[:16]) - np.sum(share[:16])) < 4.5 * np.sqrt(np.sum(share[:16] * (1 - share[:16])) / 300)


def test_explore_then_commit_commits_to_the_leader_of_that_moment():
    def seen(step):
        return step.choice.action, jnp.argmax(step.band.mean, axis=0)

    action, leader = run(policies.explore_then_commit(20), record=seen, at=range(1, 61)).recorded
    assert np.array_equal(action[:, 20:], np.repeat(leader[:, 20:21], 40, axis=1))
    counts = np.bincount(action[:, :20].ravel(), minlength=6)
    assert np.all(np.abs(counts - 1000) < 4.5 * np.sqrt(6000 * 5 / 36))


def test_a_design_is_nearly_g_optimal():
    """The largest variance is at least d for every design (Kiefer and Wolfowitz), and here at most 5 % above."""
    for seed in range(5):
        x = np.asarray(problems.unit_ball(12, 3).draw(jax.random.key(seed)).features)
        left = jnp.asarray(np.arange(12) % 4 > 0)
        share = np.asarray(elimination.design(jnp.asarray(x), left), float)
        spread = np.sum(x * np.linalg.solve((x * share) @ x.T, x), axis=0)[np.asarray(left)]
        assert share.sum() == pytest.approx(1, abs=1e-5)
        assert np.all(share[~np.asarray(left)] == 0)
        assert spread.max() < 3 * 1.05


def test_phased_elimination_leaves_the_best_action_alone_in_the_end():
    """Actions far apart and little noise: after some phases every trial plays the best action only."""
    easy = problems.linear([[1.0, 0.0], [0.0, 0.3], [-1.0, 0.2]], [1.0, 0.0], 0.1)
    result = run(
        policies.phased_elimination(), easy, trials=50, steps=2000, record=lambda s: s.choice.action, at=[1999, 2000]
    )
    assert np.all(result.recorded == 0)
    early = run(policies.phased_elimination(), easy, trials=50, steps=30, total=tiles_pulls).totals
    assert np.all(early.max(axis=1) < 30)
    uniform = run(policies.epsilon_greedy(1.0, 0.0), easy, trials=50, steps=2000)
    assert result.final.mean() < 0.5 * uniform.final.mean()


def tiles_pulls(step):
    return (jnp.arange(3)[:, None] == step.choice.action).astype(jnp.int32)


@pytest.mark.parametrize("name", at_scale(["UCB", "W-TS", "IDS-UCB", "IDS-E"], ["IDS-UCB"]))
def test_a_constant_context_is_bitwise_the_run_without_one(name):
    policy = policies.PAPER[name]
    assert np.array_equal(run(policy, FIXED).final, run(policy, problems.contextual(base=FIXED)).final)


def test_contexts_change_and_regret_is_against_the_best_of_each_step():
    def seen(step):
        return step.instance.mean, step.instance.rho, step.choice.action, step.regret

    mean, rho, action, regret = run(policies.PAPER["IDS-UCB"], CONTEXTS, record=seen, at=range(1, 61)).recorded
    lost = mean.max(axis=-1) - np.take_along_axis(mean, action[..., None], -1)[..., 0]
    assert np.allclose(regret, np.cumsum(lost, axis=1), atol=1e-4)
    assert len(np.unique(mean)) > 0.99 * mean.size  # 300 × 60 × 6 fresh actions, in single precision
    assert rho.min() > 0.1
    assert rho.max() < 1
    assert np.ptp(rho) > 0.8


@pytest.mark.slow
def test_two_policies_meet_the_same_contexts_and_learn_in_them():
    one, other = (
        run(p, CONTEXTS, steps=300, record=lambda s: s.instance.mean, at=[5, 300])
        for p in (policies.ucb(), policies.ts())
    )
    assert np.array_equal(one.recorded, other.recorded)
    late = run(policies.ts(), CONTEXTS, steps=300, at=[150, 300]).mean
    assert late[1] - late[0] < 0.5 * late[0]


@pytest.mark.parametrize(
    ("base", "said"),
    [
        (3, "base: got 3"),
        (problems.rkhs([[0.0], [1.0]], [0.0, 1.0], 0.1, lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), "base: got"),
    ],
)
def test_contexts_that_cannot_be_are_refused(base, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        problems.contextual(base=base)


@pytest.mark.parametrize("more", [{"num_actions": 10}, {"rho": [0.1, 1.0]}, {"theta": np.ones(3)}])
def test_a_base_stands_alone(more):
    with pytest.raises(ValueError, match=r"^base: got one beside other arguments"):
        problems.contextual(**more, base=problems.unit_ball())


@partial(jax.tree_util.register_dataclass, data_fields=("prior",), meta_fields=())
@dataclasses.dataclass(frozen=True)
class Residuals:
    """Noise that is estimated by the mean square of rewards less estimates: a state beside the belief's."""

    prior: float

    def init(self, instance):
        return jnp.ones_like(instance.rho_bound), self.prior**2 * jnp.ones_like(instance.rho_bound)

    def bounds(self, state, features, rho, rho_bound):
        return jnp.broadcast_to(jnp.sqrt(state[1] / state[0]), rho.shape)

    def update(self, state, band, action, reward):
        return state[0] + 1, state[1] + (reward - band.mean_of(action)) ** 2


def test_an_estimate_of_the_noise_comes_in_by_its_door():
    alike = problems.unit_ball(6, 2, rho=0.3)
    policy = policies.ucb(noise=Residuals(1.0))
    assert isinstance(policy.noise, knowledge.Knowledge)
    assumed = run(policy, alike, steps=600, record={"rho": lambda step: step.band.rho[0]}).series["rho"]
    assert assumed.mean[0] == pytest.approx(1.0, abs=0.3)
    assert assumed.mean[-1] == pytest.approx(0.3, abs=0.03)
    bounded = run(policies.ucb(noise=policies.bounded), alike, steps=600)
    assert abs(run(policy, alike, steps=600).mean[-1] / bounded.mean[-1] - 1) < 0.5


def test_the_gradient_of_a_radius_is_finite_where_there_is_no_variance():
    zero = problems.linear([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0], 0.5).instance

    def widest(features):
        instance = zero._replace(features=features)
        belief = FIXED.belief
        return jnp.sum(
            instance.band(belief, instance.prior(belief, 1.0), lambda features, rho: rho, 0.1, 1.0, 1.0).radius
        )

    slope = jax.grad(widest)(zero.features)
    assert np.all(np.isfinite(slope))
    assert slope[0, 0] > 0
    assert np.all(slope[:, 1] == 0)


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_actions_need_no_passes(count, rng):
    gap, gain = jnp.asarray(rng.uniform(0.1, 1, (2, count, 500)), jnp.float32)
    assert "while" not in str(jax.make_jaxpr(ratio.exact)(gap, gain))
    np.testing.assert_allclose(ratio.exact(gap, gain).value, ratio.pairs(gap, gain).value, rtol=1e-5)


class Counting:
    """A rule whose memory is what `begin` gives, and next what `then` gives of it and of a reward."""

    def __init__(self, begin, then):
        self.begin, self.then = begin, then

    def init(self, band):
        return self.begin(band)

    def __call__(self, band, source, memory):
        return policies.Choice(band.ucb)

    def update(self, memory, band, choice, reward):
        return self.then(memory, choice, reward)


@pytest.mark.parametrize(
    ("begin", "then", "said"),
    [
        (lambda b: jnp.zeros(6), lambda m, c, r: m.at[c.action].add(1.0), "policy: got .* beside other trials"),
        (lambda b: 0.0, lambda m, c, r: m + r.mean(), "policy: got .* beside other trials"),
        (lambda b: 0.0, lambda m, c, r: m + r, r"policy: got .* update gives float32 \[3\]; it takes what init gave"),
        (lambda b: 0 * b.beta, lambda m, c, r: jnp.stack([m, m]), r"policy: got .* gives float32 \[2, 3\]; it takes"),
        (lambda b: 0, lambda m, c, r: m + 0.5, r"policy: got .* gives float32 \[\]; .* gave, int32 \[\]"),
        (lambda b: {"a": b.beta}, lambda m, c, r: {"b": r}, r"policy: got .* gives {b: .*}; it takes .* gave, {a: "),
        (lambda b: b.beta, lambda m, c, r: None, "policy: got .* gives None; it takes what init gave"),
        (lambda b: "hello", lambda m, c, r: m, "policy: got .*, which fails: .*; it takes a rule whose init"),
        (lambda b: b.beta, lambda m, c: m, "policy: got .*, which fails: .*; it takes a rule whose update"),
    ],
)
def test_memories_that_trials_share_or_that_change_are_refused(begin, then, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        run(policies.Policy(Counting(begin, then)), steps=3)


def test_a_clock_may_be_shared():
    clock = policies.Policy(Counting(lambda b: 0, lambda m, c, r: m + 1))
    assert np.array_equal(run(clock, steps=20).final, run(policies.ucb(noise=policies.known), steps=20).final)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run(policies.Policy(Counting)), "rule: got the class Counting; it takes one made of it"),
        (
            lambda: run(policies.ids(lambda b, s: b.var if b.var[0] > 0 else b.rho)),
            "gain: got .*, which asks whether an array is true; .* jnp.where",
        ),
        (lambda: run(policies.ucb(), total=lambda s: None), "total: got .*, which gives None; it takes"),
    ],
)
def test_slips_of_newcomers_are_named(make, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        make()


@partial(jax.tree_util.register_dataclass, data_fields=("prior",), meta_fields=())
@dataclasses.dataclass(frozen=True)
class Mixed(Residuals):
    """An estimate of the noise that is the same for all trials of a tile, by a slip."""

    def bounds(self, state, features, rho, rho_bound):
        return super().bounds((state[0], state[1].mean()), features, rho, rho_bound)


def test_noise_that_mixes_trials_is_refused():
    with pytest.raises(ValueError, match=r"^noise: got .* beside other trials"):
        run(policies.ucb(noise=Mixed(1.0)), steps=3)
    centred = problems.unit_ball(6, 2, noise=lambda s: problems.gaussian(s) - problems.gaussian(s).mean())
    with pytest.raises(ValueError, match=r"^noise of the problem: got .* beside other trials"):
        run(policies.ucb(), centred, steps=3)


def test_a_lifted_rule_that_remembers_actions_is_refused_where_they_change():
    lifted = policies.Policy(policies.per_trial(policies.explore_then_commit(3).rule))
    with pytest.raises(ValueError, match=r"^policy: got .* on actions that change"):
        run(lifted, problems.contextual(), steps=3)


@pytest.mark.parametrize("example", [problems.low_high, problems.probes])
def test_examples_do_not_freeze_contexts(example):
    with pytest.raises(ValueError, match=r"^base: got one whose actions change"):
        example(problems.contextual())
    assert isinstance(problems.contextual(base=example(problems.unit_ball())), problems.Changing)


def test_what_looks_at_a_step_sees_the_scaled_band():
    """The chain of ratios holds for any scale of β_t, and the recorded β_t is the scaled one."""
    plain, wide = (
        run(policies.ids(information.f, scale=s), steps=30, record=["beta", "chain_breaks"]).series for s in (1.0, 3.0)
    )
    assert wide["chain_breaks"].final.sum() == plain["chain_breaks"].final.sum() == 0
    assert wide["beta"].mean[0] == pytest.approx(3 * plain["beta"].mean[0])


def test_running_series_count_truth_values_and_whole_numbers():
    record = {
        "late": series.summed(lambda step: step.regret > 0.5),
        "many": series.summed(lambda step: jnp.full_like(step.choice.action, 100, jnp.int8)),
        "most": series.highest(lambda step: step.choice.action),
    }
    kept = run(policies.ucb(), steps=5, record=record).series
    assert np.all(kept["many"].final == 500)
    assert 0 < kept["late"].final.max() <= 5
    assert kept["most"].final.max() == 5


def test_a_solver_may_give_one_weight_for_all_beside_a_hook():
    def evenly(gap, gain):
        mix = ratio.exact(gap, gain)
        return mix._replace(weight=jnp.asarray(0.5))

    run(policies.ids(information.f, solver=evenly), steps=3, record={"x": lambda step: step.reward})
