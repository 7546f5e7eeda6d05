"""The command in odd surroundings: encodings, full disks, variables of other programs, names without end."""

import json
import os
import subprocess
import sys

import pytest
from curves import stored

from jaxids import cli
from jaxids.report import page

TINY = """
title = "σ ≥ 1"
policies = ["UCB"]
trials = 2
steps = 3
problem = { actions = 2, dim = 1 }
claims = [{ says = "σ ≥ ρ", test = "lowest", curves = ["UCB"] }]
"""


def command(folder, *arguments, shell="", **variables):
    """What the command says and how it ends, as the shell runs it."""
    line = f'"$@" {shell}'
    arguments = ["bash", "-c", line, "bash", sys.executable, "-m", "jaxids", *arguments]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **variables}
    return subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store with a curve and a claim in Greek letters."""
    folder = tmp_path_factory.mktemp("greek")
    claims = [{"says": "σ ≥ ρ", "test": "lowest", "curves": ["UCB, σ = 1"], "margin": 0.1, "factor": 1.0}]
    stored(folder / "results", [("UCB, σ = 1", {}, {}, [1.0, 2.0])], trials=2, claims=claims)
    assert cli.main(["report", str(folder / "results")]) == 0
    return folder


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_letters_an_encoding_lacks_are_written_as_codes(results, encoding):
    ended = command(results, "report", "results", PYTHONIOENCODING=encoding)
    assert ended.returncode == 0, ended.stderr
    assert "σ ≥ ρ".encode(encoding, "backslashreplace") in ended.stdout
    ended = command(results, "report", "ρ", PYTHONIOENCODING=encoding)
    assert ended.returncode == 2
    assert "got 'ρ'".encode(encoding, "backslashreplace") in ended.stderr


def test_a_table_is_the_same_whatever_the_terminal(results):
    tables = {command(results, "export", "results", PYTHONIOENCODING=name).stdout for name in ("ascii", "utf-8")}
    assert len(tables) == 1
    assert "UCB, σ = 1".encode() in tables.pop()


def test_a_run_needs_nobody_to_hear_of_it_and_no_window(tmp_path):
    """Standard error on a full disk, and a matplotlib that is told to use what is not there."""
    (tmp_path / "tiny.toml").write_text(TINY)
    ended = command(tmp_path, "run", "tiny.toml", shell="2> /dev/full", MPLBACKEND="nonsense")
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[-1] == b"results/report.html"
    assert (tmp_path / "results" / "tiny" / "tiny.png").exists()
    assert command(tmp_path, "report", "nowhere", shell="2> /dev/full").returncode == 2
    assert command(tmp_path, "report", "nowhere", shell="<&- >&- 2>&-").returncode == 2
    for closed in (">&- 2>&-", "<&- 2>&-"):
        assert command(tmp_path, "run", "tiny.toml", shell=closed).returncode == 0


@pytest.mark.parametrize("platform", ["cuda", "nonsense"])
def test_devices_that_are_not_there_end_with_one_line(tmp_path, platform):
    (tmp_path / "tiny.toml").write_text(TINY)
    ended = command(tmp_path, "run", "tiny.toml", JAX_PLATFORMS=platform)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"jaxids: JAX_PLATFORMS: got '{platform}'; it takes".encode())
    assert ended.stderr.count(b"\n") == 1
    assert not (tmp_path / "results").exists()


def test_nesting_without_end_is_one_line(tmp_path, capsys):
    (tmp_path / "deep.toml").write_text("x = " + "[" * 50_000)
    (tmp_path / "tiny.toml").write_text(TINY)
    for arguments, said in (
        ([tmp_path / "deep.toml"], f"jaxids: {tmp_path}/deep.toml: lists or tables within each other"),
        ([tmp_path / "tiny.toml", "--set", "delta=" + "[" * 50_000], "jaxids run: --set: got 'delta=[[["),
    ):
        assert cli.main(["run", *map(str, arguments)]) == 2
        line = capsys.readouterr().err
        assert line.startswith(said)
        assert line.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x" * 10**6],
        ["run", "tiny.toml", "--trials", "x" * 10**6],
        ["run", "tiny.toml", "--set", "x" * 10**6 + "=1"],
        ["run", "tiny.toml", "--set", "delta=" + "[" + "1," * 10**4 + "]"],
        ["bench", "--policies", "x" * 10**6],
        ["x" * 10**6],
        ["report", "x\n" * 10**6],
    ],
)
def test_names_without_end_are_shortened(tmp_path, monkeypatch, capsys, arguments):
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith("jaxids")
    assert "…" in line
    assert line.count("\n") == 1
    assert len(line) < 1300


def test_drawing_is_said(results, capsys):
    (results / "results" / "report.json").unlink()
    page.update(results / "results")
    assert capsys.readouterr().err == "drawing 1 panel\n"
    page.update(results / "results")
    assert capsys.readouterr().err == ""
    assert json.loads((results / "results" / "report.json").read_text())["files"]
