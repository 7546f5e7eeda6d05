"""The NumPy simulators agree with jaxids and with each other; the command line answers what is put well and badly.

Means of final regret are compared at 4.5 joint standard errors, on fixed seeds. Were the seeds drawn anew, one of the
13 comparisons of 256 trials would fail without a fault in about 13 · 7e-6 = 1 of 10 000 runs (normal tails), and one
of the 13 of 20 trials in about 13 · 2.5e-4 = 1 of 300 (Student's t of 19 degrees of freedom).
"""

import functools
import json
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxids
from jaxids import cli, information, kernels, policies, problems, simulate
from jaxids.bench import batched, curves, loop, measure, mixes, points, scaling, searches
from jaxids.names import DELTA, LAM, NORM_BOUND, PROPOSALS, THIRTEEN

BANDIT = measure.instance(num_actions=8, dim=2)
# of the shape that the comparisons have compiled for
TINY = ["bench", "--trials", "8", "--steps", "5", "--actions", "8", "--dim", "2", "--repeats", "1"]


@functools.cache
def by_jaxids(name, steps):
    *fixed, rho_bound = BANDIT
    problem = problems.linear(*fixed, rho_bound=rho_bound)
    policy, key = policies.PAPER[name], jax.random.key(1)
    return jaxids.simulate(problem, policy, key=key, trials=256, steps=steps, at=[steps]).final


def standard_errors_apart(left, right):
    error = np.sqrt(left.var(ddof=1) / len(left) + right.var(ddof=1) / len(right))
    return abs(left.mean() - right.mean()) / error


def test_the_table_names_the_policies_and_numbers_of_the_library():
    assert list(THIRTEEN) == list(policies.PAPER)
    for name, plan in THIRTEEN.items():
        policy = policies.PAPER[name]
        assert (policy.noise == policies.known) == plan.weighted
        assert (policy.delta, policy.lam, policy.norm_bound) == (DELTA, LAM, NORM_BOUND)
    assert information.e.proposals == PROPOSALS


@pytest.mark.parametrize("name", THIRTEEN)
def test_batched_numpy_agrees_with_jaxids(name):
    final = batched.simulate(name, *BANDIT, trials=256, steps=200, seed=2)
    assert standard_errors_apart(final, by_jaxids(name, 200)) < 4.5


@pytest.mark.parametrize("name", THIRTEEN)
def test_python_loop_agrees_with_jaxids(name):
    final = loop.simulate(name, *BANDIT, trials=20, steps=100, seed=3)
    assert standard_errors_apart(final, by_jaxids(name, 100)) < 4.5


@pytest.mark.parametrize("name", THIRTEEN)
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_loop_and_batched_play_the_same_actions_on_the_same_draws(name, steps):
    # in a single trial both draw in the same order; regret is a sum of gaps that tell the actions apart
    for seed in range(3):
        one, other = (module.simulate(name, *BANDIT, 1, steps, seed) for module in (loop, batched))
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_the_exact_solver_in_numpy_finds_the_best_pair(rng):
    for _ in range(300):
        gap, gain = rng.exponential(size=20) * 10 ** rng.uniform(-2, 2, 20), rng.exponential(size=20)
        ratios = []
        for solver in (mixes.pairs, mixes.exact):
            first, second, weight = solver(gap, gain)
            mixed = [(1 - weight) * values[first] + weight * values[second] for values in (gap, gain)]
            ratios.append(mixed[0] ** 2 / mixed[1])
        assert ratios[1] == pytest.approx(ratios[0], rel=1e-9)


def test_the_loop_on_points_plays_as_jaxids_does():
    """Mean regret of 200 trials of 60 steps by both; false alarms 1e-6 (a z-test at 4.9 standard errors)."""
    x = np.linspace(0, 1, 15)
    kernel, rho, values = kernels.rbf(0.2), 0.2 + 0.3 * x, np.sin(6 * x)
    instance = points.Points(np.asarray(kernels.gram(kernel, x[:, None]), float), values, rho)
    rng = np.random.default_rng(7)
    theirs = np.array([points.trial(instance, 60, rng) for _ in range(200)])
    problem = problems.rkhs(x[:, None], values, rho, kernel)
    ours = simulate(problem, policies.PAPER["IDS-UCB"], key=jax.random.key(1), trials=200, steps=60).final
    error = np.hypot(theirs.std(ddof=1), ours.std(ddof=1)) / np.sqrt(200)
    assert abs(theirs.mean() - ours.mean()) < 4.9 * error


def test_the_kernel_benchmark_measures_all_three(capsys):
    found = points.run(count=6, trials=4, steps=10, repeats=1)
    assert set(found) >= {"rbf jaxids", "rbf loop", "matern12 jaxids", "matern12 half", "refit 10", "refit 500"}
    assert all(value > 0 for value in found.values())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 + len(points.REFIT) + 1
    dearer = [t for t in points.REFIT if found[f"refit {t}"] > found["matern12 loop"]]
    assert lines[-1].endswith(f"from t = {dearer[0]} on")


def test_searches_are_timed(capsys, monkeypatch):
    monkeypatch.setattr(searches, "OBSERVATIONS", (3,))
    monkeypatch.setattr(searches, "SEARCHES", ("W-UCB",))
    found = searches.run(repeats=1)
    assert list(found) == ["search W-UCB 3"]
    assert (
        capsys.readouterr().out
        == f"W-UCB on a square with 3 observations: {found['search W-UCB 3']:.1f} ms for one action\n"
    )


def test_the_kernel_benchmark_takes_no_sizes(capsys):
    assert cli.main(["bench", "--kernel", "--trials", "3"]) == 2
    assert "--trials: got one together with --kernel, which takes --repeats and --json only" in capsys.readouterr().err


def test_blocks_of_trials_are_whole_and_independent(monkeypatch):
    monkeypatch.setattr(batched, "BLOCK_NUMBERS", 8 * 2 * 5)
    final = batched.simulate("W-UCB", *BANDIT, trials=12, steps=20, seed=0)
    assert final.shape == (12,)
    first = batched.simulate("W-UCB", *BANDIT, trials=5, steps=20, seed=0)
    np.testing.assert_array_equal(final[:5], first)


def test_numpy_pairs_find_the_minimum_of_the_ratio():
    rng = np.random.default_rng(0)
    gap, gain = rng.random((50, 6)), rng.random((50, 6)) ** 3
    first, second, weight = mixes.pairs(gap, gain)
    rows = np.arange(50)
    probs = np.zeros((50, 6))
    np.add.at(probs, (rows, first), 1 - weight)
    np.add.at(probs, (rows, second), weight)
    found = (probs * gap).sum(1) ** 2 / (probs * gain).sum(1)
    t = np.geomspace(1e-3, 1e6, 20001)[:, None, None]  # the dual: min Ψ = max_t min_k 2tΔ_k − t²g_k
    dual = (2 * t * gap - t**2 * gain).min(axis=-1).max(axis=0)
    assert np.all(found >= dual * (1 - 1e-12))
    np.testing.assert_allclose(found, dual, rtol=1e-3)


def test_mixes_of_no_information_play_the_least_gap():
    gap, gain = np.array([[3.0, 1.0, 2.0]]), np.zeros((1, 3))
    for solver in (mixes.pairs, mixes.single):
        first, second, weight = solver(gap, gain)
        assert np.where(weight == 0, first, second) == 1


def parse(output):
    headline, columns, *rows = output.splitlines()
    about = dict(part.split("=", 1) for part in headline.split() if "=" in part)
    return about, columns, {row.split()[0]: row.split()[1:] for row in rows}


def test_bench_prints_a_row_for_every_policy_asked(capsys, tmp_path):
    asked = ["UCB", "IDS-UCB"]
    assert cli.main([*TINY, "--policies", *asked, "--json", str(tmp_path / "times.json")]) == 0
    about, columns, rows = parse(capsys.readouterr().out)
    assert (about["K"], about["d"], about["trials"], about["steps"]) == ("8", "2", "8", "5")
    assert about["jax"] == jax.__version__
    assert columns.split()[0] == "policy"
    assert list(rows) == asked
    assert rows["UCB"][1] == "–"
    for cells in rows.values():
        assert len(cells) == 7
        assert all(float(cell.rstrip("×")) > 0 for cell in cells if cell != "–")
    assert "–" not in rows["IDS-UCB"]
    written = json.loads((tmp_path / "times.json").read_text())
    assert [row["policy"] for row in written["rows"]] == asked
    factor = written["rows"][1]["loop"] / written["rows"][1]["jaxids"]
    assert float(rows["IDS-UCB"][5].rstrip("×")) == pytest.approx(factor, rel=0.01)


def test_numbers_on_standard_output_come_alone(capsys):
    assert cli.main([*TINY, "--policies", "UCB", "--skip-baselines", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert [row["policy"] for row in json.loads(said.out)["rows"]] == ["UCB"]
    assert list(parse(said.err)[2]) == ["UCB"]


def test_numbers_of_kernels_on_standard_output_come_alone(capsys, monkeypatch):
    monkeypatch.setattr(points, "run", lambda **_: print("points") or {"a": 1.0})
    monkeypatch.setattr(searches, "run", lambda _: print("searches") or {"b": 2.0})
    assert cli.main(["bench", "--kernel", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"a": 1.0, "b": 2.0}
    assert said.err == "points\nsearches\n"


def test_bench_without_baselines_leaves_their_columns_empty(capsys):
    assert cli.main([*TINY, "--policies", "W-UCB", "--skip-baselines"]) == 0
    _, _, rows = parse(capsys.readouterr().out)
    assert rows["W-UCB"][1:6] == ["–"] * 5


@pytest.mark.parametrize(("arguments", "expected"), [(["--help"], "bench"), (["bench", "--help"], "--trials")])
def test_help(capsys, arguments, expected):
    assert cli.main(arguments) == 0
    assert expected in capsys.readouterr().out


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxids {jaxids.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bench", "--policies", "IDS-UBC"], ["--policies", "'IDS-UBC'", "nearest: IDS-UCB"]),
        (["bench", "--policies", "ids-ts"], ["--policies", "'ids-ts'", "nearest: IDS-TS"]),
        (["bench", "--policies", "greedy"], ["--policies", "'greedy'", "DIDS-E"]),
        (["bench", "--trials", "0"], ["--trials", "'0'", "a whole number ≥ 1"]),
        (["bench", "--steps", "-5"], ["--steps", "'-5'", "a whole number ≥ 1"]),
        (["bench", "--actions", "3.5"], ["--actions", "'3.5'", "a whole number ≥ 1"]),
        (["bench", "--dim", "²"], ["--dim", "'²'", "a whole number ≥ 1"]),
        (["bench", "--repeats", "many"], ["--repeats", "'many'", "a whole number ≥ 1"]),
        (["bench", "--repeats"], ["--repeats", "expected one argument"]),
        (["bench", "--json", "/no/such/folder/x.json"], ["--json", "/no/such/folder", "a file in a folder"]),
        (["bench", "--trial", "3"], ["--trial", "unrecognized"]),
        (["brench"], ["COMMAND", "'brench'", "bench"]),
        ([], ["COMMAND", "required"]),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys, arguments, expected):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("jaxids")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    for part in expected:
        assert part in captured.err


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "jaxids: interrupted\n"),
        (ValueError("rho: got 0;\nit takes numbers > 0"), 2, "jaxids: rho: got 0; it takes numbers > 0\n"),
    ],
)
def test_what_a_command_raises_ends_in_one_line(capsys, monkeypatch, raised, code, said):
    def fail(*_):
        raise raised

    monkeypatch.setattr(measure, "run", fail)
    assert cli.main(["bench"]) == code
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("arguments", [["--help"], ["bench", "--help"]])
def test_the_command_line_itself_imports_no_numbers_and_no_figures(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "jaxids", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "jaxids" in imported
    assert not {"jax", "jaxlib", "matplotlib", "numpy", "scipy"} & imported


def test_scaling_is_measured_drawn_and_written(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "SECONDS", 0.01)
    monkeypatch.setattr(scaling, "sizes", lambda: [(2, 8), (16, 8), (16, 20), (16, 10**9)])
    plot, numbers = tmp_path / "scaling.png", tmp_path / "times.json"
    arguments = ["--policies", "W-UCB", "--repeats", "1", "--plot", str(plot), "--json", str(numbers)]
    assert cli.main(["bench", "--scaling", *arguments]) == 0
    _, columns, *rows = capsys.readouterr().out.splitlines()
    assert columns.split() == ["policy", "d", "K", "width", "step", "µs", "compile", "s"]
    assert [tuple(row.split()[1:3]) for row in rows[:3]] == [("2", "8"), ("16", "8"), ("16", "20")]
    assert rows[3].startswith("d = 16, K = 1000000000 is left out: it takes about")
    assert plot.read_bytes().startswith(b"\x89PNG")
    written = json.loads(numbers.read_text())
    assert [(row["dim"], row["actions"]) for row in written["rows"]] == [(2, 8), (16, 8), (16, 20)]
    assert all(row["step"] > 0 and row["compile"] > 0 for row in written["rows"])
    assert [(each["d"], each["K"]) for each in written["skipped"]] == [(16, 10**9)]


def test_the_curves_show_both_times_over_both_sizes():
    sizes = [(2, 100), (20, 100), (200, 100), (20, 10), (20, 1000)]
    figure = curves.figure([scaling.Row("W-UCB", d, k, 8, d * k / 100, 5.0) for d, k in sizes], {})
    over_d, over_k, *_ = figure.axes
    assert [axes.get_title() for axes in (over_d, over_k)] == ["K = 100", "d = 20"]
    np.testing.assert_array_equal(over_d.lines[0].get_xydata(), [(2, 2), (20, 20), (200, 200)])
    np.testing.assert_array_equal(over_k.lines[0].get_xydata(), [(10, 2), (100, 20), (1000, 200)])
    np.testing.assert_allclose(over_d.lines[1].get_xydata(), [(2, 2), (200, 200)])  # the guide


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plot", "a.png"], "--plot: got one without --scaling"),
        (["--fresh"], "--fresh: got one without --scaling"),
        (["--scaling", "--trials", "3"], "--trials: got one together with --scaling"),
        (["--scaling", "--kernel"], "--kernel: got it together with --scaling"),
        (["--scaling", "--plot", "a.txt"], "a.txt; it takes a name that ends in .png or .pdf"),
    ],
)
def test_scaling_takes_what_it_is_about(capsys, arguments, said):
    assert cli.main(["bench", *arguments]) == 2
    assert said in capsys.readouterr().err
