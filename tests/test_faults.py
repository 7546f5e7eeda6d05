"""No run goes on with NaN, an action that there is not, a negative gap or gain, or a sum that wraps around."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import domains, information, kernels, policies, problems, ratio, simulate, tiles

KEY = jax.random.key(0)
PROBLEM = problems.unit_ball(6, 2)


def run(policy=policies.PAPER["W-UCB"], problem=PROBLEM, steps=20, **more):
    return simulate(problem, policy, key=KEY, trials=300, steps=steps, **more)


def numbers(*names):
    """Register a dataclass as a pytree of numbers, so that those which differ in numbers share a program."""
    return partial(jax.tree_util.register_dataclass, data_fields=names, meta_fields=())


@numbers("bad", "level")
@dataclasses.dataclass(frozen=True)
class Later:
    """A gain or gap that is I^F until much has been observed in the lane, and then bad at one action."""

    bad: float
    level: float

    def __call__(self, band, stream=None):
        seen = band.belief.log_det(band.state) > self.level
        return jnp.where((jnp.arange(6)[:, None] == 3) & seen, self.bad, jnp.log1p(band.var / band.rho**2))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-3])
def test_a_gain_or_gap_that_is_no_number_at_one_action_ends_the_run(bad):
    with pytest.raises(
        ValueError, match=r"^gain: NaN, infinite or negative, at step .* of trial .*; it takes numbers ≥ 0"
    ):
        run(policies.ids(Later(bad, 9.0)))
    said = r"^gap: (NaN, infinite or negative, at step .* of trial|got .*, which gives (nan|-0.001)); it takes"
    with pytest.raises(ValueError, match=said.replace("trial", "trial .*", 1)):
        run(policies.ids(information.f, gap=Later(bad, 1.0)))


@pytest.mark.parametrize("name", at_scale(["UCB", "W-TS", "FW-TS", "IDS-UCB", "DIDS-F", "IDS-E"], ["W-TS", "IDS-UCB"]))
def test_numbers_beyond_the_precision_end_the_run(name):
    said = "at step 1 of trial .*; it takes numbers .* range of float32 .*: see delta, lam, norm_bound and rho"
    with pytest.raises(ValueError, match=f"(policy: an upper bound or a posterior draw is|gap:) NaN.*, {said}"):
        run(dataclasses.replace(policies.PAPER[name], lam=1e-38))
    if "IDS" in name:  # whose gap overflows; a large radius is a valid one
        with pytest.raises(ValueError, match=said):
            run(dataclasses.replace(policies.PAPER[name], norm_bound=3e38))


@numbers("action")
@dataclasses.dataclass(frozen=True)
class Plays:
    """A rule that plays one action once something has been observed."""

    action: int

    def __call__(self, band, stream):
        return policies.Choice(jnp.where(band.belief.log_det(band.state) > 1, self.action, band.ucb))


@pytest.mark.parametrize("action", [-1, 6, 99])
def test_an_action_that_there_is_not_ends_the_run(action):
    with pytest.raises(ValueError, match=r"^policy: its rule gave an action that there is not, at step .* of trial"):
        run(policies.Policy(Plays(jnp.int32(action))))


def test_a_rule_that_does_not_say_what_it_decided_by_is_held_to_the_upper_bounds():
    with pytest.raises(ValueError, match=r"^policy: an upper bound or a posterior draw is NaN or infinite, at step 1"):
        run(policies.Policy(lambda band, stream: policies.Choice(band.ucb), lam=1e-38))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (lambda band, stream: policies.Choice(band.mean[0]), r"got an action that is float32 of shape \[3\]"),
        (lambda band, stream: policies.Choice(jnp.int32(0)), r"got an action that is int32 of shape \[\]"),
        (lambda band, stream: policies.Choice(0), r"got an action that is int of shape \[\]"),
        (lambda band, stream: band.ucb, "got a rule that returns .*; it takes one that returns a Choice"),
    ],
)
def test_what_a_rule_returns_is_checked(rule, said):
    with pytest.raises(ValueError, match=rf"^policy: {said}"):
        run(policies.Policy(rule))


@numbers("weight")
@dataclasses.dataclass(frozen=True)
class Weighs:
    """A solver that gives one weight, whatever the gaps and gains."""

    weight: float

    def __call__(self, gap, gain):
        mix = ratio.single(gap, gain)
        return mix._replace(weight=jnp.full_like(mix.weight, self.weight))


@pytest.mark.parametrize("weight", [np.nan, 1.5, -0.1])
def test_a_weight_that_is_none_ends_the_run(weight):
    with pytest.raises(ValueError, match=r"^solver: its weight is not in \[0, 1\], at step 1 of trial 0"):
        run(policies.ids(information.f, solver=Weighs(weight)))


def test_noise_that_is_no_number_ends_the_run():
    problem = problems.unit_ball(6, 2, noise=lambda stream: problems.gaussian(stream) * jnp.inf)
    with pytest.raises(ValueError, match=r"^problem: a reward is NaN or infinite, at step 1 of trial 0"):
        run(problem=problem)


def test_noise_that_is_no_number_ends_a_run_on_a_box():
    box = domains.box([0.0], [1.0])
    problem = problems.continuous(
        box, lambda x: x[0], 0.1, kernels.rbf(0.3), noise=lambda stream: problems.gaussian(stream) * jnp.nan
    )
    with pytest.raises(ValueError, match=r"^problem: a reward is NaN or infinite, at step 1 of trial 0"):
        simulate(problem, policies.PAPER["W-UCB"], key=KEY, trials=2, steps=2)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"mean": jnp.zeros(5)}, r"mean: got float32 of shape \[5\]; it takes floats of shape \[6\]"),
        ({"rho": jnp.ones((6, 1))}, r"rho: got float32 of shape \[6, 1\]; it takes floats of shape \[6\]"),
        ({"rho_bound": jnp.ones(6)}, r"rho_bound: got float32 of shape \[6\]; it takes floats of shape \[\]"),
        ({"mean": jnp.zeros(6, int)}, r"mean: got int32 of shape \[6\]; it takes floats"),
        ({"features": jnp.zeros(6)}, r"features: got shape \[6\]; they take \[d, K\]"),
    ],
)
def test_an_instance_whose_parts_do_not_fit_is_refused(parts, said):
    instance = PROBLEM.draw(KEY)._replace(**parts)
    with pytest.raises(ValueError, match=rf"^{said}"):
        problems.check_draws(dataclasses.replace(problems.Fixed(PROBLEM.draw(KEY)), instance=instance))
    problem = problems.Fixed(instance)
    if parts.keys() <= {"mean", "features"}:
        with pytest.raises(ValueError, match=rf"^{said}"):
            run(problem=problem)


def test_an_instance_that_is_no_number_ends_the_run():
    instance = PROBLEM.draw(KEY)
    problem = problems.Fixed(instance._replace(mean=instance.mean.at[2].set(jnp.nan)))
    with pytest.raises(ValueError, match=r"^problem: an instance has means or noise bounds .*, in trial 0; it takes"):
        run(problem=problem)


def test_totals_of_truth_values_and_small_numbers_are_sums():
    def counted(step):
        low = step.choice.action < 3
        return low, jnp.where(low, 100, -100).astype(jnp.int8), low.astype(jnp.float16) * 0.5

    low, hundreds, halves = run(total=counted).totals
    pulls = run(record=lambda step: step.choice.action, at=range(1, 21)).recorded
    assert np.array_equal(low, np.sum(pulls < 3, axis=1))
    assert low.max() > 1
    assert np.array_equal(hundreds, 100 * low - 100 * (20 - low))
    assert np.array_equal(halves, 0.5 * low)


def test_totals_that_wrap_around_or_cannot_be_summed_are_refused():
    for large in (1_500_000_000, -1_500_000_000):
        with pytest.raises(
            ValueError, match=r"^total: a sum of whole numbers leaves their range, at step 2 of trial 0"
        ):
            run(total=lambda step, large=large: jnp.full_like(step.choice.action, large))
    with pytest.raises(
        ValueError, match=r"^total: got uint32; it takes truth values, whole numbers that fit int32, or f"
    ):
        run(total=lambda step: step.choice.action.astype(jnp.uint32))


def test_a_sum_of_floats_that_is_not_finite_is_refused():
    with pytest.raises(
        ValueError, match=r"^total: a sum is NaN or infinite, in trial 0; it takes finite numbers whose"
    ):
        run(total=lambda step: jnp.full_like(step.reward, 1e38))


def test_a_score_that_is_not_one_for_every_action_is_refused():
    with pytest.raises(
        ValueError,
        match=r"^score: got .*; it takes floats with an action on the first axis and trials \[3\] after it",
    ):
        run(policies.Policy(lambda band, stream: policies.Choice(band.ucb, score=band.beta)))


SPIKE = 0.3337  # narrower than the distance of the points that a search begins from


def spiked(x):
    return jnp.sin(3 * x[0]) + jnp.where(jnp.abs(x[0] - SPIKE) < 1e-6, 0.5, 0.0)


def at_the_spike(band, stream):
    return policies.Choice(jnp.where(band.belief.log_det(band.state) > 1, SPIKE, 0.1) * jnp.ones(1), score=band.mean)


def test_a_point_better_than_the_maximum_ends_the_run():
    box, rule = domains.box([0.0], [1.0]), policies.Policy(at_the_spike)
    better = np.sin(3 * SPIKE) + 0.5
    missed = problems.continuous(box, spiked, 0.5, kernels.rbf(0.2))
    said = r"^problem: a point is better than .* as found .*, at step .* of trial 0; it takes .* `maximum`"
    with pytest.raises(ValueError, match=said):
        simulate(missed, rule, key=KEY, trials=2, steps=5)
    given = problems.continuous(box, spiked, 0.5, kernels.rbf(0.2), maximum=better)
    lost = simulate(given, rule, key=KEY, trials=2, steps=5, at=range(1, 6)).mean
    assert np.isclose(lost[0], better - np.sin(0.3), rtol=1e-4)
    assert np.isclose(lost[-1], lost[-2], atol=1e-5)


def test_what_would_be_recommended_and_is_better_shows_as_negative():
    landscape = problems.continuous(domains.box([0.0], [1.0]), spiked, 0.5).landscape
    assert float(landscape.lost(landscape.top, jnp.array([SPIKE]))) == pytest.approx(0.5 - np.sin(3 * SPIKE), abs=1e-5)
    assert float(landscape.lost(landscape.top + 1e-5, jnp.array([np.pi / 6]))) == pytest.approx(1e-5, rel=0.1)
    assert float(landscape.lost(landscape.top - 1e-5, jnp.array([np.pi / 6]))) == 0


def slope(steepness, x):
    return steepness * x[0]


@dataclasses.dataclass(frozen=True)
class Slopes(problems.Continuous):
    """A line on [0, 1] for every trial, all with the largest value of the first."""

    def draw(self, key):
        steepness = jax.random.uniform(key, (), minval=0.5, maxval=1.5)
        return dataclasses.replace(self.landscape, function=jax.tree_util.Partial(slope, steepness))


def test_of_functions_drawn_for_every_trial_those_whose_maximum_is_wrong_end_the_run():
    box, line = domains.box([0.0], [1.0]), jax.tree_util.Partial(slope, jnp.float32(1))
    register = jax.tree_util.register_dataclass
    register(Slopes, data_fields=("landscape",), meta_fields=("noise",))
    drawn = Slopes(problems.continuous(box, line, 0.5).landscape)
    rule = policies.Policy(lambda band, stream: policies.Choice(jnp.ones(1), score=band.mean))
    keys = tiles.instance_keys(drawn, KEY, jnp.arange(20, dtype=jnp.uint32))
    first = int(np.argmax(jax.vmap(lambda key: drawn.draw(key).function(jnp.ones(1)))(keys) > 1))
    assert first > 0
    with pytest.raises(ValueError, match=rf"^problem: a point is better .*, at step 1 of trial {first};"):
        simulate(drawn, rule, key=KEY, trials=20, steps=2)
    simulate(drawn, rule, key=KEY, trials=first, steps=2)


@pytest.mark.parametrize("maximum", [0.9, np.nan, "high", [2.0, 3.0]])
def test_a_maximum_below_a_value_that_there_is_is_refused(maximum):
    with pytest.raises(ValueError, match=r"^maximum: got .*; it takes a number"):
        problems.continuous(domains.box([0.0], [1.0]), lambda x: jnp.sin(3 * x[0]), 0.5, maximum=maximum)
