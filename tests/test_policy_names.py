"""Policies that experiment files name: expressions, bound to signatures and never evaluated, and code of one's own."""

import dataclasses
import inspect
import re
import subprocess
import sys

import jax
import numpy as np
import pytest

from jaxids import cli, information, load, names, policies, problems, ratio, simulate
from jaxids.experiment import build, policy_names, read
from jaxids.experiment.load import RECORD
from jaxids.policies import makers

MINE = """
from jaxids import information, policies, ratio

mine = policies.ids(information.f, solver=ratio.pairs)
number = 3


def made():
    return policies.ucb()


def broken():
    raise RuntimeError("so")
"""
EXPRESSIONS = {
    "ids(ucb, solver=pairs)": lambda: policies.ids(information.ucb, solver=ratio.pairs),
    "ids(f, deterministic=True)": lambda: policies.ids(information.f, deterministic=True),
    "ids(averaged(5))": lambda: policies.ids(information.Averaged(5)),
    "ids(e)": lambda: policies.ids(information.e),
    "ts(inflated=True)": lambda: policies.ts(inflated=True),
    "ucb()": policies.ucb,
}
OTHERS = ("gap", "delta", "lam", "norm_bound")
LATER = ["ucb(scale=0.5)", "ts(inflated=True, noise=bounded)", "greedy()", "epsilon_greedy(epsilon=0.1)"]
LATER += ["explore_then_commit(steps=100)", "phased_elimination()", "epsilon_greedy(0.1, 2)"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a module of one's own and a file that names it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "mine_here.py").write_text(MINE)
    text = "trials = 3\nsteps = 4\nproblem = {actions = 3, dim = 2}\n"
    (tmp_path / "own.toml").write_text(f"policies = ['UCB', 'mine_here:mine', 'mine_here:made']\n{text}")
    yield tmp_path
    sys.modules.pop("mine_here", None)


@pytest.mark.parametrize("text", [*EXPRESSIONS, *LATER, *names.THIRTEEN, "package.module:name", "m:n"])
def test_these_are_policies(text):
    assert policy_names.written(policy_names.written(text)) == policy_names.written(text)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_mean_what_the_module_s_names_mean(text):
    assert policy_names.built(text) == EXPRESSIONS[text]()
    assert policy_names.built(text) is policy_names.built(text)  # so that it compiles once


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("UBC", "nearest: UCB"),
        ("uucb()", "uucb makes none, nearest: ucb"),
        ("greedy", r"nearest: greedy\(\)"),
        ("ids()", "gain takes one of f, ucb, ts, e, or averaged"),
        ("ids(g)", "gain takes one of f, ucb, ts, e, or averaged"),
        ("ids(averaged(0))", "n takes a whole number from 1 on"),
        ("ids(averaged(2.5))", "n takes a whole number from 1 on"),
        ("ids(averaged(n=2))", "gain takes one of"),
        ("ids(ucb, pairs)", "ids takes gain, deterministic, solver, scale, noise: too many positional arguments"),
        ("ids(ucb, solver=pair)", "solver takes one of exact, pairs, single, descent"),
        ("ids(ucb, delta=0.1)", "ids takes gain, deterministic, solver, scale, noise: got an unexpected .*'delta'"),
        ("ids(ucb, gain=f)", "ids takes gain, .*: multiple values for argument 'gain'"),
        ("greedy(scale=1)", "greedy takes noise: got an unexpected keyword argument 'scale'"),
        ("ucb(scale=True)", "scale takes a number"),
        ("explore_then_commit(-3)", "steps takes a whole number from 1 on"),
        ("lab/mine.py:rule", "one's own is named by its module, with dots"),
        ("ts(inflated=1)", "inflated takes True or False"),
        ("explore_then_commit(1.5)", "steps takes a whole number from 1 on"),
        ("ucb(**{})", "nearest|known"),
        ("ids(*ucb)", "nearest|known"),
        ("ucb().rule", "nearest|known"),
        ("__import__('os')", "nearest|known"),
        ("ucb(scale=lambda: 1)", "nearest|known"),
        ("ids(" * 90 + ")" * 90, "gain takes"),
        ("a b:c", "nearest|known"),
        ("a.:c", "nearest|known"),
        ("a" * 100 + ":c", "nearest|known"),
        ("module:", "nearest|known"),
    ],
)
def test_nothing_else_is_a_policy_and_it_is_said_why(tmp_path, text, said):
    with pytest.raises(ValueError, match=rf"^({said})"):
        policy_names.written(text)
    (tmp_path / "some.toml").write_text(f"policies = ['UCB', {text!r}]")
    with pytest.raises(ValueError, match=r"some\.toml: policies: got .*; it takes a list of policies, none twice"):
        read.read(tmp_path / "some.toml")


def test_a_policy_is_written_in_one_way(tmp_path):
    for other in ("ids( ucb,solver = pairs )", "ids(gain=ucb, solver=pairs)", "ids(solver=pairs, gain=ucb)"):
        assert policy_names.written(other) == "ids(ucb, solver=pairs)"
    assert policy_names.written("ucb(scale=1)") == policy_names.written("ucb(scale=1.0)") == "ucb(scale=1)"
    assert policy_names.written("epsilon_greedy(0.50)") == "epsilon_greedy(epsilon=0.5)"
    (tmp_path / "some.toml").write_text("policies = ['ids(ucb)', 'ids( ucb )']")
    with pytest.raises(ValueError, match=r"policies: got .* none twice"):
        read.read(tmp_path / "some.toml")


def test_files_with_policies_are_read_without_jax(here):
    code = "import sys; from pathlib import Path; from jaxids.experiment import read; read.read(Path('own.toml')); "
    code += "assert not {'jax', 'mine_here'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("maker", [name for name in makers.__all__ if name != "PAPER"])
def test_an_expression_takes_every_argument_but_functions_and_the_numbers_of_the_estimator(maker):
    values = {"gain": "e", "solver": "single", "noise": "bounded", "inflated": "True", "deterministic": "False"}
    named = [name for name in inspect.signature(getattr(policies, maker)).parameters if name not in OTHERS]
    text = f"{maker}({', '.join(f'{name}={values.get(name, 2)}' for name in named)})"
    policy = policy_names.built(text)
    assert policy_names.built(policy_names.written(text)) == policy
    for other in OTHERS:
        with pytest.raises(ValueError, match=f"{maker} takes .*: got an unexpected keyword argument '{other}'"):
            policy_names.written(f"{text[:-1]}, {other}=1)")


def test_a_run_of_expressions_is_that_of_simulate(tmp_path):
    text = "policies = ['ids(ucb, solver=pairs)', 'ids(averaged(2))']\ntrials = 5\nsteps = 6\nseed = 2\n"
    (tmp_path / "some.toml").write_text(text + "problem = {actions = 4, dim = 2}\nestimator.delta = 0.2")
    assert cli.main(["run", str(tmp_path / "some.toml"), "--out", str(tmp_path / "out")]) == 0
    results = load(tmp_path / "out")
    assert [curve.label for curve in results] == ["ids(ucb, solver=pairs)", "ids(averaged(2))"]
    policy = policies.ids(information.ucb, solver=ratio.pairs, delta=0.2)
    options = {"key": jax.random.key(2), "trials": 5, "steps": 6}
    expected = simulate(problems.unit_ball(4, 2, (0.1, 1.0)), policy, **options)
    assert np.array_equal(results["ids(ucb, solver=pairs)"].final, expected.final)
    folders = [path.name for path in (tmp_path / "out" / "some" / "tiles").iterdir()]
    assert all(re.fullmatch(r"ids-(ucb-solver-pairs|averaged-2)-[0-9a-f]{16}", name) for name in folders)


def test_code_of_one_s_own_is_run_and_its_source_is_part_of_the_cell(here, capsys):
    assert cli.main(["run", "own.toml", "--out", "out"]) == 0
    assert [curve.label for curve in load("out")] == ["UCB", "mine", "made"]
    tiles = here / "out" / "own" / "tiles"
    first = {path.name for path in tiles.iterdir()}
    assert len(first) == 3
    assert cli.main(["run", "own.toml", "--out", "out"]) == 0
    assert {path.name for path in tiles.iterdir()} == first
    (here / "mine_here.py").write_text(MINE.replace("information.f, solver=ratio.pairs", "information.ucb"))
    assert cli.main(["run", "own.toml", "--out", "out"]) == 0
    assert len({path.name for path in tiles.iterdir()} - first) == 2  # both of the module, and not UCB
    mine = build.policy_of(load("out")["mine"].setting)
    assert mine == dataclasses.replace(policies.ids(information.ucb))
    assert (here / "out" / "own" / RECORD).exists()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nowhere.at_all:x", "policies: got 'nowhere.at_all:x'; nowhere.at_all cannot be imported: No module named"),
        ("mine_here:mien", "policies: got 'mine_here:mien'; mine_here has no mien, nearest: mine"),
        (
            "mine_here:number",
            "policies: got 'mine_here:number'; it is 3; it takes a jaxids.policies.Policy, or a function",
        ),
        ("mine_here:broken", "policies: got 'mine_here:broken'; broken() fails with RuntimeError: so"),
        ("sys:path", "policies: got 'sys:path'; sys has no file of source"),
        (
            "ids(f, deterministic=True, solver=pairs)",
            "policies: got 'ids(f, deterministic=True, solver=pairs)'; solver: got one",
        ),
    ],
)
def test_code_that_is_none_is_one_line(here, named, said, capsys):
    (here / "own.toml").write_text(f"policies = ['{named}']")
    assert cli.main(["run", "own.toml", "--out", "out"]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"jaxids: own.toml: {said}")
    assert line.count("\n") == 1
    assert not (here / "out").exists()


def test_code_that_does_not_read_is_one_line(here, capsys):
    (here / "mine_here.py").write_text("def x(:\n")
    assert cli.main(["run", "own.toml", "--out", "out"]) == 2
    line = capsys.readouterr().err
    said = "policies: got 'mine_here:mine'; mine_here cannot be imported: SyntaxError: "
    assert line.startswith(f"jaxids: own.toml: {said}")
    assert line.count("\n") == 1


@pytest.mark.parametrize("text", ["epsilon_greedy(epsilon=-1)", "ucb(scale=-0.5)"])
def test_numbers_below_0_are_named_by_their_argument(text):
    assert policy_names.written(text) == text
    with pytest.raises(ValueError, match=r"(epsilon|scale): got -(1|0\.5); it takes"):
        policy_names.built(text)
