"""Experiment files: what they unfold into, and that every slip is one line that names file, key and what would do."""

import os
import re
import time
from pathlib import Path

import pytest

from jaxids import cli
from jaxids.experiment import claims, read, schema
from jaxids.experiment.keys import in_words
from jaxids.experiment.load import RECORD

ROOT = Path(__file__).parent.parent
GRID = """
policies = ["UCB", "TS"]
[problem]
rho = 0.5
[estimator]
lam = 2.0
[grid]
delta = [0.01, 0.1]
problem.dim = [2, 3, 4]
[[curves]]
label = "{policy}-{rho}"
policies = ["UCB"]
grid.rho = [1.0, 1.5]
[[curves]]
policies = ["IDS-UCB"]
estimator.lam = 3.0
grid.sigma = [2.0]
"""


def unfolded(tmp_path, text, changes=None):
    path = tmp_path / "some.toml"
    path.write_text(text)
    return read.read(path, changes)


def test_grids_unfold_into_panels_and_curves(tmp_path):
    cells = unfolded(tmp_path, GRID).cells
    labels = ["UCB", "TS", "UCB-1", "UCB-1.5", "IDS-UCB, sigma = 2"]
    assert [cell.label for cell in cells] == labels * 6
    assert [cell.panel for cell in cells[::5]] == [{"delta": a, "dim": d} for a in (0.01, 0.1) for d in (2, 3, 4)]
    last = cells[-1].setting
    assert last["policy"] == "IDS-UCB"
    assert last["estimator"] == {"delta": 0.1, "lam": 3.0, "norm_bound": 1.0}
    assert {key: last["problem"][key] for key in ("kind", "dim", "rho", "sigma")} == {
        "kind": "unit ball",
        "dim": 4,
        "rho": 0.5,
        "sigma": 2.0,
    }
    assert "sigma" not in cells[0].setting["problem"]
    assert cells[0].setting["estimator"]["lam"] == 2.0


def test_values_can_be_changed(tmp_path):
    changes = {"trials": 7, "lam": 0.5, "problem.actions": 9, "grid.delta": [0.2], "steps": 3}
    experiment = unfolded(tmp_path, GRID, changes)
    assert experiment.table["trials"] == 7
    setting = experiment.cells[0].setting
    assert (setting["steps"], setting["problem"]["actions"], setting["estimator"]["lam"]) == (3, 9, 0.5)
    assert {cell.panel["delta"] for cell in experiment.cells} == {0.2}
    assert experiment.cells[-1].setting["estimator"]["lam"] == 0.5  # also where the curve had its own


def test_until_is_of_the_experiment_and_of_no_cell(tmp_path):
    plain = unfolded(tmp_path, "policies = ['UCB']")
    until = unfolded(tmp_path, "policies = ['UCB']\nuntil = { stderr = 1 }")
    assert (plain.table["until"], plain.table["trials"]) == ({}, 500)
    assert (until.table["until"], until.table["trials"]) == ({"stderr": 1.0, "least": 1024}, 1_000_000)
    assert until.cells == plain.cells  # finished tiles serve either way
    given = unfolded(tmp_path, "policies = ['UCB']\ntrials = 7\nuntil = { stderr = 0.5, least = 2 }")
    assert (given.table["until"], given.table["trials"]) == ({"stderr": 0.5, "least": 2}, 7)
    changed = unfolded(tmp_path, "policies = ['UCB']", {"until": {"stderr": 0.1}, "trials": 5})
    assert (changed.table["until"]["stderr"], changed.table["trials"]) == (0.1, 5)


def test_a_grid_is_changed_where_the_file_has_it(tmp_path):
    cells = unfolded(tmp_path, GRID, {"grid.rho": [0.8], "grid.norm_bound": [1, 2]}).cells
    assert [cell.label for cell in cells[:4]] == ["UCB", "TS", "UCB-0.8", "IDS-UCB, sigma = 2"]
    assert {tuple(cell.panel) for cell in cells} == {("delta", "dim", "norm_bound")}


def test_whole_and_real_numbers_are_the_same_setting(tmp_path):
    one, other = (unfolded(tmp_path, f"policies = ['UCB']\nestimator.lam = {lam}").cells for lam in ("2", "2.0"))
    assert repr(one) == repr(other)


@pytest.mark.parametrize("name", ["..", ".", "report.html", "a" * 101, "a~b"])
def test_a_name_that_cannot_be_a_folder_of_results_is_refused(tmp_path, name):
    (tmp_path / f"{name}.toml").write_text("policies = ['UCB']")
    with pytest.raises(ValueError, match="the name serves for a folder of results"):
        read.read(tmp_path / f"{name}.toml")


def test_every_experiment_of_the_project_reads():
    files = read.files([ROOT / "experiments"])
    names = {path.stem: read.read(path) for path in files}
    assert {"fig1a", "fig1b", "fig2a", "fig2b", "instances"} <= set(names)
    assert all(names[panel].table["claims"] for panel in ("fig1a", "fig1b", "fig2a", "fig2b", "instances"))
    assert [len(names[name].cells) for name in ("fig1a", "fig1b", "fig2a", "fig2b", "instances")] == [8, 10, 15, 13, 13]
    paper = names["fig1b"].cells[0].setting
    assert (paper["steps"], names["fig1b"].table["trials"], paper["estimator"]["delta"]) == (5000, 500, 0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "policies: missing; it takes a list of policies"),
        ("policies = []", r"policies: got \[\]; it takes a list"),
        ("trails = 5", "trails: unknown key; nearest: trials"),
        ('policies = ["UCB"]\nproblem.roh = 1.0', r"problem\.roh: unknown key; nearest: rho"),
        ('policies = ["IDS-UBC"]', "policies: got .*'IDS-UBC' is none of them, nearest: IDS-UCB"),
        ('policies = ["UCB", "UCB"]', "policies: got .* none twice"),
        ('policies = "UCB"', "policies: got 'UCB'; it takes a list"),
        ('policies = ["UCB"]\ntrials = "5"', "trials: got '5'; it takes a whole number from 1"),
        ('policies = ["UCB"]\ntrials = 0', "trials: got 0; it takes a whole number from 1"),
        ('policies = ["UCB"]\ntrials = true', "trials: got True; it takes a whole number"),
        ('policies = ["UCB"]\nsteps = 10.5', "steps: got 10.5; it takes a whole number"),
        ('policies = ["UCB"]\nseed = -1', "seed: got -1; it takes a whole number from 0"),
        ('policies = ["UCB"]\nestimator.delta = 1', r"estimator\.delta: got 1; it takes a number in \(0, 1\)"),
        ('policies = ["UCB"]\nestimator.lam = nan', r"estimator\.lam: got nan; it takes a number > 0"),
        ('policies = ["UCB"]\nproblem.rho = [1.0, 0.1]', r"problem\.rho: got \[1.0, 0.1\]; it takes .* low ≤ high"),
        (
            'policies = ["UCB"]\nproblem.kind = "bal"',
            r"problem\.kind: got 'bal'; it takes one of 'unit ball', 'linear'",
        ),
        ('policies = ["UCB"]\nproblem = 3', "problem: got 3; it takes a table"),
        ('policies = ["UCB"]\nproblem.kind = "linear"', r"problem\.actions: missing; it takes a list of actions"),
        ('policies = ["UCB"]\n[grid]\ndleta = [0.1]', r"grid\.dleta: unknown key; nearest: delta"),
        ('policies = ["UCB"]\n[grid]\ndelta = 0.1', r"grid\.delta: got 0.1; it takes a list"),
        ('policies = ["UCB"]\n[grid]\ndelta = [0.1, 2]', r"grid\.delta: got 2; it takes a number in"),
        ('policies = ["UCB"]\n[grid]\ndelta = [0.1, 0.1]', r"grid\.delta: got .* no value twice"),
        ('policies = ["UCB"]\n[grid]\nnoise = ["uniform"]', r"grid\.noise: a grid cannot sweep over it"),
        ('policies = ["UCB"]\n[grid]\nkind = ["linear"]', r"grid\.kind: a grid cannot sweep over it"),
        ('policies = ["UCB"]\n[[curves]]\npolicies = ["UCB"]', r"curves\.label: two curves are called 'UCB'"),
        ('policies = ["UCB"]\n[[curves]]\nlabel = "x"', r"curves\.policies: missing"),
        (
            '[[curves]]\nlabel = "{polcy}"\npolicies = ["UCB"]',
            r"curves\.label: got \{polcy\} in .*; in braces it takes policy",
        ),
        ('policies = ["UCB"]\n[[claims]]\ntest = "less"', r"claims\.says: missing"),
        (
            'policies = ["UCB"]\n[[claims]]\nsays = "x"\ntest = "more"',
            r"claims\.test: got 'more'; it takes one of 'less'",
        ),
        (
            'policies = ["UCB"]\n[[claims]]\nsays = "x"\ntest = "same"\ncurves = ["UCB", "TSS"]',
            r"claims\.curves: no curve is called 'TSS'",
        ),
        (
            'policies = ["UCB"]\n[[claims]]\nsays = "x"\ntest = "never noisier"\ncurves = ["UCB"]',
            r"claims\.test: 'never noisier' takes curves with sigma and pulls = true",
        ),
        (
            'policies = ["UCB"]\n[[claims]]\nsays = "x"\ntest = "less"\ncurves = ["UCB"]',
            r"claims\.curves: got .* 'less' takes two or more",
        ),
        ('policies = ["UCB"]\ncompare = [["UCB"]]', "compare: got .* a list of pairs"),
        ('policies = ["UCB"]\ncompare = [["UCB", "W-TS"]]', "compare: no curve is called 'W-TS'"),
        (
            'policies = ["UCB"]\nwatch = {curves = ["UBC"], steps = [1]}',
            r"watch\.curves: no curve is called 'UBC'; nearest: UCB",
        ),
        ('policies = ["UCB"]\nuntil = 0.5', "until: got 0.5; it takes a table"),
        ('policies = ["UCB"]\nuntil = {}', r"until\.stderr: missing; it takes a number > 0"),
        ('policies = ["UCB"]\nuntil = {stderr = 0}', r"until\.stderr: got 0; it takes a number > 0"),
        ('policies = ["UCB"]\nuntil = {stderr = nan}', r"until\.stderr: got nan; it takes a number > 0"),
        ('policies = ["UCB"]\nuntil = {stderr = 1, lest = 2}', r"until\.lest: unknown key; nearest: least"),
        ('policies = ["UCB"]\nuntil = {stderr = 1, least = 0}', r"until\.least: got 0; it takes a whole number from 1"),
        ('policies = ["UCB"]\nstderr = 1', r"stderr: unknown key; nearest: until\.stderr"),
        ('policies = ["UCB"]\n[grid]\nuntil = [{stderr = 1}]', r"grid\.until: a grid cannot sweep over it"),
        ("policies = [", "Invalid"),
        ("policies = ['UCB']\nproblem.kind = 'linear'\nproblem.dim = 3", r"problem\.dim: unknown key"),
        ("policies = ['UCB']\ndelta = 0.1", r"delta: unknown key; nearest: estimator\.delta"),
        ("policies = ['UCB']\nestimator.lam = 1" + "0" * 400, r"estimator\.lam: got 10"),
        ("policies = ['UCB']\ncurves = 5", "curves: got 5; it takes a list of tables"),
        (
            "policies = ['UCB']\nproblem.actions = 1000000000",
            r"problem\.actions: got 1000000000; .* to 1000000",
        ),
        ("policies = ['UCB']\ngrid.problme.rho = [1.0]", r"grid\.problme\.rho: unknown key; nearest"),
        ("policies = ['UCB']\ngrid.estimator.rho = [1.0]", r"grid\.estimator\.rho: unknown key"),
        (GRID.replace("grid.rho = [1.0, 1.5]", "grid.dim = [1]"), r"curves\.dim: the grid at the top sweeps over it"),
        (GRID.replace("grid.rho = [1.0, 1.5]", "problem.dim = 1"), r"curves\.dim: the grid at the top sweeps over it"),
        (
            GRID.replace("grid.rho = [1.0, 1.5]", "grid.steps = [1, 2]"),
            r"curves\.grid\.steps: all curves share it",
        ),
        ("policies = ['UCB', 'TS']\nproblem.instance = 3\ncompare = [['UCB', 'TS']]", "compare: got .* is 'fresh'"),
        ("policies = ['UCB', 'TS']\ncompare = [['UCB', 'UCB']]", "compare: got .* a list of pairs"),
    ],
)
def test_a_slip_names_the_file_the_key_and_what_would_do(tmp_path, text, said):
    with pytest.raises(ValueError, match=rf"^{tmp_path}/some\.toml: {said}"):
        unfolded(tmp_path, text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"detla": 0.1}, "detla: unknown key; nearest: delta"),
        ({"delta": 0.1}, r"delta: the file's grid sweeps over it; set grid\.delta"),
        ({"sigma": 3.0}, r"sigma: the file's grid sweeps over it; set grid\.sigma"),
        ({"lam": "x"}, r"estimator\.lam: got 'x'"),
        ({"rho": 0.7}, r"rho: the file's grid sweeps over it; set grid\.rho"),
        ({"grid.rho": 0.7}, r"grid\.problem\.rho: got 0.7; it takes a list"),
        ({"grid.lam": [1.0]}, r"curves\.lam: the grid at the top sweeps over it"),
    ],
)
def test_a_slip_in_a_change_is_named(tmp_path, changes, said):
    with pytest.raises(ValueError, match=said):
        unfolded(tmp_path, GRID, changes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('compare = [["nope", "TS"]]', "compare: no curve is called 'nope'"),
        ('watch = {curves = ["UBC"], steps = [1]}', r"watch\.curves: no curve is called 'UBC'; nearest: UCB"),
        (
            '[[claims]]\nsays = "x"\ntest = "less"\ncurves = ["TTS", "UCB"]',
            r"claims\.curves: no curve is called 'TTS'; nearest: TS",
        ),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"trials": 3}, {"policies": ["UCB"]}])
def test_a_label_that_no_curve_has_is_refused_whatever_is_changed(tmp_path, text, said, changes):
    with pytest.raises(ValueError, match=rf"^{tmp_path}/some\.toml: {said}"):
        unfolded(tmp_path, f'policies = ["UCB", "TS"]\n{text}', changes)


def test_a_change_may_take_away_a_curve_that_a_claim_is_on(tmp_path):
    text = 'policies = ["UCB", "TS"]\ncompare = [["UCB", "TS"]]'
    for changes in ({"policies": ["UCB"]}, {"policies": ["W-TS"]}):
        assert [cell.label for cell in unfolded(tmp_path, text, changes).cells] == changes["policies"]


@pytest.mark.parametrize("kind", ["pipe in a folder", "pipe", "device"])
def test_only_regular_files_are_read(tmp_path, kind, capsys):
    (tmp_path / "folder").mkdir()
    os.mkfifo(pipe := tmp_path / "folder" / "a.toml")
    asked = {"pipe in a folder": pipe.parent, "pipe": pipe, "device": Path("/dev/zero")}[kind]
    named = asked if kind == "device" else pipe
    assert cli.main(["run", str(asked), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == f"jaxids: {named}: not a regular file; it takes a text file in TOML\n"


def test_many_cells_are_read_in_time_linear_in_their_number(tmp_path):
    """16000 take about two seconds of a core; looking each label up among all before it, they took twenty."""
    deltas = [(i + 1) / 16000 for i in range(8000)]
    start = time.process_time()
    assert len(unfolded(tmp_path, f"policies = ['UCB', 'TS']\ngrid.delta = {deltas}").cells) == 16000
    assert time.process_time() - start < 8


def test_files_are_found_once_and_named_when_missing(tmp_path):
    (tmp_path / "one.toml").touch()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "one.toml").touch()
    assert read.files([tmp_path / "deeper", tmp_path / "deeper" / "one.toml"]) == [tmp_path / "deeper" / "one.toml"]
    with pytest.raises(ValueError, match="another experiment has the same name"):
        read.files([tmp_path])
    with pytest.raises(ValueError, match=r"ones\.toml: no such file or folder; nearest: one\.toml"):
        read.files([tmp_path / "ones.toml"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: no experiment files"):
        read.files([tmp_path / "empty"])


def test_folders_below_are_searched_but_not_hidden_ones_and_results(tmp_path):
    for name in ("two.toml", "a/one.toml", "a/b/three.toml", ".hidden/four.toml", "out/two/five.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "out" / "two" / RECORD).touch()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert [path.stem for path in read.files([tmp_path])] == ["two", "one", "three"]


def test_a_file_that_is_not_text_is_named(tmp_path):
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"x\.toml: not a text file in UTF-8"):
        read.read(tmp_path / "x.toml")


def test_every_key_is_explained():
    text = (ROOT / "experiments" / "README.md").read_text()
    tables = (
        schema.TOP,
        schema.CURVES,
        schema.ESTIMATOR,
        schema.WATCH,
        schema.UNTIL,
        claims.CLAIM,
        *schema.PROBLEMS.values(),
    )
    for name in {name for table in tables for name in table}:
        assert re.search(rf"`(\[+)?{name}\b", text), name
    for test in claims.TESTS:
        assert f'`"{test}"`' in text


def test_numbers_in_words():
    assert in_words(1.0000001) == "1.0000001"
    assert [in_words(v) for v in (1.0, 0.5, 3, [0.1, 1.0], "fresh")] == ["1", "0.5", "3", "[0.1, 1]", "fresh"]


def test_the_experiment_of_the_readme_reads(tmp_path):
    text = (ROOT / "README.md").read_text().split("```toml\n")[1].split("```")[0]
    cells = unfolded(tmp_path, text).cells
    assert len(cells) == 9
    assert cells[-1].setting["estimator"]["delta"] == 0.1
    assert cells[-1].setting["problem"]["dim"] == 5
