"""Experiment files on points with a kernel: the problems they name, simple regret, and one trial watched closely."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxids import cli, kernels, load, policies, series, simulate
from jaxids.experiment import read
from jaxids.experiment.watch import watch
from jaxids.plot import along
from jaxids.problems import functions

ROOT = Path(__file__).parents[1]
SMALL = """
policies = ["UCB", "IDS-UCB"]
trials = 70
steps = 30
seed = 4
simple = true
problem = { kind = "function", function = "motorcycle", per_side = 20, rho = "motorcycle_noise", kernel = "rbf(0.1)" }
watch = { curves = ["IDS-UCB", "UCB"], steps = [1, 2, 3, 4, 30], trial = 66 }
"""


KEY = jax.random.key(2)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "small.toml").write_text(SMALL)
    assert cli.main(["run", str(folder / "small.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_simple_regret_is_that_of_the_highest_estimate_after_the_step(x64):
    """Against the posterior of the paper's direct formula from all rewards of a trial."""
    problem = functions.on_grid(functions.motorcycle, kernels.rbf(0.1), 0.3, dim=1, per_side=12)
    policy, options = policies.PAPER["W-TS"], {"key": KEY, "trials": 3, "steps": 15, "at": range(1, 16)}
    played = simulate(problem, policy, record=lambda step: (step.choice.action, step.reward), **options).recorded
    simple = simulate(problem, policy, record=series.simple_regret, **options).recorded
    gram, f = np.asarray(problem.instance.features.T @ problem.instance.features), np.asarray(problem.instance.mean)
    for trial, (actions, rewards) in enumerate(zip(*played, strict=True)):
        for t in range(1, 16):
            a = actions[:t]
            mean = gram[:, a] @ np.linalg.solve(gram[np.ix_(a, a)] + 0.09 * np.eye(t), rewards[:t])
            assert simple[trial, t - 1] == pytest.approx(f.max() - f[np.argmax(mean)], abs=1e-9)


def test_simple_regret_is_kept_shown_and_exported(finished, capsys):
    for curve in load(finished):
        every = curve.read("simple").astype(float)
        assert every.shape == (70, len(curve.steps))
        assert np.allclose(curve.simple, every.mean(axis=0), rtol=1e-5)
        assert np.allclose(curve.simple_stderr, every.std(axis=0, ddof=1) / np.sqrt(70))
        assert np.array_equal(curve.of_simple.mean, curve.simple)
    assert "simple regret" in (finished / "report.html").read_text()
    assert (finished / "small" / "small-simple-loglog.png").exists()
    assert cli.main(["plot", str(finished), "--simple"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("small-simple.png")
    assert cli.main(["export", str(finished)]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.endswith("step,mean,stderr,simple,simple_stderr")
    assert float(first.split(",")[-2]) == pytest.approx(load(finished)["UCB"].simple[0])
    assert "simple" in load(finished).dataset()
    assert "simple" in load(finished).frame()


@pytest.mark.parametrize("name", ["IDS-UCB", "UCB"])
def test_the_trial_watched_is_the_one_of_the_run(finished, name):
    """Its actions give the stored regret, and what is shown fits together."""
    curve = load(finished)[name]
    seen = watch(curve.setting, 66, [1, 2, 3, 4, 30, 99])
    assert seen.steps.tolist() == [1, 2, 3, 4, 30]
    regret = curve.regret[66, np.searchsorted(curve.steps, [1, 2, 3, 4])]
    assert np.allclose(np.cumsum(seen.values.max() - seen.values[seen.action])[:4], regret, rtol=1e-5)
    assert np.allclose(seen.gap, (seen.mean + seen.radius).max(axis=1)[:, None] - seen.mean + seen.radius, rtol=1e-4)
    if name == "UCB":
        assert seen.gain is None
        assert np.array_equal(seen.action, np.argmax(seen.mean + seen.radius, axis=1))
        return
    pair, weight = seen.ends, seen.weight[:, None]
    gap, gain = (np.take_along_axis(part, pair, axis=1).astype(float) for part in (seen.gap, seen.gain))
    shares = np.concatenate([1 - weight, weight], axis=1)
    assert np.allclose(seen.ratio, np.sum(shares * gap, axis=1) ** 2 / np.sum(shares * gain, axis=1), rtol=1e-4)
    assert np.all(np.any(seen.action[:, None] == pair, axis=1))


def test_figures_along_x_show_every_quantity_at_every_step(finished):
    curve = load(finished)["IDS-UCB"]
    figure = along.figure(watch(curve.setting, 0, [2, 20]), "so")
    axes = np.array(figure.axes).reshape(5, 2)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["posterior", "noise ρ", "gap Δ⁺", "gain I", "ratio Ψ"]
    assert [ax.get_title() for ax in axes[0]] == ["step 2", "step 20"]
    assert all(len(ax.lines) >= 2 for ax in axes.flat)
    for name in ("small-IDS-UCB-along", "small-UCB-along"):
        assert (finished / "small" / f"{name}.pdf").exists()
        assert f'alt="{name}"' in (finished / "report.html").read_text()


@pytest.mark.parametrize("shuffled", [False, True])
def test_maps_show_a_grid_in_its_order(shuffled, rng):
    """Points in any order give the same map."""
    points = functions.grid(2, 4) * [1, 2]
    order = rng.permutation(16) if shuffled else np.arange(16)
    table = {"kind": "rkhs", "points": points[order].tolist(), "values": points[order, 0].tolist(), "rho": "0.1 + x2"}
    setting = {"problem": {**table, "kernel": "rbf(0.4)", "noise": "gaussian"}, "policy": "IDS-F", "seed": 0}
    setting |= {"steps": 3, "estimator": {"delta": 0.01, "lam": 1.0, "norm_bound": 1.0}}
    figure = along.figure(watch(setting, 0, [3]), "so")
    noise = next(ax for ax in figure.axes if ax.get_ylabel().startswith("noise"))
    expected = np.tile(0.1 + np.linspace(0, 2, 4)[:, None], (1, 4))
    assert np.allclose(np.asarray(noise.collections[0].get_array()).reshape(4, 4), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("watched", "said"),
    [
        ('curves = ["IDS"], steps = [1]', "watch.curves: no curve is called 'IDS'; nearest: IDS-UCB"),
        ('curves = ["UCB"], steps = [2, 1]', "watch.steps: got .2, 1.; it takes a list of steps, increasing"),
        ('curves = ["UCB"], steps = [0]', "watch.steps: got"),
        ('curves = ["UCB"], steps = [31]', "watch.steps: got .31.; it takes steps up to 30"),
        ('curves = ["UCB"]', "watch.steps: missing"),
        ('curves = ["UCB"], steps = [1], trial = -1', "watch.trial: got -1"),
        ('curves = ["UCB"], steps = [1], trial = 70', "watch.trial: got 70; it takes one below trials = 70"),
    ],
)
def test_slips_in_what_to_watch_are_answered(tmp_path, watched, said):
    (tmp_path / "a.toml").write_text(re.sub(r"watch = .*", f"watch = {{ {watched} }}", SMALL))
    with pytest.raises(ValueError, match=said):
        read.read(tmp_path / "a.toml")


def test_only_points_can_be_watched(tmp_path):
    text = re.sub(r"problem = .*", "problem = { dim = 2 }", SMALL)
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(
        ValueError, match=r"watch.curves: got 'IDS-UCB'; it takes curves on points in one or two dimens"
    ):
        read.read(tmp_path / "a.toml")
