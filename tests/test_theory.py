"""Bounds beside the data: what runs record of them, against the formulas, and what the page says."""

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from curves import curve

import jaxids
from jaxids import (
    bounds,
    domains,
    information,
    kernels,
    moments,
    names,
    policies,
    problems,
    ratio,
    series,
    simulate,
    widths,
)
from jaxids.experiment import load
from jaxids.report import theory

KEY, STEPS, TRIALS = jax.random.key(4), 40, 12
ALL, AT = list(range(1, STEPS + 1)), [1, 7, STEPS]
BALL = problems.unit_ball(8, 3)


def kept(step):
    """All that the sums are made of."""
    mix = step.choice.mix
    band, instance = step.band, step.instance
    return {
        "mean": instance.mean,
        "features": instance.features,
        "gap": band.gap,
        "var": band.var,
        "rho": band.rho,
        "action": step.choice.action,
        "gain": step.choice.gain,
        "ends": None if mix is None else (mix.first, mix.second, mix.weight),
        "beta": band.beta,
        "number": step.number + 0 * step.choice.action,
    }


@pytest.fixture(scope="module")
def runs():
    """By policy: what was recorded at every step [trials, steps, …], and the series of bounds."""
    found = {}
    for name in ("UCB", "W-TS", "IDS-UCB"):
        policy = policies.PAPER[name]
        more = {"key": KEY, "trials": TRIALS, "steps": STEPS}
        seen = jaxids.simulate(BALL, policy, at=ALL, record=kept, **more).recorded
        found[name] = seen, jaxids.simulate(BALL, policy, at=AT, record=list(names.BOUNDS), **more).series
    return found


def picked(values, index):
    return np.take_along_axis(values, index[..., None], axis=-1)[..., 0]


@pytest.mark.parametrize("name", ["UCB", "W-TS", "IDS-UCB"])
def test_series_of_bounds_are_the_sums_of_the_formulas(name, runs):
    seen, found = runs[name]
    assert np.array_equal(seen["number"][0], ALL)
    lost = seen["mean"].max(axis=-1, keepdims=True) - seen["mean"]
    full = np.log1p(seen["var"] / seen["rho"] ** 2)
    gains = full if seen["gain"] is None else seen["gain"]
    if seen["ends"] is None:
        ends, weight = (seen["action"],) * 2, np.zeros(seen["action"].shape)
    else:
        *ends, weight = seen["ends"]

    def expected(values):
        one, other = (picked(values, end) for end in ends)
        return (1 - weight) * one + weight * other

    prior = np.sum(seen["features"] ** 2, axis=-2)
    signal = (prior / seen["rho"] ** 2).max(axis=-1)
    naive = {
        "ratio_sum": np.cumsum(expected(lost) ** 2 / expected(gains), axis=1),
        "surrogate_sum": np.cumsum(expected(seen["gap"]) ** 2 / expected(gains), axis=1),
        "gain_sum": np.cumsum(picked(gains, seen["action"]), axis=1),
        "signal": signal,
        "gamma": np.minimum(3, ALL) * np.log1p(np.array(ALL) * signal / np.minimum(3, ALL)),
        "spread": (prior / np.log1p(prior / seen["rho"] ** 2)).max(axis=-1),
        "gap_bound": lost.max(axis=-1),
        "chain_breaks": np.zeros(lost.shape[:2]),
    }
    assert naive.keys() == names.BOUNDS.keys()
    for what, values in naive.items():
        np.testing.assert_allclose(found[what].mean, values[:, np.array(AT) - 1].mean(axis=0), rtol=2e-3, err_msg=what)
        np.testing.assert_allclose(found[what].final, values[:, -1], rtol=2e-3, err_msg=what)


def test_gains_never_exceed_gamma_and_regret_never_theorem_two(runs):
    for seen, at in runs.values():
        assert np.all(at["gain_sum"].final <= at["gamma"].final * (1 + 1e-5))
        if seen["ends"] is None:
            bound = np.asarray(bounds.deterministic(at["ratio_sum"].final, at["gain_sum"].final))
            assert np.all(at["regret"].final <= bound * (1 + 1e-4))
            assert np.any(at["regret"].final > 0.1 * bound)  # so that it is no empty statement


def test_the_chain_is_seen_to_break():
    """The control: a solver that plays the worst mix breaks it at every step."""

    def worst(gap, gain):
        last = jaxids.ratio.quotient(gap, gain).argmax(axis=0)
        return jaxids.ratio.Mix(last, last, 0.0 * gap[0], jaxids.ratio.quotient(gap, gain).max(axis=0))

    policy = policies.ids(jaxids.information.f, solver=worst)
    result = jaxids.simulate(BALL, policy, key=KEY, trials=4, steps=10, record=["chain_breaks"])
    assert np.all(result.series["chain_breaks"].final >= 9)


def test_own_series_may_run(runs):
    record = {
        "sum": series.summed(lambda step: step.reward),
        "highest": series.highest(lambda step: step.reward),
        "last": lambda step: step.reward,
    }
    more = {"key": KEY, "trials": TRIALS, "steps": STEPS}
    rewards = jaxids.simulate(BALL, policies.PAPER["UCB"], at=ALL, record=lambda s: s.reward, **more).recorded
    found = jaxids.simulate(BALL, policies.PAPER["UCB"], record=record, **more).series
    np.testing.assert_allclose(found["sum"].final, rewards.sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(found["highest"].final, rewards.max(axis=1))
    np.testing.assert_array_equal(found["last"].final, rewards[:, -1])
    mixed = {"sum": series.summed(lambda step: step.reward.sum() + 0 * step.reward)}
    with pytest.raises(ValueError, match=r"^sum: got .* beside other trials"):
        jaxids.simulate(BALL, policies.PAPER["UCB"], record=mixed, **more)


@pytest.mark.slow
def test_boxes_and_contexts_have_them_too():
    box = problems.continuous(domains.box([0.0], [1.0]), lambda x: jax.numpy.sin(3 * x[0]), 0.3, kernels.rbf(0.3))
    for problem, steps, trials in ((box, 4, 2), (problems.contextual(6, 2), 30, 9)):
        for name in ("W-UCB", "IDS-UCB"):
            record = list(names.BOUNDS)
            result = jaxids.simulate(
                problem, policies.PAPER[name], key=KEY, trials=trials, steps=steps, record=record
            ).series
            assert all(np.all(np.isfinite(each.final)) for each in result.values())
            assert np.all(result["gain_sum"].final <= result["gamma"].final * (1 + 1e-5))
            assert np.all(result["regret"].final <= steps * result["gap_bound"].final * (1 + 1e-4))
            assert np.all(result["chain_breaks"].final == 0)


FILE = """
trials = 40
steps = 300
points = 20
bounds = true
policies = ["UCB", "W-TS", "FW-TS", "IDS-UCB", "DIDS-UCB", "IDS-TS", "ids(f, scale=0.5)"]
problem = { actions = 8 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The results of a small experiment with bounds."""
    where = tmp_path_factory.mktemp("bounded")
    (where / "small.toml").write_text(FILE)
    command = [sys.executable, "-m", "jaxids", "run", str(where / "small.toml"), "--out", str(where / "out")]
    subprocess.run(command, check=True, capture_output=True)
    return where / "out"


@pytest.mark.slow
def test_the_page_says_how_often_and_how_loose(folder):
    (panel,) = load.load(folder).panels
    found = {each.curve.label: each for each in theory.panel_theories(panel)}
    assert [[bound.name for bound in found[name].bounds] for name in ("UCB", "FW-TS", "IDS-TS")] == [
        ["from Ψ", "from Ψ⁺", "worst case"],
        ["from Ψ", "from Ψ⁺"],
        ["from Ψ", "from Ψ⁺"],
    ]
    assert [bound.name for bound in found["ids(f, scale=0.5)"].bounds] == ["from Ψ"]
    assert found["IDS-UCB"].theorem == "Theorem 1"
    assert found["DIDS-UCB"].theorem == found["W-TS"].theorem == "Theorem 2"
    assert found["UCB"].breaks is None
    assert found["IDS-UCB"].breaks == 0
    page = (folder / "report.html").read_text()
    for each in found.values():
        values = [bound.values for bound in each.bounds]
        assert all(np.all(low <= high * (1 + 1e-4)) for low, high in itertools.pairwise(values))
        for bound in each.bounds:
            assert bound.violated(each.regret) == 0
            assert f"{bound.values[:, -1].mean():.3g}</td>" in page
            tight = bound._replace(values=bound.values / 1e4)
            assert tight.violated(each.regret) == len(each.regret)  # the control
    assert list(folder.rglob("*-bounds.png"))
    assert list(folder.rglob("*-looseness.png"))
    assert "a control that must fail" in page
    assert "was broken at 0 of 48,000 steps" in page


@pytest.mark.slow
def test_bounds_are_those_of_the_formulas(folder):
    curve = load.load(folder)["IDS-UCB"]
    each = theory.of(curve)
    read = {name: curve.read(name).astype(float) for name in names.BOUNDS}
    steps, delta = curve.steps, 0.01
    b = np.maximum(np.log1p(read["signal"]), 1)

    def theorem(ratios, gains):
        many = 2 * gains + 4 * b * np.log(2 / delta) + 8 * b * np.log(4 * b) + 1
        late = np.log(8 * np.pi**2 * steps**2 / (3 * delta) * (np.log(steps) + 1))
        return 5 / 4 * np.sqrt(ratios * many) + 4 * read["gap_bound"] * late

    beta = np.sqrt(2 * np.log(1 / delta) + read["gamma"]) + 1
    naive = [
        theorem(read["ratio_sum"], read["gain_sum"]),
        theorem(read["surrogate_sum"], read["gain_sum"]),
        theorem(4 * beta**2 * read["spread"] * steps, read["gamma"]),
    ]
    for bound, values in zip(each.bounds, naive, strict=True):
        np.testing.assert_allclose(bound.values, values, rtol=1e-5)


@pytest.mark.parametrize(
    ("policy", "expected", "chain"),
    [
        (policies.ids(information.ucb, gap=lambda band: 0.1 * band.gap), ["from Ψ"], False),
        (policies.ids(information.ucb, solver=lambda gap, gain: ratio.exact(gain, gap)), ["from Ψ", "from Ψ⁺"], True),
        (policies.ids(lambda band, source: 9 * information.f(band, source)), [], True),
        (policies.ids(information.f), ["from Ψ", "from Ψ⁺", "worst case"], True),
        (policies.ids(information.e), ["from Ψ", "from Ψ⁺"], True),
    ],
    ids=["gap", "solver", "gain", "none", "averaged"],
)
def test_what_is_of_one_s_own_has_only_the_bounds_whose_premises_it_meets(policy, expected, chain, monkeypatch):
    made = np.ones((3, 2), np.float32)
    more = {name: moments.Series(made[0], made[0], made[:, -1]) for name in names.BOUNDS}
    one = curve("own", np.ones(3), regret=made, steps=np.array([1, 9], np.int32), more=more)
    setting = one.setting | {"estimator": {"delta": 0.1, "lam": 1.0, "norm_bound": 1.0}}
    one = dataclasses.replace(one, setting=setting, read=lambda name: made)
    monkeypatch.setattr(theory.build, "policy_of", lambda setting: policy)
    found = theory.of(one)
    assert [bound.name for bound in found.bounds] == expected
    assert (found.breaks is not None) == chain


def test_an_action_that_tells_nothing_makes_an_infinite_bound_and_no_error():
    """The zero vector has no variance: its ratio is infinite, and so is the bound from then on."""
    zero = problems.linear([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.6, 0.8], 0.5)
    record = ["ratio_sum", "surrogate_sum"]
    trials = 2 * widths.tile_width(zero, "cpu")
    kept = simulate(zero, policies.epsilon_greedy(5.0), key=KEY, trials=trials, steps=20, record=record)
    assert np.isinf(kept.series["ratio_sum"].final).any()
    assert np.isinf(kept.series["ratio_sum"].mean[-1])
    assert not np.isnan(kept.series["surrogate_sum"].final).any()


@pytest.mark.slow
def test_on_a_ball_gains_are_within_gamma_and_gaps_within_their_bound():
    ball = problems.continuous(domains.ball([0.0, 0.0], 1.0), lambda x: x[0], lambda x: 0.3 + 0.2 * x[1])
    record = ["gain_sum", "gamma", "gap_bound"]
    kept = simulate(ball, policies.ucb(), key=KEY, trials=4, steps=6, at=range(1, 7), record=record).series
    assert np.all(kept["gain_sum"].mean <= kept["gamma"].mean)
    assert kept["gap_bound"].final == pytest.approx(2.0, abs=1e-4)


def test_the_docs_say_what_every_series_of_bounds_is():
    text = (Path(__file__).parents[1] / "docs" / "theory.md").read_text()
    assert all(f"| `{name}` | {means} |" in text for name, means in names.BOUNDS.items())
