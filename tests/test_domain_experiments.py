"""Experiment files on boxes, balls and in changing contexts."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

from jaxids import cli, domains, load, problems, simulate
from jaxids.experiment import again, build, read
from jaxids.problems import functions

ROOT = Path(__file__).parents[1]
BOX = "kind = 'box', low = [-1, 0], high = [1, 3], function = 'x1 + x2', rho = 0.5"
BALL = "kind = 'ball', centre = [1, 2], function = 'ackley', rho = '0.1 + x1**2', kernel = 'rbf(0.3)'"
SMALL = """
policies = POLICIES
trials = 9
steps = 5
seed = 3
record = ["simple_regret"]
problem = { kind = "box", low = [0.0], high = [2.0], function = "sin(3 * x1)", rho = "0.1 + x1", kernel = "rbf(0.4)" }
watch = { curves = POLICIES, steps = [1, 3, 5], trial = 8 }
"""


def settings(tmp_path, problem, more=""):
    (tmp_path / "some.toml").write_text(f"policies = ['UCB']\nproblem = {{ {problem} }}\n{more}")
    return read.read(tmp_path / "some.toml").cells[0].setting


def test_boxes_and_balls_are_read(tmp_path):
    box = settings(tmp_path, BOX)["problem"]
    given = {"low": [-1.0, 0.0], "high": [1.0, 3.0], "function": "x1 + x2", "rho": 0.5}
    assert box == {"kind": "box", "noise": "gaussian", **given}
    ball = settings(tmp_path, BALL)["problem"]
    assert (ball["centre"], ball["radius"], ball["kernel"]) == ([1.0, 2.0], 1.0, "rbf(0.3)")
    assert "sigma" not in ball
    assert settings(tmp_path, BALL, "grid.kernel = ['rbf(1)', 'linear()']")["problem"]["kernel"] == "rbf(1)"


def test_contexts_have_no_instance(tmp_path):
    still, moving = settings(tmp_path, "dim = 2"), settings(tmp_path, "dim = 2, contexts = true")
    assert (still["problem"]["contexts"], still["problem"]["instance"]) == (False, "fresh")
    assert moving["problem"]["contexts"]
    assert "instance" not in moving["problem"]


@pytest.mark.parametrize(
    ("problem", "more", "said"),
    [
        (BOX, "pulls = true", "pulls: got true together with kind = 'box'; it takes actions to be counted"),
        ("contexts = true", "pulls = true", "pulls: got true together with contexts = true, where actions are new"),
        ("contexts = true, sigma = 2", "", r"problem\.sigma: got 2\.0 together with contexts = true"),
        ("contexts = true, probes = 0.1", "", r"problem\.probes: got 0\.1 together with contexts = true"),
        ("contexts = true, instance = 3", "", r"problem\.instance: got 3 together with contexts = true"),
        ("contexts = 1", "", r"problem\.contexts: got 1; it takes true or false"),
        (f"{BOX}, sigma = 1", "", r"problem\.sigma: unknown key"),
        (f"{BALL}, probes = 1", "", r"problem\.probes: unknown key"),
        (f"{BOX}, instance = 1", "", r"problem\.instance: unknown key"),
        (f"{BOX}, contexts = true", "", r"problem\.contexts: unknown key"),
        (
            BOX.replace("[1, 3]", "[1]"),
            "",
            r"problem\.high: got \[1\.0\]; it takes a number above each of low = \[-1\.0, 0",
        ),
        (
            BOX.replace("[1, 3]", "[1, 0]"),
            "",
            r"problem\.high: got \[1\.0, 0\.0\]; it takes a number above each of low",
        ),
        (BOX.replace("[1, 3]", "1"), "", r"problem\.high: got 1; it takes a list of 1 to 9 numbers"),
        (f"{BOX}, maximum = 'high'", "", r"problem\.maximum: got .*high.*; it takes a number"),
        (f"{BALL}, radius = 0", "", r"problem\.radius: got 0; it takes a number > 0"),
        (f"{BALL}, capacity = 0", "", r"problem\.capacity: got 0; it takes a whole number"),
        ("kind = 'box', low = [0]", "", r"problem\.function: missing"),
        (BOX.replace("x1 + x2", "rbf(1)"), "", r"problem\.function: got 'rbf\(1\)'; it takes one of forrester"),
        (BOX, "compare = [['UCB', 'UCB']]", "compare: got"),
        (
            "contexts = true",
            "watch = { curves = ['UCB'], steps = [1] }",
            r"watch\.curves: got 'UCB'; it takes curves on",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path, problem, more, said):
    with pytest.raises(ValueError, match=rf"some\.toml: {said}"):
        settings(tmp_path, problem, more)


def test_curves_in_contexts_cannot_be_compared_instance_by_instance(tmp_path):
    (tmp_path / "some.toml").write_text("policies = ['UCB', 'TS']\ncompare = [['UCB', 'TS']]\nproblem.contexts = true")
    with pytest.raises(ValueError, match=r"compare: got .* is 'fresh'"):
        read.read(tmp_path / "some.toml")


@pytest.mark.parametrize("name", ["box", "contexts"])
def test_the_shipped_ones_have_all_thirteen(name):
    experiment = read.read(ROOT / "experiments" / f"{name}.toml")
    assert len(experiment.cells) == 13


def test_problems_are_those_of_the_library(tmp_path, x64):
    box = build.problem_of(settings(tmp_path, BOX.replace("'x1 + x2'", "'branin'"))["problem"])
    point = jax.numpy.array([0.2, 0.6])
    assert box.draw(jax.random.key(0)).mean_of(point) == pytest.approx(functions.branin(jax.numpy.array([0.6, 0.2])))
    ball = build.problem_of(settings(tmp_path, BALL)["problem"]).draw(jax.random.key(0))
    assert ball.rho_of(point) == pytest.approx(0.14)
    assert float(ball.losses()) == pytest.approx(0, abs=1e-3)  # Ackley's maximum, in the middle
    moving = build.problem_of(settings(tmp_path, "dim = 2, actions = 4, contexts = true")["problem"])
    expected = problems.contextual(num_actions=4, dim=2, rho=(0.1, 1.0))
    assert jax.tree.structure(moving) == jax.tree.structure(expected)
    assert jax.tree.all(jax.tree.map(np.array_equal, moving, expected))


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (BOX.replace("x1 + x2", "x1 + x3"), "problem.function: got 'x1 + x3'; with dim = 2 it takes no coordinate"),
        (BOX.replace("x1 + x2", "forrester"), "problem.function: got 'forrester'; u: got a point of dim 2"),
        (BOX.replace("0.5", "'x1'"), "problem.rho: got"),
        (f"{BOX}, maximum = 3.5", "problem.maximum: got 3.5; it takes a number ≥ 4, which was found"),
        (f"{BALL}, rho_bound = 0.01", "problem.rho_bound: got 0.01; it takes a number ≥"),
        ("contexts = true, theta = [1.0]", "problem.theta: got"),
    ],
)
def test_what_cannot_be_built_names_the_key(tmp_path, problem, said, capsys):
    (tmp_path / "some.toml").write_text(f"policies = ['UCB']\nproblem = {{ {problem} }}")
    assert cli.main(["run", str(tmp_path / "some.toml"), "--out", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"jaxids: {tmp_path}/some.toml: {said}")
    assert line.count("\n") == 1


@pytest.fixture(scope="module")
def finished(tmp_path_factory, at_scale):
    folder = tmp_path_factory.mktemp("box")
    (folder / "small.toml").write_text(SMALL.replace("POLICIES", '["W-UCB", "IDS-UCB"]' if at_scale else '["W-UCB"]'))
    assert cli.main(["run", str(folder / "small.toml"), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_a_run_on_a_box_is_that_of_simulate(finished):
    curve = load(finished)["W-UCB"]
    setting = curve.setting
    problem, policy = build.problem_of(setting["problem"]), build.policy_of(setting)
    options = {"key": jax.random.key(3), "trials": 9, "steps": 5, "record": ["simple_regret"]}
    result = simulate(problem, policy, **options)
    assert np.array_equal(curve.final, result.final)
    assert np.array_equal(curve.series["simple_regret"].final, result.series["simple_regret"].final)


@pytest.mark.parametrize("name", ["W-UCB", pytest.param("IDS-UCB", marks=pytest.mark.slow)])
def test_what_is_watched_on_a_box_is_what_was_played(finished, name):
    """The choice is that of the surfaces shown, as near as the grid is to it."""
    curve = load(finished)[name]
    seen = again.watch(curve.setting, 8, [1, 3, 5])
    assert seen.points.shape == (200, 1)
    assert np.allclose(seen.values, np.sin(3 * seen.points[:, 0]), atol=1e-5)
    assert np.allclose(seen.rho, 0.1 + seen.points[:, 0], atol=1e-5)
    for i in range(3):
        upper = seen.mean[i] + seen.radius[i]
        assert np.allclose(seen.gap[i], upper.max() - seen.mean[i] + seen.radius[i], atol=0.02)
        if name == "W-UCB":
            assert upper[seen.action[i]] > upper.max() - 0.02
        else:
            mix = [
                (1 - seen.weight[i]) * part[i][seen.ends[i][0]] + seen.weight[i] * part[i][seen.ends[i][1]]
                for part in (seen.gap, seen.gain)
            ]
            assert seen.ratio[i] == pytest.approx(mix[0] ** 2 / mix[1], rel=0.05)
    html = (finished / "report.html").read_text()
    assert re.search(rf'alt="small-{name}-along"', html)


@pytest.mark.slow
def test_a_disc_is_watched_inside(tmp_path):
    setting = settings(tmp_path, BALL, "steps = 2") | {"policy": "UCB"}
    points = again.watch(setting, 0, [2]).points
    assert np.all(np.linalg.norm(points - [1, 2], axis=1) <= 1 + 1e-5)
    assert len(points) > 1000


def test_contexts_run_from_a_file(tmp_path):
    text = "policies = ['UCB', 'IDS-TS']\ntrials = 6\nsteps = 7\nproblem = { dim = 2, actions = 4, contexts = true }"
    (tmp_path / "some.toml").write_text(text)
    assert cli.main(["run", str(tmp_path / "some.toml"), "--out", str(tmp_path / "out")]) == 0
    curve = load(tmp_path / "out")["IDS-TS"]
    problem = problems.contextual(num_actions=4, dim=2, rho=(0.1, 1.0))
    result = simulate(problem, build.policy_of(curve.setting), key=jax.random.key(0), trials=6, steps=7)
    assert np.array_equal(curve.final, result.final)


def test_domains_of_tables():
    box = build.domain_of({"kind": "box", "low": [0.0, 1.0], "high": [1.0, 2.0]})
    assert isinstance(box, domains.Box)
    ball = build.domain_of({"kind": "ball", "centre": [0.0, 1.0], "radius": 2.0})
    assert (isinstance(ball, domains.Ball), float(ball.radius)) == (True, 2.0)
    low, high = build.corners_of({"kind": "ball", "centre": [0.0, 1.0], "radius": 2.0})
    assert (low.tolist(), high.tolist()) == ([-2.0, -1.0], [2.0, 3.0])


WAVE = "sin(3 * x1) * x2"
WAVES = """
policies = ["W-UCB"]
trials = 8
steps = 2
problem = { kind = "box", low = [0, 0], high = [1, 1], function = "FUNCTION", rho = 0.1, kernel = "rbf(0.4)" }
"""


@pytest.fixture(scope="module")
def spiked(tmp_path_factory):
    """A file whose function has, where a second step is played, a spike too narrow to be found."""
    path = tmp_path_factory.mktemp("spiked") / "some.toml"
    path.write_text(WAVES.replace("FUNCTION", WAVE))
    setting = read.read(path).cells[0].setting
    options = {"key": jax.random.key(0), "trials": 8, "steps": 2, "record": lambda step: step.choice.action}
    result = simulate(build.problem_of(setting["problem"]), build.policy_of(setting), **options)
    second = np.asarray(result.recorded)[:, -1].astype(float)
    x, y = second[np.argmax(np.all(np.abs(second - 0.5) < 0.45, axis=1))]  # inside, where no search begins
    return WAVES.replace("FUNCTION", f"{WAVE} + 3 * exp(-((x1 - {x})**2 + (x2 - {y})**2) / 1e-9)")


@pytest.mark.parametrize(
    ("maximum", "code"),
    [("", 2), pytest.param(", maximum = 1.5", 2, marks=pytest.mark.slow), (", maximum = 4", 0)],
)
def test_a_maximum_that_was_missed_is_one_line(spiked, tmp_path, maximum, code, capsys):
    (tmp_path / "some.toml").write_text(spiked.replace(" }", f"{maximum} }}"))
    assert cli.main(["run", str(tmp_path / "some.toml"), "--out", str(tmp_path / "out")]) == code
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(("some W-UCB", "drawing"))]
    assert len(lines) == (code > 0)
    if code:
        said = "problem: a point is better than .* found or given, at step 2 of trial .; it takes .* as `maximum`"
        assert re.fullmatch(f"jaxids: some W-UCB: {said}", lines[0])
    else:
        assert load(tmp_path / "out")["W-UCB"].final.min() > 4  # two steps, the first at 0, and none at 4
