"""Policies on boxes and balls: against fine grids of the same domain, one's own functions among them.

False alarms: mean regrets of two simulations, which draw different numbers, are compared at 4.5 standard errors in six
places, with 1 % more for the grid: 4e-5.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scale import at_scale

from jaxids import beliefs, domains, draws, fields, information, kernels, policies, problems, ratio, series, simulate
from jaxids.problems import functions

POSTERIORS = 25  # of each of four kinds
KEY, STEPS = jax.random.key(6), 15
INTERVAL, DISC = domains.box([0.0], [1.0]), domains.ball([0.0, 0.0])
KERNEL = kernels.matern52(0.2)


def rho(x):
    return 0.1 + 0.4 * jnp.sum(x**2)


def wavy(x):
    return 0.05 + 0.9 * jnp.sin(8 * x[0]) ** 2


def field_of(domain, kernel, noise, key, count=15):
    """A field after observations of random rewards at random points."""
    of_points, of_rewards = jax.random.split(key)
    dim = domain.size.shape[0]
    points = jax.vmap(domain.uniform)(jax.random.uniform(of_points, (count, dim + 1)))
    belief = beliefs.linear if kernel is None else beliefs.history
    state = belief.init(jnp.zeros((dim, 1)), 1.0) if kernel is None else belief.init(kernel, dim, count)
    seen = points, jax.random.normal(of_rewards, (count,)), jax.vmap(noise)(points) ** 2
    state = jax.lax.scan(lambda s, one: (belief.update(s, belief.look(s, one[0]), *one[1:]), None), state, seen)[0]
    return fields.of(belief, state, domain, noise, None, 0.3, 1.0, 0.5)


def unit_grid(dim, per_side):
    side = np.linspace(0, 1, per_side)
    return jnp.asarray(np.stack(np.meshgrid(*[side] * dim), axis=-1).reshape(-1, dim), jnp.float32)


def ball_grid(dim, per_side):
    points = 2 * unit_grid(dim, per_side) - 1
    return points[jnp.linalg.norm(points, axis=1) <= 1]


SQUARE, BOX = domains.box([0.0, 0.0], [1.0, 1.0]), domains.box([-0.7, -0.7], [0.7, 0.7])
CASES = {
    "kernel, interval": (INTERVAL, kernels.matern12(0.2), wavy, unit_grid(1, 2001)),
    "kernel, square": (SQUARE, kernels.rbf(0.3), rho, unit_grid(2, 61)),
    "linear, ball": (domains.ball([0.0, 0.0, 0.0]), None, rho, ball_grid(3, 25)),
    "linear, box": (BOX, None, rho, 1.4 * unit_grid(2, 61) - 0.7),
}


def share(band, source):
    """A gain of one's own: the share of an observation's variance that is not noise."""
    return band.var / (band.var + band.rho**2)


def shortfall(band):
    """A gap of one's own: how far the mean is below the best upper bound."""
    return band.top.value - band.mean


def evenly(gap, gain):
    """A solver of one's own: the pair of the least ratio when both are played as often, tried one by one."""
    half = ratio.quotient((gap[:, None] + gap[None]) / 2, (gain[:, None] + gain[None]) / 2)
    best = jnp.argmin(half.reshape(-1))
    count = gap.shape[0]
    return ratio.Mix(best // count, best % count, jnp.asarray(0.5, gap.dtype), half.reshape(-1)[best])


RULES = {
    "IDS-F": policies.PAPER["IDS-F"].rule,
    "IDS-UCB": policies.PAPER["IDS-UCB"].rule,
    "DIDS-UCB": policies.PAPER["DIDS-UCB"].rule,
    "own gain and gap": policies.ids(share, gap=shortfall).rule,
}


@pytest.fixture(scope="module", params=at_scale(CASES, ["kernel, square"]))
def searched(request):
    """For every posterior: what was found on the domain, and the best of a fine grid."""
    domain, kernel, noise, grid = CASES[request.param]
    source = draws.Stream(jnp.zeros(2, jnp.uint32), jnp.uint32(0))

    @jax.jit
    def search(key):
        field = field_of(domain, kernel, noise, key)
        fine = field.at(grid.T)
        found, best, points = {"ucb": field.top.value}, {"ucb": jnp.max(fine.upper)}, []
        for name, rule in RULES.items():
            choice = rule(field, source)
            gap, gain = rule.surfaces(fine, source)
            found[name], best[name] = choice.mix.value, rule.solver(gap, gain).value
            points += [choice.mix.first, choice.mix.second, choice.action]
        return found, best, jnp.stack(points)

    keys = jax.random.split(jax.random.key(len(request.param)), POSTERIORS)
    return domain, jax.lax.map(search, keys)


@pytest.mark.parametrize("name", RULES)
def test_the_ratio_is_at_most_one_per_cent_above_the_grid_s(searched, name):
    _, (found, best, _) = searched
    assert np.all(np.isfinite(found[name]))
    assert np.max(found[name] / best[name]) < 1.01


def test_the_ucb_point_is_at_least_as_high_as_the_grid_s(searched):
    _, (found, best, _) = searched
    assert np.min(found["ucb"] / best["ucb"]) > 0.995


def test_actions_are_inside(searched):
    domain, (_, _, points) = searched
    points = points.reshape(-1, points.shape[-1])
    assert np.allclose(jax.vmap(domain.project)(points), points, atol=1e-6)


def test_mixing_is_never_worse_than_one_action(searched):
    _, (found, _, _) = searched
    assert np.all(found["IDS-UCB"] <= found["DIDS-UCB"] * (1 + 1e-3))  # rounding


def test_a_solver_of_one_s_own_serves():
    """The least ratio of two points played as often, beside every pair of a grid."""
    source, grid = draws.Stream(jnp.zeros(2, jnp.uint32), jnp.uint32(0)), unit_grid(1, 400)
    rule = policies.ids(information.f, solver=evenly).rule

    @jax.jit
    def search(key):
        field = field_of(INTERVAL, KERNEL, wavy, key)
        return rule(field, source).mix, evenly(*rule.surfaces(field.at(grid.T), source)).value

    mix, best = jax.lax.map(search, jax.random.split(jax.random.key(0), 3))
    assert np.all(mix.weight == 0.5)
    assert np.all(mix.value < 1.01 * best)


def wave(x):
    return jnp.sin(7 * x[0])


def rising(x):
    return 0.05 + 0.4 * x[0]


CURVED = problems.continuous(INTERVAL, wave, rising, KERNEL)
PLANE = problems.continuous(DISC, lambda x: 0.8 * x[0] - 0.6 * x[1], lambda x: 0.2 + 0.3 * x[1] ** 2)


def action_of(step):
    return step.choice.action


def test_the_largest_values_are_found():
    assert float(CURVED.landscape.top) == pytest.approx(1.0, abs=1e-5)
    assert float(CURVED.landscape.rho_bound) == pytest.approx(0.45, abs=1e-5)
    assert float(PLANE.landscape.top) == pytest.approx(1.0, abs=1e-5)
    assert float(PLANE.landscape.rho_bound) == pytest.approx(0.5, abs=1e-4)


def rastrigin(x):
    return -jnp.sum((10 * x - 5.1) ** 2 + 10 - 10 * jnp.cos(2 * jnp.pi * (10 * x - 5.1)))


@pytest.mark.parametrize(
    ("function", "dim", "largest"),
    [
        (lambda x: -jnp.sum(jnp.sqrt(jnp.abs(x - 0.3))), 1, 0),
        (functions.branin, 2, -0.397887),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (lambda x: -jnp.sum(jnp.sqrt(jnp.abs(x - 0.3))), 3, 0),
                (lambda x: -jnp.sum(jnp.abs(x - 0.7)), 3, 0),
                (functions.ackley, 4, 0),
                (functions.hartmann3, 3, 3.86278),
                (rastrigin, 3, 0),
            )
        ),
    ],
)
def test_a_maximum_is_found_at_a_cusp_or_among_many(function, dim, largest):
    """Well within what is taken for rounding, so that no run ends for want of a search."""
    found = problems.continuous(domains.box([0.0] * dim, [1.0] * dim), function, 0.5).landscape
    assert abs(float(found.top) - largest) < 0.5 * float(found.slack)


ON_GRID = {
    **{name: policies.PAPER[name] for name in ("UCB", "W-TS", "IDS-UCB")},
    "own gain": policies.ids(share, gap=shortfall, solver=ratio.pairs),
    "explore then commit": policies.explore_then_commit(8),
}


@pytest.mark.parametrize("name", at_scale(ON_GRID, ["IDS-UCB", "explore then commit"]))
def test_regret_is_that_on_a_fine_grid(name):
    policy, points = ON_GRID[name], functions.grid(1, 150)
    fine = problems.rkhs(points, np.asarray(jax.vmap(wave)(jnp.asarray(points))), rising, KERNEL)
    there = simulate(fine, policy, key=KEY, trials=512, steps=STEPS, at=range(1, STEPS + 1))
    here = simulate(CURVED, policy, key=KEY, trials=32, steps=STEPS, at=range(1, STEPS + 1), record=action_of)
    assert here.recorded.shape == (32, STEPS, 1)
    assert np.all((here.recorded >= 0) & (here.recorded <= 1))
    lost = 1 - np.sin(7 * here.recorded[..., 0].astype(float))
    assert np.allclose(here.final, lost.sum(axis=1), atol=1e-3)
    for t in (4, STEPS - 1):
        error = np.hypot(here.stderr[t], there.stderr[t])
        assert abs(here.mean[t] - there.mean[t]) < 4.5 * error + 0.01 * there.mean[t] + 0.01


@pytest.mark.parametrize("name", at_scale(["FW-TS", "DIDS-F", "IDS-TS", "IDS-E"], ["FW-TS"]))
def test_the_other_families_play_inside_a_ball(name):
    options = {"key": KEY, "trials": 2, "steps": 6, "at": range(1, 7)}
    result = simulate(PLANE, policies.PAPER[name], record=action_of, **options)
    assert result.recorded.shape == (2, 6, 2)
    assert np.all(np.linalg.norm(result.recorded, axis=-1) <= 1 + 1e-6)
    played = 1 - result.recorded @ [0.8, -0.6]
    assert np.allclose(result.final, played.sum(axis=1), atol=1e-4)
    assert np.allclose(result.mean, np.cumsum(played.mean(axis=0)), atol=1e-4)


def test_a_trial_is_the_same_among_any_number():
    few, many = (simulate(PLANE, policies.ts(), key=KEY, trials=n, steps=6, record=action_of) for n in (3, 11))
    assert np.array_equal(few.recorded, many.recorded[:3])
    assert np.array_equal(few.final, many.final[:3])
    assert not np.array_equal(many.final[:3], many.final[8:])


def test_series_and_totals_are_kept_and_a_full_history_goes_on():
    small = problems.continuous(INTERVAL, wave, 0.3, KERNEL, capacity=4)
    options = {"key": KEY, "trials": 10, "steps": 9, "at": range(1, 10), "total": lambda step: step.reward}
    played = simulate(small, policies.ucb(), record=action_of, **options)
    late = played.recorded[:, 4:]
    assert np.all(late == late[:, :1])  # nothing more is learnt
    assert np.ptp(played.recorded[:, :4]) > 0
    kept = simulate(small, policies.ucb(), record=["simple_regret", "information", "beta"], **options)
    assert np.allclose(kept.totals, played.totals)
    assert np.all(np.diff(kept.series["beta"].mean[:5]) > 0)
    assert np.ptp(kept.series["beta"].mean[4:]) == 0
    assert np.all(kept.series["simple_regret"].final >= 0)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            policies.ids(lambda band, source: band.var / band.var.max(axis=0)),
            "gain: got .* beside other points and 1 al",
        ),
        (
            policies.ids(information.f, gap=lambda band: band.mean.max(axis=0) - band.mean),
            "gap: got .* beside other po",
        ),
        (policies.ids(lambda band, source: band.var - 1), "gain: got .*, which gives -.*; it takes .* numbers ≥ 0"),
        (policies.phased_elimination(), "policy: got phased elimination on a box or ball; it takes finitely many"),
        (policies.Policy(policies.Optimistic(), delta=2.0), "delta: got 2"),
        (
            policies.Policy(lambda band, source: policies.Choice(jnp.int32(0))),
            r"policy: got an action that is int32 .*; i",
        ),
        ("UCB", "policy: got 'UCB'; it takes one of jaxids.policies"),
    ],
)
def test_policies_without_a_meaning_here_are_refused(policy, said):
    with pytest.raises(ValueError, match=rf"^{said}"):
        simulate(PLANE, policy, key=KEY, trials=1, steps=1)


def test_an_action_outside_ends_the_run():
    far = policies.Policy(lambda band, source: policies.Choice(jnp.full(2, 3.0), score=band.upper))
    with pytest.raises(ValueError, match=r"^policy: its rule gave an action that there is not, at step 1 of trial 0"):
        simulate(PLANE, far, key=KEY, trials=1, steps=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"domain": [0, 1]}, "domain: got .*; it takes domains.box or domains.ball"),
        ({"function": 3}, "function: got 3; it takes a function"),
        ({"function": lambda x: x}, r"function: got one that returns shape \[1\]"),
        ({"function": lambda x: jnp.log(x[0] - 0.5)}, "function: got nan"),
        ({"rho": 0.0}, "rho: got 0; it takes a number > 0"),
        ({"rho": lambda x: x[0] - 0.5}, "rho: got -.*; it takes numbers > 0"),
        ({"rho": lambda x: x}, r"rho: got one that returns shape \[1\]"),
        ({"noise": 3}, "noise: got 3; it takes a function"),
        ({"rho_bound": "x"}, "rho_bound: got 'x'; it takes a number > 0"),
        ({"rho_bound": 0.1}, "rho_bound: got 0.1; it takes a number ≥ 0.2, the largest rho"),
        ({"kernel": "rbf"}, "kernel: got 'rbf'"),
        ({"kernel": lambda x, y: x}, r"kernel: got one that returns shape \[1\]"),
        ({"capacity": 0}, "capacity: got 0"),
    ],
)
def test_problems_that_cannot_be_are_refused(change, said):
    given = {"domain": INTERVAL, "function": wave, "rho": 0.2, "kernel": KERNEL} | change
    with pytest.raises(ValueError, match=rf"^{said}"):
        problems.continuous(**given)


@pytest.mark.slow
def test_little_noise_is_borne_in_single_precision():
    """120 observations with ρ = 1e-3, most of them at the best point: hardly any regret once it is found."""
    quiet = problems.continuous(INTERVAL, wave, 1e-3, kernels.rbf(0.2))
    result = simulate(quiet, policies.ucb(), key=KEY, trials=2, steps=120, at=range(1, 121))
    assert result.mean[-1] - result.mean[60] < 0.1


def test_pulls_are_counted_only_where_actions_can_be():
    problem = problems.continuous(INTERVAL, lambda x: x[0], 0.1)
    with pytest.raises(ValueError, match=r"^total: got series\.pulls on a box or ball"):
        simulate(problem, policies.ucb(), key=KEY, trials=2, steps=2, total=series.pulls)


@dataclass
class Level:
    """A function of one's own, equal to another of the same number, which may change."""

    level: float = 1.0

    def __call__(self, x):
        return self.level * x[0]


def test_no_function_is_taken_for_another():
    """Neither for one that compares equal to it by now, nor for one that was where it is in memory."""
    function = Level()
    before = problems.continuous(INTERVAL, function, 0.1).landscape
    function.level = 5.0
    after = problems.continuous(INTERVAL, Level(5.0), 0.1).landscape
    assert float(after.top) == pytest.approx(5 * float(before.top))
    assert jax.tree.structure(after) != jax.tree.structure(before)
    tops = [problems.continuous(INTERVAL, lambda x, a=a: a * x[0], 0.1).landscape.top for a in (2.0, 3.0)]
    assert np.allclose(tops, [2.0, 3.0])


def test_problems_of_one_function_have_one_structure():
    """So that a sweep over numbers compiles once; a function made anew is another, as a control."""
    first, second = (problems.continuous(INTERVAL, wave, rho, KERNEL) for rho in (0.1, 0.3))
    other = problems.continuous(INTERVAL, lambda x: wave(x), 0.1, KERNEL)
    assert jax.tree.structure(first) == jax.tree.structure(second) != jax.tree.structure(other)
