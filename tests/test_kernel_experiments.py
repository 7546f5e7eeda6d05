"""Experiment files on points with a kernel: the problems they name, series, and one trial watched closely."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxids import cli, kernels, load, names, policies, series, simulate
from jaxids.experiment import build, read, schema
from jaxids.experiment.again import watch
from jaxids.plot import along
from jaxids.problems import functions

ROOT = Path(__file__).parents[1]
SMALL = """
policies = ["UCB", "IDS-UCB"]
trials = 70
steps = 30
seed = 4
record = ["simple_regret", "ratio", "gain", "beta", "information"]
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


def test_series_are_those_of_simulate(finished):
    """Whatever has a name in `names.SERIES`, at the same steps."""
    for curve in load(finished):
        assert list(curve.series) == ["regret", *names.SERIES]
        problem, policy = build.problem_of(curve.setting["problem"]), build.policy_of(curve.setting)
        options = {"key": jax.random.key(4), "trials": 70, "steps": 30, "record": list(names.SERIES)}
        result = simulate(problem, policy, **options)
        assert np.array_equal(result.steps, curve.steps)
        for name, kept in curve.series.items():
            every = curve.read(name).astype(float)
            assert every.shape == (70, len(curve.steps))
            assert np.array_equal(kept.final, every[:, -1])
            assert np.array_equal(kept.final, result.series[name].final)
            assert np.allclose(kept.mean, every.mean(axis=0), rtol=1e-5)
            assert np.allclose(kept.stderr, every.std(axis=0, ddof=1) / np.sqrt(70), rtol=1e-5, atol=1e-7)
            assert np.array_equal(curve.of(name).mean, kept.mean)


def test_every_series_is_shown_and_exported(finished, capsys):
    html, curve = (finished / "report.html").read_text(), load(finished)["UCB"]
    for name in names.SERIES:
        assert f"<th colspan='2'>{name.replace('_', ' ')}</th>" in html
        assert re.search(rf'alt="small-{name}(-loglog)?"', html)
    assert f"<td class='number'>{curve.series['beta'].mean[-1]:.3g}</td>" in html
    assert cli.main(["plot", str(finished), "--series", "simple_regret"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("small-simple_regret.png")
    assert cli.main(["export", str(finished)]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    columns = [f"{name}{end}" for name in names.SERIES for end in ("", "_stderr")]
    assert head.split(",")[3:] == ["step", "mean", "stderr", *columns]
    assert float(first.split(",")[6]) == pytest.approx(curve.series["simple_regret"].mean[0])
    assert cli.main(["export", str(finished), "--finals"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.split(",")[3:] == ["trial", "regret", *names.SERIES]
    assert float(first.split(",")[-1]) == pytest.approx(curve.series["information"].final[0])
    assert {f"{name}{end}" for name in names.SERIES for end in ("", "_stderr", "_final")} < set(
        load(finished).dataset()
    )
    assert set(columns) < set(load(finished).frame())


def test_names_of_series_are_no_other_columns_and_arrays():
    """A grid over a key makes a column of its name."""
    taken = {
        *schema.TOP,
        *schema.ESTIMATOR,
        *schema.SECTIONS["problem"],
        *schema.CURVES,
        "experiment",
        "policy",
        "label",
    }
    taken |= {"regret", "mean", "stderr", "final", "step", "trial", "cell"}
    assert not taken & set(names.SERIES | names.BOUNDS)
    assert set(series.NAMED) == set(names.SERIES | names.BOUNDS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "record = ['simple']",
            "record: got .*; it takes a list of simple_regret, .*; 'simple' is none of them, nearest: simple",
        ),
        ("record = ['ratio', 'ratio']", "record: got .*, none twice"),
        ("record = 'ratio'", "record: got 'ratio'; it takes a list"),
        ("simple = true", "simple: unknown key; nearest: "),
    ],
)
def test_series_that_there_are_not_are_named(tmp_path, text, said):
    (tmp_path / "some.toml").write_text(f"policies = ['UCB']\n{text}")
    with pytest.raises(ValueError, match=said):
        read.read(tmp_path / "some.toml")


def test_the_order_of_series_makes_no_other_cell(tmp_path):
    settings = []
    for record in (["beta", "ratio"], ["ratio", "beta"]):
        (tmp_path / "some.toml").write_text(f"policies = ['UCB']\nrecord = {record}")
        settings.append(read.read(tmp_path / "some.toml").cells[0].setting)
    assert settings[0] == settings[1]


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
        ValueError, match=r"watch.curves: got 'IDS-UCB'; it takes curves on points, a box or a ball in one or"
    ):
        read.read(tmp_path / "a.toml")
