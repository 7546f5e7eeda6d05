"""Runs: resumed, added to and damaged, they end with the same files."""

import gc
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import compilations
import jax
import numpy as np
import pytest
from test_tile_file import flip

from jaxids import cli, load, policies, problems, simulate
from jaxids.experiment import build, cells, dask_runner, kind, read, run, store, tile_file
from jaxids.report import page

SMALL = """
title = "Small"
policies = ["UCB", "W-TS"]
trials = 600
steps = 40
seed = 5
pulls = true
[problem]
actions = 5
dim = 2
[grid]
delta = [0.01, 0.1]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small experiment, run once."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "small.toml").write_text(SMALL)
    assert cli.main(["run", str(folder / "small.toml"), "--out", str(folder / "out")]) == 0
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    """The same in a folder of one's own."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def again(folder, *more):
    return cli.main(["run", str(folder / "small.toml"), "--out", str(folder / "out"), *more])


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_curves_are_those_of_simulate(finished):
    for curve in load(finished / "out"):
        made = {"UCB": policies.ucb(noise=policies.bounded, **curve.panel), "W-TS": policies.ts(**curve.panel)}
        policy = made[curve.label]
        ball = problems.unit_ball(5, 2, (0.1, 1.0))
        result = simulate(ball, policy, key=jax.random.key(5), trials=600, steps=40, at=curve.steps)
        assert np.array_equal(curve.final, result.final)
        assert np.allclose(curve.mean, result.mean, rtol=1e-6)
        assert np.allclose(curve.stderr, result.stderr, rtol=1e-6)


def test_pulls_count_every_step(finished):
    for curve in load(finished / "out"):
        assert curve.pulls.shape == (600, 5)
        assert np.all(curve.pulls.sum(axis=1) == 40)


def test_a_second_run_computes_and_writes_nothing(copied, monkeypatch, capsys):
    before = {path: path.stat().st_mtime_ns for path in (copied / "out").rglob("*")}
    monkeypatch.setattr(run, "_run_job", None)
    monkeypatch.setattr(page, "draw", None)
    assert again(copied) == 0
    assert {path: path.stat().st_mtime_ns for path in (copied / "out").rglob("*")} == before
    assert str(copied / "out" / "report.html") in capsys.readouterr().out


def test_more_trials_go_on_from_those_there_are(copied, monkeypatch):
    ran, write = [], cells.write
    monkeypatch.setattr(cells, "write", lambda *a: (ran.append(a[1]), write(*a)))
    before = load(copied / "out")
    assert again(copied, "--trials", "1000") == 0
    assert ran == [3] * 4  # 768 trials were there
    after = load(copied / "out")
    for one, other in zip(before, after, strict=True):
        assert np.array_equal(one.regret, other.regret[:600])
        assert len(other.final) == 1000


def test_another_experiment_under_the_same_name_keeps_the_tiles_of_the_first(copied, capsys):
    before = snapshot(copied / "out" / "small" / "tiles")
    assert again(copied, "--steps", "20") == 0
    assert "small/experiment.json: was of another setting; written again" in capsys.readouterr().err
    assert "Run with steps = 20 in place of what the file says" in (copied / "out" / "report.html").read_text()
    assert load(copied / "out")["small-delta=0.1/UCB"].steps[-1] == 20
    after = snapshot(copied / "out" / "small" / "tiles")
    assert before.items() <= after.items()
    assert len(after) == 2 * len(before)


@pytest.mark.parametrize("damage", ["truncate", "flip", "summary", "remove", "cell", "another", "record"])
def test_damage_is_noticed_named_and_mended(copied, damage, capsys):
    before = snapshot(copied / "out")
    tile = sorted((copied / "out").rglob("*.npz"))[1]
    if damage == "truncate":
        tile.write_bytes(tile.read_bytes()[:-10])
    elif damage == "flip":
        flip(tile, 1)
    elif damage == "summary":
        content = bytearray(tile.read_bytes())
        content[content.index(b"summary.npy") + 500] ^= 4
        tile.write_bytes(content)
    elif damage == "another":
        tile.write_bytes(sorted((copied / "out").rglob("*.npz"))[-1].read_bytes())
    elif damage == "record":
        tile = copied / "out" / "small" / "experiment.json"
        tile.write_text(tile.read_text().replace("600", "300"))
    elif damage == "cell":
        tile = tile.parent / "cell.json"
        tile.write_text("{}")
    else:
        tile.unlink()
    if damage not in ("remove", "cell"):
        with pytest.raises(ValueError, match=rf"{tile}: (damaged|a tile of another cell)"):
            [curve.regret for curve in load(copied / "out")]
    assert again(copied) == 0
    said = capsys.readouterr().err
    assert (f"{tile}: " in said) == (damage != "remove")
    assert snapshot(copied / "out") == before


def test_a_curve_comes_from_summaries_so_a_damaged_tile_does_not_change_it(copied):
    """What is read is checked; `jaxids run` and `jaxids status` read every byte."""
    before = load(copied / "out")["small-delta=0.1/UCB"]
    tile = sorted((copied / "out").rglob("*.npz"))[0]
    flip(tile, 0)
    after = load(copied / "out")["small-delta=0.1/UCB"]
    assert np.array_equal(before.mean, after.mean)
    assert np.array_equal(before.final, after.final)


@pytest.mark.parametrize("of", [1, 3, 7])
def test_parts_make_the_store_of_one_run_in_any_order(finished, tmp_path, of, capsys):
    shutil.copy(finished / "small.toml", tmp_path)
    for number in reversed(range(1, of + 1)):
        assert again(tmp_path, "--part", f"{number}/{of}") == 0
        assert (number == 1) == ("4 of 4 cells done" in _status(tmp_path, capsys))
    assert not (tmp_path / "out" / "report.html").exists()
    assert snapshot(tmp_path / "out" / "small" / "tiles") == snapshot(finished / "out" / "small" / "tiles")
    assert again(tmp_path) == 0
    assert snapshot(tmp_path / "out") == snapshot(finished / "out")


def test_a_last_run_takes_over_what_a_part_left(finished, tmp_path, capsys):
    shutil.copy(finished / "small.toml", tmp_path)
    assert again(tmp_path, "--part", "2/3") == 0
    assert "4 of 12 tiles; no run is at work" in _status(tmp_path, capsys)
    assert again(tmp_path) == 0
    assert snapshot(tmp_path / "out") == snapshot(finished / "out")


def _status(folder, capsys):
    capsys.readouterr()
    assert cli.main(["status", str(folder / "out")]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "1/0", "a/b", "-1/3", "1/3/5"])
def test_a_part_that_there_is_not_is_refused(finished, part, capsys):
    assert cli.main(["run", str(finished / "small.toml"), f"--part={part}"]) == 2
    assert capsys.readouterr().err.startswith(f"jaxids run: --part: got '{part}'; it takes which part of how many")


def test_parts_are_refused_on_another_processor_and_a_run_says_so(copied, monkeypatch, capsys):
    monkeypatch.setattr(kind, "processor", lambda: "Another (1234)")
    before = snapshot(copied / "out")
    assert again(copied, "--trials", "900", "--part", "1/2") == 2
    said = capsys.readouterr().err
    assert ": of another processor, " in said
    assert "; this is Another (1234), whose rounding differs; it takes the same, or another --out" in said
    assert snapshot(copied / "out") == before
    assert again(copied) == 0
    assert "; this is Another (1234), and tiles that are missing get its rounding" in capsys.readouterr().err
    assert snapshot(copied / "out") == before


@pytest.mark.parametrize(
    ("others", "moment"), [("Another (1234)", "read"), ("Another (1234)", "write"), (None, "write")]
)
def test_a_part_that_begins_just_after_one_on_another_processor_is_refused(
    tmp_path, monkeypatch, capsys, others, moment
):
    """Both found no cell written down; without the other it runs, as a control."""
    (tmp_path / "small.toml").write_text(SMALL)
    write, processor, begun = store.write, run._processor, []

    def other(job):
        if others and job.folder not in begun:
            begun.append(job.folder)
            write(job.folder / kind.CELL, store.as_json(job.setting | {"processor": others}))

    def read(job):
        found = processor(job)
        if moment == "read":
            other(job)
        return found

    def second(path, content, replace=True):
        if path.name == kind.CELL and moment == "write":
            folder, setting = path.parent, store.from_json(content)
            setting.pop("processor")
            other(SimpleNamespace(folder=folder, setting=setting))
        write(path, content, replace)

    monkeypatch.setattr(run, "_processor", read)
    monkeypatch.setattr(store, "write", second)
    assert again(tmp_path, "--part", "1/2") == (2 if others else 0)
    assert (": of another processor, Another (1234); this is " in capsys.readouterr().err) == bool(others)


def test_figures_and_page_are_made_again_when_altered(copied):
    before = snapshot(copied / "out")
    (copied / "out" / "report.html").write_text("")
    (copied / "out" / "small" / "small-delta=0.1.png").unlink()
    assert again(copied) == 0
    assert snapshot(copied / "out") == before


def test_numbers_share_one_compilation(tmp_path, finished):
    text = SMALL.replace("delta = [0.01, 0.1]", "lam = [0.5, 2.0]\nrho = [0.3, 0.6]\nseed = [1, 2]")
    (tmp_path / "more.toml").write_text(text)
    before = compilations.count()
    run.run([read.read(tmp_path / "more.toml", {"trials": 10})], tmp_path)
    assert compilations.count() == before  # those of the finished run serve


def test_a_problem_is_built_once_and_not_many_are_kept(tmp_path, monkeypatch):
    built, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda gram: built.append(gram) or eigh(gram))
    text = "policies = ['UCB', 'W-UCB']\nproblem = {{kind = 'gp', rho = 0.3, per_side = 7}}\ngrid.{}"
    (tmp_path / "same.toml").write_text(text.format("delta = [0.01, 0.1]"))
    (tmp_path / "other.toml").write_text(text.format(f"rho = {[0.3 + 0.01 * i for i in range(20)]}"))
    same, other = (read.read(tmp_path / f"{name}.toml") for name in ("same", "other"))
    run.run([read.read(tmp_path / "same.toml", {"trials": 1, "steps": 2})], tmp_path / "out")
    run.jobs_of(same, tmp_path)
    assert len(built) == 1
    before = {id(value) for value in gc.get_objects() if isinstance(value, problems.Functions)}
    jobs = run.jobs_of(other, tmp_path)
    kept = [value for value in gc.get_objects() if isinstance(value, problems.Functions) and id(value) not in before]
    assert (len(jobs), len(built)) == (40, 20)
    assert len(kept) <= build.KEPT


def test_impossible_values_end_before_any_work(tmp_path, capsys):
    (tmp_path / "bad.toml").write_text('policies = ["UCB"]\nproblem.rho = 2.0\nproblem.sigma = 1.0\n')
    (tmp_path / "theta.toml").write_text('policies = ["UCB"]\nproblem.theta = [1.0, 2.0]\n')
    (tmp_path / "lam.toml").write_text('policies = ["UCB"]\nestimator.lam = 1e-50\n')
    (tmp_path / "huge.toml").write_text('policies = ["UCB"]\nproblem.theta = [1e39, 0.0, 0.0]\n')
    (tmp_path / "probe.toml").write_text('policies = ["UCB"]\nproblem = {probes = 0.1, probe_scale = 0.999999999999}\n')
    (tmp_path / "tiny.toml").write_text('policies = ["UCB"]\nproblem.probes = 1e-30\n')
    (tmp_path / "noisy.toml").write_text('policies = ["UCB"]\nproblem.probes = 1.5\n')
    (tmp_path / "one.toml").write_text('policies = ["UCB"]\nproblem = {instance = 3, rho = [0.1, 0.4], probes = 0.5}\n')
    (tmp_path / "zero.toml").write_text(
        'policies = ["UCB"]\nproblem = {kind = "linear", actions = [[1.0]], theta = [0.0], rho = 1.0, probes = 1.0}\n'
    )
    for name, said in (
        ("lam", "estimator.lam: got 1e-50"),
        ("huge", "problem.theta: got inf"),
        ("bad", "problem.sigma: got 1.0; it takes a number ≥ rho = 2.0"),
        ("theta", "problem.theta: got"),
        ("probe", "problem.probe_scale: got 0.999999999999; it takes a number in (0, 1)"),
        ("tiny", "problem.probes: got 1e-30; it takes a number > 0"),
        ("noisy", "problem.probes: got 1.5; it takes a number ≤ 1, the base's bound for all"),
        ("one", "problem.probes: got 0.5; it takes a number ≤ 0.4, the base's bound for all"),
        ("zero", "problem.probes: got one whose basis vectors cannot be scaled below its best action"),
    ):
        assert cli.main(["run", str(tmp_path / f"{name}.toml"), "--out", str(tmp_path / "out")]) == 2
        line = capsys.readouterr().err
        assert line.startswith(f"jaxids: {tmp_path}/{name}.toml: {said}")
        assert line.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_ends_with_one_line(copied, capsys):
    (copied / "file").touch()
    assert cli.main(["run", str(copied / "small.toml"), "--out", str(copied / "file")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"jaxids: {copied}/file/small/tiles/UCB-")
    assert said.endswith("/cell.json: cannot be written: Not a directory\n")


def test_the_command_as_installed_runs(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    script = Path(sys.executable).with_name("jaxids")
    if not script.exists():
        pytest.skip("jaxids is not installed as a command here")
    ended = subprocess.run([script, "run", "small.toml", "--trials", "3", "--steps", "4"], cwd=tmp_path, check=False)
    assert ended.returncode == 0
    assert (tmp_path / "results" / "report.html").exists()


def test_figures_no_longer_asked_for_are_taken_away_and_strangers_left(copied):
    (copied / "out" / "small" / "mine.png").touch()
    assert again(copied, "--set", "grid.delta=[0.01]") == 0
    names = {path.name for path in (copied / "out" / "small").glob("*.png")}
    assert names == {"small-delta=0.01.png", "small-delta=0.01-loglog.png", "mine.png"}


def test_the_folder_of_one_experiment_is_not_the_folder_for_all(copied, capsys):
    assert cli.main(["run", str(copied / "small.toml"), "--out", str(copied / "out" / "small")]) == 2
    assert "the folder of one experiment; it takes the folder for all" in capsys.readouterr().err


def test_damage_of_another_experiment_does_not_stop_a_report(copied, capsys):
    shutil.copytree(copied / "out" / "small", copied / "out" / "other")
    (copied / "out" / "other" / "experiment.json").write_text("{}")
    assert again(copied) == 0
    said = capsys.readouterr()
    assert f"jaxids: left out: {copied}/out/other/experiment.json: damaged" in said.err
    assert str(copied / "out" / "report.html") in said.out


def test_parts_left_anywhere_are_taken_away(copied):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    parts = [
        folder / f".x~{socket.gethostname()}~{dead.pid}~0.part" for folder in (copied / "out", copied / "out/small")
    ]
    for part in parts:
        part.touch()
    assert again(copied) == 0
    assert not any(part.exists() for part in parts)


@pytest.mark.parametrize("to", ["| true", "> /dev/full", ">&-"])
def test_output_nobody_takes_ends_without_a_traceback(finished, to):
    command = f"{sys.executable} -m jaxids export {finished}/out {to}; echo $?"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=variables, check=False)
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") <= 1


@pytest.mark.parametrize(("name", "value"), [("jax_threefry_partitionable", False), ("jax_random_seed_offset", 7)])
def test_settings_of_the_generator_name_the_cell(tmp_path, name, value):
    """They change the bits of a run; the defaults are not written down, so that stores of before stay as they are."""
    (tmp_path / "small.toml").write_text(SMALL)
    experiment = read.read(tmp_path / "small.toml")
    before = run.jobs_of(experiment, tmp_path)
    default = getattr(jax.config, name)
    jax.config.update(name, value)
    try:
        after = run.jobs_of(experiment, tmp_path)
    finally:
        jax.config.update(name, default)
    assert not {job.folder for job in before} & {job.folder for job in after}
    assert all(job.setting[name] == value for job in after)
    assert not any(name in job.setting for job in before)


def test_another_generator_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "small.toml").write_text(SMALL)
    jax.config.update("jax_default_prng_impl", "rbg")
    try:
        assert cli.main(["run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out")]) == 2
        assert "threefry" in str(jax.random.key_impl(build.key_of(5)))
    finally:
        jax.config.update("jax_default_prng_impl", "threefry2x32")
    said = "jaxids: JAX_DEFAULT_PRNG_IMPL: got 'rbg'; it takes 'threefry2x32', the default\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "out").exists()


UNTIL = """
policies = ["UCB", "W-TS"]
steps = 40
until = { stderr = 0.15, least = 600 }
problem = { actions = 5, dim = 2 }
"""


def test_a_cell_stops_at_its_standard_error_whoever_computed_its_tiles(tmp_path, capsys):
    """A run of its own, one that goes on from more tiles than it takes, and one from tiles with a gap."""
    (tmp_path / "small.toml").write_text(UNTIL)
    assert again(tmp_path) == 0
    said = capsys.readouterr().err
    found = load(tmp_path / "out")
    for curve in found:
        assert curve.stopped
        assert curve.stderr[-1] <= 0.15
        whole = simulate(
            problems.unit_ball(5, 2, (0.1, 1.0)),
            policies.PAPER[curve.label],
            key=jax.random.key(0),
            trials=10_240,
            steps=40,
        ).final.astype(float)
        ends = [n for n in range(256, 10_241, 256) if n >= 600 and whole[:n].std(ddof=1) / n**0.5 <= 0.15]
        assert len(curve.final) == ends[0]
        assert np.array_equal(curve.final, whole[: ends[0]])
        assert f"{curve.label}: {ends[0]}/{ends[0]} trials" in said
    assert [line for line in said.splitlines() if " trials, " in line][-1].endswith(", 0:00 left")
    assert again(tmp_path) == 0  # nothing is left to do
    assert not capsys.readouterr().err
    assert again(tmp_path, "--set", "until={stderr=0.1}") == 0
    more = {curve.label: len(curve.final) for curve in load(tmp_path / "out")}
    assert all(len(curve.final) < more[curve.label] for curve in found)
    assert again(tmp_path) == 0
    assert [len(curve.final) for curve in load(tmp_path / "out")] == [len(curve.final) for curve in found]
    for cell in (tmp_path / "out" / "small" / "tiles").iterdir():
        (old,) = (path for path in cell.glob("*.npz"))
        file = tile_file.open_tiles(old)
        tiles = [file.arrays(index) for index in file.indices]
        old.unlink()
        cells.write(cell, 1, tiles[1:])  # the first is missing, more than it takes are there
    assert again(tmp_path) == 0
    assert all(np.array_equal(one.final, other.final) for one, other in zip(load(tmp_path / "out"), found, strict=True))


def test_a_damaged_tile_of_a_cell_that_has_stopped_is_mended(tmp_path, capsys):
    (tmp_path / "small.toml").write_text(UNTIL)
    assert again(tmp_path) == 0
    before = snapshot(tmp_path / "out")
    capsys.readouterr()
    assert cli.main(["status", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].endswith("nothing is left to do")
    assert all(line.endswith(" trials, done") for line in said[:-1])
    file = next((tmp_path / "out").glob("small/tiles/UCB-*/*.npz"))
    flip(file, 1)  # a byte of a tile, not of the summary
    assert cli.main(["status", str(tmp_path / "out")]) == 0
    assert ", 1 of " in capsys.readouterr().out
    assert run.run([read.read(tmp_path / "small.toml")], tmp_path / "out") == 1
    assert snapshot(tmp_path / "out") == before


def test_tiles_that_come_in_any_order_make_the_same_store_where_cells_stop(tmp_path, capsys):
    """A pool that answers the last first, beside a plain run; tiles beyond the stop are left out."""
    (tmp_path / "small.toml").write_text(UNTIL)
    experiment = read.read(tmp_path / "small.toml")
    run.run([experiment], tmp_path / "plain")

    def backwards(todos, progress):
        dask_runner.run(Backwards(), todos, progress)

    plain = re.findall(r"small \S+: (\d+)/\1 trials", capsys.readouterr().err)
    here = kind.here() | {"processor": kind.processor()}
    stored = run._brought([experiment], tmp_path / "team", here, None, True, backwards)
    assert snapshot(tmp_path / "team") == snapshot(tmp_path / "plain")
    assert len(plain) == 2
    said = capsys.readouterr().err
    assert sorted(re.findall(r"small \S+: (\d+)/\1 trials", said)) == sorted(plain)  # once each
    assert said.splitlines()[-1].endswith(", 0:00 left")
    assert 6 <= stored < 2 * 40


class Backwards:
    """A pool of one worker with eight threads, which answers the last question first."""

    def __init__(self):
        self.compatible, self._asked = {"here": 8}, []

    def update(self):
        return []

    def submit(self, function, *given):
        self._asked.append((object(), function, given))
        return self._asked[-1][0]

    def results(self):
        asked, self._asked = self._asked, []
        for future, function, given in reversed(asked):
            yield future, function(*given)


def test_parts_are_refused_where_cells_stop_by_themselves(tmp_path, capsys):
    (tmp_path / "small.toml").write_text(UNTIL)
    assert again(tmp_path, "--part", "1/2") == 2
    assert "which has until; that takes one run or --cluster" in capsys.readouterr().err


def test_files_that_differ_in_numbers_share_their_programs(tmp_path, finished):
    """Two files in one run compile what one of them does; one more action is another program, as a control."""
    for name, delta, rho in (("one", 0.02, 0.3), ("two", 0.3, 0.7)):
        text = SMALL.replace("[0.01, 0.1]", f"[{delta}]").replace("[problem]", f"[problem]\nrho = {rho}")
        (tmp_path / f"{name}.toml").write_text(text.replace("pulls = true", "points = 30"))
    before, files = compilations.count(), [tmp_path / "one.toml", tmp_path / "two.toml"]
    run.run([read.read(path, {}) for path in files], tmp_path / "out")
    assert compilations.count() == before + 2  # those of UCB and of W-TS
    run.run([read.read(path, {"actions": 6}) for path in files], tmp_path / "more")
    assert compilations.count() == before + 5  # and the beginning of trials of both


def test_a_mistake_in_a_later_cell_loses_no_earlier_one(tmp_path, capsys, monkeypatch):
    made = run.compiled

    def fails(setting, count):
        if setting["policy"] == "W-TS":
            raise ValueError("problem: got nothing")
        return made(setting, count)

    monkeypatch.setattr(run, "compiled", fails)
    (tmp_path / "late.toml").write_text(SMALL.replace("[0.01, 0.1]", "[0.01]"))
    assert cli.main(["run", str(tmp_path / "late.toml"), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith("W-TS: problem: got nothing\n")
    kept = {path.parent.name: cells.finished(path.parent, 9) for path in (tmp_path / "out").rglob("*.npz")}
    assert [(name[:4], found) for name, found in kept.items()] == [("UCB-", {0, 1, 2})]


def test_a_part_tells_of_its_own_trials(tmp_path, capsys):
    """Three tiles of each of two curves, for two parts: two and one, then one and two."""
    path, rest = tmp_path / "halves.toml", "problem = { actions = 4, dim = 2, rho = 0.5 }\n"
    path.write_text(f'trials = 600\nsteps = 20\npolicies = ["UCB", "W-UCB"]\n{rest}')
    said = []
    for part in ("1/2", "2/2"):
        assert cli.main(["run", str(path), "--out", str(tmp_path / "out"), "--part", part]) == 0
        said.append(re.findall(r"halves (\S+): (\d+/\d+) trials", capsys.readouterr().err))
    assert said == [[("UCB", "512/512"), ("W-UCB", "256/256")], [("UCB", "256/256"), ("W-UCB", "512/512")]]


def test_an_error_while_tiles_are_stored_ends_the_run_and_loses_no_other_tile(tmp_path, monkeypatch, capsys):
    threads, right = [], cells.pack

    def full_at_first(*given):
        threads.append(threading.current_thread().name.split("_")[0])
        if len(threads) == 1:
            raise OSError(28, "No space left on device")
        right(*given)

    (tmp_path / "small.toml").write_text(SMALL)
    monkeypatch.setattr(cells, "SECONDS", 1e9)  # no tile is written before its job is done
    monkeypatch.setattr(cells, "pack", full_at_first)
    assert again(tmp_path) == 2
    assert "No space left" in capsys.readouterr().err
    assert threads[0] == "storing"
    assert not (tmp_path / "out" / "report.html").exists()
    assert len(list((tmp_path / "out").rglob("*.npz"))) >= 1 + (len(threads) > 1)  # of each job that was computed
